#include "text/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/bpe_tokenizer.h"
#include "text/score_tokenizer.h"
#include "text/special_ids.h"
#include "text/utf8.h"

namespace quern::text {

using format::PieceType;
using format::Vocabulary;
using format::VocabularyKind;

namespace {

std::string ByteName(int byte) { return fmt::format("<0x{:02X}>", byte); }

// -1 when the piece is not the name of a byte.
int ByteOfName(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  const int high = digit(piece[3]), low = digit(piece[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

Status CheckId(std::optional<int32_t> id, std::string_view name, size_t size) {
  if (id && (*id < 0 || static_cast<size_t>(*id) >= size)) {
    return Fail(Code::kCorrupt, "tokenizer: the {} token has id {}, but the vocabulary has {} entries", name, *id,
                size);
  }
  return {};
}

Status CheckVocabulary(const Vocabulary& vocabulary) {
  if (vocabulary.kind == VocabularyKind::kViterbi) {
    return Fail(Code::kUnsupported, "tokenizer: a unigram language model; only BPE and score-based BPE can be encoded");
  }
  const size_t size = vocabulary.pieces.size();
  if (size == 0 || size > (size_t{1} << 30)) return Fail(Code::kCorrupt, "tokenizer: {} vocabulary entries", size);
  if (vocabulary.types.size() != size) {
    return Fail(Code::kCorrupt, "tokenizer: {} entries but {} token types", size, vocabulary.types.size());
  }
  if (vocabulary.kind == VocabularyKind::kUnigram) {
    if (vocabulary.scores.size() != size) {
      return Fail(Code::kCorrupt, "tokenizer: {} entries but {} scores", size, vocabulary.scores.size());
    }
    const auto bad = std::ranges::find_if(vocabulary.scores, [](float score) { return std::isnan(score); });
    if (bad != vocabulary.scores.end()) {
      return Fail(Code::kCorrupt, "tokenizer: the score of entry {} is not a number", bad - vocabulary.scores.begin());
    }
  } else if (vocabulary.merges.size() >= (size_t{1} << 31)) {
    return Fail(Code::kCorrupt, "tokenizer: {} merges", vocabulary.merges.size());
  }
  QUERN_TRY(CheckId(vocabulary.bos, "bos", size));
  QUERN_TRY(CheckId(vocabulary.eos, "eos", size));
  QUERN_TRY(CheckId(vocabulary.eot, "eot", size));
  QUERN_TRY(CheckId(vocabulary.unk, "unknown", size));
  QUERN_TRY(CheckId(vocabulary.pad, "padding", size));
  return {};
}

Status CheckBytes(const Vocabulary& vocabulary, const PieceIndex& index) {
  for (int byte = 0; byte < 256; ++byte) {
    if (index.Find(ByteName(byte)) < 0) {
      return Fail(Code::kCorrupt,
                  "tokenizer: no entry {} among {}: text without a piece of its own could not be encoded",
                  ByteName(byte), vocabulary.pieces.size());
    }
  }
  size_t bytes = 0;
  for (const std::string& piece : vocabulary.pieces) bytes += piece.size();
  if (bytes >= (size_t{1} << 32)) return Fail(Code::kCorrupt, "tokenizer: {} bytes of pieces", bytes);
  return {};
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, std::shared_ptr<const PieceIndex> index)
    : vocabulary_(std::move(vocabulary)), index_(std::move(index)) {
  for (int byte = 0; byte < 256; ++byte) byte_ids_[byte] = index_->Find(ByteName(byte));
  for (const SpecialName& name : SpecialNames()) special_.*name.member = Find(name.piece);
  if (!special_.bos) special_.bos = vocabulary_.bos;
  if (!special_.eos) special_.eos = vocabulary_.eos;
  if (!special_.unk) special_.unk = vocabulary_.unk;
  if (!special_.pad) special_.pad = vocabulary_.pad;
  for (const auto& id : {special_.eos, special_.turn_close, special_.tool_response_open, special_.end_of_turn,
                         std::optional<TokenId>(vocabulary_.eos), std::optional<TokenId>(vocabulary_.eot)}) {
    if (id) AddEndIds({&*id, 1});
  }
  SetUses();
  SetOutput();
}

void Tokenizer::SetUses() {
  uses_.reserve(vocabulary_.pieces.size());
  for (size_t id = 0; id < vocabulary_.pieces.size(); ++id) {
    const std::string& piece = vocabulary_.pieces[id];
    const PieceType type = vocabulary_.types[id];
    max_piece_bytes_ = std::max(max_piece_bytes_, piece.size());
    const bool angled = !piece.empty() && piece[0] == '<';
    Use use = Use::kOrdinary;
    if (angled && ByteOfName(piece) >= 0) {
      use = Use::kByte;  // a typed "<0x41>" stays text
    } else if (type == PieceType::kControl || type == PieceType::kUnknown || (angled && IsMarkerName(piece)) ||
               (type == PieceType::kUserDefined && vocabulary_.kind == VocabularyKind::kBpe)) {
      use = Use::kSpecial;
    } else if (type == PieceType::kByte || type == PieceType::kUnused || piece.empty()) {
      use = Use::kNever;
    }
    uses_.push_back(use);
  }
}

void Tokenizer::SetOutput() {
  offsets_.reserve(vocabulary_.pieces.size() + 1);
  for (size_t id = 0; id < vocabulary_.pieces.size(); ++id) {
    const std::string& piece = vocabulary_.pieces[id];
    offsets_.push_back(static_cast<uint32_t>(output_.size()));
    if (uses_[id] == Use::kByte) {
      output_.push_back(static_cast<char>(ByteOfName(piece)));
    } else if (piece.find(kSpaceMarkUtf8) == std::string::npos) {
      output_ += piece;
    } else {
      output_ += UnescapeSpaces(piece);
    }
  }
  offsets_.push_back(static_cast<uint32_t>(output_.size()));
}

std::string_view Tokenizer::TokenBytes(TokenId id, bool show_special) const {
  if (id < 0 || id >= size()) return {};
  if (!show_special && IsControl(id)) return {};
  return std::string_view(output_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
}

std::string_view Tokenizer::Piece(TokenId id) const {
  return id < 0 || id >= size() ? std::string_view() : vocabulary_.pieces[id];
}

std::optional<TokenId> Tokenizer::Find(std::string_view piece) const {
  const TokenId id = index_->Find(piece);
  return id < 0 ? std::nullopt : std::optional(id);
}

TokenId Tokenizer::FindOrdinary(std::string_view piece, uint64_t hash) const {
  const TokenId id = index_->Find(piece, hash);
  return id >= 0 && uses_[id] == Use::kOrdinary ? id : -1;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool show_special) const {
  std::string out;
  for (const TokenId id : ids) out += TokenBytes(id, show_special);
  return out;
}

bool Tokenizer::IsControl(TokenId id) const {
  return id >= 0 && id < size() &&
         (vocabulary_.types[id] == PieceType::kControl || vocabulary_.types[id] == PieceType::kUnknown);
}

bool Tokenizer::IsSpecial(TokenId id) const { return id >= 0 && id < size() && uses_[id] == Use::kSpecial; }

void Tokenizer::AddEndIds(std::span<const TokenId> ids) {
  for (const TokenId id : ids) {
    const auto at = std::ranges::lower_bound(end_ids_, id);
    if (id >= 0 && id < size() && (at == end_ids_.end() || *at != id)) end_ids_.insert(at, id);
  }
}

Result<std::shared_ptr<Tokenizer>> MakeTokenizer(Vocabulary vocabulary) {
  QUERN_TRY(CheckVocabulary(vocabulary));
  auto index = std::make_shared<const PieceIndex>(vocabulary.pieces);
  QUERN_TRY(CheckBytes(vocabulary, *index));
  if (vocabulary.kind == VocabularyKind::kBpe) {
    return std::make_shared<BpeTokenizer>(std::move(vocabulary), std::move(index));
  }
  return std::make_shared<ScoreTokenizer>(std::move(vocabulary), std::move(index));
}

}  // namespace quern::text

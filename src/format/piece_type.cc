#include "format/piece_type.h"

#include <algorithm>
#include <array>

namespace quern::format {
namespace {

constexpr std::array<std::string_view, 7> kVisibleMarkers = {
    "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", "<|\"|>", "<|channel>", "<channel|>"};

// In the order of their numbers, which begin with 1.
constexpr std::array kNumberedTypes = {PieceType::kNormal,      PieceType::kUnknown, PieceType::kControl,
                                       PieceType::kUserDefined, PieceType::kUnused,  PieceType::kByte};

bool IsCapitalHex(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); }

}  // namespace

int32_t NumberOf(PieceType type) {
  return static_cast<int32_t>(std::ranges::find(kNumberedTypes, type) - kNumberedTypes.begin()) + 1;
}

std::optional<PieceType> PieceTypeOfNumber(int64_t number) {
  if (number < 1 || number > static_cast<int64_t>(kNumberedTypes.size())) return std::nullopt;
  return kNumberedTypes[static_cast<size_t>(number - 1)];
}

bool IsByteName(std::string_view piece) {
  return piece.size() == 6 && piece.starts_with("<0x") && IsCapitalHex(piece[3]) && IsCapitalHex(piece[4]) &&
         piece[5] == '>';
}

bool IsVisibleMarker(std::string_view piece) {
  return piece.starts_with('<') && std::ranges::find(kVisibleMarkers, piece) != kVisibleMarkers.end();
}

void MendTypes(Vocabulary* vocabulary) {
  for (size_t id = 0; id < vocabulary->pieces.size(); ++id) {
    const std::string& piece = vocabulary->pieces[id];
    if (!piece.starts_with('<')) continue;  // nearly all of them
    PieceType& type = vocabulary->types[id];
    if (IsByteName(piece)) type = PieceType::kByte;
    if (IsVisibleMarker(piece)) type = PieceType::kUserDefined;
    if (piece == "</s>") type = PieceType::kNormal;
  }
  for (const std::optional<int32_t> id : {vocabulary->bos, vocabulary->eos, vocabulary->eot, vocabulary->pad}) {
    if (id && !IsVisibleMarker(vocabulary->pieces[*id])) vocabulary->types[*id] = PieceType::kControl;
  }
  if (vocabulary->unk) vocabulary->types[*vocabulary->unk] = PieceType::kUnknown;
}

Status CheckDeclaredIds(const Vocabulary& vocabulary) {
  const auto check = [&](std::string_view name, int32_t id) -> Status {
    if (id >= 0 && static_cast<size_t>(id) < vocabulary.pieces.size()) return {};
    return Fail(Code::kCorrupt, "the {} token has id {} in a vocabulary of {} pieces", name, id,
                vocabulary.pieces.size());
  };
  if (vocabulary.bos) QUERN_TRY(check("bos", *vocabulary.bos));
  if (vocabulary.eos) QUERN_TRY(check("eos", *vocabulary.eos));
  if (vocabulary.eot) QUERN_TRY(check("eot", *vocabulary.eot));
  if (vocabulary.unk) QUERN_TRY(check("unknown", *vocabulary.unk));
  if (vocabulary.pad) QUERN_TRY(check("padding", *vocabulary.pad));
  for (const int32_t id : vocabulary.suppress) QUERN_TRY(check("suppressed", id));
  return {};
}

}  // namespace quern::format

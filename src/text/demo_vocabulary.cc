#include "text/demo_vocabulary.h"

#include <fstream>
#include <iterator>
#include <set>

#include "base/check.h"

namespace quern::text::testing {

using format::PieceType;
using format::Vocabulary;

std::string ReadTreeFile(std::string_view path) {
  std::ifstream file(fmt::format("{}/{}", QUERN_SOURCE_DIR, path), std::ios::binary);
  QUERN_CHECK(file.is_open());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Json ReadTreeJson(std::string_view path) {
  Result<Json> json = ParseJson(ReadTreeFile(path), path);
  QUERN_CHECK(json.has_value());
  return *std::move(json);
}

Vocabulary DemoVocabulary(std::string_view model) {
  const Json json = ReadTreeJson(fmt::format("models/{}/tokenizer.json", model));
  Vocabulary vocabulary;
  const Json& entries = json["model"]["vocab"];
  vocabulary.pieces.resize(entries.size());
  vocabulary.types.resize(entries.size(), PieceType::kNormal);
  for (const auto& [piece, id] : entries.items()) {
    vocabulary.pieces[id.get<size_t>()] = piece;
    if (piece.size() == 6 && piece.starts_with("<0x")) vocabulary.types[id.get<size_t>()] = PieceType::kByte;
  }
  static const std::set<std::string> visible = {"<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>",
                                                "<|\"|>",       "<|channel>",   "<channel|>"};
  for (const Json& token : json["added_tokens"]) {
    const auto id = token["id"].get<size_t>();
    const bool shown = visible.contains(token["content"].get<std::string>());
    vocabulary.types[id] = shown ? PieceType::kUserDefined : PieceType::kControl;
  }
  for (const Json& merge : json["model"]["merges"]) vocabulary.merges.emplace_back(merge[0], merge[1]);
  vocabulary.add_bos = true;
  vocabulary.chat_template =
      ReadTreeJson(fmt::format("models/{}/tokenizer_config.json", model))["chat_template"].get<std::string>();
  return vocabulary;
}

void AddPiece(Vocabulary* vocabulary, std::string_view piece, PieceType type, float score) {
  vocabulary->pieces.emplace_back(piece);
  vocabulary->types.push_back(type);
  vocabulary->scores.push_back(score);
}

Vocabulary ByteVocabulary(const std::vector<std::string>& pieces) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) AddPiece(&vocabulary, fmt::format("<0x{:02X}>", byte), PieceType::kByte);
  for (const std::string& piece : pieces) AddPiece(&vocabulary, piece, PieceType::kNormal);
  return vocabulary;
}

}  // namespace quern::text::testing

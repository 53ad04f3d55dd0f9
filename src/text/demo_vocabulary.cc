#include "text/demo_vocabulary.h"

#include <fstream>
#include <iterator>

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
  Result<Vocabulary> vocabulary =
      format::ReadTokenizerJson(fmt::format("{}/models/{}/tokenizer.json", QUERN_SOURCE_DIR, model));
  QUERN_CHECK(vocabulary.has_value());
  return *std::move(vocabulary);
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

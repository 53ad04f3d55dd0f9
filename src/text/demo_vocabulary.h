// For tests: the demo tokenizer as a Vocabulary, and small vocabularies made by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/vocabulary.h"

namespace quern::text::testing {

// A file of the source tree, as it is and parsed; aborts when it is missing or malformed.
std::string ReadTreeFile(std::string_view path);
Json ReadTreeJson(std::string_view path);

// models/<model>/tokenizer.json with the template of tokenizer_config.json.
format::Vocabulary DemoVocabulary(std::string_view model = "gemma4-nano");

// The 256 byte pieces, then `pieces` as normal ones.
format::Vocabulary ByteVocabulary(const std::vector<std::string>& pieces);
void AddPiece(format::Vocabulary* vocabulary, std::string_view piece, format::PieceType type, float score = 0);

}  // namespace quern::text::testing

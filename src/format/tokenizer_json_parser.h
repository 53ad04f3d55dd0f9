// The parse of a tokenizer.json: its two large parts (model.vocab, model.merges) straight into vectors, the rest as an
// ordinary JSON tree. A published file has 262,144 pieces and 514,906 merges in 33 MB; as a tree of JSON values the
// merges alone would be 1.5 million heap objects. Internal to the room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace quern::format {

struct TokenizerJson {
  Json tree;                        // everything else; null stands where the large parts were
  std::vector<std::string> pieces;  // by id; ids without a piece are ""
  std::vector<bool> present;        // by id: whether the file gave it a piece
  std::vector<float> scores;        // by id when vocab is an array of [piece, score] (Unigram); else empty
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  size_t num_pieces = 0;                                    // ids present
};

// Strict as ParseJson is, but for one thing: a string may occur twice in vocab under two ids, as it does in published
// vocabularies; an id may not. Corrupt with the byte offset otherwise.
Result<TokenizerJson> ParseTokenizerJsonText(std::string_view text, std::string_view what);

// "left right", split at the first space that has something before it. False when there is none or nothing follows it.
bool SplitMerge(std::string_view merge, std::pair<std::string, std::string>* halves);

}  // namespace quern::format

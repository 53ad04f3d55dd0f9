// SentencePiece models.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto vocabulary = quern::format::ParseSentencePieceModel({reinterpret_cast<const char*>(data), size});
  if (!vocabulary) return 0;
  QUERN_CHECK(vocabulary->types.size() == vocabulary->pieces.size());
  QUERN_CHECK(vocabulary->scores.size() == vocabulary->pieces.size());
  return 0;
}

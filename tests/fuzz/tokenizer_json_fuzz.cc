// tokenizer.json, and tokenizer_config.json behind a zero byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find('\0'), text.size());
  const std::string_view config = cut < text.size() ? text.substr(cut + 1) : std::string_view();
  const auto vocabulary = quern::format::ParseTokenizerJson(text.substr(0, cut), config, "input");
  if (!vocabulary) return 0;
  QUERN_CHECK(vocabulary->types.size() == vocabulary->pieces.size());
  QUERN_CHECK(vocabulary->scores.empty() || vocabulary->scores.size() == vocabulary->pieces.size());
  return 0;
}

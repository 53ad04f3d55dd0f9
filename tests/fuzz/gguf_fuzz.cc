// GGUF files: the header, and the vocabulary in it when there is one.
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/gguf.h"
#include "format/vocabulary.h"
#include "touch_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using quern::format::GgufFile;
  const auto file = GgufFile::Parse(std::as_bytes(std::span(data, size)));
  if (!file) return 0;
  quern::TouchTensors(file->tensors());
  for (const auto& [key, value] : file->metadata()) {
    static_cast<void>(file->GetInts(key, 4));
    static_cast<void>(file->GetBools(key, 4));
    static_cast<void>(file->GetFloats(key));
    static_cast<void>(file->GetStrings(key));
  }
  static_cast<void>(quern::format::ReadGgufVocabulary(*file));
  return 0;
}

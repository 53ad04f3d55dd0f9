// quern_fuzz_seeds FOLDER: writes one or two small valid files per fuzzer into FOLDER/<fuzzer>/.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "format/sample_files.h"

int main(int argc, char** argv) {
  using namespace quern::format;
  if (argc != 2) {
    std::fputs("usage: quern_fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  const auto write = [&](std::string_view fuzzer, std::string_view name, std::string_view content) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / fuzzer;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name, std::ios::binary) << content;
  };
  write("gguf", "small", SmallGguf());
  write("gguf", "vocabulary", SmallVocabularyGguf());
  write("safetensors", "small", SmallSafetensors());
  write("tokenizer_json", "pairs", SmallTokenizerJson() + '\0' + SmallTokenizerConfig());
  write("tokenizer_json", "strings", SmallTokenizerJson(MergeForm::kStrings));
  write("sentencepiece", "small", SmallSentencePieceModel());
  write("config_json", "small", SmallTokenizerConfig());
  return 0;
}

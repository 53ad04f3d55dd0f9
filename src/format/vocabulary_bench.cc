// Opening vocabularies of the published size: 262,144 pieces and 514,906 merges. Budgets on one core: tokenizer.json
// 600 ms, GGUF vocabulary 100 ms, GGUF header a few ms; the text room builds its index in what remains of a second.
#include <benchmark/benchmark.h>

#include "format/safetensors.h"
#include "format/sample_files.h"
#include "format/tokenizer_json_parser.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

void BM_ReadTokenizerJson(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::string text = FullSizeTokenizerJson();
  const std::filesystem::path path = folder.Write("tokenizer.json", text);
  for (auto _ : state) {
    const Result<Vocabulary> vocabulary = ReadTokenizerJson(path);
    QUERN_CHECK(vocabulary.has_value() && vocabulary->merges.size() == 514'906);
    benchmark::DoNotOptimize(vocabulary);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_ReadTokenizerJson)->Unit(benchmark::kMillisecond);

void BM_OpenGguf(benchmark::State& state) {
  const TemporaryFolder folder;
  QUERN_CHECK(WriteFullSizeGguf(folder.path() / "v.gguf").has_value());
  for (auto _ : state) {
    const Result<GgufFile> file = GgufFile::Open(folder.path() / "v.gguf");
    QUERN_CHECK(file.has_value());
    benchmark::DoNotOptimize(file);
  }
}
BENCHMARK(BM_OpenGguf)->Unit(benchmark::kMillisecond);

void BM_ReadGgufVocabulary(benchmark::State& state) {
  const TemporaryFolder folder;
  QUERN_CHECK(WriteFullSizeGguf(folder.path() / "v.gguf").has_value());
  for (auto _ : state) {
    const Result<GgufFile> file = GgufFile::Open(folder.path() / "v.gguf");
    QUERN_CHECK(file.has_value());
    const Result<Vocabulary> vocabulary = ReadGgufVocabulary(*file);
    QUERN_CHECK(vocabulary.has_value() && vocabulary->merges.size() == 514'906);
    benchmark::DoNotOptimize(vocabulary);
  }
}
BENCHMARK(BM_ReadGgufVocabulary)->Unit(benchmark::kMillisecond);

// The part of the above that std::pair<std::string, std::string> costs.
void BM_SplitMerges(benchmark::State& state) {
  const TemporaryFolder folder;
  QUERN_CHECK(WriteFullSizeGguf(folder.path() / "v.gguf").has_value());
  const Result<GgufFile> file = GgufFile::Open(folder.path() / "v.gguf");
  const auto merges = file->GetStrings("tokenizer.ggml.merges");
  for (auto _ : state) {
    std::vector<std::pair<std::string, std::string>> pairs((*merges)->size());
    for (size_t rank = 0; rank < pairs.size(); ++rank) SplitMerge((**merges)[rank], &pairs[rank]);
    benchmark::DoNotOptimize(pairs);
  }
}
BENCHMARK(BM_SplitMerges)->Unit(benchmark::kMillisecond);

void BM_ParseSafetensorsHeader(benchmark::State& state) {
  TensorTable table;
  const float value = 0;
  for (int i = 0; i < 1000; ++i) {
    table.tensors[fmt::format("model.language_model.layers.{}.self_attn.q_proj.weight", i)] = {
        reinterpret_cast<const std::byte*>(&value), DType::kF32, Shape{1, 1}};
  }
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.safetensors";
  QUERN_CHECK(WriteSafetensors(path, table, {}, AtomicFile::IfExists::kFail).has_value());
  for (auto _ : state) {
    const Result<SafetensorsFile> file = OpenSafetensors(path);
    QUERN_CHECK(file.has_value() && file->tensors.tensors.size() == 1000);
    benchmark::DoNotOptimize(file);
  }
}
BENCHMARK(BM_ParseSafetensorsHeader)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace quern::format

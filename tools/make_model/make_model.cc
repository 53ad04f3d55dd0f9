// quern_make_model: writes a random-weight GGUF model at the published shapes of Gemma 4.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "make_model/synthetic_model.h"

namespace {

using quern::DType;

std::optional<quern::models::TypeOverride> ParseOverride(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  const std::optional<DType> dtype = quern::DTypeFromName(text.substr(equals + 1));
  if (!dtype || !quern::InfoOf(*dtype).is_float || *dtype == DType::kF64) return std::nullopt;
  return quern::models::TypeOverride(text.substr(0, equals), *dtype);
}

}  // namespace

int main(int argc, char** argv) {
  quern::tools::SyntheticOptions options;
  options.num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string path, embedding, per_layer;
  std::vector<std::string> tensor_types;
  CLI::App app{"Write a random-weight Gemma 4 model as GGUF, for measurements"};
  app.add_option("OUT", path, "file to write; must not exist")->required();
  app.add_option("--preset", options.preset, fmt::format("{}", fmt::join(quern::tools::PresetNames(), ", ")))
      ->capture_default_str();
  app.add_option("--type", options.type, "type of the matrices, as quern quantize --type")->capture_default_str();
  app.add_option("--embed", embedding, "type of token_embd; default: by the rules of quern quantize");
  app.add_option("--ple", per_layer, "type of per_layer_token_embd; default likewise");
  app.add_option("--tensor-type", tensor_types, "GLOB=TYPE, later ones win");
  app.add_option("--layers", options.num_layers, "number of layers; default: the preset's")->check(CLI::Range(2, 1024));
  app.add_option("--seed", options.seed, "seed of the weights")->capture_default_str();
  app.add_option("--threads", options.num_threads)->check(CLI::Range(1, 1024))->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  if (!embedding.empty()) tensor_types.insert(tensor_types.begin(), "token_embd.weight=" + embedding);
  if (!per_layer.empty()) tensor_types.insert(tensor_types.begin(), "per_layer_token_embd.weight=" + per_layer);
  for (const std::string& text : tensor_types) {
    const auto parsed = ParseOverride(text);
    if (!parsed) {
      fmt::print(stderr, "error: \"{}\" is not GLOB=TYPE\n", text);
      return 2;
    }
    options.tensor_types.push_back(*parsed);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto result = quern::tools::WriteSyntheticModel(options, path);
  if (!result) {
    fmt::print(stderr, "error: {}\n", result.error().ToString());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}: {} tensors, {:.1f} M parameters, {} bytes of tensors in {:.1f} s ({:.2f} GB/s)\n", path,
             result->num_tensors, static_cast<double>(result->num_parameters) / 1e6, result->num_bytes, seconds,
             static_cast<double>(result->num_bytes) / 1e9 / seconds);
  return 0;
}

// Collects evidence for the kernels of the catalogue on the CUDA device at hand: conformance of every kernel, then
// times. usage: evidence_collect CUBIN_FOLDER OUT_FOLDER [--quick] [--only TEXT] Writes OUT_FOLDER/conformance.jsonl
// (one record per kernel) and OUT_FOLDER/timing.jsonl, and prints tables. --quick: two repeats and no times (for
// compute-sanitizer). Exit code 1 when a case fails.
#include <cstdio>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "kernels/layout/rp16.h"
#include "kernels/lower/identity.h"
#include "tools/evidence_collect/conformance.h"
#include "tools/evidence_collect/timing.h"

namespace quern::evidence {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string cubins, out, only;
  bool quick = false, brief = false;
};

Json DeviceRecord(const device::cuda::CudaProperties& p) {
  return {{"name", p.name},
          {"compute_capability", p.compute_capability},
          {"multiprocessors", p.num_multiprocessors},
          {"l2_bytes", p.l2_bytes},
          {"driver", p.driver_version}};
}

Result<int> CollectConformance(device::cuda::CudaDevice& device, const DeviceKernels& kernels, const Options& options) {
  std::ofstream out(options.out + "/conformance.jsonl");
  int failed = 0, total = 0;
  for (const DeviceKernel& k : kernels.all()) {
    if (k.kernel.id.find(options.only) == std::string::npos) continue;
    QUERN_ASSIGN_OR_RETURN(const Json cases, Conformance(device, k, options.quick || options.brief ? 2 : 20));
    Json record = {{"schema", 1},
                   {"kernel_id", k.kernel.id},
                   {"ir_sha256", Sha256Hex(Dump(k.kernel))},
                   {"source_sha256", k.source_sha256},
                   {"device_text_sha256", kernels::lower::DeviceTextSha256()},
                   {"binary_sha256", k.binary_sha256},
                   {"device", DeviceRecord(device.properties())},
                   {"oracle", "scalar definition of class dot-i8"},
                   {"cases", cases},
                   {"resources",
                    {{"registers", k.function.registers},
                     {"local_bytes", k.function.local_bytes},
                     {"blocks_per_multiprocessor", k.function.blocks_per_multiprocessor}}}};
    bool pass = !cases.empty();
    for (const Json& c : cases) pass = pass && c["pass"].get<bool>();
    record["pass"] = pass;
    out << record.dump() << "\n";
    ++total;
    if (!pass) {
      ++failed;
      fmt::print("FAIL {} {}\n", k.kernel.id, cases.dump());
    }
  }
  fmt::print("conformance: {} kernels, {} failed\n", total, failed);
  return failed;
}

// The products of one layer, in order.
struct Layer {
  std::string name;
  std::vector<Product> products;
};
const std::vector<Layer>& Layers() {
  static const std::vector<Layer> layers = {
      {"E2B sliding",
       {{"q", 2048, 1536},
        {"k", 256, 1536},
        {"v", 256, 1536},
        {"o", 1536, 2048},
        {"gate", 6144, 1536},
        {"up", 6144, 1536},
        {"down", 1536, 6144},
        {"ple_gate", 256, 1536},
        {"ple_out", 1536, 256}}},
      {"E2B sharing",
       {{"q", 2048, 1536},
        {"o", 1536, 2048},
        {"gate", 12288, 1536},
        {"up", 12288, 1536},
        {"down", 1536, 12288},
        {"ple_gate", 256, 1536},
        {"ple_out", 1536, 256}}},
      {"E4B sliding",
       {{"q", 2048, 2560},
        {"k", 512, 2560},
        {"v", 512, 2560},
        {"o", 2560, 2048},
        {"gate", 10240, 2560},
        {"up", 10240, 2560},
        {"down", 2560, 10240},
        {"ple_gate", 256, 2560},
        {"ple_out", 2560, 256}}},
      {"26B-A4B dense part",
       {{"q", 4096, 2816},
        {"k", 2048, 2816},
        {"v", 2048, 2816},
        {"o", 2816, 4096},
        {"gate", 2112, 2816},
        {"up", 2112, 2816},
        {"down", 2816, 2112}}},
  };
  return layers;
}

Status CollectTimes(device::cuda::CudaDevice& device, const DeviceKernels& kernels, const Options& options) {
  QUERN_ASSIGN_OR_RETURN(TimingBench bench, TimingBench::Make(device, size_t{3} << 30));
  std::ofstream out(options.out + "/timing.jsonl");
  const auto time = [&](DType format, const Product& p, uint32_t rows) -> Result<const DeviceKernel*> {
    QUERN_ASSIGN_OR_RETURN(const auto times, bench.Time(kernels, format, p, rows));
    if (times.empty()) return Fail(Code::kNotFound, "no kernel serves {} [{}, {}]", p.name, p.n, p.k);
    const double bytes = static_cast<double>(TimingBench::WeightBytes(format, p));
    std::string line =
        fmt::format("{:<6} {:<10} {:>6}x{:<5} R{} {:8.2f} MB", NameOf(format), p.name, p.n, p.k, rows, bytes / 1e6);
    Json record = {{"format", NameOf(format)}, {"product", p.name},         {"N", p.n}, {"K", p.k}, {"R", rows},
                   {"weight_bytes", bytes},    {"times_us", Json::object()}};
    for (const ProductTime& t : times) record["times_us"][t.kernel->kernel.id] = t.us;
    for (size_t i = 0; i < std::min<size_t>(3, times.size()); ++i) {
      const auto& s = times[i].kernel->entry.schedule;
      line += fmt::format("  {:7.2f} us {:.2f} TB/s (split {} x{} p{})", times[i].us, bytes / times[i].us / 1e6,
                          s.split, s.stages, s.rows_per_warp);
    }
    fmt::print("{}\n", line);
    out << record.dump() << "\n";
    return times[0].kernel;
  };
  const std::vector<uint32_t> row_counts =
      options.brief ? std::vector<uint32_t>{1, 8} : std::vector<uint32_t>{1, 2, 4, 8};
  const std::vector<DType> formats =
      options.brief
          ? std::vector<DType>{DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kIQ4_NL}
          : std::vector<DType>{DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kQ4_1,   DType::kQ5_0,   DType::kQ5_1,
                               DType::kQ2_K, DType::kQ3_K, DType::kQ5_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};
  const Product kHeads[] = {{"head_e2b", 262144, 1536}, {"head_e4b", 262144, 2560}, {"head_26b", 262144, 2816}};
  for (const Product& p : kHeads) {
    for (const uint32_t rows : row_counts) QUERN_TRY(time(DType::kQ4_0, p, rows));
  }
  for (const DType f : formats) {
    for (const uint32_t rows : {1u, 8u}) {
      for (const Product& p : {Product{"head_e2b", 262144, 1536}, Product{"down_e2b", 1536, 12288}})
        QUERN_TRY(time(f, p, rows));
    }
  }
  for (const Layer& layer : Layers()) {
    for (const uint32_t rows : row_counts) {
      double bytes = 0;
      std::vector<std::pair<Product, const DeviceKernel*>> sequence;
      for (const Product& p : layer.products) {
        QUERN_ASSIGN_OR_RETURN(const DeviceKernel* best, time(DType::kQ4_0, p, rows));
        sequence.push_back({p, best});
        bytes += static_cast<double>(TimingBench::WeightBytes(DType::kQ4_0, p));
      }
      QUERN_ASSIGN_OR_RETURN(const double us, bench.TimeSequence(sequence, rows));
      fmt::print("LAYER {} R{}: {} products {:.2f} MB {:.2f} us {:.2f} TB/s\n", layer.name, rows, sequence.size(),
                 bytes / 1e6, us, bytes / us / 1e6);
      out << Json{{"layer", layer.name}, {"R", rows}, {"weight_bytes", bytes}, {"us", us}}.dump() << "\n";
    }
  }
  return {};
}

Result<int> Run(const Options& options) {
  QUERN_ASSIGN_OR_RETURN(const auto device, device::cuda::CudaDevice::Open(0));
  QUERN_ASSIGN_OR_RETURN(const DeviceKernels kernels, DeviceKernels::Load(*device, options.cubins));
  fmt::print("{}, driver {}, {} kernels\n", device->properties().name, device->properties().driver_version,
             kernels.all().size());
  QUERN_ASSIGN_OR_RETURN(const int failed, CollectConformance(*device, kernels, options));
  if (!options.quick) QUERN_TRY(CollectTimes(*device, kernels, options));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quern::evidence

int main(int argc, char** argv) {
  quern::evidence::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--quick") {
      options.quick = true;
    } else if (arg == "--brief") {
      options.brief = true;
    } else if (arg == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (options.cubins.empty()) {
      options.cubins = arg;
    } else {
      options.out = arg;
    }
  }
  if (options.out.empty()) {
    std::fprintf(stderr, "usage: evidence_collect CUBIN_FOLDER OUT_FOLDER [--quick | --brief] [--only TEXT]\n");
    return 2;
  }
  const auto result = quern::evidence::Run(options);
  if (!result) {
    std::fprintf(stderr, "evidence_collect: %s\n", result.error().ToString().c_str());
    return 1;
  }
  return *result;
}

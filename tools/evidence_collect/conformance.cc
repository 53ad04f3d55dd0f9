#include "tools/evidence_collect/conformance.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/ir/gen/matmul_case.h"

namespace quern::evidence {
namespace {

using device::cuda::CudaBuffer;
using device::cuda::CudaDevice;
using kernels::ir::gen::MatmulCase;
using Json = nlohmann::ordered_json;

constexpr size_t kGuardBytes = 256;

// Buffers of one launch. Outputs are poisoned and lie between guards.
class Operands {
 public:
  Operands(CudaDevice& device, const DeviceKernel& kernel, std::vector<uint32_t> params)
      : device_(device), kernel_(kernel), params_(std::move(params)) {}

  Status Prepare(const std::vector<std::span<const std::byte>>& inputs) {
    size_t input = 0;
    for (size_t i = 0; i < kernel_.kernel.buffers.size(); ++i) {
      const bool output = kernel_.kernel.buffers[i].access != kernels::ir::Access::kRead;
      const uint64_t bytes = kernel_.BufferBytes(i, params_);
      QUERN_ASSIGN_OR_RETURN(auto buffer, device_.Allocate(bytes + (output ? 2 * kGuardBytes : 0)));
      if (!output) QUERN_TRY(device_.Upload(buffer, inputs[input++].first(bytes)));
      pointers_.push_back(buffer.pointer() + (output ? kGuardBytes : 0));
      buffers_.push_back(std::move(buffer));
    }
    return {};
  }

  // Launches on poisoned outputs and gives them, in order.
  Result<std::vector<std::vector<std::byte>>> Run(bool& guards_intact) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (IsOutput(i)) QUERN_TRY(device_.Fill(buffers_[i], 0xA5));
    }
    const qk_args args = kernel_.Arguments(params_, pointers_);
    QUERN_TRY(device_.Launch(kernel_.function, args.tiles, &args));
    QUERN_TRY(device_.Synchronize());
    std::vector<std::vector<std::byte>> outputs;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!IsOutput(i)) continue;
      std::vector<std::byte> bytes(buffers_[i].bytes());
      QUERN_TRY(device_.Download(bytes, buffers_[i]));
      for (size_t k = 0; k < kGuardBytes; ++k) {
        guards_intact = guards_intact && bytes[k] == std::byte{0xA5} && bytes[bytes.size() - 1 - k] == std::byte{0xA5};
      }
      outputs.emplace_back(bytes.begin() + kGuardBytes, bytes.end() - kGuardBytes);
    }
    return outputs;
  }

 private:
  bool IsOutput(size_t i) const { return kernel_.kernel.buffers[i].access != kernels::ir::Access::kRead; }

  CudaDevice& device_;
  const DeviceKernel& kernel_;
  std::vector<uint32_t> params_;
  std::vector<CudaBuffer> buffers_;
  std::vector<device::cuda::CuPointer> pointers_;
};

struct Shape {
  uint32_t rows, n, k;
};

// Bits equal, any NaN equal to any NaN.
bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

void Disturb(MatmulCase& c, std::string_view data) {
  if (data == "huge_and_tiny") {
    for (size_t i = 0; i < c.d.size(); ++i) c.d[i] *= std::ldexp(1.0f, i % 3 == 0 ? 60 : i % 3 == 1 ? -70 : 0);
  } else if (data == "cancellation") {
    for (size_t i = 0; i < c.q.size(); ++i) c.q[i] = static_cast<int8_t>(i % 2 == 0 ? 127 : -127);
  } else if (data == "non_finite") {
    c.d[0] = std::numeric_limits<float>::infinity();
    c.d.back() = std::numeric_limits<float>::quiet_NaN();
  }
}

Result<Json> MatmulConformance(CudaDevice& device, const DeviceKernel& kernel, int repeats) {
  const uint32_t least = kernel.kernel.params[2].min * 32, multiple = kernel.kernel.params[2].multiple_of * 32;
  const uint32_t ragged = (2816 + 96) / multiple * multiple;
  const std::vector<std::pair<Shape, std::string_view>> cases = {
      {{1, 1, least}, "random"},    {{1, 2048, 2048}, "random"},        {{8, 300, ragged}, "random"},
      {{9, 257, 2816}, "random"},   {{17, 64, 12288}, "huge_and_tiny"}, {{3, 130, 2048}, "cancellation"},
      {{2, 33, 2048}, "non_finite"}};
  Json records = Json::array();
  uint32_t seed = 100;
  for (const auto& [shape, data] : cases) {
    const std::vector<uint32_t> params = {shape.rows, shape.n, shape.k / 32};
    if (!kernel.Serves(params)) continue;
    MatmulCase c =
        kernels::ir::gen::RandomMatmul(kernel.entry.descriptor.weights[0].format, shape.rows, shape.n, shape.k, ++seed);
    Disturb(c, data);
    kernels::ir::gen::Rp16Operands host = kernels::ir::gen::OperandsOf(c);
    Operands operands(device, kernel, params);
    std::vector<std::span<const std::byte>> inputs = {host.w, host.q, host.d};
    if (host.has_min) inputs.push_back(host.isum);
    QUERN_TRY(operands.Prepare(inputs));
    bool guards_intact = true, repeats_equal = true;
    QUERN_ASSIGN_OR_RETURN(const auto first, operands.Run(guards_intact));
    for (int i = 1; i < repeats; ++i) {
      QUERN_ASSIGN_OR_RETURN(const auto again, operands.Run(guards_intact));
      repeats_equal = repeats_equal && again == first;
    }
    uint64_t mismatches = 0;
    double max_abs = 0;
    const float* y = reinterpret_cast<const float*>(first[0].data());
    for (uint32_t r = 0; r < shape.rows; ++r) {
      for (uint32_t n = 0; n < shape.n; ++n) {
        const float expected = DotI8(c, r, n), got = y[size_t{r} * shape.n + n];
        if (Same(expected, got)) continue;
        ++mismatches;
        max_abs = std::max(max_abs, std::abs(static_cast<double>(expected) - got));
      }
    }
    records.push_back({{"shape", {{"R", shape.rows}, {"N", shape.n}, {"K", shape.k}}},
                       {"data", data},
                       {"seed", seed},
                       {"mismatches", mismatches},
                       {"max_abs", max_abs},
                       {"repeats", repeats},
                       {"repeats_equal", repeats_equal},
                       {"guards_intact", guards_intact},
                       {"pass", mismatches == 0 && repeats_equal && guards_intact}});
  }
  return records;
}

Result<Json> QuantizeConformance(CudaDevice& device, const DeviceKernel& kernel, int repeats) {
  Json records = Json::array();
  for (const auto& [rows, k] : {std::pair{1u, 32u}, std::pair{8u, 1536u}, std::pair{9u, 2816u}, std::pair{3u, 96u}}) {
    MatmulCase c = kernels::ir::gen::RandomMatmul(DType::kQ8_0, rows, 1, k, rows + k);
    const kernels::ir::gen::Rp16Operands expected = kernels::ir::gen::OperandsOf(c);
    Operands operands(device, kernel, {rows, k / 32});
    QUERN_TRY(operands.Prepare({std::as_bytes(std::span(c.x))}));
    bool guards_intact = true, repeats_equal = true;
    QUERN_ASSIGN_OR_RETURN(const auto first, operands.Run(guards_intact));
    for (int i = 1; i < repeats; ++i) {
      QUERN_ASSIGN_OR_RETURN(const auto again, operands.Run(guards_intact));
      repeats_equal = repeats_equal && again == first;
    }
    const bool equal = first[0] == expected.q && first[1] == expected.d && first[2] == expected.isum;
    records.push_back({{"shape", {{"R", rows}, {"K", k}}},
                       {"data", "random"},
                       {"seed", rows + k},
                       {"mismatches", equal ? 0 : 1},
                       {"repeats", repeats},
                       {"repeats_equal", repeats_equal},
                       {"guards_intact", guards_intact},
                       {"pass", equal && repeats_equal && guards_intact}});
  }
  return records;
}

}  // namespace

Result<Json> Conformance(CudaDevice& device, const DeviceKernel& kernel, int repeats) {
  switch (kernel.entry.descriptor.family) {
    case kernels::Family::kMatmul:
      return MatmulConformance(device, kernel, repeats);
    case kernels::Family::kQuantizeRows:
      return QuantizeConformance(device, kernel, repeats);
    default:
      return Fail(Code::kUnsupported, "no cases are written for {}", kernel.kernel.id);
  }
}

}  // namespace quern::evidence

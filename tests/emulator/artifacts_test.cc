// The checked-in CUDA text of every kernel, run thread by thread on the CPU, gives the bits of the numerics contract in
// every order of threads.
#include <bit>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/descriptor/catalogue.h"
#include "kernels/ir/gen/generate.h"
#include "kernels/ir/gen/matmul_case.h"
#include "kernels/ir/interpreter.h"
#include "tests/emulator/emulator.h"

namespace quern::emulator {
namespace {

using kernels::CatalogueEntry;
using kernels::ir::Kernel;
using kernels::ir::gen::MatmulCase;

constexpr Order kOrders[] = {Order::kForward, Order::kReverse, Order::kRandom};

qk_args Arguments(const Kernel& kernel, const std::vector<uint32_t>& params,
                  const std::vector<std::span<std::byte>>& buffers) {
  qk_args args{};
  for (size_t i = 0; i < buffers.size(); ++i) args.buffer[i] = buffers[i].data();
  for (size_t i = 0; i < params.size(); ++i) args.u[i] = params[i];
  args.tiles = static_cast<uint32_t>(EvaluateOverParams(kernel, kernel.num_tiles, params));
  return args;
}

class EmulatedArtifact : public testing::TestWithParam<size_t> {};

TEST_P(EmulatedArtifact, EqualsTheContract) {
  const CatalogueEntry entry = kernels::Catalogue()[GetParam()];
  const auto kernel = kernels::ir::gen::Generate(entry.descriptor, entry.schedule);
  ASSERT_TRUE(kernel.has_value());
  const auto emulated = Find(kernel->symbol.c_str(), kernel->threads(), kernel->shared_bytes());
  ASSERT_TRUE(emulated.has_value()) << emulated.error().ToString();
  if (entry.descriptor.family == kernels::Family::kQuantizeRows) {
    MatmulCase c = kernels::ir::gen::RandomMatmul(DType::kQ8_0, 3, 1, 96, 5);
    const auto expected = kernels::ir::gen::OperandsOf(c);
    for (const Order order : kOrders) {
      std::vector<std::byte> q(expected.q.size()), d(expected.d.size()), isum(expected.isum.size());
      const qk_args args = Arguments(*kernel, {c.rows, c.k / 32}, {std::as_writable_bytes(std::span(c.x)), q, d, isum});
      const Status ran = Launch(*emulated, args, args.tiles, order);
      ASSERT_TRUE(ran.has_value()) << ran.error().ToString();
      EXPECT_TRUE(q == expected.q && d == expected.d && isum == expected.isum);
    }
    return;
  }
  // The smallest K that the kernel serves, three rows, and N that ends inside a panel.
  const MatmulCase c =
      kernels::ir::gen::RandomMatmul(entry.descriptor.weights[0].format, 3, 37, kernel->params[2].min * 32, 7);
  auto operands = kernels::ir::gen::OperandsOf(c);
  for (const Order order : kOrders) {
    std::vector<float> y(size_t{c.rows} * c.n, std::bit_cast<float>(0x7FA00000u));
    const qk_args args = Arguments(*kernel, {c.rows, c.n, c.k / 32}, operands.Buffers(y));
    // Two blocks walk all tiles: the loop over tiles runs too.
    const Status ran = Launch(*emulated, args, std::min(2u, args.tiles), order);
    ASSERT_TRUE(ran.has_value()) << ran.error().ToString();
    for (uint32_t r = 0; r < c.rows; ++r) {
      for (uint32_t n = 0; n < c.n; ++n) {
        const float expected = DotI8(c, r, n);
        ASSERT_EQ(std::bit_cast<uint32_t>(y[size_t{r} * c.n + n]), std::bit_cast<uint32_t>(expected))
            << "row " << r << ", output " << n;
      }
    }
  }
}

std::string NameOfEntry(const testing::TestParamInfo<size_t>& info) {
  const CatalogueEntry entry = kernels::Catalogue()[info.param];
  std::string name = KernelId(entry.descriptor, entry.schedule);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, EmulatedArtifact, testing::Range(size_t{0}, kernels::Catalogue().size()),
                         NameOfEntry);

}  // namespace
}  // namespace quern::emulator

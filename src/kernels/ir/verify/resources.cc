// V6: threads, shared memory, registers and arguments. Registers are counted by liveness: what is set before a point
// and read after it. Temporaries of expressions are not counted, so the compiler may need more; far too many are found
// here, before a compiler runs.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/ir/verify/passes.h"
#include "kernels/ir/verify/visit.h"

namespace quern::kernels::ir::verify {
namespace {

class Liveness {
 public:
  explicit Liveness(const Kernel& kernel) : kernel_(kernel) {}

  // The most 32-bit words alive at one point.
  uint32_t Run() {
    std::vector<bool> live(kernel_.registers.size());
    Run(kernel_.body, live);
    return most_;
  }

 private:
  void Run(const Block& block, std::vector<bool>& live) {
    for (auto stmt = block.rbegin(); stmt != block.rend(); ++stmt) {
      if (const auto* loop = std::get_if<ForStmt>(&stmt->node)) {
        RunLoop(*loop, live);
      } else if (const auto* branch = std::get_if<IfStmt>(&stmt->node)) {
        std::vector<bool> other = live;
        Run(branch->then_body, live);
        Run(branch->else_body, other);
        Merge(live, other);
      } else if (const auto reg = WrittenBy(*stmt)) {
        live[*reg] = true;  // occupies its register at least while it is set
        Count(live);
        live[*reg] = false;
      }
      for (const ExprId operand : OperandsOf(*stmt)) Read(operand, live);
      Count(live);
    }
  }

  void RunLoop(const ForStmt& loop, std::vector<bool>& live) {
    live[loop.var] = true;
    Read(loop.end, live);
    for (;;) {
      std::vector<bool> body = live;
      Run(loop.body, body);
      Merge(body, live);
      if (body == live) break;
      live = body;
    }
    live[loop.var] = false;
  }

  static void Merge(std::vector<bool>& into, const std::vector<bool>& other) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = into[i] || other[i];
  }
  void Read(ExprId root, std::vector<bool>& live) const {
    for (const ExprId id : NodesOf(kernel_, root))
      if (kernel_.expr(id).op == Op::kReg) live[kernel_.expr(id).value] = true;
  }
  void Count(const std::vector<bool>& live) {
    uint32_t words = 0;
    for (size_t i = 0; i < live.size(); ++i)
      if (live[i]) words += (static_cast<uint32_t>(BytesOf(kernel_.registers[i].type)) + 3) / 4;
    most_ = std::max(most_, words);
  }

  const Kernel& kernel_;
  uint32_t most_ = 0;
};

}  // namespace

void CheckResources(const Kernel& kernel, const Limits& limits, Report& report) {
  const auto at_most = [&](uint64_t value, uint64_t limit, std::string_view what) {
    if (value > limit) report.AddHead(Rule::kV6, std::string(what), fmt::format("{} of at most {}", value, limit));
  };
  const uint64_t threads = uint64_t{kernel.warps} * kWarpThreads;
  uint64_t shared = 0;
  for (const SharedArray& s : kernel.shared) shared += s.bytes;
  const auto params = [&](Scalar type) {
    return static_cast<uint64_t>(
        std::count_if(kernel.params.begin(), kernel.params.end(), [&](const Param& p) { return p.type == type; }));
  };
  if (kernel.warps == 0) report.AddHead(Rule::kV6, "threads", "a block has none");
  at_most(threads, limits.max_threads, "threads");
  at_most(shared, limits.max_shared_bytes, "shared bytes");
  at_most(kernel.buffers.size(), kMaxBuffers, "buffers");
  at_most(params(Scalar::kU32), kMaxU32Params, "u32 parameters");
  at_most(params(Scalar::kF32), kMaxF32Params, "f32 parameters");
  uint64_t registers = limits.max_registers;
  if (kernel.min_blocks > 0 && threads > 0)
    registers = std::min(registers, limits.registers_of_processor / (threads * kernel.min_blocks));
  at_most(Liveness(kernel).Run(), registers, "live registers");
}

}  // namespace quern::kernels::ir::verify

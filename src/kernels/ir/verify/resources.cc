// V6: threads, shared memory, counts of arguments, and an estimate of the registers that are alive at once.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernels/ir/verify/rules.h"
#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {
namespace {

constexpr uint32_t kRegisterFile = 65536;  // 32-bit words of a multiprocessor

// The largest number of 32-bit words that named registers hold at any place. Values inside of expressions come on top;
// the compiler may also do better by computing later.
class Liveness {
 public:
  explicit Liveness(const Kernel& kernel) : k_(kernel), live_(kernel.registers.size()) {}

  uint32_t Run() {
    Backward(k_.body);
    return most_;
  }

 private:
  uint32_t Words(RegId reg) const { return static_cast<uint32_t>(BytesOf(k_.registers[reg].type) + 3) / 4; }
  void Read(ExprId id) {
    ForEachExpr(k_, id, [&](const Expr& e) {
      if (e.op == Op::kReg) live_[e.value] = true;
    });
  }
  void Note() {
    uint32_t words = 0;
    for (RegId i = 0; i < live_.size(); ++i) words += live_[i] ? Words(i) : 0;
    most_ = std::max(most_, words);
  }
  void Merge(const std::vector<bool>& other) {
    for (size_t i = 0; i < live_.size(); ++i) live_[i] = live_[i] || other[i];
  }

  void Backward(const Block& block) {
    for (auto stmt = block.rbegin(); stmt != block.rend(); ++stmt) {
      if (const auto* branch = std::get_if<IfStmt>(&stmt->node)) {
        const std::vector<bool> after = live_;
        Backward(branch->then_body);
        const std::vector<bool> then = std::exchange(live_, after);
        Backward(branch->else_body);
        Merge(then);
      } else if (const auto* loop = std::get_if<ForStmt>(&stmt->node)) {
        // What is alive at the body's begin is alive at its end.
        const std::vector<bool> after = live_;
        for (std::vector<bool> before; before != live_;) {
          before = live_;
          Read(loop->end);
          live_[loop->var] = true;
          Backward(loop->body);
          Merge(before);
        }
        live_[loop->var] = false;
        Merge(after);
      } else if (const RegId dst = Written(*stmt); dst != kNoReg) {
        live_[dst] = false;
      }
      ForEachOperand(*stmt, [&](ExprId id) { Read(id); });
      Note();
    }
  }

  const Kernel& k_;
  std::vector<bool> live_;
  uint32_t most_ = 0;
};

}  // namespace

void CheckResources(const Kernel& k, const Limits& limits, Violations& out) {
  const auto require = [&](bool condition, std::string where, std::string message) {
    if (!condition) out.push_back({Rule::kResources, std::move(where), std::move(message)});
  };
  const bool fits = k.warps >= 1 && k.warps <= limits.max_threads / kWarpThreads;
  require(fits, "block", fmt::format("{} warps", k.warps));
  uint64_t shared = 0;
  for (const SharedArray& s : k.shared) shared += s.bytes;
  require(shared <= limits.max_shared_bytes, "shared memory",
          fmt::format("{} bytes of {}", shared, limits.max_shared_bytes));
  require(k.buffers.size() <= kMaxBuffers, "buffers", fmt::format("{} of {}", k.buffers.size(), kMaxBuffers));
  const auto count = [&](Scalar type) {
    return std::count_if(k.params.begin(), k.params.end(), [&](const Param& p) { return p.type == type; });
  };
  require(count(Scalar::kU32) <= kMaxU32Params, "parameters", "too many of u32");
  require(count(Scalar::kF32) <= kMaxF32Params, "parameters", "too many of f32");
  if (!fits) return;
  uint64_t words = limits.max_registers;
  if (k.min_blocks > 0)
    words = std::min<uint64_t>(words, kRegisterFile / (uint64_t{k.threads()} * k.min_blocks) / 8 * 8);
  const uint32_t live = Liveness(k).Run();
  require(live <= words, "registers", fmt::format("about {} words are alive at once, {} are allowed", live, words));
}

}  // namespace quern::kernels::ir::verify

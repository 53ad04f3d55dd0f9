// BlockRun: one block of the interpreter at work on one tile. Owns the tile's registers, masks and shared memory; the
// shadows of global memory belong to the launch and are shared by its tiles. Internal to kernels/ir; one thread.
//
// Each statement is executed for all threads before the next one, so the result is deterministic; the first broken rule
// ends the run. A value that nobody set is poison: within an expression it spreads, and a Select drops the arm that it
// does not take; a statement that needs a poisoned value (also Set) is a fault. It does not prove anything about other
// launches: that is the verifier's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/ir/evaluate.h"
#include "kernels/ir/memory.h"

namespace quern::kernels::ir {

class BlockRun {
 public:
  BlockRun(const Kernel& kernel, const std::vector<uint32_t>& params, std::vector<GlobalShadow>& global, uint32_t tile);

  Status Run();

 private:
  using Mask = std::vector<uint8_t>;
  // Asynchronous copies of a thread.
  struct Flight {
    uint32_t array;
    uint64_t offset;
  };
  struct ThreadFlights {
    std::vector<Flight> open;                 // not committed
    std::vector<std::vector<Flight>> groups;  // committed, oldest first
  };

  bool failed() const { return !state_.fault.empty(); }
  uint32_t threads() const { return kernel_.threads(); }
  bool active(uint32_t t) const { return state_.active[t] != 0; }
  Actor Self(uint32_t thread) const { return {state_.tile, thread, epochs_.block}; }

  void Run(const Block& block);
  // An operand that every active thread needs.
  Column Need(ExprId id, std::string_view what);
  void Assign(RegId dst, const Column& value);
  // The active threads whose predicate, if any, is true.
  Mask Allowed(ExprId predicate);
  // Active threads must agree as far as `uniform` claims.
  void CheckUniform(const Column& c, Uniform uniform, std::string_view what);
  // Every thread of a warp is active, or none; of the block: all.
  bool WholeWarps(std::string_view what);
  bool WholeBlock(std::string_view what);
  template <typename Source>
  void Shuffle(RegId dst, ExprId value, const Source& source);

  // block_run.cc: values and control.
  void Do(const SetStmt& s);
  void Do(const ForStmt& s);
  void Do(const IfStmt& s);
  void Do(const CommentStmt&) {}
  // block_exchange.cc: what the threads of a warp or block do together.
  void Do(const BarrierStmt& s);
  void Do(const WarpSyncStmt& s);
  void Do(const ShuffleXorStmt& s);
  void Do(const ShuffleIndexStmt& s);
  void Do(const MmaStmt& s);
  // block_memory.cc
  void Do(const LoadGlobalStmt& s);
  void Do(const StoreGlobalStmt& s);
  void Do(const LoadSharedStmt& s);
  void Do(const StoreSharedStmt& s);
  void Do(const AsyncCopyStmt& s);
  void Do(const AsyncCommitStmt& s);
  void Do(const AsyncWaitStmt& s);

  const Kernel& kernel_;
  BlockState state_;
  std::vector<GlobalShadow>& global_;
  std::vector<SharedMemory> shared_;
  Epochs epochs_;
  std::vector<ThreadFlights> flights_;
  const Stmt* broken_ = nullptr;  // the innermost statement that broke a rule
};

}  // namespace quern::kernels::ir

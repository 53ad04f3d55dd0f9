// Kernel: one generated kernel in the small IR that everything else reads: the verifier, the interpreter, and the
// emitters of CUDA, Metal and C++ text.
//
// Model of execution: a launch is a number of tiles; a block of `warps` * 32 threads works on one tile at a time and
// knows only the tile's number, never how many blocks there are. Registers are per thread, named, typed and mutable.
// Control flow is structured; loops have an upper bound; there are no pointers, calls, float atomics or early returns.
// Expressions are pure: memory is touched by statements only.
//
// A Kernel is a value. It is built by Builder, checked by Verify, and never changed afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kernels/ir/type.h"

namespace quern::kernels::ir {

inline constexpr uint32_t kWarpThreads = 32;

// ---- Expressions ------------------------------------------------------------------------------------------------
//
// What C++, PTX and MSL do not share is defined here, and emitters must force it:
//  * integers wrap; shifts are by less than the width; kShr is arithmetic on i32, logical on u32 and u64
//  * f32 operations round once to nearest even and keep subnormals; nothing is contracted
//  * kMin(a, b) is b < a ? b : a and kMax(a, b) is a < b ? b : a, for floats too: with a NaN, a is returned
//  * f32 -> i32 and u32 truncates, saturates, and makes 0 of NaN
//  * f32 -> f16 and bf16 rounds to nearest even, overflows to infinity, and makes 0x7FFF (f16, bf16) of NaN
//  * integer -> f32 rounds to nearest even; narrower integers truncate; pred -> u32 is 0 or 1
enum class Op : uint8_t {
  // Leaves.
  kConst,   // value: the bits, of any scalar type
  kReg,     // value: index of the register
  kParam,   // value: index of the parameter
  kThread,  // u32: 0 .. 32 * warps - 1
  kLane,    // u32: kThread mod 32
  kWarp,    // u32: kThread / 32; the same for the 32 threads of a warp
  kTile,    // u32: the tile at hand
  // Arithmetic: i32, u32, u64, f32 unless said otherwise; operands and result of one type.
  kAdd,
  kSub,
  kMul,
  kMulHigh,  // u32: the upper half of the 64-bit product
  kDiv,      // u32, u64: by a constant or parameter that is not 0; f32: IEEE
  kMod,      // u32, u64, likewise
  kMin,
  kMax,
  kAnd,  // and kOr, kXor, kNot also on pred
  kOr,
  kXor,
  kNot,
  kShl,  // the amount is u32
  kShr,
  kFma,    // f32 a * b + c, rounded once
  kSqrt,   // f32, correctly rounded
  kRound,  // f32 to the nearest integer, halves away from zero
  // Comparisons give pred; ordered: false with a NaN, except kNe.
  kEq,
  kNe,
  kLt,
  kLe,
  kSelect,  // pred ? a : b
  kCast,
  kBitcast,   // between types of one width
  kDp4aUS,    // i32: c + sum of 4 products of the unsigned bytes of a and the signed bytes of b
  kDp4aSS,    // i32: likewise, a signed
  kBytePerm,  // u32: byte i of the result is byte (c >> 4 i & 7) of the eight bytes of a (0..3) and b (4..7)
  kExtract,   // element `value` of a vector
  kVector,    // a vector of its arguments
};

using ExprId = uint32_t;
using RegId = uint32_t;
inline constexpr ExprId kNoExpr = ~ExprId{0};

struct Expr {
  Op op = Op::kConst;
  Type type;
  uint8_t num_args = 0;
  std::array<ExprId, 4> args{};
  uint64_t value = 0;
};

// ---- Statements -------------------------------------------------------------------------------------------------

struct Stmt;
using Block = std::vector<Stmt>;

// For which threads a condition or a loop's bounds are equal. A barrier may stand only under kBlock, a shuffle or Mma
// only under kWarp or kBlock (rule V3 proves the claim).
enum class Uniform : uint8_t { kThread, kWarp, kBlock };

// Read-once data should not displace what will be read again.
enum class Cache : uint8_t { kDefault, kStream };

struct SetStmt {
  RegId dst;
  ExprId value;
};
// for (var = begin; var < end; var += step): var is a u32 register that the body does not write, nor does it change the
// value of `end`.
struct ForStmt {
  RegId var;
  ExprId begin, end;
  uint32_t step;
  uint32_t unroll;  // a wish: 0 leaves it to the compiler, 1 forbids it
  Uniform uniform;
  Block body;
};
struct IfStmt {
  ExprId condition;
  Uniform uniform;
  Block then_body, else_body;
};
// dst = the value at byte `offset` (u32 or u64) of the buffer; zero where `predicate` (if any) is false. The offset is
// a multiple of the type's size.
struct LoadGlobalStmt {
  RegId dst;
  uint32_t buffer;
  ExprId offset;
  ExprId predicate;  // or kNoExpr
  Cache cache;
};
struct StoreGlobalStmt {
  uint32_t buffer;
  ExprId offset, value;
  ExprId predicate;
};
// Shared arrays are indexed in bytes too (u32).
struct LoadSharedStmt {
  RegId dst;
  uint32_t array;
  ExprId offset;
};
struct StoreSharedStmt {
  uint32_t array;
  ExprId offset, value;
  ExprId predicate;
};
struct BarrierStmt {};   // all threads of the block; orders shared and global memory among them
struct WarpSyncStmt {};  // the 32 threads of a warp; orders shared memory among them
// dst = value of lane (lane ^ mask), or of lane `source` (u32 < 32). All 32 lanes take part.
struct ShuffleXorStmt {
  RegId dst;
  ExprId value;
  uint32_t mask;
};
struct ShuffleIndexStmt {
  RegId dst;
  ExprId value, source;
};
// Copies 16 bytes from a buffer to a shared array without waiting; zeros where the predicate is false. Offsets are
// multiples of 16. Visible to the copying thread after AsyncWait, to others after the barrier that follows it.
struct AsyncCopyStmt {
  uint32_t array;
  ExprId shared_offset;
  uint32_t buffer;
  ExprId global_offset;
  ExprId predicate;
};
// Ends a group of the thread's copies. Every copy belongs to a group before the tile ends.
struct AsyncCommitStmt {};
struct AsyncWaitStmt {
  uint32_t pending;  // groups that may still be in flight
};

// d = a * b + c on a warp's matrices, held in registers in the layout that PTX documents for mma.sync. With
// g = lane / 4 and t = lane mod 4:
//   C, D 16x8 (32-bit):   element 2i + j of the vector is row g + 8i, column 2t + j
//   16-bit, k = 16:       A u32x4: word w holds row g + 8 (w mod 2), columns 8 (w / 2) + 2t and the next;
//                         B u32x2: word w holds rows 8w + 2t and the next, column g
//   8-bit, k = 32:        A u32x4: word w holds row g + 8 (w mod 2), columns 16 (w / 2) + 4t .. + 3;
//                         B u32x2: word w holds rows 16w + 4t .. + 3, column g
//   8-bit, k = 16:        A u32x2: word w holds row g + 8w, columns 4t .. + 3;  B u32: rows 4t .. + 3, column g
// Integer kinds are exact (i32, wrapping). The order of the 16-bit kinds' additions is the hardware's own: the class
// mma16 is bounded, not bitwise; interpreter and emulator add in increasing k in f32.
enum class MmaKind : uint8_t { kF16K16, kBF16K16, kU8S8K32, kS8S8K32, kU8S8K16, kS8S8K16 };
struct MmaStmt {
  MmaKind kind;
  RegId dst;  // f32x4 or i32x4
  ExprId a, b, c;
};
struct CommentStmt {
  std::string text;
};

struct Stmt {
  std::variant<SetStmt, ForStmt, IfStmt, LoadGlobalStmt, StoreGlobalStmt, LoadSharedStmt, StoreSharedStmt, BarrierStmt,
               WarpSyncStmt, ShuffleXorStmt, ShuffleIndexStmt, AsyncCopyStmt, AsyncCommitStmt, AsyncWaitStmt, MmaStmt,
               CommentStmt>
      node;
};

// ---- Kernel -----------------------------------------------------------------------------------------------------

// What fits the one argument record that every kernel takes (kernels/lower/device_text/qk_args.h).
inline constexpr uint32_t kMaxBuffers = 12, kMaxU32Params = 16, kMaxF32Params = 4;

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct Buffer {
  std::string name;
  Access access = Access::kRead;
  uint32_t align = 16;         // bytes; of its first byte
  ExprId min_bytes = kNoExpr;  // u64, over parameters only: what the host must have allocated
};

// A u32 or f32 of the launch. The range is part of the contract: the route refuses a launch outside of it, and the
// verifier's proofs hold within it.
struct Param {
  std::string name;
  Scalar type = Scalar::kU32;
  uint32_t min = 0, max = 0;  // of u32 parameters, inclusive
  uint32_t multiple_of = 1;
};

struct SharedArray {
  std::string name;
  uint32_t bytes = 0;  // a multiple of 16; every array begins at a multiple of 16
};

struct Register {
  std::string name;  // unique, a C identifier
  Type type;
};

struct Kernel {
  std::string id;              // "matmul.q4_0.qa8.rows8.mma.rp16.1f2e3d4c"
  std::string symbol;          // the id with '_' for '.'
  uint32_t warps = 1;          // per block
  uint32_t min_blocks = 0;     // per multiprocessor that registers must allow; 0: no wish
  ExprId num_tiles = kNoExpr;  // u32, over parameters only
  std::vector<Buffer> buffers;
  std::vector<Param> params;
  std::vector<SharedArray> shared;
  std::vector<Register> registers;
  std::vector<Expr> exprs;
  Block body;

  const Expr& expr(ExprId id_) const { return exprs[id_]; }
  uint32_t threads() const { return warps * kWarpThreads; }
  uint32_t shared_bytes() const;
  uint32_t shared_offset(uint32_t array) const;
};

// Deterministic text of the whole kernel, without its id: identity of the IR and what reviewers read.
std::string Dump(const Kernel& kernel);
// The line of one statement, without the statements inside it.
std::string DumpHead(const Kernel& kernel, const Stmt& stmt);
std::string_view NameOf(Op op);
std::string_view NameOf(MmaKind kind);
std::string_view NameOf(Uniform uniform);

}  // namespace quern::kernels::ir

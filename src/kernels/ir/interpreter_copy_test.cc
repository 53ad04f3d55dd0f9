// Asynchronous copies: their bytes belong to nobody until the wait, and to others only after a barrier that follows it.
// Each kernel passes, and fails after one change with a message that names the rule.
#include <cstdint>
#include <functional>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter_case.h"

namespace quern::kernels::ir {
namespace {

TEST(InterpreterCopy, CopyReadBeforeItsWait) {
  const auto copies = [](const std::function<void(Builder&, bool broken)>& wait) {
    ExpectCaught(
        {},
        [&](CaseBuilder& io, bool broken) {
          const uint32_t s = io.b.AddShared("s", 512);
          io.b.AsyncCopy(s, io.b.Lane() * 16, io.in, io.b.Wide(io.b.Lane()) * 16);
          wait(io.b, broken);
          io.Out(io.b.LoadShared("x", kU32, s, io.b.Lane() * 16));  // the thread's own: no barrier is needed
        },
        "thread 0: byte 0 is read before its asynchronous copy by thread 0 was waited for", "load of s to x");
  };
  copies([](Builder& b, bool broken) {
    b.AsyncCommit();
    if (!broken) b.AsyncWait(0);
  });
  copies([](Builder& b, bool broken) {
    b.AsyncCommit();
    b.AsyncWait(broken ? 1 : 0);  // one group may still be in flight
  });
  copies([](Builder& b, bool broken) {
    if (!broken) b.AsyncCommit();  // a copy that belongs to no group is not waited for
    b.AsyncWait(0);
  });
  copies([](Builder& b, bool broken) {
    b.AsyncCommit();
    if (broken)
      b.Barrier();  // a barrier is no wait
    else
      b.AsyncWait(0);
  });
}

TEST(InterpreterCopy, CopyReadByOthersBeforeTheBarrierAfterItsWait) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 1024);
        io.b.AsyncCopy(s, io.b.Thread() * 16, io.in, io.b.Wide(io.b.Thread()) * 16);
        io.b.AsyncCommit();
        if (broken) io.b.Barrier();
        io.b.AsyncWait(0);
        if (!broken) io.b.Barrier();
        io.b.LoadShared("x", kU32, s, (io.b.Thread() ^ 32) * 16);
      },
      "race: byte 512 was written by thread 32 with no barrier between", "load of s to x");
}

TEST(InterpreterCopy, CopyOverWhatIsStillUsed) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 512);
        const Value own = io.b.Lane() * 16;
        io.b.StoreShared(s, own, io.b.Lane());
        io.b.Barrier();
        io.b.LoadShared("x", kU32, s, own ^ 16);
        if (!broken) io.b.Barrier();
        io.b.AsyncCopy(s, own, io.in, io.b.Wide(own));
        io.b.AsyncCommit();
      },
      "thread 0: race: byte 0 was read by thread 1 with no barrier between", "asynchronous copy to s");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 512);
        const Value own = io.b.Lane() * 16;
        io.b.AsyncCopy(s, own, io.in, io.b.Wide(own));
        io.b.AsyncCommit();
        if (!broken) io.b.AsyncWait(0);
        io.b.StoreShared(s, own, io.b.Lane());
      },
      "thread 0: race: byte 0 is being copied by thread 0", "store to s");
}

// A copy whose predicate is false writes zeros all the same: it too must be waited for.
TEST(InterpreterCopy, CopyOfZerosIsWaitedFor) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 512);
        io.b.AsyncCopy(s, io.b.Lane() * 16, io.in, io.b.U64(1 << 20), io.b.Pred(false));
        io.b.AsyncCommit();
        if (!broken) io.b.AsyncWait(0);
        io.b.LoadShared("x", kU32, s, io.b.Lane() * 16);
      },
      "is read before its asynchronous copy by thread 0 was waited for", "load of s to x");
}

// Nobody waits for a copy that is in no group, so it could land in the memory of the next tile.
TEST(InterpreterCopy, CopyThatIsNeverCommitted) {
  for (const bool committed : {true, false}) {
    const CaseRun run = RunCase({}, [&](CaseBuilder& io) {
      io.b.AsyncCopy(io.b.AddShared("s", 512), io.b.Lane() * 16, io.in, io.b.U64(0));
      if (committed) io.b.AsyncCommit();
    });
    EXPECT_EQ(run.error, committed ? ""
                                   : "kernel : tile 0, thread 0: the tile ends with asynchronous copies that were not "
                                     "committed");
  }
}

}  // namespace
}  // namespace quern::kernels::ir

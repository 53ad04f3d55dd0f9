// One small kernel and its run, for the tests of the interpreter: three buffers of 4 KiB (read, write, read and write)
// whose words are their own indices, or 0xA5A5A5A5 in the output.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/builder.h"
#include "kernels/ir/interpreter.h"

namespace quern::kernels::ir {

inline constexpr uint32_t kCaseWords = 1024, kUntouched = 0xA5A5A5A5u;

// The kernel under construction: a body says io.b.Store(io.out, ...).
struct CaseBuilder {
  Builder b;
  uint32_t in = 0, out = 0, both = 0;
  explicit CaseBuilder(uint32_t warps) : b({.warps = warps}) {
    in = b.AddBuffer("in", Access::kRead, b.U64(kCaseWords * 4));
    out = b.AddBuffer("out", Access::kWrite, b.U64(kCaseWords * 4));
    both = b.AddBuffer("both", Access::kReadWrite, b.U64(kCaseWords * 4));
  }
  Value Word(Value index) { return b.Wide(index) * 4; }             // the offset of a word
  void Out(Value value) { b.Store(out, Word(b.Thread()), value); }  // one word for each thread
  Value In(std::string_view name = "x") { return b.Load(name, kU32, in, Word(b.Thread())); }
};

struct CaseRun {
  std::string error;  // empty when all went well
  std::vector<uint32_t> out, both;
};

struct CaseOptions {
  uint32_t warps = 1, tiles = 1;
  uint64_t seed = 0;
};

inline CaseRun RunCase(CaseOptions options, const std::function<void(CaseBuilder&)>& body) {
  CaseBuilder io(options.warps);
  body(io);
  const Kernel kernel = std::move(io.b).Finish(io.b.U32(options.tiles));
  std::vector<uint32_t> in(kCaseWords);
  std::iota(in.begin(), in.end(), 0);
  CaseRun run{{}, std::vector<uint32_t>(kCaseWords, kUntouched), in};
  Launch launch;
  launch.seed = options.seed;
  for (std::vector<uint32_t>* words : {&in, &run.out, &run.both})
    launch.buffers.push_back(std::as_writable_bytes(std::span(*words)));
  if (const Status status = Interpret(kernel, launch); !status) run.error = status.error().message;
  return run;
}

// The kernel passes; with its one change it fails, and the message names the rule and the place.
inline void ExpectCaught(CaseOptions options, const std::function<void(CaseBuilder&, bool broken)>& body,
                         const std::string& rule, const std::string& place) {
  EXPECT_EQ(RunCase(options, [&](CaseBuilder& io) { body(io, false); }).error, "") << "the good kernel";
  const std::string error = RunCase(options, [&](CaseBuilder& io) { body(io, true); }).error;
  EXPECT_NE(error.find(rule), std::string::npos) << "not named: " << rule << "\nin: " << error;
  EXPECT_NE(error.find("(at " + place + ")"), std::string::npos) << "not named: " << place << "\nin: " << error;
}

}  // namespace quern::kernels::ir

#include "ops/program/arena_plan.h"

#include <algorithm>
#include <limits>

namespace quern::ops {
namespace {

constexpr int64_t kAlignFloats = 16;

struct Life {
  int value = 0;
  int64_t first = std::numeric_limits<int64_t>::max();  // operation that first touches it
  int64_t last = -1;                                    // and the last one
  int64_t size_floats = 0;
};

}  // namespace

ArenaPlan PlanArena(const Program& program, int64_t max_rows, int64_t max_kept) {
  std::vector<Life> lives(program.values.size());
  const auto touch = [&](Value value, int64_t at) {
    Life& life = lives[value.id];
    life.first = std::min(life.first, at);
    life.last = std::max(life.last, at);
  };
  for (size_t at = 0; at < program.ops.size(); ++at) {
    const OpUses uses = UsesOf(program.ops[at]);
    for (const Value value : uses.reads) touch(value, static_cast<int64_t>(at));
    for (const Value value : uses.writes) touch(value, static_cast<int64_t>(at));
  }
  for (size_t i = 0; i < lives.size(); ++i) {
    const ValueSpec& spec = program.values[i];
    const int64_t rows = spec.rows == RowGroup::kAll ? max_rows : max_kept;
    lives[i].value = static_cast<int>(i);
    lives[i].size_floats = (spec.width * rows + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
    if (spec.is_output && lives[i].last >= 0) lives[i].last = std::numeric_limits<int64_t>::max();
  }

  // First fit, largest values first: each takes the lowest place that no value alive at the same time occupies.
  ArenaPlan plan;
  plan.offset_floats.assign(lives.size(), -1);
  std::erase_if(lives, [](const Life& life) { return life.last < 0; });
  std::ranges::stable_sort(lives, [](const Life& a, const Life& b) { return a.size_floats > b.size_floats; });
  std::vector<const Life*> placed;
  for (const Life& life : lives) {
    std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end) in floats
    for (const Life* other : placed) {
      if (other->first > life.last || other->last < life.first) continue;
      const int64_t begin = plan.offset_floats[other->value];
      taken.emplace_back(begin, begin + other->size_floats);
    }
    std::ranges::sort(taken);
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= life.size_floats) break;
      offset = std::max(offset, end);
    }
    plan.offset_floats[life.value] = offset;
    plan.size_floats = std::max(plan.size_floats, offset + life.size_floats);
    placed.push_back(&life);
  }
  return plan;
}

}  // namespace quern::ops

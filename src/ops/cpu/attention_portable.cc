#include "ops/cpu/vector_portable-inl.h"
// The body below is written in the vectors above.
#include "ops/cpu/attention-inl.h"

namespace quern::ops::cpu {

void AttentionRunPortable(const QueryRun& run, const AttentionScratch& scratch) { AttendRun(run, scratch); }

}  // namespace quern::ops::cpu

#include "ops/cpu/vector_avx2-inl.h"
// The body below is written in the vectors above.
#include "ops/cpu/attention-inl.h"

namespace quern::ops::cpu {

void AttentionRunAvx2(const QueryRun& run, const AttentionScratch& scratch) { AttendRun(run, scratch); }

}  // namespace quern::ops::cpu

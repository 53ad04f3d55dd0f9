#include "kernels/ir/gen/generate.h"

#include "kernels/ir/gen/matmul_mma_i8.h"
#include "kernels/ir/gen/quantize_rows.h"

namespace quern::kernels::ir::gen {

Result<Kernel> Generate(const Descriptor& descriptor, const Schedule& schedule) {
  switch (descriptor.family) {
    case Family::kMatmul:
      return MatmulMmaI8(descriptor, schedule);
    case Family::kQuantizeRows:
      return QuantizeRows(descriptor, schedule);
    default:
      return Fail(Code::kUnsupported, "no generator makes kernels of the family {}", NameOf(descriptor.family));
  }
}

}  // namespace quern::kernels::ir::gen

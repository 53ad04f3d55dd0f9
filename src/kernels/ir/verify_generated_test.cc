// The verifier accepts every kernel of the catalogue, with the ranges that the catalogue declares.
#include <gtest/gtest.h>

#include "kernels/descriptor/catalogue.h"
#include "kernels/ir/gen/generate.h"
#include "kernels/ir/verify.h"

namespace quern::kernels::ir {
namespace {

TEST(VerifyGenerated, TheCatalogueIsAccepted) {
  for (const CatalogueEntry& entry : Catalogue()) {
    const Result<Kernel> kernel = gen::Generate(entry.descriptor, entry.schedule);
    ASSERT_TRUE(kernel.has_value());
    for (const Violation& v : Verify(*kernel)) {
      ADD_FAILURE() << kernel->id << ": " << CodeOf(v.rule) << " at " << v.where << ": " << v.message;
    }
  }
}

}  // namespace
}  // namespace quern::kernels::ir

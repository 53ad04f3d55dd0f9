// The catalogue: which kernels quern ships. The only list of them; artifacts, evidence and routes follow from it.
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor/descriptor.h"

namespace quern::kernels {

struct CatalogueEntry {
  Descriptor descriptor;
  Schedule schedule;

  // Kernels of one family and format share a file: "matmul_q4_0".
  std::string file() const;
};

// In a fixed order: by family, then format, then schedule.
std::vector<CatalogueEntry> Catalogue();

// y = x W^T of class dot-i8 over panels rp16, for K in multiples of 256 or 32 (256 for formats with scales per 256
// values).
Descriptor Rp16MatmulDescriptor(DType format, uint32_t k_multiple);
Descriptor QuantizeRowsDescriptor();

}  // namespace quern::kernels

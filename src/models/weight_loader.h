// WeightLoader: names to program weights while a model builds its step. Collects the names that are missing, so that
// one error lists them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/tensor_table.h"
#include "ops/program/program.h"

namespace quern::models {

class WeightLoader {
 public:
  WeightLoader(const TensorTable& tensors, ops::ProgramBuilder* builder) : tensors_(tensors), builder_(builder) {}

  // Missing: remembered, an invalid handle returned; status() tells.
  ops::Weight Matrix(std::string_view name) { return Need(name, ops::WeightUse::kMatrix, 0); }
  ops::Weight Table(std::string_view name) { return Need(name, ops::WeightUse::kTable, 0); }
  ops::Weight Vector(std::string_view name, float offset = 0) { return Need(name, ops::WeightUse::kVector, offset); }
  // Missing is fine: an invalid handle.
  ops::Weight OptionalVector(std::string_view name) { return Has(name) ? Vector(name) : ops::Weight{}; }
  bool Has(std::string_view name) const { return tensors_.Find(name) != nullptr; }

  Status status() const {
    if (missing_.empty()) return {};
    std::string names = missing_.front();
    for (size_t i = 1; i < missing_.size() && i < 5; ++i) names += ", " + missing_[i];
    return Fail(Code::kCorrupt, "{} tensor(s) missing: {}{}", missing_.size(), names,
                missing_.size() > 5 ? ", ..." : "");
  }

 private:
  ops::Weight Need(std::string_view name, ops::WeightUse use, float offset) {
    const TensorView* view = tensors_.Find(name);
    if (view == nullptr) {
      missing_.emplace_back(name);
      return {};
    }
    return builder_->AddWeight(name, *view, use, offset);
  }

  const TensorTable& tensors_;
  ops::ProgramBuilder* builder_;
  std::vector<std::string> missing_;
};

}  // namespace quern::models

#include "golden_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "models/registry.h"

namespace quern::golden {
namespace {

std::string FullPath(const std::string& folder) { return std::string(QUERN_SOURCE_DIR) + "/" + folder; }

template <typename T>
bool Take(Result<T> result, T* out) {
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().ToString());
  if (!result) return false;
  *out = std::move(*result);
  return true;
}

}  // namespace

std::unique_ptr<GoldenModel> GoldenModel::Open(const std::string& folder, const ModelOptions& options) {
  auto model = std::make_unique<GoldenModel>();
  if (!Take(models::OpenCheckpoint(FullPath(folder)), &model->checkpoint_)) return nullptr;
  if (!Take(models::MakeDecoder(model->checkpoint_), &model->decoder_)) return nullptr;
  ops::Program program;
  if (!Take(model->decoder_->BuildProgram({options.capture_hidden}), &program)) return nullptr;
  model->program_ = std::make_shared<const ops::Program>(std::move(program));
  device::cpu::CpuDeviceOptions device_options;
  device_options.num_threads = options.threads;
  device_options.isa = options.isa;
  model->device_ = std::make_unique<device::cpu::CpuDevice>(device_options);
  ops::ExecutorOptions executor_options;
  executor_options.max_rows = executor_options.max_kept = options.chunk;
  executor_options.numerics = options.numerics;
  if (!Take(ops::MakeCpuExecutor(model->program_, *model->device_, executor_options), &model->executor_))
    return nullptr;
  runtime::KvCacheOptions cache_options;
  cache_options.dtype = options.kv_dtype;
  cache_options.context = options.context;
  cache_options.max_step_rows = options.chunk;
  if (!Take(runtime::KvCache::Create(model->program_->kv, cache_options), &model->cache_)) return nullptr;
  model->stepper_ = std::make_unique<runtime::Stepper>(*model->executor_, *model->program_, *model->cache_,
                                                       options.chunk, options.chunk);
  return model;
}

std::vector<float> GoldenModel::LastLogits(std::span<const int32_t> ids, int n) {
  std::vector<int32_t> kept(n);
  std::iota(kept.begin(), kept.end(), static_cast<int32_t>(ids.size()) - n);
  std::vector<float> logits;
  auto sequence = cache_->NewSequence();
  const Status status =
      stepper_->Append(&*sequence, ids, kept, nullptr, [&](size_t, std::span<const float> rows) -> Status {
        logits.insert(logits.end(), rows.begin(), rows.end());
        return {};
      });
  EXPECT_TRUE(status.has_value()) << status.error().ToString();
  return logits;
}

std::vector<int32_t> GoldenModel::Greedy(std::span<const int32_t> ids, int n) {
  auto sequence = cache_->NewSequence();
  std::vector<int32_t> generated;
  std::vector<int32_t> next(ids.begin(), ids.end());
  while (static_cast<int>(generated.size()) < n) {
    const auto logits = stepper_->AppendForLast(&*sequence, next, nullptr);
    if (!logits) {
      ADD_FAILURE() << logits.error().ToString();
      break;
    }
    generated.push_back(static_cast<int32_t>(std::ranges::max_element(*logits) - logits->begin()));
    next = {generated.back()};
  }
  return generated;
}

GoldenValues::GoldenValues(const std::string& folder) {
  EXPECT_TRUE(Take(format::OpenSafetensors(FullPath(folder) + "/golden.safetensors"), &file_));
}

std::vector<float> GoldenValues::Floats(const std::string& name) const {
  const TensorView* view = file_.tensors.Find(name);
  EXPECT_NE(view, nullptr) << name;
  if (view == nullptr || view->dtype != DType::kF32) return {};
  std::vector<float> values(view->shape.num_elems());
  std::memcpy(values.data(), view->data, values.size() * sizeof(float));
  return values;
}

std::vector<int32_t> GoldenValues::Ints(const std::string& name) const {
  const TensorView* view = file_.tensors.Find(name);
  EXPECT_NE(view, nullptr) << name;
  if (view == nullptr || view->dtype != DType::kI32) return {};
  std::vector<int32_t> values(view->shape.num_elems());
  std::memcpy(values.data(), view->data, values.size() * sizeof(int32_t));
  return values;
}

double RelativeRms(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  if (a.size() != b.size()) return INFINITY;
  double difference = 0, reference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    reference += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / reference);
}

}  // namespace quern::golden

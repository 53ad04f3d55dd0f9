// Model::Impl: everything a loaded model owns, in the order in which it must be destroyed (last member first), and the
// step lock.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "quern/model.h"

#include "device/cpu/cpu_device.h"
#include "models/checkpoint.h"
#include "models/decoder.h"
#include "ops/program/executor.h"
#include "runtime/kv/kv_cache.h"
#include "runtime/scheduler/stepper.h"
#include "text/chat_format.h"
#include "text/tokenizer.h"

namespace quern {

class Model::Impl {
 public:
  ModelInfo info;
  models::Checkpoint checkpoint;
  models::GenerationDefaults defaults;
  std::shared_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<text::ChatFormat> chat_format;  // null: a base model, raw prompts only
  std::string chat_refusal;                       // why there is no chat format
  std::unique_ptr<models::Decoder> decoder;
  std::unique_ptr<device::cpu::CpuDevice> device;
  std::shared_ptr<const ops::Program> program;
  std::unique_ptr<ops::Executor> executor;
  std::unique_ptr<runtime::KvCache> cache;
  std::unique_ptr<runtime::Stepper> stepper;

  // Held for a whole request: sequences and steps belong to one caller at a time.
  std::mutex mutex;
};

namespace engine {

// What a checkpoint says about text: shared by Model and TextModel.
struct TextParts {
  std::shared_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<text::ChatFormat> chat_format;
  std::string chat_refusal;
};
Result<TextParts> LoadText(const models::Checkpoint& checkpoint, const models::GenerationDefaults& defaults);

// Logits of one step, [kept rows, V] f32, stay within this many bytes.
inline constexpr int64_t kLogitsBytes = int64_t{64} << 20;
int MaxKeptRows(int64_t vocab_size, int max_step_rows);

// LoadOptions::context as positions: 0 is the default, -1 the model's limit.
int64_t EffectiveContext(int64_t asked, int64_t limit);

}  // namespace engine
}  // namespace quern

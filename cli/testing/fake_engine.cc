// The public API answered with canned text, so that the command line can be tested without weights and with failures at
// will.
//
// Model references: "fake", "missing", "corrupt", "unsupported", "huge" (memory), "slow-load", "other" (slow to
// measure). What the newest user
// message begins with selects the answer: "slow" streams words every 10 ms until stopped, "long N" gives N words,
// "think" thinks first, "only-think" shows nothing, "escape" emits control characters, "tool" calls a tool, "fail" and
// "oom" are errors, "system" repeats the system message, "turns" counts user messages; everything else is echoed. A
// token is a word; a message costs one more.
#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "quern/alias.h"
#include "quern/bench.h"
#include "quern/convert.h"
#include "quern/doctor.h"
#include "quern/generate.h"
#include "quern/inspect.h"
#include "quern/perplexity.h"
#include "quern/tokenize.h"
#include "quern/version.h"

#include "cli/status.h"

namespace quern {

using cli::Fail;

class Model::Impl {
 public:
  ModelInfo info;
};

namespace {

constexpr int kVocabSize = 1000;
constexpr std::chrono::milliseconds kTokenTime{10};

int64_t CountWords(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::string word;
  int64_t count = 0;
  while (stream >> word) ++count;
  return count;
}

int64_t CountTokens(std::span<const ChatMessage> messages) {
  int64_t count = 1;
  for (const ChatMessage& message : messages) count += 1 + CountWords(message.content);
  return count;
}

class FakeSession final : public Session {
 public:
  int64_t num_tokens() const override { return num_tokens_; }
  void Clear() override { num_tokens_ = 0; }
  void Hold(int64_t tokens) { num_tokens_ = tokens; }

 private:
  int64_t num_tokens_ = 0;
};

struct Script {
  std::string thinking, text;
  bool slow = false, tool_call = false;
};

std::string Words(int64_t count) {
  std::string text;
  for (int64_t i = 1; i <= count; ++i) text += fmt::format("{}word{}", i == 1 ? "" : " ", i);
  return text;
}

Script ScriptFor(const GenerateRequest& request) {
  if (request.text) return {.text = "raw: " + *request.text};
  std::string user, system;
  int num_users = 0;
  for (const ChatMessage& message : request.messages) {
    if (message.role == ChatRole::kSystem) system = message.content;
    if (message.role != ChatRole::kUser) continue;
    user = message.content;
    ++num_users;
  }
  if (user.starts_with("slow")) return {.text = Words(3000), .slow = true};
  if (user.starts_with("long ")) return {.text = Words(std::stoll(user.substr(5)))};
  if (user.starts_with("think")) return {.thinking = "let me see", .text = "the answer"};
  if (user.starts_with("only-think")) return {.thinking = "hm hm hm"};
  if (user.starts_with("escape"))
    return {.text =
                "a\x1b[31mb\x07 \xc2\x9b"
                "c"};
  if (user.starts_with("tool")) return {.text = "", .tool_call = true};
  if (user.starts_with("system")) return {.text = "system is <" + system + ">"};
  if (user.starts_with("turns")) return {.text = fmt::format("turns {}", num_users)};
  if (user.starts_with("seed")) return {.text = fmt::format("seed {}", request.sampling.seed.value_or(7))};
  return {.text = "echo: " + user};
}

// Emits words with their spaces, counting tokens; false when stopped.
struct Emitter {
  const GenerateRequest& request;
  const DeltaFn& on_delta;
  GenerateResult& result;

  bool Emit(Delta::Kind kind, const std::string& text, bool slow) {
    for (size_t at = 0; at < text.size();) {
      const size_t space = text.find(' ', at);
      const size_t end = space == std::string::npos ? text.size() : space + 1;
      if (request.cancel != nullptr && request.cancel->load()) return Stop(FinishReason::kInterrupted);
      if (request.max_tokens >= 0 && result.stats.generated_tokens >= request.max_tokens)
        return Stop(FinishReason::kLength);
      if (slow) std::this_thread::sleep_for(kTokenTime);
      ++result.stats.generated_tokens;
      const std::string piece = text.substr(at, end - at);
      (kind == Delta::Kind::kText ? result.message.content : result.message.thinking) += piece;
      if (kind == Delta::Kind::kThinking) ++result.stats.thinking_tokens;
      result.ids.push_back(static_cast<TokenId>(result.ids.size()));
      if (request.logprobs > 0) result.logprobs.push_back({1, piece, -0.5f, {{1, -0.5f}}});
      if (!on_delta({.kind = kind, .text = piece, .num_tokens = result.stats.generated_tokens})) {
        return Stop(FinishReason::kInterrupted);
      }
      at = end;
    }
    return true;
  }
  bool Stop(FinishReason reason) {
    result.finish = reason;
    return false;
  }
};

class FakeTextModel final : public TextModel {
 public:
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<TokenId> ids;
    if (options.add_bos) ids.push_back(2);
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + 10);
    return ids;
  }
  Result<std::vector<TokenId>> EncodeChat(std::span<const ChatMessage> messages,
                                          const ChatOptions& options) const override {
    QUERN_ASSIGN_OR_RETURN(const std::string text, RenderChat(messages, options));
    return Encode(text, {});
  }
  Result<std::string> RenderChat(std::span<const ChatMessage> messages, const ChatOptions&) const override {
    std::string text;
    for (const ChatMessage& message : messages) text += "<turn>" + message.content;
    return text;
  }
  Result<std::string> Decode(std::span<const TokenId> ids, bool show_special) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id < 0 || id >= kVocabSize)
        return Fail(Code::kInvalidArgument, "token {} is outside the vocabulary of {}", id, kVocabSize);
      if (id >= 10 || show_special) text += Piece(id);
    }
    return text;
  }
  std::string Piece(TokenId id) const override {
    return id == 2 ? "<bos>" : id >= 10 && id < 266 ? std::string(1, static_cast<char>(id - 10)) : "<unused>";
  }
  int vocab_size() const override { return kVocabSize; }
};

bool Report(const ProgressFn& progress, const Progress& state) { return !progress || progress(state); }

// Long enough for the display to speak.
Status CountSlowly(const ProgressFn& progress, std::string_view stage, std::string_view unit) {
  constexpr int kSteps = 40;
  for (int step = 0; step < kSteps; ++step) {
    std::this_thread::sleep_for(2 * kTokenTime);
    if (!Report(progress, {stage, step, kSteps, unit})) return Fail(Code::kCancelled, "interrupted");
  }
  return {};
}

ConvertResult Plan() {
  return {.plan = {{"blk.0.ffn_down.weight", {64, 32}, "BF16", "Q4_0", "", 1152},
                   {"norm", {64}, "F32", "F32", "a norm", 256}},
          .bytes_before = 4352,
          .bytes_after = 1408};
}

}  // namespace

BuildInfo GetBuildInfo() { return {"0.1.0", "unknown", "g++", {"cpu avx2"}, "Release"}; }

Result<ModelFile> ResolveModel(std::string_view reference, const ResolveOptions&) {
  QUERN_ASSIGN_OR_RETURN(const std::optional<Alias> alias, FindAlias(DefaultAliasPath(), reference));
  const std::string target = alias && !alias->built_in ? alias->reference : std::string(reference);
  for (const char* known : {"fake", "other", "corrupt", "unsupported", "huge", "slow-load"}) {
    if (target == known) return ModelFile{.path = "/models/" + target, .reference = std::string(reference)};
  }
  return WithHint(Fail(Code::kNotFound, "no model \"{}\"", reference), "quern pull " + std::string(reference));
}
Result<ModelFile> FindDemoModel() {
  return ModelFile{.path = "/models/fake", .reference = "gemma4-nano", .is_demo = true};
}
Result<std::vector<ListedModel>> ListModels(const ResolveOptions&) {
  return std::vector<ListedModel>{
      {"fake", "Q4_0", "abcdef01", "/models/fake", "generate", "complete", 1 << 20, 1700000000},
      {"half", "BF16", "", "/models/half", "generate", "partial", 1 << 30, 0},
      {"vectors", "F16", "", "/models/vectors", "embed", "complete", 1 << 10, 0}};
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;
const ModelInfo& Model::info() const { return impl_->info; }
std::vector<Route> Model::Routes() const {
  return {{"blk.0.attn_q.weight", "Q4_0", "q4_0_avx2", "exact", "first choice"}};
}

Result<std::shared_ptr<Model>> Model::Load(const ModelFile& file, const LoadOptions& options) {
  if (file.path == "/models/corrupt") return Fail(Code::kCorrupt, "/models/corrupt: the header is cut off at byte 12");
  if (file.path == "/models/unsupported") return Fail(Code::kUnsupported, "architecture \"mamba\" is not supported");
  if (file.path == "/models/huge") return Fail(Code::kResourceExhausted, "the model needs 90 GiB, the budget is 8 GiB");
  if (options.device != "auto" && options.device != "cpu") {
    return Fail(Code::kUnsupported, "device \"{}\" is not in this build", options.device);
  }
  for (int step = 0; file.path == "/models/slow-load" && step < 500; ++step) {
    std::this_thread::sleep_for(kTokenTime);
    if (!Report(options.progress, {"prepare", step << 20, 500 << 20}))
      return Fail(Code::kCancelled, "loading was interrupted");
  }
  auto impl = std::make_unique<Impl>();
  impl->info = {.reference = file.reference,
                .path = file.path,
                .architecture = "gemma4",
                .name = "Fake",
                .quantization = "Q4_0",
                .device = "cpu, 2 threads",
                .chat_format = "gemma4"};
  impl->info.context_limit = 131072;
  impl->info.context = options.context == 0 ? 8192 : options.context < 0 ? 131072 : options.context;
  impl->info.num_layers = 2;
  impl->info.vocab_size = kVocabSize;
  impl->info.load_seconds = 0.01;
  impl->info.sampling = {.temperature = 1.0f, .top_p = 0.95f, .top_k = 64};
  return std::shared_ptr<Model>(new Model(std::move(impl)));
}

Result<std::unique_ptr<Session>> NewSession(const std::shared_ptr<Model>&) { return std::make_unique<FakeSession>(); }

Result<std::vector<TokenId>> PromptTokens(const std::shared_ptr<Model>&, const GenerateRequest& request) {
  return std::vector<TokenId>(static_cast<size_t>(CountTokens(request.messages)), 1);
}

Result<GenerateResult> Generate(const std::shared_ptr<Model>& model, Session* session, const GenerateRequest& request,
                                const DeltaFn& on_delta) {
  QUERN_TRY(Validate(request.sampling));
  const std::string user = request.messages.empty() ? "" : request.messages.back().content;
  if (user.starts_with("fail")) return Fail(Code::kInternal, "the engine failed as asked");
  if (user.starts_with("oom"))
    return WithHint(Fail(Code::kResourceExhausted, "no memory for the cache"), "lower --ctx");
  auto* held = static_cast<FakeSession*>(session);
  GenerateResult result;
  result.message.role = ChatRole::kAssistant;
  result.seed = request.sampling.seed.value_or(7);
  result.stats.prompt_tokens = CountTokens(request.messages);
  if (held != nullptr) result.stats.cached_tokens = std::min(held->num_tokens(), result.stats.prompt_tokens - 1);
  const auto start = std::chrono::steady_clock::now();
  const Script script = ScriptFor(request);
  Emitter emitter{request, on_delta, result};
  if (emitter.Emit(Delta::Kind::kThinking, script.thinking, script.slow)) {
    emitter.Emit(Delta::Kind::kText, script.text, script.slow);
  }
  if (script.tool_call) {
    result.message.tool_calls.push_back({"call_1", "get_weather", R"({"city":"Paris"})"});
    result.finish = FinishReason::kToolCalls;
    on_delta({.kind = Delta::Kind::kToolCall, .tool_call = result.message.tool_calls.back()});
  }
  result.stats.decode_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() + 1e-3;
  result.stats.prefill_seconds = result.stats.first_token_seconds = 1e-3;
  result.stats.context = model->info().context;
  result.stats.context_used = result.stats.prompt_tokens + result.stats.generated_tokens;
  if (held != nullptr) held->Hold(result.stats.context_used);
  return result;
}

Result<EvaluatedLogits> EvaluateLogits(const std::shared_ptr<Model>&, std::span<const TokenId>,
                                       std::span<const int32_t>) {
  return Fail(Code::kUnsupported, "the fake engine has no logits");
}

Result<std::shared_ptr<const TextModel>> TextModel::Load(const ModelFile& file) {
  if (file.path == "/models/corrupt") return Fail(Code::kCorrupt, "/models/corrupt: no tokenizer");
  return std::make_shared<const FakeTextModel>();
}

Result<InspectedModel> InspectModel(const ModelFile& file) {
  if (file.path == "/models/corrupt") return Fail(Code::kCorrupt, "/models/corrupt: the header is cut off at byte 12");
  return InspectedModel{
      .format = "GGUF v3",
      .architecture = "gemma4",
      .name = "Fake\x1b[31m",
      .quantization = "Q4_0",
      .num_parameters = 1'000'000,
      .file_bytes = 1 << 20,
      .facts = {{"layers", "2"}},
      .metadata = {{"general.name", "\"Fake\""}, {"tokens", "[\"a\", ...]"}},
      .tensors = {{"blk.0.attn_q.weight", "Q4_0", {64, 64}, 2304}, {"output_norm.weight", "F32", {64}, 256}},
      .chat_template = "{{ messages }}",
      .license = "apache-2.0"};
}
Result<std::string> InspectMetadata(const ModelFile&, std::string_view key) {
  if (key != "general.name") return Fail(Code::kNotFound, "no metadata \"{}\"", key);
  return std::string("\"Fake\"");
}
Result<MemoryNeed> EstimateMemory(const ModelFile&, int64_t context, int sequences) {
  return MemoryNeed{1 << 20, 1 << 20, std::max<int64_t>(context, 1) * sequences, 1 << 10};
}
Result<std::vector<std::pair<std::string, std::string>>> HashModel(const ModelFile&) {
  return std::vector<std::pair<std::string, std::string>>{{"model.gguf", std::string(64, 'a')}};
}

Result<ConvertResult> ConvertModel(const ModelFile&, const std::string& destination, const ConvertOptions&) {
  if (destination == "exists") return Fail(Code::kInvalidArgument, "exists: the destination exists");
  if (destination == "full") return Fail(Code::kResourceExhausted, "full: the disk is full after 12 bytes");
  return Plan();
}
Result<ConvertResult> QuantizeModel(const ModelFile& file, const std::string& destination,
                                    const ConvertOptions& options) {
  return ConvertModel(file, destination, options);
}

Result<PerplexityResult> MeasurePerplexity(const std::shared_ptr<Model>& model, std::string_view text,
                                           const PerplexityOptions& options) {
  if (model->info().path == "/models/other") QUERN_TRY(CountSlowly(options.progress, "perplexity", "chunks"));
  return PerplexityResult{.perplexity = 12.5, .standard_error = 0.25, .scored_tokens = CountWords(text), .chunks = 1};
}
Result<PerplexityResult> MeasurePerplexityOfTokens(const std::shared_ptr<Model>& model, std::span<const TokenId>,
                                                   const PerplexityOptions& options) {
  return MeasurePerplexity(model, "", options);
}

Result<BenchReport> RunBench(const std::shared_ptr<Model>& model, const BenchOptions& options) {
  if (model->info().path == "/models/other") QUERN_TRY(CountSlowly(options.progress, "bench", "runs"));
  BenchReport report{.peak_memory_bytes = 1 << 20, .prompt_hash = "feed"};
  for (const int64_t tokens : options.prompt_tokens) {
    report.rows.push_back({"pp", tokens, 0, {200, 210}, 205, 200, 210, 5, ""});
  }
  for (const int64_t tokens : options.generate_tokens)
    report.rows.push_back({"tg", tokens, 0, {20, 21}, 20.5, 20, 21, 0.5, "beef"});
  return report;
}

std::vector<DoctorCheck> RunDoctor(const Config& config, const std::optional<Error>& config_error,
                                   const ResolveOptions&) {
  std::vector<DoctorCheck> checks = {{DoctorCheck::State::kOk, "cpu", "2 processors", ""}};
  if (config_error) checks.push_back({DoctorCheck::State::kFail, "configuration", config_error->message, ""});
  if (config.Get("store.models_dir") == "/nowhere") {
    checks.push_back({DoctorCheck::State::kFail, "models", "/nowhere is missing", "create it"});
  }
  return checks;
}

}  // namespace quern

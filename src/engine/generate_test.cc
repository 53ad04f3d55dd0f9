// The engine from the public API down, on the demo checkpoints: golden replies, reuse of prefixes, limits and
// interruptions.
#include "quern/generate.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "quern/tokenize.h"

#include "base/file.h"
#include "base/json.h"

namespace quern {
namespace {

std::shared_ptr<Model> LoadDemo(const std::string& name, LoadOptions options = {}) {
  ModelFile file;
  file.path = std::string(QUERN_SOURCE_DIR) + "/models/" + name;
  if (options.threads == 0) options.threads = 2;
  auto model = Model::Load(file, options);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
  return model ? *model : nullptr;
}

std::shared_ptr<Model> Exact(const std::string& name = "gemma4-nano") {
  LoadOptions options;
  options.kv_type = KvType::kF32;
  options.numerics = NumericsMode::kExact;
  return LoadDemo(name, options);
}

GenerateRequest Ask(const std::string& question) {
  GenerateRequest request;
  request.messages = {{ChatRole::kUser, question, {}, {}, {}, {}}};
  request.sampling.temperature = 0;
  return request;
}

Json Golden(const std::string& name) {
  auto text = ReadFile(std::string(QUERN_SOURCE_DIR) + "/models/" + name + "/golden.json");
  return *ParseJson(*text, "golden.json");
}

std::vector<ChatMessage> GoldenTurns(const Json& prompt) {
  std::vector<ChatMessage> messages;
  for (const Json& turn : prompt["turns"]) {
    const std::string role = turn[0].get<std::string>();
    messages.push_back({role == "system"  ? ChatRole::kSystem
                        : role == "model" ? ChatRole::kAssistant
                                          : ChatRole::kUser,
                        turn[1].get<std::string>(),
                        {},
                        {},
                        {},
                        {}});
  }
  return messages;
}

class DemoModel : public testing::TestWithParam<const char*> {};

// Rendering, tokenization, evaluation and decoding together: the replies of the reference implementation, word for
// word.
TEST_P(DemoModel, GoldenRepliesThroughThePublicApi) {
  const auto model = Exact(GetParam());
  ASSERT_NE(model, nullptr);
  const Json golden = Golden(GetParam());
  for (const Json& prompt : golden["prompts"]) {
    GenerateRequest request;
    request.messages = GoldenTurns(prompt);
    request.sampling.temperature = 0;
    request.max_tokens = 48;
    const auto tokens = PromptTokens(model, request);
    ASSERT_TRUE(tokens.has_value()) << tokens.error().ToString();
    EXPECT_EQ(tokens->size(), prompt["tokens"].get<size_t>());
    std::string streamed;
    const auto result = Generate(model, nullptr, request, [&](const Delta& delta) {
      streamed += delta.text;
      return true;
    });
    ASSERT_TRUE(result.has_value()) << result.error().ToString();
    std::string wanted = prompt["reply"].get<std::string>();
    if (wanted.ends_with("<turn|>")) {
      wanted.resize(wanted.size() - 7);
      EXPECT_EQ(result->finish, FinishReason::kStop);
    } else {
      EXPECT_EQ(result->finish, FinishReason::kLength);
    }
    EXPECT_EQ(result->message.content, wanted);
    EXPECT_EQ(streamed, wanted);
  }
}

TEST_P(DemoModel, TokenizerVectors) {
  const auto text = TextModel::Load({std::string(QUERN_SOURCE_DIR) + "/models/" + GetParam(), {}, {}, false});
  ASSERT_TRUE(text.has_value()) << text.error().ToString();
  const Json golden = Golden(GetParam());
  for (const Json& vector : golden["tokenizer"]) {
    const auto ids = (*text)->Encode(vector["text"].get<std::string>(), {true, true});
    EXPECT_EQ(ids, vector["ids"].get<std::vector<TokenId>>()) << vector["text"];
    const auto decoded = (*text)->Decode(ids, true);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(*decoded, vector["decoded"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, DemoModel, testing::Values("gemma4-nano", "gemma4-nano-moe"), [](const auto& test) {
  return std::string(test.param) == "gemma4-nano" ? "nano" : "nano_moe";
});

// A conversation through one session gives what each turn gives cold, and really reuses.
TEST(Generate, WarmPrefixEqualsColdRun) {
  for (const char* name : {"gemma4-nano", "gemma4-nano-moe"}) {
    const auto model = LoadDemo(name);  // default numerics and F16 cache: equality must not need the exact ones
    ASSERT_NE(model, nullptr);
    auto session = NewSession(model);
    ASSERT_TRUE(session.has_value());
    GenerateRequest request;
    request.sampling.temperature = 0;
    request.max_tokens = 60;
    const std::vector<std::string> questions = {"What does river mean?", "Spell table.", "What is 23 + 45?",
                                                "Give me the definition of bread as JSON.",
                                                "Name three kinds of tree."};
    for (const std::string& question : questions) {
      request.messages.push_back({ChatRole::kUser, question, {}, {}, {}, {}});
      const auto warm = Generate(model, session->get(), request, {});
      const auto cold = Generate(model, nullptr, request, {});
      ASSERT_TRUE(warm.has_value() && cold.has_value());
      EXPECT_EQ(warm->ids, cold->ids) << name << ": " << question;
      EXPECT_EQ(cold->stats.cached_tokens, 0);
      if (request.messages.size() > 1) EXPECT_GT(warm->stats.cached_tokens, 10);
      request.messages.push_back(warm->message);
    }
  }
}

TEST(Generate, ChunksAndThreadsDoNotChangeTokens) {
  const Json golden = Golden("gemma4-nano");
  std::vector<TokenId> first;
  for (const int chunk : {512, 31, 1}) {
    for (const int threads : {1, 2, 4}) {
      LoadOptions options;
      options.threads = threads;
      options.prefill_chunk = chunk;
      const auto model = LoadDemo("gemma4-nano", options);
      ASSERT_NE(model, nullptr);
      GenerateRequest request;
      request.messages = GoldenTurns(golden["prompts"][5]);
      request.sampling.temperature = 0;
      request.max_tokens = 24;
      const auto result = Generate(model, nullptr, request, {});
      ASSERT_TRUE(result.has_value());
      if (first.empty()) first = result->ids;
      EXPECT_EQ(result->ids, first) << "chunk " << chunk << ", " << threads << " threads";
    }
  }
}

TEST(Generate, SeedDecidesSampledTokens) {
  const auto model = Exact();
  GenerateRequest request = Ask("Name three kinds of tree.");
  request.sampling.temperature = 1.2f;
  request.sampling.seed = 7;
  const auto a = Generate(model, nullptr, request, {}), b = Generate(model, nullptr, request, {});
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(a->ids, b->ids);
  EXPECT_EQ(a->seed, 7u);
  request.sampling.seed.reset();
  const auto c = Generate(model, nullptr, request, {}), d = Generate(model, nullptr, request, {});
  EXPECT_NE(c->seed, d->seed) << "an unset seed is random and reported";
}

TEST(Generate, StopStringsEndTheAnswerAndAreNotPartOfIt) {
  const auto model = Exact();
  GenerateRequest request = Ask("What does river mean?");
  request.stop = {"stream"};
  const auto result = Generate(model, nullptr, request, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->finish, FinishReason::kStop);
  EXPECT_EQ(result->stop_string, "stream");
  EXPECT_EQ(result->message.content, "River (noun): a large natural ");
}

TEST(Generate, LimitsEndWithLength) {
  const auto model = Exact();
  GenerateRequest request = Ask("What does river mean?");
  request.max_tokens = 3;
  const auto three = Generate(model, nullptr, request, {});
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->ids.size(), 3u);
  EXPECT_EQ(three->finish, FinishReason::kLength);
  request.max_tokens = 0;
  const auto none = Generate(model, nullptr, request, {});
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->ids.empty());
  LoadOptions options;
  options.context = 20;
  const auto small = LoadDemo("gemma4-nano", options);
  request.max_tokens = -1;
  request.ignore_eos = true;
  const auto full = Generate(small, nullptr, request, {});
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->finish, FinishReason::kLength);
  EXPECT_EQ(full->stats.context_used, 20);
}

TEST(Generate, AnOverlongPromptIsRefusedWithBothNumbers) {
  LoadOptions options;
  options.context = 16;
  const auto model = LoadDemo("gemma4-nano", options);
  const auto result = Generate(model, nullptr, Ask("What does river mean?"), {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_NE(result.error().message.find("16"), std::string::npos) << result.error().message;
}

// After an interruption the session continues as if the history had been sent to a fresh process.
TEST(Generate, InterruptionsLeaveTheSessionUsable) {
  const auto model = LoadDemo("gemma4-nano");
  auto session = NewSession(model);
  GenerateRequest request = Ask("What does river mean?");
  const auto stopped =
      Generate(model, session->get(), request, [](const Delta& delta) { return delta.num_tokens < 5; });
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->finish, FinishReason::kInterrupted);
  std::atomic<bool> cancel{true};
  request.cancel = &cancel;
  request.messages.push_back(stopped->message);
  request.messages.push_back({ChatRole::kUser, "Spell table.", {}, {}, {}, {}});
  const auto cancelled = Generate(model, session->get(), request, {});
  ASSERT_TRUE(cancelled.has_value());
  EXPECT_EQ(cancelled->finish, FinishReason::kInterrupted);
  EXPECT_TRUE(cancelled->ids.empty());
  cancel = false;
  const auto warm = Generate(model, session->get(), request, {}), cold = Generate(model, nullptr, request, {});
  ASSERT_TRUE(warm.has_value() && cold.has_value());
  EXPECT_EQ(warm->ids, cold->ids);
}

TEST(Generate, BadRequestsAreRefusedByField) {
  const auto model = LoadDemo("gemma4-nano");
  const auto code_of = [&](const GenerateRequest& request) {
    const auto result = Generate(model, nullptr, request, {});
    return result ? std::string("accepted") : std::string(CodeName(result.error().code));
  };
  GenerateRequest request;
  EXPECT_EQ(code_of(request), "invalid_argument") << "nothing to say";
  request = Ask("Hi");
  request.text = "both";
  EXPECT_EQ(code_of(request), "invalid_argument");
  request = Ask("Hi");
  request.sampling.top_p = 1.5f;
  EXPECT_EQ(code_of(request), "invalid_argument");
  request = Ask("Hi");
  request.chat.tools_json = "{";
  EXPECT_EQ(code_of(request), "invalid_argument");
  request = {};
  request.ids = {1, 2, 1000000};
  EXPECT_EQ(code_of(request), "invalid_argument");
}

// Threads take turns; nothing of one request appears in another.
TEST(Generate, SeveralThreadsShareOneModel) {
  const auto model = LoadDemo("gemma4-nano");
  const std::vector<std::string> questions = {"What does river mean?", "What is 23 + 45?", "Spell table."};
  std::vector<std::vector<TokenId>> alone, together(questions.size());
  for (const std::string& question : questions) alone.push_back(Generate(model, nullptr, Ask(question), {})->ids);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < questions.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) together[i] = Generate(model, nullptr, Ask(questions[i]), {})->ids;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST(Generate, LogprobsBelongToTheTokens) {
  const auto model = Exact();
  GenerateRequest request = Ask("What is 23 + 45?");
  request.logprobs = 3;
  const auto result = Generate(model, nullptr, request, {});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->logprobs.size(), result->ids.size());
  for (size_t i = 0; i < result->ids.size(); ++i) {
    EXPECT_EQ(result->logprobs[i].id, result->ids[i]);
    ASSERT_EQ(result->logprobs[i].top.size(), 3u);
    EXPECT_EQ(result->logprobs[i].top[0].first, result->ids[i]) << "greedy: the best is the one that was taken";
    EXPECT_LE(result->logprobs[i].logprob, 0);
  }
}

TEST(Load, RefusesWhatItCannotRun) {
  const auto code_of = [](const std::string& path, const LoadOptions& options) {
    const auto model = Model::Load({path, {}, {}, false}, options);
    return model ? std::string("accepted") : std::string(CodeName(model.error().code));
  };
  const std::string models = std::string(QUERN_SOURCE_DIR) + "/models/";
  EXPECT_EQ(code_of(models + "gemma4-nano-assistant", {}), "unsupported") << "a drafter is not a model";
  EXPECT_EQ(code_of(std::string(QUERN_SOURCE_DIR) + "/tests/golden/xlm-roberta-tiny", {}), "unsupported");
  EXPECT_EQ(code_of(models + "no-such-model", {}), "not_found");
  LoadOptions options;
  options.device = "cuda";
  EXPECT_EQ(code_of(models + "gemma4-nano", options), "unsupported");
  options.device = "toaster";
  EXPECT_EQ(code_of(models + "gemma4-nano", options), "invalid_argument");
  options = {};
  options.context = 100000;
  EXPECT_EQ(code_of(models + "gemma4-nano", options), "invalid_argument");
  options = {};
  options.memory_budget_bytes = 1 << 20;
  EXPECT_EQ(code_of(models + "gemma4-nano", options), "resource_exhausted");
  options = {};
  options.progress = [](const Progress&) { return false; };
  EXPECT_EQ(code_of(models + "gemma4-nano", options), "cancelled");
}

}  // namespace
}  // namespace quern

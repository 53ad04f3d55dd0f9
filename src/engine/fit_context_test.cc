#include <random>

#include <gtest/gtest.h>

#include "quern/chat.h"

#include "base/status.h"

namespace quern {
namespace {

// A stand-in for the template: 4 tokens of framing per message and one per character.
Result<int64_t> CountCharacters(std::span<const ChatMessage> messages) {
  int64_t tokens = 0;
  for (const ChatMessage& message : messages) tokens += 4 + static_cast<int64_t>(message.content.size());
  return tokens;
}

ChatMessage Say(ChatRole role, size_t length) { return {.role = role, .content = std::string(length, 'x')}; }

std::vector<ChatMessage> RandomConversation(std::mt19937& random) {
  const auto below = [&](unsigned n) { return random() % n; };
  std::vector<ChatMessage> messages;
  if (below(2) != 0) messages.push_back(Say(ChatRole::kSystem, below(40)));
  if (below(8) == 0) messages.push_back(Say(ChatRole::kAssistant, below(40)));
  const unsigned num_turns = 1 + below(12);
  for (unsigned turn = 0; turn < num_turns; ++turn) {
    messages.push_back(Say(ChatRole::kUser, below(120)));
    for (unsigned calls = below(3); calls > 0; --calls) {
      messages.push_back(Say(ChatRole::kAssistant, below(20)));
      messages.back().tool_calls.push_back({"id", "name", "{}"});
      messages.push_back(Say(ChatRole::kTool, below(60)));
    }
    if (turn + 1 < num_turns || below(2) != 0) messages.push_back(Say(ChatRole::kAssistant, below(120)));
  }
  return messages;
}

size_t NewestUser(const std::vector<ChatMessage>& messages) {
  size_t newest = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == ChatRole::kUser) newest = i;
  }
  return newest;
}

// What must hold for every fit that succeeds.
void CheckFit(const std::vector<ChatMessage>& messages, const FitRequest& request, const FitResult& fit) {
  ASSERT_EQ(fit.dropped.size(), messages.size());
  std::vector<ChatMessage> kept;
  bool any_dropped = false;
  for (size_t i = 0; i < messages.size(); ++i) {
    any_dropped |= fit.dropped[i];
    if (!fit.dropped[i]) kept.push_back(messages[i]);
    if (messages[i].role == ChatRole::kSystem) {
      EXPECT_FALSE(fit.dropped[i]) << "the system message is kept";
    }
    if (i >= NewestUser(messages)) {
      EXPECT_FALSE(fit.dropped[i]) << "the newest turn is kept";
    }
    // A turn is never split: a message that is not the user's shares the fate of the one in front of it.
    const bool begins = messages[i].role == ChatRole::kUser || i == 0 || messages[i - 1].role == ChatRole::kSystem;
    if (!begins) {
      EXPECT_EQ(fit.dropped[i], fit.dropped[i - 1]);
    }
  }
  ASSERT_EQ(kept.size(), fit.messages.size());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].content, fit.messages[i].content);
  const int64_t rendered = *CountCharacters(fit.messages);
  EXPECT_EQ(rendered, fit.prompt_tokens);
  EXPECT_EQ(any_dropped, fit.num_dropped_turns > 0) << "the notice is printed exactly when something is dropped";
  EXPECT_EQ(*CountCharacters(messages) - rendered, fit.num_dropped_tokens);
  EXPECT_GE(fit.answer_limit, request.max_tokens == 0 ? 0 : 1);
  EXPECT_LE(rendered + fit.answer_limit + 16, request.context);
  const int64_t quarter = request.context / 4;
  const int64_t wanted = request.max_tokens >= 0 ? std::min(request.max_tokens, quarter) : quarter;
  const int64_t budget = request.context - std::max(wanted, std::min<int64_t>(256, quarter)) - 16;
  if (!fit.answer_was_limited) {
    EXPECT_LE(rendered, budget);
  }
  if (rendered > budget) {
    EXPECT_TRUE(fit.answer_was_limited);
  }
}

// Product rule: system kept, newest turn kept, no tool pair split, count within budget by re-rendering.
TEST(FitContext, HoldsForRandomConversations) {
  std::mt19937 random(20240607);
  int num_trimmed = 0, num_refused = 0, num_limited = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::vector<ChatMessage> messages = RandomConversation(random);
    FitRequest request;
    request.context = 60 + static_cast<int64_t>(random() % 1500);
    if (random() % 2 != 0) request.max_tokens = static_cast<int64_t>(random() % 600);
    const Result<FitResult> fit = FitContext(messages, request, CountCharacters);
    if (!fit) {
      ++num_refused;
      EXPECT_EQ(fit.error().code, Code::kResourceExhausted);
      continue;
    }
    num_trimmed += fit->num_dropped_turns > 0;
    num_limited += fit->answer_was_limited;
    CheckFit(messages, request, *fit);
    if (HasFatalFailure()) return;
  }
  // The generator must reach every outcome, or the property says little.
  EXPECT_GT(num_trimmed, 500);
  EXPECT_GT(num_refused, 50);
  EXPECT_GT(num_limited, 50);
}

TEST(FitContext, DropsDownToThreeQuartersOfTheBudget) {
  std::vector<ChatMessage> messages;
  for (int i = 0; i < 20; ++i) messages.push_back(Say(ChatRole::kUser, 36));  // 40 tokens each, 800 in all
  const FitResult fit = *FitContext(messages, {.context = 1000}, CountCharacters);
  // B = 1000 - 250 - 16 = 734; three quarters are 550: 13 turns of 40 = 520 remain.
  EXPECT_EQ(fit.num_dropped_turns, 7);
  EXPECT_EQ(fit.prompt_tokens, 520);
  EXPECT_EQ(fit.answer_limit, 464);
}

TEST(FitContext, LeavesAFittingConversationAlone) {
  const std::vector<ChatMessage> messages = {Say(ChatRole::kUser, 700)};
  const FitResult fit = *FitContext(messages, {.context = 1000}, CountCharacters);
  EXPECT_EQ(fit.num_dropped_turns, 0);
  EXPECT_FALSE(fit.answer_was_limited);
}

TEST(FitContext, ShrinksTheReserveForOneLongMessage) {
  const std::vector<ChatMessage> messages = {Say(ChatRole::kUser, 896)};
  const FitResult fit = *FitContext(messages, {.context = 1000}, CountCharacters);
  EXPECT_TRUE(fit.answer_was_limited);
  EXPECT_EQ(fit.answer_limit, 84);
}

TEST(FitContext, RefusesWithBothNumbers) {
  const std::vector<ChatMessage> messages = {Say(ChatRole::kUser, 2000)};
  const auto fit = FitContext(messages, {.context = 1000}, CountCharacters);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().code, Code::kResourceExhausted);
  EXPECT_EQ(fit.error().message, "message needs 2004 tokens, context is 1000");
}

TEST(FitContext, ErrorPolicyRefusesToDrop) {
  std::vector<ChatMessage> messages(20, Say(ChatRole::kUser, 36));
  const auto fit = FitContext(messages, {.context = 1000, .policy = ContextPolicy::kError}, CountCharacters);
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().code, Code::kResourceExhausted);
  // One turn alone needs no dropping, so the policy has nothing to refuse.
  EXPECT_TRUE(FitContext(std::vector{Say(ChatRole::kUser, 896)}, {.context = 1000, .policy = ContextPolicy::kError},
                         CountCharacters));
}

TEST(FitContext, PassesOnAFailureToCount) {
  const auto fit = FitContext(std::vector{Say(ChatRole::kUser, 1)}, {.context = 1000},
                              [](auto) -> Result<int64_t> { return MakeError(Code::kUnsupported, "no chat format"); });
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace quern

// The parts of a chat that need no terminal: conversation, statistics, parameters, session file, history, message
// reader.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/chat/history.h"
#include "cli/chat/message_reader.h"
#include "cli/chat/session_file.h"
#include "cli/chat/statistics.h"
#include "cli/testing/program.h"

namespace quern::cli {
namespace {

GenerateResult Answer(const std::string& text) {
  GenerateResult result;
  result.message = {.role = ChatRole::kAssistant, .content = text};
  return result;
}

Conversation ThreeTurns() {
  Conversation conversation;
  conversation.system = "sys";
  for (const char* text : {"a", "b", "c"}) {
    conversation.AddUser(text);
    conversation.AddAnswer(Answer(std::string("re ") + text));
  }
  return conversation;
}

TEST(Conversation, TakesBackTurnsAndAnswers) {
  Conversation conversation = ThreeTurns();
  EXPECT_TRUE(conversation.TakeBackAnswer());
  EXPECT_FALSE(conversation.TakeBackAnswer());
  EXPECT_EQ(conversation.TakeBackTurn(), "c");
  EXPECT_EQ(conversation.LastUserText(), "b");
  EXPECT_EQ(conversation.LastAnswer(), "re b");
  EXPECT_EQ(conversation.num_turns(), 2);
}

TEST(Conversation, DropsOldestTurnsWholeAndBringsThemBack) {
  Conversation conversation = ThreeTurns();
  EXPECT_EQ(conversation.DropOldest(2), 2);
  const std::vector<ChatMessage> send = conversation.ToSend();
  ASSERT_EQ(send.size(), 3u);
  EXPECT_EQ(send[0].content, "sys");
  EXPECT_EQ(send[1].content, "c");
  EXPECT_EQ(conversation.DropOldest(5), 1) << "only one is left";
  conversation.BringBackDropped();
  EXPECT_EQ(conversation.num_turns(), 3);
}

TEST(Conversation, MarksWhatAFitLeftOut) {
  Conversation conversation = ThreeTurns();
  conversation.DropOldest(1);
  FitResult fit;
  fit.dropped = {false, true, true, false, false};  // system, b, re b, c, re c
  conversation.ApplyFit(fit);
  EXPECT_EQ(conversation.num_turns(), 1);
  EXPECT_EQ(conversation.ToSend()[1].content, "c");
}

GenerateResult Measured() {
  GenerateResult result = Answer("x");
  result.stats = {.prompt_tokens = 1043, .cached_tokens = 960, .generated_tokens = 214};
  result.stats.prefill_seconds = 83 / 2310.0;
  result.stats.decode_seconds = 213 / 52.3;
  result.stats.first_token_seconds = 0.21;
  result.stats.context_used = 1257;
  result.stats.context = 8192;
  return result;
}

// The line of the product specification, word for word.
TEST(Statistics, FormatsTheTurnLine) {
  GenerateResult result = Measured();
  EXPECT_EQ(FormatTurnLine(result),
            "[214 tok · 52.3 tok/s · ttft 0.21 s · prompt 1043 (960 cached) @ 2310 tok/s · ctx 1257/8192 · stop]");
  result.stats.thinking_tokens = 150;
  result.stats.num_fallbacks = 2;
  result.finish = FinishReason::kLength;
  EXPECT_EQ(
      FormatTurnLine(result),
      "[214 tok (150 thinking) · 52.3 tok/s · ttft 0.21 s · prompt 1043 (960 cached) @ 2310 tok/s · ctx 1257/8192 · "
      "fallback: 2 · length]");
}

TEST(Statistics, LeavesOutRatesOfFewerThanTwoTokens) {
  GenerateResult result = Measured();
  result.stats.generated_tokens = 1;
  result.stats.cached_tokens = 1042;
  EXPECT_EQ(FormatTurnLine(result), "[1 tok · ttft 0.21 s · prompt 1043 (1042 cached) · ctx 1257/8192 · stop]");
}

TEST(Statistics, ExplainsAnEmptyAnswer) {
  GenerateResult result = Answer("");
  result.stats.thinking_tokens = 30;
  EXPECT_EQ(FormatEmptyAnswer(result), "(no visible answer; 30 thinking tokens; raise --max-tokens or /think off)");
  EXPECT_EQ(FormatEmptyAnswer(Answer("x")), "");
}

TEST(ChatSettings, AcceptsBothSpellingsAndKeepsOldValuesOnError) {
  ChatSettings settings;
  EXPECT_TRUE(SetChatSetting(settings, "top_k", "40"));
  EXPECT_TRUE(SetChatSetting(settings, "top-k", "41"));
  EXPECT_EQ(settings.sampling.top_k, 41);
  EXPECT_FALSE(SetChatSetting(settings, "top-k", "-1"));
  EXPECT_EQ(settings.sampling.top_k, 41);
  EXPECT_TRUE(SetChatSetting(settings, "stop", "END"));
  EXPECT_TRUE(SetChatSetting(settings, "stop", "-"));
  EXPECT_TRUE(settings.stop.empty());
  const Status status = SetChatSetting(settings, "top-p", "0");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("allowed is above 0 to 1"), std::string::npos);
}

TEST(ChatSettings, ShowsWhereValuesComeFrom) {
  ChatSettings settings;
  ASSERT_TRUE(SetChatSetting(settings, "top-p", "0.5"));
  for (const ShownSetting& shown : ShowChatSettings(settings, {.temperature = 0.7f})) {
    if (shown.name == "top-p") {
      EXPECT_EQ(shown.origin, "set");
    }
    if (shown.name == "temperature") {
      EXPECT_EQ(shown.value + shown.origin, "0.7model");
    }
  }
}

TEST(SessionFile, RoundTrips) {
  SavedSession session{
      .model_reference = "m", .conversation = ThreeTurns(), .has_settings = true, .created = "2024-01-01T00:00:00Z"};
  session.conversation.DropOldest(1);
  StoredMessage call;
  call.message = {.role = ChatRole::kAssistant, .thinking = "hm"};
  call.message.tool_calls.push_back({"id1", "f", "{\"x\":1}"});
  call.finish_reason = "tool_calls";
  call.generated_tokens = 9;
  session.conversation.Add(call);
  ASSERT_TRUE(SetChatSetting(session.settings, "temperature", "0.25"));
  ASSERT_TRUE(SetChatSetting(session.settings, "logit-bias", "5=-1.5"));
  ASSERT_TRUE(SetChatSetting(session.settings, "stop", "END"));
  const Result<SavedSession> read = SessionFromJson(ToJson(session), "test");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(Dump(ToJson(*read)), Dump(ToJson(session)));
  EXPECT_EQ(read->conversation.num_turns(), 2) << "the dropped turn is still marked";
  EXPECT_EQ(read->settings.sampling.logit_bias.at(0).second, -1.5f);
}

TEST(SessionFile, DamageIsAnErrorThatNamesTheMessage) {
  for (const char* bad :
       {"{}", "3", R"({"messages": 3})", R"([{"role": "king", "content": "x"}])", R"([{"content": "x"}])",
        R"({"messages": [], "params": {"temperature": "9"}})", R"([{"role":"user","content":{}}])"}) {
    EXPECT_FALSE(SessionFromJson(*ParseJson(bad, "test"), "test")) << bad;
  }
  const auto read = SessionFromJson(*ParseJson(R"([{"role":"user","content":"a"},{"role":"x"}])", "t"), "file");
  EXPECT_NE(read.error().message.find("file: message 1"), std::string::npos);
}

TEST(History, KeepsLineBreaksAndLimitsEntries) {
  const testing::Scratch scratch;
  const HistoryFile history(scratch.Path("state/history"));
  history.Append("two\nlines \\ here");
  EXPECT_EQ(history.Load(), std::vector<std::string>{"two\nlines \\ here"});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += std::to_string(i) + "\n";
  scratch.Write("state/history", many);
  history.Append("newest");
  const std::vector<std::string> entries = history.Load();
  ASSERT_EQ(entries.size(), 1000u);
  EXPECT_EQ(entries.front(), "1");
  EXPECT_EQ(entries.back(), "newest");
  struct stat info = {};
  ASSERT_EQ(stat(scratch.Path("state/history").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(History, StoresNoSecretsAndNoIndentedLines) {
  EXPECT_TRUE(HistoryFile::MayStore("what is hf_hub?"));
  EXPECT_FALSE(HistoryFile::MayStore("use hf_abcdefghijklmnopqrstuvwx"));
  EXPECT_FALSE(HistoryFile::MayStore("sk-proj-0123456789abcdefgh"));
  EXPECT_FALSE(HistoryFile::MayStore(" hidden"));
  EXPECT_FALSE(HistoryFile::MayStore(""));
}

class CannedLines final : public LineSource {
 public:
  explicit CannedLines(std::vector<InputLine> lines) : lines_(std::move(lines)) {}
  Result<InputLine> Read(std::string_view prompt) override {
    prompts += prompt;
    if (next_ == lines_.size()) return InputLine{};
    return lines_[next_++];
  }
  std::string prompts;

 private:
  std::vector<InputLine> lines_;
  size_t next_ = 0;
};

InputLine Line(std::string text) { return {.kind = InputLine::Kind::kLine, .text = std::move(text)}; }

TEST(MessageReader, RecognisesCommandsOnlyInTheFirstLine) {
  CannedLines lines({Line("a\\"), Line("/bye"), Line("/help x"), Line("//x"), Line("")});
  MessageReader reader(lines);
  EXPECT_EQ(reader.Next()->text, "a\n/bye");
  const Input command = *reader.Next();
  EXPECT_EQ(command.kind, Input::Kind::kCommand);
  EXPECT_EQ(command.text, "/help x");
  EXPECT_EQ(reader.Next()->text, "/x");
  EXPECT_EQ(reader.Next()->kind, Input::Kind::kEnd);
  EXPECT_EQ(lines.prompts, ">>> ... >>> >>> >>> >>> ");
}

TEST(MessageReader, AnInterruptGivesABlockUp) {
  CannedLines lines({Line("\"\"\"a"), {.kind = InputLine::Kind::kInterrupted}, Line("b")});
  MessageReader reader(lines);
  const Input input = *reader.Next();
  EXPECT_EQ(input.kind, Input::Kind::kInterrupted);
  EXPECT_TRUE(input.had_text);
  EXPECT_EQ(reader.Next()->text, "b");
}

TEST(MessageReader, APasteIsAMessage) {
  InputLine pasted = Line("/bye\n\"\"\"");
  pasted.pasted = true;
  CannedLines lines({pasted});
  const Input input = *MessageReader(lines).Next();
  EXPECT_EQ(input.kind, Input::Kind::kMessage);
  EXPECT_EQ(input.text, "/bye\n\"\"\"");
}

}  // namespace
}  // namespace quern::cli

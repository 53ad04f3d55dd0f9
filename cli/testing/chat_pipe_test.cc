// quern chat driven by pipes: scripts, slash commands, sessions, trimming.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/json_text.h"
#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

class ChatPipe : public ::testing::Test {
 protected:
  Finished Run(const std::string& input, Words flags = {}) {
    Words words = {"chat", "fake"};
    words.insert(words.end(), flags.begin(), flags.end());
    return RunProgram(words, scratch_.Variables(), {.input = input});
  }
  Scratch scratch_;
};

TEST_F(ChatPipe, AnswersAreSeparatedByOneBlankLine) {
  const Finished run = Run("one\n\ntwo");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "echo: one\n\necho: two\n");
  EXPECT_THAT(run.err, HasSubstr("[2 tok · "));
  EXPECT_THAT(run.err, HasSubstr("· stop]"));
  EXPECT_THAT(run.err, HasSubstr("prompt 8 (5 cached)")) << "the second prompt continues the first";
  EXPECT_THAT(Run("one\n", {"--stats", "off"}).err, IsEmpty());
}

TEST_F(ChatPipe, WithoutModelTheDemoAnswersAndSaysWhatItIs) {
  const Finished run = RunProgram({"chat"}, scratch_.Variables(), {.input = "hi\n"});
  EXPECT_EQ(run.out, "echo: hi\n");
  EXPECT_THAT(run.err, HasSubstr("tiny demo model"));
}

TEST_F(ChatPipe, BlocksContinuationsAndLiteralSlashes) {
  EXPECT_EQ(Run("\"\"\"a\n/bye\nb\"\"\"\n").out, "echo: a\n/bye\nb\n");
  EXPECT_EQ(Run("\"\"\"\nx\n\"\"\"\n").out, "echo: x\n");
  EXPECT_EQ(Run("a\\\nb\n").out, "echo: a\nb\n");
  EXPECT_EQ(Run("//bye\n").out, "echo: /bye\n");
  EXPECT_EQ(Run("\"\"\"never closed\n").status, 2);
}

TEST_F(ChatPipe, AFailingTurnEndsWithItsCode) {
  const Finished run = Run("one\nfail\ntwo\n");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "echo: one\n\n") << "nothing after the failure";
  EXPECT_EQ(Run("oom\n").status, 6);
  EXPECT_EQ(Run("bad \xff byte\n").status, 2);
  const Finished unknown = Run("/nonsense\n");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("begin with // to send a literal slash"));
}

TEST_F(ChatPipe, EverySlashCommandWorks) {
  const std::string file = scratch_.Write("note.txt", "attached");
  const std::string saved = scratch_.Path("saved.json");
  const Finished run =
      Run("/help\n/? set\n/system be brief\nsystem\n/system -\nsystem\n/set\n/set top_p 0.5\n/set wrap off\n"
          "/show\n/show params\n/show template\n/show memory\n/show routes\n/context\n/retry 9\n/undo\n"
          "turns\n/drop 1\nturns\n/file " +
          file + "\nwith file\n/save " + saved + "\n/clear\nturns\n/load " + saved +
          "\n/model other\n/think on\n/think show\n/stats\nseed\n/retry 12\n/bye\nnot reached\n");
  EXPECT_EQ(run.status, 0) << run.err;
  for (const char* expected : {"system is <be brief>", "system is <>", "turns 2", "echo: attached\nwith file",
                               "turns 1", "seed 7", "seed 12"}) {
    EXPECT_THAT(run.out, HasSubstr(expected));
  }
  EXPECT_THAT(run.out, Not(HasSubstr("not reached")));
  for (const char* expected :
       {"/help [NAME]", "All sampling parameters", "top_p is 0.5", "top-k", "{{ messages }}", "q4_0_avx2", "used ",
        "last turn dropped", "dropped the 1 oldest", "saved to", "conversation cleared", "loaded ", "other · Q4_0",
        "thinking is on", "generated tokens"}) {
    EXPECT_THAT(run.err, HasSubstr(expected));
  }
}

TEST_F(ChatPipe, BadParametersChangeNothingAndNameTheRange) {
  for (const char* bad :
       {"/set temperature 3", "/set temperature nan", "/set top-k x", "/set wrap maybe", "/set ctx 0", "/set nothing 1",
        "/set temperature", "/drop 5", "/retry", "/undo", "/load", "/think maybe"}) {
    EXPECT_EQ(Run(std::string(bad) + "\n").status, 2) << bad;
  }
  EXPECT_THAT(Run("/set temperature 3\n").err, HasSubstr("allowed is 0 to 2"));
  EXPECT_THAT(Run("/set tempratur 1\n").err, HasSubstr("did you mean temperature?"));
  EXPECT_EQ(Run("/file /nonexistent\n").status, 3);
  EXPECT_EQ(Run("/file " + scratch_.Write("big", std::string((1 << 20) + 1, 'x')) + "\n").status, 6);
  EXPECT_EQ(Run("/model missing\n").status, 3);
  EXPECT_EQ(Run("/set draft auto\n").status, 7);
}

TEST_F(ChatPipe, TrimsWithANoticeAndKeepsTheSystemMessage) {
  std::string input;
  for (int i = 0; i < 6; ++i) input += "one two three four five six seven eight nine ten\n";
  const Finished run = Run(input + "system\nturns\n", {"--ctx", "100", "--system", "kept"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("system is <kept>"));
  EXPECT_THAT(run.out, Not(HasSubstr("turns 8"))) << "older turns are gone from the prompt";
  EXPECT_THAT(run.err, ::testing::ContainsRegex(
                           "\\(context: dropped the [0-9]+ oldest turns, [0-9]+ tokens; system message kept\\)"));
  const Finished refused = Run(input, {"--ctx", "100", "--context-policy", "error"});
  EXPECT_EQ(refused.status, 6);
  EXPECT_THAT(Run("one\n", {"--ctx", "100"}).err, Not(HasSubstr("dropped")));
}

TEST_F(ChatPipe, AnOverlongMessageIsRefusedAndALongOneShrinksTheAnswer) {
  std::string words;
  for (int i = 0; i < 120; ++i) words += "w ";
  const Finished refused = Run(words + "\n", {"--ctx", "100"});
  EXPECT_EQ(refused.status, 6);
  EXPECT_THAT(refused.err, HasSubstr("message needs 122 tokens, context is 100"));
  EXPECT_THAT(refused.err, HasSubstr("/drop"));
  const Finished limited = Run(words.substr(0, 150) + "\n", {"--ctx", "100"});
  EXPECT_THAT(limited.err, HasSubstr("(answer limited to 7 tokens by the context)"));
  EXPECT_THAT(limited.err, HasSubstr("· length]"));
}

TEST_F(ChatPipe, DroppedTurnsComeBackWithALargerContext) {
  std::string input;
  for (int i = 0; i < 6; ++i) input += "one two three four five six seven eight nine ten\n";
  const Finished run = Run(input + "/set ctx 4000\nturns\n", {"--ctx", "100"});
  EXPECT_THAT(run.out, HasSubstr("turns 7"));
}

TEST_F(ChatPipe, ThinkingIsHiddenOrShownAndNeverAnUnexplainedBlank) {
  const Finished hidden = Run("think\n");
  EXPECT_EQ(hidden.out, "the answer\n");
  EXPECT_THAT(hidden.err, HasSubstr("5 tok (3 thinking)"));
  EXPECT_EQ(Run("think\n", {"--show-thinking", "on"}).out, "let me see\n\nthe answer\n");
  EXPECT_THAT(Run("think\n", {"--show-thinking", "dim"}).err, HasSubstr("let me see"));
  EXPECT_THAT(Run("only-think\n").err,
              HasSubstr("(no visible answer; 3 thinking tokens; raise --max-tokens or /think off)"));
}

TEST_F(ChatPipe, SessionsAreSavedPrivatelyAndContinue) {
  const std::string path = scratch_.Path("s.json");
  EXPECT_EQ(Run("one\n", {"--session", path, "--system", "sys", "--temperature", "0.5"}).status, 0);
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Json saved = *ParseJson(scratch_.Read("s.json"), "session");
  EXPECT_EQ(saved["schema"], "quern.session/1");
  EXPECT_EQ(saved["model"]["ref"], "fake");
  EXPECT_EQ(saved["system"], "sys");
  EXPECT_EQ(saved["messages"][1]["content"], "echo: one");
  EXPECT_EQ(saved["messages"][1]["finish_reason"], "stop");
  EXPECT_EQ(saved["params"]["temperature"], "0.5");
  EXPECT_THAT(Run("turns\n", {"--session", path}).out, HasSubstr("turns 2"));
  const Finished other = RunProgram({"chat", "other", "--session", path}, scratch_.Variables(), {.input = "system\n"});
  EXPECT_THAT(other.err, HasSubstr("the session was made with fake"));
  EXPECT_THAT(other.out, HasSubstr("<sys>"));
}

TEST_F(ChatPipe, ImportsAPlainMessagesArray) {
  const std::string path = scratch_.Write(
      "m.json",
      R"([{"role":"system","content":"imported"},{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
  EXPECT_THAT(Run("/load " + path + "\nsystem\nturns\n").out, HasSubstr("system is <imported>\n\nturns 3"));
  EXPECT_EQ(Run("/load " + scratch_.Write("bad.json", "{\"a\": 1}") + "\n").status, 2);
  EXPECT_EQ(Run("/load " + scratch_.Write("new.json", R"({"schema":"quern.session/9","messages":[]})") + "\n").status,
            7);
}

TEST_F(ChatPipe, JsonIsOneObjectPerEvent) {
  const Finished run = Run("think\ntool\n/stats\nfail\n", {"--json"});
  EXPECT_EQ(run.status, 1);
  std::vector<std::string> types;
  for (size_t at = 0; at < run.out.size(); at = run.out.find('\n', at) + 1) {
    const auto event = ParseJson(run.out.substr(at, run.out.find('\n', at) - at), "event");
    ASSERT_TRUE(event);
    types.push_back((*event)["type"].get<std::string>());
  }
  EXPECT_THAT(types, ::testing::IsSupersetOf({"thinking", "delta", "turn", "tool_call", "notice", "error"}));
  EXPECT_EQ(types.back(), "error");
}

TEST_F(ChatPipe, TerminationSavesTheSession) {
  const std::string path = scratch_.Path("t.json");
  const Finished run = RunProgram({"chat", "fake", "--session", path}, scratch_.Variables(),
                                  {.input = "one\n", .signal_after = "stop]", .signal = SIGTERM});
  EXPECT_EQ(run.status, 143);
  EXPECT_EQ((*ParseJson(scratch_.Read("t.json"), "session"))["messages"].size(), 2u);
}

TEST_F(ChatPipe, NothingIsStoredInTheHistory) {
  Run("secret line\n");
  EXPECT_THAT(scratch_.Read("state/quern/history"), IsEmpty());
}

}  // namespace
}  // namespace quern::cli::testing

// quern chat at a pseudo-terminal: editing, paste, Ctrl-C, wrapping, control characters.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class ChatTerminal : public ::testing::Test {
 protected:
  std::unique_ptr<TerminalProgram> Start(Words flags = {}, Environment extra = {}, int columns = 80) {
    Environment variables = scratch_.Variables();
    for (const auto& [name, value] : extra) variables[name] = value;
    Words words = {"chat", "fake"};
    words.insert(words.end(), flags.begin(), flags.end());
    auto program = std::make_unique<TerminalProgram>(words, variables, columns);
    EXPECT_TRUE(program->Expect(">>> ")) << program->output();
    return program;
  }
  Scratch scratch_;
};

TEST_F(ChatTerminal, GreetsAnswersAndLeaves) {
  auto chat = Start();
  EXPECT_THAT(chat->output(), HasSubstr("Type /help for commands, /bye to exit"));
  chat->Type("hello\r");
  EXPECT_TRUE(chat->Expect("echo: hello"));
  EXPECT_TRUE(chat->Expect("· stop]"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("/bye\r");
  EXPECT_EQ(chat->Wait(), 0);
}

TEST_F(ChatTerminal, CtrlDOnAnEmptyLineLeaves) {
  auto chat = Start();
  chat->Type("\x04");
  EXPECT_EQ(chat->Wait(), 0);
}

TEST_F(ChatTerminal, EditsWithArrowsHistoryAndWideCharacters) {
  auto chat = Start();
  chat->Type("wrld\x1b[D\x1b[D\x1b[Do\r");
  EXPECT_TRUE(chat->Expect("echo: world"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("\x1b[A\r");
  EXPECT_TRUE(chat->Expect("echo: world")) << "Up recalls the last message";
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac\r");
  EXPECT_TRUE(chat->Expect("echo: gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type(
      "a\xff\xfe"
      "b\r");
  EXPECT_TRUE(chat->Expect("echo: ab")) << "bytes that are not UTF-8 are dropped";
}

TEST_F(ChatTerminal, HistorySurvivesTheProcessUnlessDisabled) {
  {
    auto chat = Start();
    chat->Type("remember me\r");
    EXPECT_TRUE(chat->Expect("· stop]"));
    EXPECT_TRUE(chat->Expect(">>> "));
    chat->Type(" not me\r");
    EXPECT_TRUE(chat->Expect("· stop]"));
    EXPECT_TRUE(chat->Expect(">>> "));
    chat->Type("\x04");
    EXPECT_EQ(chat->Wait(), 0);
  }
  EXPECT_EQ(scratch_.Read("state/quern/history"), "remember me\n");
  {
    auto chat = Start();
    chat->Type("\x1b[A\r");
    EXPECT_TRUE(chat->Expect("echo: remember me"));
  }
  auto chat = Start({"--no-history"});
  chat->Type("untold\r");
  EXPECT_TRUE(chat->Expect("echo: untold"));
  EXPECT_THAT(scratch_.Read("state/quern/history"), Not(HasSubstr("untold")));
}

TEST_F(ChatTerminal, MultiLineBlocksAndContinuation) {
  auto chat = Start();
  chat->Type("\"\"\"first\r");
  EXPECT_TRUE(chat->Expect("... "));
  chat->Type("second\"\"\"\r");
  EXPECT_TRUE(chat->Expect("echo: first\r\nsecond"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("one\\\r");
  EXPECT_TRUE(chat->Expect("... "));
  chat->Type("two\r");
  EXPECT_TRUE(chat->Expect("echo: one\r\ntwo"));
}

TEST_F(ChatTerminal, APasteIsLiteralAndNeverACommand) {
  auto chat = Start();
  EXPECT_THAT(chat->output(), HasSubstr("\x1b[?2004h"));
  chat->Type("\x1b[200~/bye\rsecond line\x1b[201~\r");
  EXPECT_TRUE(chat->Expect("echo: /bye\r\nsecond line")) << chat->output();
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("\x1b[200~/bye\x1b[201~\r");
  EXPECT_TRUE(chat->Expect("echo: /bye")) << "a single pasted line is literal too";
}

TEST_F(ChatTerminal, CtrlCStopsTheAnswerAndTheChatGoesOn) {
  auto chat = Start();
  chat->Type("slow\r");
  EXPECT_TRUE(chat->Expect("word5 "));
  chat->Type("\x03");
  EXPECT_TRUE(chat->Expect("· interrupted]"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("turns\r");
  EXPECT_TRUE(chat->Expect("turns 2")) << "the partial answer stays in the conversation";
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("/bye\r");
  EXPECT_EQ(chat->Wait(), 0) << "an interrupted turn is no failure";
}

TEST_F(ChatTerminal, CtrlCAtThePromptClearsHintsAndTwiceLeaves) {
  auto chat = Start();
  chat->Type("half a line");
  EXPECT_TRUE(chat->Expect("half a line"));
  chat->Type("\x03");
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("turns\r");
  EXPECT_TRUE(chat->Expect("turns 1")) << "the cleared line was not sent";
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("\x03");
  EXPECT_TRUE(chat->Expect("(Ctrl-D or /bye to exit)"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("\x03");
  EXPECT_EQ(chat->Wait(), 130);
}

TEST_F(ChatTerminal, ModelTextCannotDriveTheTerminal) {
  auto chat = Start({"--color", "never"});
  chat->Type("escape\r");
  EXPECT_TRUE(chat->Expect("a^[[31mb^G <9B>c")) << chat->output();
}

TEST_F(ChatTerminal, WrapsWordsAtFortyColumnsUnlessOff) {
  auto chat = Start({"--color", "never", "--stats", "off"}, {}, 40);
  chat->Type("long 30\r");
  EXPECT_TRUE(chat->Expect("word30"));
  EXPECT_TRUE(chat->Expect(">>> "));
  // The words as a terminal shows them: taken back with CSI n D, CSI K where they did not fit.
  EXPECT_THAT(chat->output(), HasSubstr("\r\nword7"));
  chat->Type("/set wrap off\r");
  EXPECT_TRUE(chat->Expect("wrap is off"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("long 12\r");
  EXPECT_TRUE(chat->Expect("word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12"));
}

TEST_F(ChatTerminal, NoColorAndDumbTerminals) {
  auto plain = Start({}, {{"NO_COLOR", "1"}});
  plain->Type("hi\r");
  EXPECT_TRUE(plain->Expect("· stop]"));
  EXPECT_THAT(plain->output(), Not(HasSubstr("\x1b[2m")));
  auto coloured = Start();
  EXPECT_THAT(coloured->output(), HasSubstr("\x1b[2m")) << "notices are dim";
  auto dumb = Start({}, {{"TERM", "dumb"}});
  dumb->Type("hi\r");
  EXPECT_TRUE(dumb->Expect("echo: hi"));
  EXPECT_THAT(dumb->output(), Not(HasSubstr("\x1b")));
}

TEST_F(ChatTerminal, ErrorsOfATurnDoNotEndTheChat) {
  auto chat = Start();
  chat->Type("/nonsense\r");
  EXPECT_TRUE(chat->Expect("unknown command /nonsense"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("fail\r");
  EXPECT_TRUE(chat->Expect("the engine failed as asked"));
  EXPECT_TRUE(chat->Expect(">>> fail")) << "the message stands on the line again";
  chat->Type("\x15turns\r");
  EXPECT_TRUE(chat->Expect("turns 1")) << "the failed message is not part of the conversation";
}

TEST_F(ChatTerminal, EditAndCopy) {
  const std::string editor = scratch_.Write("ed.sh", "echo turns > \"$1\"\n");
  auto chat = Start({}, {{"EDITOR", "sh " + editor}});
  chat->Type("first\r");
  EXPECT_TRUE(chat->Expect("echo: first"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("/copy\r");
  EXPECT_TRUE(chat->Expect("\x1b]52;c;ZWNobzogZmlyc3Q=\x07")) << "base64 of the answer";
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("/edit\r");
  EXPECT_TRUE(chat->Expect("turns 1")) << "the edited message replaces the last turn";
}

TEST_F(ChatTerminal, ChangingTheContextAsksFirst) {
  auto chat = Start();
  chat->Type("/set ctx 4096\r");
  EXPECT_TRUE(chat->Expect("[y/N] "));
  chat->Type("n\r");
  EXPECT_TRUE(chat->Expect("(context unchanged)"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Type("/set ctx 4096\r");
  EXPECT_TRUE(chat->Expect("[y/N] "));
  chat->Type("y\r");
  EXPECT_TRUE(chat->Expect("(context is 4096)"));
}

TEST_F(ChatTerminal, ThinkingShowsASpinnerThatGoesAway) {
  auto chat = Start();
  chat->Type("think\r");
  EXPECT_TRUE(chat->Expect("thinking… 1 tokens"));
  EXPECT_TRUE(chat->Expect("\r\x1b[Kthe answer"));
}

TEST_F(ChatTerminal, TerminationEndsWithItsCode) {
  auto chat = Start({"--session", scratch_.Path("s.json")});
  chat->Type("one\r");
  EXPECT_TRUE(chat->Expect("· stop]"));
  EXPECT_TRUE(chat->Expect(">>> "));
  chat->Send(SIGHUP);
  EXPECT_EQ(chat->Wait(), 129);
  EXPECT_THAT(scratch_.Read("s.json"), HasSubstr("echo: one"));
}

TEST_F(ChatTerminal, SuspendAndContinueKeepTheLine) {
  auto chat = Start();
  chat->Type("abc");
  EXPECT_TRUE(chat->Expect("abc"));
  chat->Send(SIGSTOP);
  chat->Send(SIGCONT);
  EXPECT_TRUE(chat->Expect("\x1b[?2004h")) << "editing is switched on again";
  chat->Resize(60);
  chat->Type("d\r");
  EXPECT_TRUE(chat->Expect("echo: abcd"));
}

}  // namespace
}  // namespace quern::cli::testing

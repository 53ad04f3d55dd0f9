// What the full grammar has and this build has not: refused by name with exit code 7, never taken for a misspelling and
// never ignored. The lists come from docs/cli.md, so that the document and the program cannot drift.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Words Split(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The `code` texts of the paragraph of docs/cli.md that begins with `start`.
std::vector<Words> CodeOfParagraph(const std::string& start) {
  std::ostringstream docs;
  docs << std::ifstream(QUERN_SOURCE_DIR "/docs/cli.md").rdbuf();
  const std::string text = docs.str();
  const size_t begin = text.find("\n" + start);
  EXPECT_NE(begin, std::string::npos) << start;
  if (begin == std::string::npos) return {};
  const std::string paragraph = text.substr(begin, text.find("\n\n", begin) - begin);
  std::vector<Words> code;
  for (size_t at = paragraph.find('`'); at != std::string::npos;) {
    const size_t end = paragraph.find('`', at + 1);
    code.push_back(Split(paragraph.substr(at + 1, end - at - 1)));
    at = paragraph.find('`', end + 1);
  }
  return code;
}

// A command line of `command` that would succeed.
Words Complete(const std::string& command, const Scratch& scratch) {
  if (command == "generate") return {"generate", "fake", "-p", "x"};
  if (command == "perplexity") return {"perplexity", "fake", "-f", scratch.Write("text.txt", "one two")};
  if (command == "doctor") return {"doctor"};
  return {command, "fake"};
}

void ExpectRefused(const Words& words, const Scratch& scratch, const std::string& name) {
  SCOPED_TRACE(name);
  const Finished run = RunProgram(words, scratch.Variables());
  EXPECT_EQ(run.status, 7) << run.err;
  EXPECT_THAT(run.err, HasSubstr(name + " is not in this build yet: "));
  EXPECT_EQ(run.out, "");
}

TEST(Missing, EveryFlagThatTheDocumentNamesIsRefusedByName) {
  const Scratch scratch;
  const std::vector<Words> flags = CodeOfParagraph("Refused for now");
  ASSERT_GE(flags.size(), 16u);
  for (Words flag : flags) {
    std::string command = "generate";
    if (!flag.front().starts_with("--")) {
      command = flag.front();
      flag.erase(flag.begin());
    }
    Words words = Complete(command, scratch);
    words.insert(words.end(), flag.begin(), flag.end());
    // --fix is a switch; `--tool-choice required` brings its value.
    if (flag.size() == 1 && flag.front() != "--fix") words.emplace_back("value");
    const std::string name = flag.size() == 1 ? flag.front() : flag[0] + " " + flag[1];
    ExpectRefused(words, scratch, name);
  }
}

// The flags of the engine belong to every command that loads a model.
TEST(Missing, EngineFlagsAreRefusedByEveryCommandThatLoadsAModel) {
  const Scratch scratch;
  for (const char* command : {"chat", "generate", "bench", "perplexity"}) {
    for (const char* flag : {"--draft", "--draft-tokens", "--draft-policy", "--adapter", "--residency",
                             "--prepared-packs", "--jit", "--require-route"}) {
      Words words = Complete(command, scratch);
      words.insert(words.end(), {flag, "value"});
      SCOPED_TRACE(command);
      ExpectRefused(words, scratch, flag);
    }
  }
}

TEST(Missing, ValuesThatAskForNothingAreAccepted) {
  const Scratch scratch;
  const Finished run = RunProgram({"generate", "fake", "-p", "x", "--draft", "none", "--draft-policy", "off",
                                   "--residency", "auto", "--prepared-packs", "off", "--jit", "off"},
                                  scratch.Variables());
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(Missing, EveryCommandThatTheDocumentNamesIsRefusedByName) {
  const Scratch scratch;
  const std::vector<Words> commands = CodeOfParagraph("Commands refused for now");
  ASSERT_EQ(commands.size(), MissingCommands().size());
  for (const Words& command : commands) {
    ASSERT_EQ(command.size(), 1u);
    EXPECT_EQ(FindCommand(command[0]), nullptr) << command[0] << " exists: take it off the list";
    ExpectRefused({command[0]}, scratch, "quern " + command[0]);
    ExpectRefused({"-q", command[0], "--unknown", "x"}, scratch, "quern " + command[0]);
  }
  const Finished json = RunProgram({"serve", "--json"}, scratch.Variables());
  EXPECT_EQ((*ParseJson(json.out, "stdout"))["error"]["code"], "unsupported");
}

// Nothing offers what will be refused.
TEST(Missing, NeitherHelpNorCompletionShowsWhatIsMissing) {
  const Scratch scratch;
  EXPECT_THAT(RunProgram({"--help"}, scratch.Variables()).out, Not(HasSubstr("serve")));
  EXPECT_THAT(RunProgram({"generate", "--help"}, scratch.Variables()).out, Not(HasSubstr("--adapter")));
  EXPECT_THAT(RunProgram({"__complete", "se"}, scratch.Variables()).out, Not(HasSubstr("serve")));
}

}  // namespace
}  // namespace quern::cli::testing

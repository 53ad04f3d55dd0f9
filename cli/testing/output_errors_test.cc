// What happens when the output cannot be written or the input is no text: every command gives its exit code and a
// message, and no half-written file stays.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

class OutputErrors : public ::testing::Test {
 protected:
  Finished Run(const Words& words, const PipeOptions& options = {}) {
    return RunProgram(words, scratch_.Variables(), options);
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.Path(""))) {
      names.insert(entry.path().string());
    }
    return names;
  }
  // One command line of each command, all of which write to stdout.
  std::vector<Words> Writers() const {
    const std::string text = scratch_.Write("text.txt", "one two three");
    const std::string batch = scratch_.Write("batch.jsonl", "{\"prompt\": \"a\"}\n");
    return {{"--version"},
            {"--help"},
            {"chat", "fake", "-q"},
            {"generate", "fake", "-p", "hi"},
            {"generate", "fake", "--batch", batch},
            {"tokenize", "fake", "-p", "hi"},
            {"detokenize", "fake", "114"},
            {"show", "fake"},
            {"list"},
            {"alias", "list"},
            {"convert", "fake", "out", "--dry-run"},
            {"quantize", "fake", "out", "--type", "Q4_0", "--dry-run"},
            {"perplexity", "fake", "-f", text},
            {"bench", "fake"},
            {"doctor"},
            {"config", "show"},
            {"help", "exit-codes"},
            {"completion", "bash"},
            {"__complete", ""}};
  }
  Scratch scratch_;
};

// A command that is added must be added to Writers too.
TEST_F(OutputErrors, TheListHasEveryCommand) {
  std::set<std::string> names;
  for (const Words& words : Writers()) names.insert(words[0]);
  for (const CommandEntry& entry : quern::cli::Commands())
    EXPECT_TRUE(names.contains(std::string(entry.name))) << entry.name;
}

TEST_F(OutputErrors, AFullDiskEndsEveryCommandWith6) {
  for (const Words& plain : Writers()) {
    for (const bool json : {false, true}) {
      Words words = plain;
      if (json && words[0] != "__complete") words.emplace_back("--json");
      SCOPED_TRACE(::testing::PrintToString(words));
      const Finished run = Run(words, {.input = "hello\n", .stdout_path = "/dev/full"});
      EXPECT_EQ(run.status, 6);
      EXPECT_THAT(run.err, HasSubstr("cannot write the output: No space left on device"));
    }
  }
}

TEST_F(OutputErrors, AClosedPipeEndsEveryCommandQuietlyWith141) {
  for (const Words& words : Writers()) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Finished run = Run(words, {.input = "hello\n", .close_stdout = true});
    EXPECT_EQ(run.status, 141);
    EXPECT_THAT(run.err, Not(HasSubstr("error")));
  }
}

// Files that commands write: nothing may stay of one that does not fit, and an older version stays whole.
TEST_F(OutputErrors, AFileThatDoesNotFitLeavesNothing) {
  const std::string session = scratch_.Write("session.json", R"([{"role":"user","content":"a"}])");
  ASSERT_EQ(Run({"alias", "set", "mine", "fake"}).status, 0);
  const std::string aliases = scratch_.Read("aliases.json");
  const std::set<std::string> before = Files();

  const Finished set = Run({"alias", "set", "other", "fake"}, {.file_limit = 8});
  EXPECT_EQ(set.status, 6) << set.err;
  EXPECT_THAT(set.err, HasSubstr("aliases.json"));
  EXPECT_EQ(scratch_.Read("aliases.json"), aliases);

  const Finished chat = Run({"chat", "fake", "--session", session}, {.input = "hello\n", .file_limit = 8});
  EXPECT_EQ(chat.status, 6) << chat.err;
  EXPECT_THAT(chat.err, HasSubstr("session.json"));
  EXPECT_EQ(scratch_.Read("session.json"), R"([{"role":"user","content":"a"}])");

  const Finished save =
      Run({"chat", "fake"}, {.input = "hello\n/save " + scratch_.Path("saved.json") + "\n", .file_limit = 8});
  EXPECT_EQ(save.status, 6) << save.err;
  EXPECT_EQ(Files(), before);
}

TEST_F(OutputErrors, TextThatIsNotUtf8IsAUsageErrorThatNamesTheByte) {
  const std::string bad = "ab\xff";
  const std::string file = scratch_.Write("bad.txt", bad);
  const std::string messages = scratch_.Write("bad.json", "[{\"role\":\"user\",\"content\":\"ab\xff\"}]");
  const std::vector<Words> commands = {{"generate", "fake", "-p", bad},
                                       {"generate", "fake", "-f", file},
                                       {"generate", "fake", "-p", "x", "--system", bad},
                                       {"generate", "fake", "-p", "x", "--stop", bad},
                                       {"generate", "fake", "--messages", messages},
                                       {"generate", "fake", "-p", "x", "--tools", messages},
                                       {"generate", "fake", "--batch", messages},
                                       {"tokenize", "fake", "-p", bad},
                                       {"tokenize", "fake", "-f", file},
                                       {"perplexity", "fake", "-f", file},
                                       {"bench", "fake", "--compare", file},
                                       {"convert", "fake", "out", "--metadata", "a=" + bad},
                                       {"quantize", "fake", "out", "--type", "Q4_0", "--tensor-type", bad + "=Q8_0"},
                                       {"chat", "fake", "--system", bad},
                                       {"chat", "fake", "--system-file", file},
                                       {"chat", "fake", "--stop", bad},
                                       {"chat", "fake", "--tools", messages},
                                       {"chat", "fake", "--session", messages},
                                       {"alias", "set", bad, "fake"},
                                       {"alias", "set", "mine", bad}};
  const std::set<std::string> before = Files();
  for (const Words& words : commands) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Finished run = Run(words);
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr("not UTF-8"));
    EXPECT_THAT(run.out, IsEmpty());
  }
  EXPECT_EQ(Run({"chat", "fake"}, {.input = bad + "\n"}).status, 2);
  EXPECT_EQ(Files(), before);
}

// Bytes that cannot be shown still give a JSON document, and a plain message without control characters.
TEST_F(OutputErrors, NamesThatAreNotUtf8AreReportedAllTheSame) {
  EXPECT_EQ(Run({"generate", "a\xff", "-p", "x", "--json"}).status, 3);
  EXPECT_EQ(Run({"generate", "fake", "--\xff\x1b[31m"}).status, 2);
  EXPECT_THAT(Run({"generate", "fake", "--\xff\x1b[31m"}).err, Not(HasSubstr("\x1b")));
  EXPECT_EQ(Run({"\xff"}).status, 2);
}

}  // namespace
}  // namespace quern::cli::testing

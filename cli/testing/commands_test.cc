// The built program, command by command, through pipes: exit codes, streams, and that --json leaves nothing but JSON on
// stdout.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class Commands : public ::testing::Test {
 protected:
  Finished Run(const Words& words, const PipeOptions& options = {}) {
    return RunProgram(words, scratch_.Variables(), options);
  }
  Finished RunWith(Environment extra, const Words& words) {
    Environment variables = scratch_.Variables();
    for (const auto& [name, value] : extra) variables[name] = value;
    return RunProgram(words, variables);
  }
  Scratch scratch_;
};

TEST_F(Commands, HelpOfEveryCommandGoesToStdoutWithTwoExamples) {
  for (const CommandEntry& entry : quern::cli::Commands()) {
    if (entry.hidden) continue;
    const Finished help = Run({std::string(entry.name), "--help"});
    EXPECT_EQ(help.status, 0) << entry.name;
    EXPECT_THAT(help.err, IsEmpty());
    const size_t examples = help.out.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << entry.name;
    EXPECT_NE(help.out.find("\n  ", help.out.find("\n  ", examples) + 1), std::string::npos) << entry.name;
  }
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("perplexity"));
  EXPECT_THAT(Run({"help", "chat"}).out, HasSubstr("--session"));
  EXPECT_THAT(Run({"chat", "-h"}).out, HasSubstr("[0 to 2; 0 = greedy; default the model's]"));
}

TEST_F(Commands, HelpIsAFlagOnlyInFlagPosition) {
  const Finished config = Run({"--config", "--help", "list"});
  EXPECT_EQ(config.status, 3) << "a file named --help is missing";
  EXPECT_THAT(config.err, HasSubstr("--help"));
}

TEST_F(Commands, UnknownNamesAreUsageErrorsWithTheNearestOne) {
  const Finished command = Run({"chta"});
  EXPECT_EQ(command.status, 2);
  EXPECT_THAT(command.err, HasSubstr("did you mean \"quern chat\"?"));
  EXPECT_THAT(command.out, IsEmpty());
  const Finished flag = Run({"generate", "fake", "--temprature", "1"});
  EXPECT_EQ(flag.status, 2);
  EXPECT_THAT(flag.err, HasSubstr("did you mean --temperature?"));
  EXPECT_EQ(Run({"generate", "fake", "-p", "x", "surplus"}).status, 2);
  EXPECT_EQ(Run({}).status, 2);
  EXPECT_EQ(Run({"tokenize"}).status, 2) << "MODEL is required";
  EXPECT_EQ(Run({"generate"}).status, 2) << "there is no prompt";
  EXPECT_EQ(Run({"help", "nothing"}).status, 2);
}

TEST_F(Commands, NumbersAreFiniteWholeAndInRange) {
  for (const char* bad : {"nan", "inf", "1x", "", "2.5", "1e400", "-0.1"}) {
    EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--temperature", bad}).status, 2) << bad;
  }
  for (const char* bad : {"1.5", "x", "99999999999999999999", "4096"}) {
    EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--threads", bad}).status, 2) << bad;
  }
  EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--memory-budget", "4Q"}).status, 2);
  EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--kv-type", "q4"}).status, 2);
  EXPECT_EQ(
      Run({"generate", "fake", "-p", "x", "--memory-budget", "4GiB", "--ctx", "max", "--max-tokens", "-1"}).status, 0);
}

TEST_F(Commands, TheLastOfARepeatedFlagWinsAndListsCollect) {
  const Finished seed = Run({"generate", "fake", "--seed", "1", "-p", "seed", "--seed=42"});
  EXPECT_EQ(seed.out, "seed 42\n");
  const Finished bench = Run({"bench", "fake", "-p", "16", "-p", "32", "-n", "4", "--json"});
  const Json document = *ParseJson(bench.out, "bench");
  EXPECT_EQ(document["options"]["prompt_tokens"], Json::parse("[16, 32]"));
  EXPECT_EQ(document["options"]["generate_tokens"], Json::parse("[4]")) << "the default is replaced";
}

TEST_F(Commands, EachFailureHasItsExitCode) {
  EXPECT_EQ(Run({"generate", "missing", "-p", "x"}).status, 3);
  EXPECT_EQ(Run({"generate", "corrupt", "-p", "x"}).status, 5);
  EXPECT_EQ(Run({"generate", "huge", "-p", "x"}).status, 6);
  EXPECT_EQ(Run({"generate", "unsupported", "-p", "x"}).status, 7);
  EXPECT_EQ(Run({"generate", "fake", "-p", "fail"}).status, 1);
  EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--device", "cuda"}).status, 7);
  EXPECT_EQ(Run({"bench", "fake", "--require", "tg.median>=100"}).status, 8);
  EXPECT_EQ(Run({"bench", "fake", "--require", "tg.median>=20", "--require", "pp512.min>=200"}).status, 0);
  EXPECT_EQ(Run({"bench", "fake", "--require", "speed"}).status, 2);
  EXPECT_EQ(Run({"convert", "fake", "full"}).status, 6);
  EXPECT_EQ(Run({"doctor", "--models-dir", "/nowhere"}).status, 1);
}

TEST_F(Commands, JsonPutsNothingButJsonOnStdout) {
  const std::string text = scratch_.Write("text.txt", "one two three");
  const std::string batch = scratch_.Write(
      "batch.jsonl", "{\"prompt\": \"a\", \"id\": 7}\n\n{\"messages\": [{\"role\": \"user\", \"content\": \"b\"}]}\n");
  const std::vector<Words> commands = {{"--version"},
                                       {"generate", "fake", "-p", "hi", "--n", "2", "--logprobs", "1"},
                                       {"generate", "fake", "--batch", batch},
                                       {"tokenize", "fake", "-p", "hi"},
                                       {"detokenize", "fake", "2", "114"},
                                       {"show", "fake", "--memory", "--tensors", "--sha256"},
                                       {"list", "--all"},
                                       {"alias", "list"},
                                       {"alias", "set", "mine", "fake"},
                                       {"alias", "rm", "mine"},
                                       {"convert", "fake", "out"},
                                       {"quantize", "fake", "out", "--type", "Q4_0", "--dry-run"},
                                       {"perplexity", "fake", "-f", text},
                                       {"bench", "fake"},
                                       {"doctor"},
                                       {"config", "show", "--origin"},
                                       {"config", "check"},
                                       {"config", "path"},
                                       {"config", "schema"},
                                       {"completion", "bash"},
                                       {"help", "exit-codes"},
                                       {"help", "chat"},
                                       {"chat", "fake"},
                                       // and failures
                                       {"generate", "missing", "-p", "x"},
                                       {"generate", "fake", "--bogus"},
                                       {"nonsense"},
                                       {"bench", "fake", "--require", "tg.min>99"}};
  for (Words words : commands) {
    words.push_back("--json");
    const Finished run = Run(words, {.input = "hello\nthink\n"});
    ASSERT_THAT(run.out, Not(IsEmpty())) << words[0];
    if (const auto document = ParseJson(run.out, "stdout"); document) {
      EXPECT_EQ(document->contains("error"), run.status != 0) << words[0];
      continue;
    }
    for (size_t at = 0; at < run.out.size();) {  // NDJSON
      const size_t end = run.out.find('\n', at);
      ASSERT_NE(end, std::string::npos) << words[0];
      const auto line = ParseJson(run.out.substr(at, end - at), words[0]);
      ASSERT_TRUE(line) << words[0] << ": " << run.out.substr(at, end - at);
      EXPECT_TRUE(line->contains("type")) << words[0];
      at = end + 1;
    }
  }
}

TEST_F(Commands, AJsonErrorSaysTheSameOnBothStreams) {
  const Finished run = Run({"generate", "missing", "-p", "x", "--json"});
  const Json error = (*ParseJson(run.out, "stdout"))["error"];
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_EQ(error["exit"], 3);
  EXPECT_EQ(error["hint"], "quern pull missing");
  EXPECT_EQ(error["details"]["kind"], "not_found");
  EXPECT_THAT(run.err, HasSubstr(error["message"].get<std::string>()));
}

TEST_F(Commands, GenerateReadsPromptsFromEverywhere) {
  EXPECT_EQ(Run({"generate", "fake", "-p", "hi"}).out, "echo: hi\n");
  EXPECT_EQ(Run({"run", "fake", "-f", "-"}, {.input = "piped"}).out, "echo: piped\n");
  EXPECT_EQ(Run({"generate", "fake", "-f", scratch_.Write("p.txt", "filed")}).out, "echo: filed\n");
  EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--raw"}).out, "raw: x\n");
  EXPECT_EQ(Run({"generate", "fake", "-p", "system", "--system", "be brief"}).out, "system is <be brief>\n");
  const std::string messages = scratch_.Write(
      "m.json",
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"turns"}])");
  EXPECT_EQ(Run({"generate", "fake", "--messages", messages}).out, "turns 2\n");
  EXPECT_EQ(Run({"generate", "fake", "-p", "a", "-f", "-"}).status, 2);
  EXPECT_EQ(Run({"generate", "fake", "-f", scratch_.Path("absent")}).status, 3);
  EXPECT_EQ(Run({"generate", "fake", "-f", "-"}, {.input = "bad \xff text"}).status, 2);
  EXPECT_THAT(Run({"generate", "fake", "-p", "hi", "--stats"}).err, HasSubstr("seed 7, stop"));
}

TEST_F(Commands, GenerateWithoutAModelTakesTheDefaultThenTheDemo) {
  const Finished demo = Run({"generate", "-p", "hi"});
  EXPECT_EQ(demo.out, "echo: hi\n");
  EXPECT_THAT(demo.err, HasSubstr("tiny demo model"));
  const Finished named = RunWith({{"QUERN_DEFAULT_MODEL", "other"}}, {"generate", "-p", "hi"});
  EXPECT_EQ(named.status, 0);
  EXPECT_THAT(named.err, IsEmpty());
  EXPECT_EQ(RunWith({{"QUERN_DEFAULT_MODEL", "missing"}}, {"generate", "-p", "hi"}).status, 3);
}

TEST_F(Commands, VersionSaysWhatWasBuiltAndWhatWillRun) {
  EXPECT_EQ(Run({"--version"}).out, "quern 0.1.0\ncommit unknown, Release build, g++\nkernels: cpu avx2\n");
  const Json document = *ParseJson(Run({"--version", "--json"}).out, "stdout");
  EXPECT_EQ(document["version"], "0.1.0");
  EXPECT_EQ(document["build_type"], "Release");
  EXPECT_EQ(document["backends"], Json::parse(R"(["cpu avx2"])"));
}

TEST_F(Commands, GenerateWithToolsPrintsTheMessage) {
  const std::string tools = scratch_.Write("tools.json", "[]");
  const Finished run = Run({"generate", "fake", "-p", "tool", "--tools", tools});
  EXPECT_EQ((*ParseJson(run.out, "stdout"))["tool_calls"][0]["function"]["name"], "get_weather");
  EXPECT_EQ(Run({"generate", "fake", "-p", "x", "--tools", tools, "--tool-choice", "required"}).status, 7);
}

TEST_F(Commands, ModelTextReachesAPipeUnchanged) {
  EXPECT_EQ(Run({"generate", "fake", "-p", "escape"}).out,
            "a\x1b[31mb\x07 \xc2\x9b"
            "c\n");
}

TEST_F(Commands, AClosedOutputEndsQuietlyWith141) {
  const Finished run = Run({"generate", "fake", "-p", "slow"}, {.close_stdout = true});
  EXPECT_EQ(run.status, 141);
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(Commands, InterruptsEndWith130) {
  const Finished generate = Run({"generate", "fake", "-p", "slow"}, {.signal_after = "word2 ", .signal = SIGINT});
  EXPECT_EQ(generate.status, 130);
  EXPECT_THAT(generate.out, StartsWith("word1 word2")) << "the partial answer stays";
  const Finished load = Run({"generate", "slow-load", "-p", "x"}, {.signal_after = "load prepare", .signal = SIGINT});
  EXPECT_EQ(load.status, 130);
}

TEST_F(Commands, ProgressIsLinesOnAPipeAndEventsWithJson) {
  const Finished plain = Run({"generate", "slow-load", "-p", "x"}, {.signal_after = "load prepare", .signal = SIGINT});
  EXPECT_THAT(plain.err, HasSubstr("load prepare"));
  EXPECT_THAT(plain.err, Not(HasSubstr("\r")));
  const Finished json =
      Run({"generate", "slow-load", "-p", "x", "--json"}, {.signal_after = "progress", .signal = SIGINT});
  EXPECT_THAT(json.err, HasSubstr("\"type\":\"progress\""));
  EXPECT_THAT(Run({"generate", "fake", "-p", "x"}).err, IsEmpty()) << "a fast load shows nothing";
}

TEST_F(Commands, MeasurementsCountChunksAndRunsInsteadOfBytes) {
  const std::string text = scratch_.Write("text.txt", "one two three");
  const Finished perplexity = Run({"perplexity", "other", "-f", text});
  EXPECT_THAT(perplexity.err, HasSubstr("/40 chunks"));
  EXPECT_THAT(perplexity.err, Not(HasSubstr(" B")));
  EXPECT_THAT(Run({"perplexity", "other", "-f", text, "--json"}).err, HasSubstr("\"unit\":\"chunks\""));
  EXPECT_THAT(Run({"bench", "other"}).err, HasSubstr("/40 runs"));
}

TEST_F(Commands, ConfigurationErrorsNameTheFileAndLine) {
  const std::string path = scratch_.Write("c.json", "{\n \"general\": {\n  \"colr\": \"auto\"}}");
  for (const Words& words : {Words{"list", "--config", path}, Words{"config", "check", "--config", path}}) {
    const Finished run = Run(words);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(path + ":3: unknown key \"general.colr\""));
    EXPECT_THAT(run.err, HasSubstr("general.color"));
  }
  const Finished doctor = Run({"doctor", "--config", path});
  EXPECT_EQ(doctor.status, 1) << "doctor runs with a broken configuration and says so";
  EXPECT_THAT(doctor.out, HasSubstr("c.json:3: unknown key"));
  EXPECT_EQ(Run({"config", "schema", "--config", path}).status, 0);
}

TEST_F(Commands, ConfigShowSaysWhereValuesComeFrom) {
  const std::string path = scratch_.Write("c.json", R"({"generation": {"threads": 2}})");
  const Finished run = RunWith({{"QUERN_KV_TYPE", "f32"}},
                               {"config", "show", "--origin", "--json", "--config", path, "--color", "never"});
  const Json document = *ParseJson(run.out, "stdout");
  EXPECT_EQ(document["generation.threads"]["origin"], "file");
  EXPECT_EQ(document["generation.threads"]["where"], path + ":1");
  EXPECT_EQ(document["generation.kv_type"]["origin"], "environment");
  EXPECT_EQ(document["general.color"]["origin"], "flag");
  EXPECT_EQ(document["general.progress"]["origin"], "default");
}

TEST_F(Commands, UnknownVariablesWarnOrStopWhenStrict) {
  const Finished run = RunWith({{"QUERN_THREDS", "1"}}, {"list"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("QUERN_THREDS"));
  EXPECT_EQ(RunWith({{"QUERN_THREDS", "1"}, {"QUERN_STRICT_ENV", "1"}}, {"list"}).status, 2);
}

TEST_F(Commands, ColourFollowsFlagAndEnvironment) {
  const Words words = {"generate", "missing", "-p", "x"};
  EXPECT_THAT(Run(words).err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RunWith({{"CLICOLOR_FORCE", "1"}}, words).err, HasSubstr("\x1b"));
  EXPECT_THAT(RunWith({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}, words).err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RunWith({{"NO_COLOR", "1"}}, {"generate", "missing", "-p", "x", "--color", "always"}).err,
              HasSubstr("\x1b"));
  EXPECT_THAT(Run({"generate", "missing", "-p", "x", "--log-format", "json"}).err, StartsWith("{\"level\":\"error\""));
}

TEST_F(Commands, AliasesResolveAndBuiltInOnesNeedForce) {
  EXPECT_EQ(Run({"alias", "set", "mine", "fake"}).status, 0);
  EXPECT_EQ(Run({"generate", "mine", "-p", "x"}).out, "echo: x\n");
  EXPECT_EQ(Run({"alias", "set", "gemma4:e2b", "fake"}).status, 2);
  EXPECT_EQ(Run({"alias", "set", "gemma4:e2b", "fake", "--force"}).status, 0);
  EXPECT_EQ(Run({"alias", "rm", "mine"}).status, 0);
  EXPECT_EQ(Run({"alias", "rm", "mine"}).status, 3);
}

TEST_F(Commands, ShowMakesHostileNamesHarmless) {
  EXPECT_THAT(Run({"show", "fake"}).out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(Run({"show", "fake", "--metadata", "general.name"}).out, "general.name = \"Fake\"\n");
  EXPECT_THAT(Run({"show", "fake", "--tensors", "blk.*"}).out, Not(HasSubstr("output_norm")));
  EXPECT_EQ(Run({"show", "fake", "--metadata", "absent"}).status, 3);
}

TEST_F(Commands, TokenizeAndDetokenizeAreInverse) {
  const Finished ids = Run({"tokenize", "fake", "-p", "hi"});
  EXPECT_EQ(ids.out, "2\t\"<bos>\"\n114\t\"h\"\n115\t\"i\"\n");
  EXPECT_EQ(Run({"detokenize", "fake"}, {.input = "2, 114\n115"}).out, "hi\n");
  EXPECT_EQ(Run({"detokenize", "fake", "5000"}).status, 2);
  EXPECT_EQ(Run({"detokenize", "fake", "x"}).status, 2);
}

TEST_F(Commands, BenchComparesOnlyLikeWithLike) {
  const Finished first = Run({"bench", "fake", "-p", "16", "-n", "4", "--json"});
  const std::string path = scratch_.Write("before.json", first.out);
  const Finished same = Run({"bench", "fake", "-p", "16", "-n", "4", "--compare", path, "--json"});
  EXPECT_EQ((*ParseJson(same.out, "stdout"))["compare"][0]["ratio"], 1.0);
  EXPECT_EQ(Run({"bench", "fake", "-p", "32", "-n", "4", "--compare", path}).status, 8);
  EXPECT_EQ(Run({"bench", "fake", "--compare", scratch_.Write("x.json", "{}")}).status, 2);
}

TEST_F(Commands, CompletionKnowsCommandsFlagsValuesAndModels) {
  EXPECT_EQ(Run({"__complete", "tok"}).out, "tokenize\n");
  EXPECT_EQ(Run({"__complete", "chat", "--temp"}).out, "--temperature\n");
  EXPECT_EQ(Run({"__complete", "chat", "--context-policy", ""}).out, "error\ntrim\n");
  EXPECT_THAT(Run({"__complete", "chat", "gemma4:e"}).out, HasSubstr("gemma4:e2b\n"));
  EXPECT_EQ(Run({"__complete", "alias", "s"}).out, "set\n");
  EXPECT_EQ(Run({"__complete", "completion", "z"}).out, "zsh\n");
  EXPECT_THAT(Run({"__complete", "chat", "--"}).out, Not(HasSubstr("--draft")))
      << "what this build refuses is not offered";
  EXPECT_THAT(Run({"completion", "bash"}).out, HasSubstr("complete -F _quern quern"));
}

TEST_F(Commands, BashTakesTheScriptAndCompletesBehindAColon) {
  const std::string script = scratch_.Write(
      "test.sh", "quern() { '" QUERN_TEST_PROGRAM
                 "' \"$@\"; }\nsource <(quern completion bash)\n"
                 "COMP_LINE='quern chat gemma4:e2'; COMP_POINT=${#COMP_LINE}; _quern; echo \"${COMPREPLY[@]}\"\n");
  const std::string command = "bash " + script + " > " + scratch_.Path("out");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(scratch_.Read("out"), "e2b\n");
}

}  // namespace
}  // namespace quern::cli::testing

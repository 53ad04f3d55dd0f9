// The program as it is shipped, with models that it cannot run: exit code and message of each, and nothing
// half-written.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/json_text.h"
#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

const std::string kModels = QUERN_SOURCE_DIR "/models/";
const std::string kNano = kModels + "gemma4-nano";

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class ModelErrors : public ::testing::Test {
 protected:
  Finished Run(const Words& words, const PipeOptions& options = {}) {
    return RunProgram(words, scratch_.Variables(), options);
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.Path(""))) names.insert(entry.path().string());
    return names;
  }
  // The demo model as one GGUF file; its bytes.
  std::string Gguf() {
    const std::string path = scratch_.Path("whole.gguf");
    EXPECT_EQ(Run({"convert", kNano, path, "-q"}).status, 0);
    return ReadAll(path);
  }
  // A copy of the demo folder in which `from` of one file is replaced by `to` of the same length.
  std::string Folder(const std::string& name, const std::string& file, const std::string& from, const std::string& to) {
    const fs::path folder = scratch_.Path(name);
    fs::copy(kNano, folder);
    return Replace(ReadAll(folder / file), name + "/" + file, from, to).substr(0, folder.string().size());
  }
  // The path of a file with text, in which every `from` has become `to`.
  std::string Replace(std::string text, const std::string& name, const std::string& from, const std::string& to) {
    size_t count = 0;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()), ++count) {
      text.replace(at, from.size(), to);
    }
    EXPECT_GT(count, 0u) << from << " is not in " << name;
    return scratch_.Write(name, text);
  }
  // Every command that reads weights fails alike, says so in JSON too, and leaves no file.
  void ExpectRefused(const std::string& model, int status, const std::string& name, const std::string& message) {
    const std::string text = scratch_.Write("text.txt", "one two three");
    const std::set<std::string> before = Files();
    for (const Words& words : {Words{"generate", model, "-p", "x"}, Words{"chat", model}, Words{"bench", model},
                               Words{"perplexity", model, "-f", text, "--kl-base-out", scratch_.Path("out.kl")}}) {
      SCOPED_TRACE(::testing::PrintToString(words));
      const Finished run = Run(words, {.input = "hello\n"});
      EXPECT_EQ(run.status, status) << run.err;
      EXPECT_THAT(run.err, HasSubstr(message));
      EXPECT_THAT(run.out, IsEmpty());
    }
    const Finished json = Run({"generate", model, "-p", "x", "--json"});
    EXPECT_EQ((*ParseJson(json.out, "stdout"))["error"]["code"], name);
    EXPECT_EQ(Files(), before);
  }
  Scratch scratch_;
};

// Cut in the metadata and in the weights.
TEST_F(ModelErrors, ATruncatedGgufIsAnIntegrityError) {
  const std::string whole = Gguf();
  ExpectRefused(scratch_.Write("short.gguf", whole.substr(0, 100'000)), 5, "integrity", "the file ends");
  const std::string cut = scratch_.Write("cut.gguf", whole.substr(0, whole.size() / 2));
  ExpectRefused(cut, 5, "integrity", "the file is truncated: fetch it again");
  ExpectRefused(scratch_.Write("empty.gguf", ""), 5, "integrity", "empty.gguf");
  const std::set<std::string> before = Files();
  for (const Words& words : {Words{"convert", cut, scratch_.Path("out.gguf")},
                             Words{"convert", cut, scratch_.Path("out"), "--to", "safetensors"},
                             Words{"quantize", cut, scratch_.Path("out.gguf"), "--type", "Q8_0"}, Words{"show", cut}}) {
    EXPECT_EQ(Run(words).status, 5) << words[0];
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(ModelErrors, AnUnknownArchitectureIsUnsupported) {
  ExpectRefused(Replace(Gguf(), "other.gguf", "gemma4", "mamba7"), 7, "unsupported",
                "architecture \"mamba7\" is not one this build runs");
}

// I16 has the size of BF16, so nothing but the type is wrong.
TEST_F(ModelErrors, AWrongDtypeIsUnsupported) {
  ExpectRefused(Folder("ints", "model.safetensors", "\"dtype\":\"BF16\"", "\"dtype\":\"I16\" "), 7, "unsupported",
                "I16");
  ExpectRefused(Folder("none", "model.safetensors", "\"dtype\":\"BF16\"", "\"dtype\":\"X16\" "), 7, "unsupported",
                "dtype \"X16\" is not supported");
}

TEST_F(ModelErrors, ADrafterIsNotAModel) {
  ExpectRefused(kModels + "gemma4-nano-assistant", 7, "unsupported", "is a drafter, not a model");
}

TEST_F(ModelErrors, APromptBeyondTheContextIsRefusedWithBothNumbers) {
  std::string prompt;
  for (int i = 0; i < 200; ++i) prompt += "river ";
  for (const char* json : {"--no-offline", "--json"}) {  // the first changes nothing
    const Finished run = Run({"generate", kNano, "-p", prompt, "--ctx", "64", json});
    EXPECT_EQ(run.status, 6);
    EXPECT_THAT(run.err, HasSubstr("the context is 64"));
    EXPECT_THAT(run.err, HasSubstr("--ctx"));
  }
  const Finished chat = Run({"chat", kNano, "--ctx", "64"}, {.input = prompt + "\n"});
  EXPECT_EQ(chat.status, 6) << chat.err;
  EXPECT_THAT(chat.err, HasSubstr("context is 64"));
  EXPECT_EQ(Run({"bench", kNano, "--ctx", "64", "-p", "65"}).status, 2);
}

// The disk fills at three stages of the writing: neither the destination nor a temporary file stays.
TEST_F(ModelErrors, AFullDiskLeavesNoPartOfAModel) {
  // Ten chunks, whose log-probabilities take more than the largest limit.
  std::string text;
  for (int i = 0; i < 10; ++i) text += ReadAll(QUERN_SOURCE_DIR "/models/README.md");
  scratch_.Write("text.txt", text);
  const std::set<std::string> before = Files();
  for (const int64_t limit : {int64_t{0}, int64_t{200'000}, int64_t{3'000'000}}) {
    for (const Words& words : {Words{"convert", kNano, scratch_.Path("out.gguf")},
                               Words{"convert", kNano, scratch_.Path("out"), "--to", "safetensors"},
                               Words{"quantize", kNano, scratch_.Path("out.gguf"), "--type", "Q8_0"},
                               Words{"perplexity", kNano, "-f", scratch_.Path("text.txt"), "--ctx", "512",
                                     "--kl-base-out", scratch_.Path("out.kl")}}) {
      SCOPED_TRACE(::testing::PrintToString(words) + " " + std::to_string(limit));
      const Finished run = Run(words, {.file_limit = limit});
      EXPECT_EQ(run.status, 6) << run.err;
      EXPECT_THAT(run.err, HasSubstr("File too large"));
      EXPECT_EQ(Files(), before);
    }
  }
}

TEST_F(ModelErrors, AnUnknownConfigurationKeyStopsBeforeTheModelIsRead) {
  const std::string path = scratch_.Write("c.json", "{\"generation\": {\"thread\": 2}}");
  const Finished run = Run({"generate", "/absent.gguf", "-p", "x", "--config", path});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr(path + ":1: unknown key \"generation.thread\""));
  EXPECT_THAT(run.err, HasSubstr("generation.threads"));
}

}  // namespace
}  // namespace quern::cli::testing

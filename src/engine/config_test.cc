#include "quern/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/json.h"

namespace quern {
namespace {

Config::Environment From(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "quern-config-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/config.json";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<Config> LoadText(const std::string& text) {
    std::ofstream(path_) << text;
    return Config::Load(path_, From({}));
  }
  std::string ErrorOf(const std::string& text) {
    const Result<Config> config = LoadText(text);
    if (config) return "no error";
    EXPECT_EQ(config.error().code, Code::kInvalidArgument);
    std::string message = config.error().ToString();
    if (const size_t at = message.find(path_); at != std::string::npos) message.replace(at, path_.size(), "FILE");
    return message;
  }
  std::string folder_, path_;
};

TEST_F(ConfigTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  std::ofstream(path_) << R"({"generation": {"threads": 2, "context": 1024}, "general": {"progress": "plain"}})";
  Result<Config> config = Config::Load(path_, From({{"QUERN_THREADS", "3"}, {"QUERN_CTX", "max"}}));
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->GetInt("generation.threads"), 3);
  EXPECT_EQ(config->GetInt("generation.context"), -1) << "max is the model's limit";
  EXPECT_EQ(config->Get("general.progress"), "plain");
  EXPECT_EQ(config->Get("general.color"), "auto");
  ASSERT_TRUE(config->SetFromFlag("generation.threads", "4"));
  EXPECT_EQ(config->GetInt("generation.threads"), 4);
  for (const EffectiveSetting& setting : config->settings()) {
    if (setting.setting.key == "generation.threads") {
      EXPECT_EQ(setting.origin, Origin::kFlag);
    }
    if (setting.setting.key == "generation.context") {
      EXPECT_EQ(setting.where, "QUERN_CTX");
    }
    if (setting.setting.key == "general.progress") {
      EXPECT_EQ(setting.where, path_ + ":1");
    }
    if (setting.setting.key == "general.color") {
      EXPECT_EQ(setting.origin, Origin::kDefault);
    }
  }
}

TEST_F(ConfigTest, UnknownKeyNamesLineAndNearestKey) {
  EXPECT_EQ(ErrorOf("{\n  \"general\": {\n    \"colour\": \"auto\"\n  }\n}\n"),
            "FILE:3: unknown key \"general.colour\" (did you mean \"general.color\"?)");
  EXPECT_EQ(ErrorOf("{\n\"nothing\": 1}"),
            "FILE:2: unknown key \"nothing\" (`quern config show` lists the known keys)");
}

TEST_F(ConfigTest, WrongTypeRangeAndChoiceNameTheLine) {
  EXPECT_EQ(ErrorOf("{\"generation\": {\n\"threads\":\n \"four\"}}"),
            "FILE:2: generation.threads must be a whole number, not \"four\"");
  EXPECT_EQ(ErrorOf("{\"generation\": {\"threads\": 1.5}}"),
            "FILE:1: generation.threads must be a whole number, not 1.5");
  EXPECT_EQ(ErrorOf("{\"generation\": {\"threads\": [1, {\"a\": 2}]}}"),
            "FILE:1: generation.threads must be a whole number, not an array");
  EXPECT_EQ(ErrorOf("{\"generation\": {\"threads\": {\"a\": {\"b\": 1}}}}"),
            "FILE:1: generation.threads must be a whole number, not an object");
  EXPECT_EQ(ErrorOf("{\"generation\": {\n\"threads\": 5000}}"),
            "FILE:2: generation.threads: 5000 is out of range; allowed is 0..1024");
  EXPECT_EQ(ErrorOf("{\"general\": {\"color\": \"blue\"}}"),
            "FILE:1: general.color: \"blue\" is not one of auto|always|never");
  EXPECT_EQ(ErrorOf("{\"general\": {\"offline\": \"true\"}}"),
            "FILE:1: general.offline must be true or false, not \"true\"");
}

TEST_F(ConfigTest, DuplicateKeysTrailingDataAndDamageAreErrors) {
  EXPECT_EQ(ErrorOf("{\"general\": {\"color\": \"auto\",\n \"color\": \"never\"}}"),
            "FILE:2: key \"general.color\" occurs twice");
  EXPECT_EQ(ErrorOf("{\"general\": {}, \"general\": {}}"), "FILE:1: key \"general\" occurs twice");
  EXPECT_NE(ErrorOf("{}\n{}").find("FILE:2: not valid JSON"), std::string::npos);
  EXPECT_NE(ErrorOf("{\"general\": {\n").find("not valid JSON"), std::string::npos);
  EXPECT_NE(ErrorOf("{\"general\": {\"color\": \"\xff\"}}").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(ErrorOf("[{}]"), "FILE:1: the file must be one object of sections");
  EXPECT_EQ(ErrorOf("3"), "FILE:1: the file must be one object of sections");
  EXPECT_NE(ErrorOf("{\"a\":" + std::string(100'000, '[')).find("nested too deeply"), std::string::npos);
}

TEST_F(ConfigTest, ANamedFileThatIsMissingIsNotFound) {
  const Result<Config> config = Config::Load(folder_ + "/absent.json", From({}));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::kNotFound);
  const Result<Config> from_variable = Config::Load("", From({{"QUERN_CONFIG", folder_ + "/absent.json"}}));
  ASSERT_FALSE(from_variable);
  EXPECT_EQ(from_variable.error().code, Code::kNotFound);
}

TEST_F(ConfigTest, RelativePathsAreRelativeToTheFile) {
  const Result<Config> config = LoadText(R"({"store": {"models_dir": "models"}})");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->Get("store.models_dir"), folder_ + "/models");
}

TEST_F(ConfigTest, EmptyVariablesAreUnsetAndTheHubSwitchCounts) {
  EXPECT_EQ(Config::Load("", From({{"QUERN_THREADS", ""}, {"QUERN_CONFIG", ""}}))->GetInt("generation.threads"), 0);
  EXPECT_TRUE(Config::Load("", From({{"HF_HUB_OFFLINE", "1"}}))->GetBool("general.offline"));
  EXPECT_FALSE(Config::Load("", From({{"HF_HUB_OFFLINE", "1"}, {"QUERN_OFFLINE", "0"}}))->GetBool("general.offline"));
  EXPECT_FALSE(Config::Load("", From({{"QUERN_THREADS", "4x"}})));
}

TEST_F(ConfigTest, UnknownVariablesAreListedAndStrictRefuses) {
  ASSERT_EQ(setenv("QUERN_THREDS", "1", 1), 0);
  ASSERT_EQ(setenv("QUERN_CONFIG", (folder_ + "/c.json").c_str(), 1), 0);
  std::ofstream(folder_ + "/c.json") << "{}";
  const Result<Config> config = Config::Load("");
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->unknown_variables(), std::vector<std::string>{"QUERN_THREDS"});
  std::ofstream(folder_ + "/c.json") << R"({"general": {"strict_env": true}})";
  const Result<Config> strict = Config::Load("");
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().ToString(), "unknown environment variable QUERN_THREDS (did you mean QUERN_THREADS?)");
  unsetenv("QUERN_THREDS");
  unsetenv("QUERN_CONFIG");
}

TEST(Settings, KeysFlagsAndVariablesAreUniqueAndDefaultsAreValid) {
  std::set<std::string_view> keys, flags, variables;
  Config config = *Config::Load("", From({}));
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
    if (!setting.flag.empty()) {
      EXPECT_TRUE(flags.insert(setting.flag).second) << setting.flag;
    }
    EXPECT_TRUE(variables.insert(setting.environment).second) << setting.environment;
    EXPECT_TRUE(config.SetFromFlag(setting.key, setting.default_value)) << setting.key;
    EXPECT_FALSE(setting.meaning.empty());
  }
}

TEST(ConfigSchema, DescribesEverySetting) {
  const Result<Json> schema = ParseJson(ConfigSchema(), "the schema");
  ASSERT_TRUE(schema);
  for (const Setting& setting : Settings()) {
    const size_t dot = setting.key.find('.');
    const Json& section = (*schema)["properties"][std::string(setting.key.substr(0, dot))];
    EXPECT_TRUE(section["properties"].contains(std::string(setting.key.substr(dot + 1)))) << setting.key;
    EXPECT_EQ(section["additionalProperties"], false);
  }
  EXPECT_EQ((*schema)["properties"]["general"]["properties"]["color"]["enum"],
            Json::parse(R"(["auto","always","never"])"));
}

TEST(ParseSize, PowersOfTwoAndTen) {
  EXPECT_EQ(*ParseSize("512M"), 512ll << 20);
  EXPECT_EQ(*ParseSize("4G"), 4ll << 30);
  EXPECT_EQ(*ParseSize("8GiB"), 8ll << 30);
  EXPECT_EQ(*ParseSize("500MB"), 500'000'000);
  EXPECT_EQ(*ParseSize("1.5K"), 1536);
  EXPECT_EQ(*ParseSize("0"), 0);
  for (const char* bad : {"", "G", "4g", "4 G", "-1", "nan", "1e3", "4Gx", "99999999T", "0x10", "1..5"}) {
    EXPECT_FALSE(ParseSize(bad)) << bad;
  }
}

TEST(ParseDurationMs, UnitsZeroAndNever) {
  EXPECT_EQ(**ParseDurationMs("500ms"), 500);
  EXPECT_EQ(**ParseDurationMs("30s"), 30'000);
  EXPECT_EQ(**ParseDurationMs("5m"), 300'000);
  EXPECT_EQ(**ParseDurationMs("1h"), 3'600'000);
  EXPECT_EQ(**ParseDurationMs("0"), 0);
  EXPECT_EQ(*ParseDurationMs("-1"), std::nullopt);
  for (const char* bad : {"", "5", "-2", "s", "5 s", "infs", "1d"}) EXPECT_FALSE(ParseDurationMs(bad)) << bad;
}

}  // namespace
}  // namespace quern

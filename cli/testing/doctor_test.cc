// quern doctor of the program as it is shipped: what each check finds in a folder made for it.
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/json_text.h"
#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class Doctor : public ::testing::Test {
 protected:
  struct Report {
    int status = -1;
    std::string text;
    std::map<std::string, Json> checks;  // by name
  };
  Report Run(const Environment& extra = {}) {
    Environment variables = scratch_.Variables();
    for (const auto& [name, value] : extra) variables[name] = value;
    const Finished run = RunProgram({"doctor", "--json"}, variables);
    Report report{.status = run.status, .text = run.out};
    const Json document = *ParseJson(run.out, "stdout");
    EXPECT_EQ(document["ok"], run.status == 0);
    for (const Json& check : document["checks"]) {
      EXPECT_TRUE(report.checks.emplace(check["name"], check).second) << check["name"] << " is there twice";
      EXPECT_EQ(check["state"] == "ok", check["remedy"] == "") << check << ": a remedy for all but ok";
    }
    return report;
  }
  Scratch scratch_;
};

TEST_F(Doctor, ChecksMachineInstallationAndConfiguration) {
  Report report = Run();
  EXPECT_EQ(report.status, 0) << report.text;
  for (const char* name : {"cpu", "kernels", "memory", "gpu", "models directory", "downloads", "demo model", "aliases",
                           "configuration", "hub token", "open files", "clock", "terminal"}) {
    EXPECT_TRUE(report.checks.contains(name)) << name;
  }
  EXPECT_EQ(report.checks["kernels"]["state"], "ok");
  EXPECT_THAT(report.checks["memory"]["detail"].get<std::string>(), HasSubstr("control group"));
}

TEST_F(Doctor, ShowsNeitherTheHomeFolderNorATokenNorItsFileNames) {
  const Report report = Run({{"HF_TOKEN", "hf_secret"}});
  EXPECT_THAT(report.text, Not(HasSubstr("hf_secret")));
  EXPECT_THAT(report.text, HasSubstr("HF_TOKEN is set"));
  EXPECT_THAT(report.text, Not(HasSubstr(scratch_.Path(""))));
}

TEST_F(Doctor, WarnsOfUnknownVariables) {
  Report report = Run({{"QUERN_THREDS", "1"}});
  EXPECT_EQ(report.status, 0) << "a warning is no failure";
  EXPECT_EQ(report.checks["configuration"]["state"], "warn");
  EXPECT_THAT(report.checks["configuration"]["detail"].get<std::string>(), HasSubstr("QUERN_THREDS"));
}

TEST_F(Doctor, WarnsOfUnfinishedDownloads) {
  fs::create_directories(scratch_.Path("models/models--a--b/blobs"));
  scratch_.Write("models/models--a--b/blobs/0123.incomplete", "half");
  scratch_.Write("models/models--a--b/blobs/4567", "whole");
  Report report = Run({{"QUERN_MODELS_DIR", scratch_.Path("models")}});
  EXPECT_EQ(report.checks["downloads"]["state"], "warn");
  EXPECT_THAT(report.checks["downloads"]["detail"].get<std::string>(), HasSubstr("1 unfinished"));
}

TEST_F(Doctor, FailsOnBrokenAliases) {
  scratch_.Write("aliases.json", "[1");
  Report report = Run();
  EXPECT_EQ(report.status, 1);
  EXPECT_EQ(report.checks["aliases"]["state"], "fail");
  EXPECT_THAT(report.text, Not(HasSubstr(scratch_.Path(""))));
}

TEST_F(Doctor, FailsOnABrokenConfigurationAndStillChecksTheRest) {
  const std::string path = scratch_.Write("c.json", "{\n \"general\": {\n  \"colr\": \"auto\"}}");
  Report report = Run({{"QUERN_CONFIG", path}});
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.text, HasSubstr("~/c.json:3: unknown key")) << "the home folder is not shown";
  EXPECT_THAT(report.text, Not(HasSubstr(path)));
  EXPECT_EQ(report.checks["configuration"]["state"], "fail");
  EXPECT_EQ(report.checks["kernels"]["state"], "ok");
}

}  // namespace
}  // namespace quern::cli::testing

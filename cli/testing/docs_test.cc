// docs/cli.md says what the program does: exit codes, settings and commands are compared with the tables in the code.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quern/config.h"

#include "cli/chat/slash_commands.h"
#include "cli/command.h"

namespace quern::cli {
namespace {

std::string Docs() {
  std::ostringstream text;
  text << std::ifstream(QUERN_SOURCE_DIR "/docs/cli.md").rdbuf();
  return text.str();
}

TEST(Docs, NameEveryExitCodeSettingAndCommand) {
  const std::string docs = Docs();
  for (const ExitCodeRow& row : ExitCodes()) {
    EXPECT_THAT(docs, testing::HasSubstr(fmt::format("| {} | {} |", static_cast<int>(row.code), row.name)));
  }
  for (const Setting& setting : Settings()) {
    const std::string flag = setting.flag.empty() ? " " : fmt::format(" `{}` ", setting.flag);
    EXPECT_THAT(docs, testing::HasSubstr(fmt::format("| `{}` |{}| `{}`", setting.key, flag, setting.environment)));
  }
  for (const CommandEntry& entry : Commands()) {
    if (entry.hidden) continue;
    EXPECT_THAT(docs, testing::HasSubstr(fmt::format("`{}", entry.name)));
  }
  for (const SlashCommand& command : SlashCommands()) {
    EXPECT_THAT(docs, testing::HasSubstr(fmt::format("`{}", command.name)));
  }
}

}  // namespace
}  // namespace quern::cli

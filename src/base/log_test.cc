#include "base/log.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace quern {
namespace {

std::string Format(LogFormat format, std::string_view text) {
  spdlog::memory_buf_t line;
  MakeLogFormatter(format)->format(spdlog::details::log_msg("quern", spdlog::level::warn, text), line);
  return fmt::to_string(line);
}

// Quotes, newlines and broken UTF-8 in a message must not break the line or forge a field of it.
TEST(Log, JsonLinesAreValidWhateverTheMessageHolds) {
  for (const std::string_view text :
       {R"(plain)", "a \"quoted\" path\\x\n{\"level\":\"info\"}", "broken \xff\xc3 bytes"}) {
    const std::string line = Format(LogFormat::kJson, text);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    const Result<Json> parsed = ParseJson(line, "line");
    ASSERT_TRUE(parsed) << parsed.error().ToString() << "\n" << line;
    EXPECT_EQ(parsed->size(), 3u);
    EXPECT_EQ((*parsed)["level"], "warning");
  }
  const Json parsed = *ParseJson(Format(LogFormat::kJson, "two\nlines \"q\""), "line");
  EXPECT_EQ(parsed["message"], "two\nlines \"q\"");
}

TEST(Log, TextLinesNameTheProgramAndTheLevel) {
  EXPECT_EQ(Format(LogFormat::kText, "low on memory"), "quern: warning: low on memory\n");
}

}  // namespace
}  // namespace quern

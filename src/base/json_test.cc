#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern {
namespace {

using testing::HasSubstr;

Error ErrorOf(std::string_view text, JsonLimits limits = {}) {
  const Result<Json> parsed = ParseJson(text, "text", limits);
  EXPECT_FALSE(parsed) << text;
  return parsed ? Error{} : parsed.error();
}

std::string Nested(int levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(ParseJson, AcceptsValuesOfEveryKind) {
  const Json parsed = *ParseJson(R"( {"a": [1, -2.5e3, true, null], "b": {"a": "\u00e9é"}} )", "text");
  EXPECT_EQ(parsed["a"][1], -2500.0);
  EXPECT_EQ(parsed["b"]["a"], "éé");
  EXPECT_EQ(*ParseJson("7", "text"), 7);
}

// The limit counts containers, so exactly max_depth of them are allowed, in arrays and in objects.
TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_TRUE(ParseJson(Nested(64), "text"));
  const Error error = ErrorOf(Nested(65));
  EXPECT_EQ(error.code, Code::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr("64 levels"));
  EXPECT_TRUE(ParseJson("[[1]]", "text", {.max_depth = 2}));
  ErrorOf(R"({"a":{"a":{}}})", {.max_depth = 2});
  // Deep enough that building or destroying it recursively would overflow the stack.
  ErrorOf(std::string(2'000'000, '['));
}

TEST(ParseJson, RefusesRepeatedKeysOfOneObjectOnly) {
  EXPECT_THAT(ErrorOf(R"({"size": 1, "b": 2, "size": 3})").message, HasSubstr("\"size\" occurs twice"));
  ErrorOf(R"([{"x": {"k": 1, "k": 1}}])");
  // Written differently, the same key: escapes are compared after decoding.
  ErrorOf(R"({"a": 1, "\u0061": 2})");
  EXPECT_TRUE(ParseJson(R"([{"k": 1}, {"k": {"k": 2}}, {"K": 3, "k": 4}])", "text"));
}

TEST(ParseJson, RefusesWhatIsNotOneJsonText) {
  for (const std::string_view text : {"", "  ", "{", "[1,]", "{\"a\":1} x", "[1][2]", "nul", "NaN", "'a'", "// c\n1",
                                      "01", "\"a\nb\"", "1e999", "{\"a\" 1}", "{a:1}"}) {
    EXPECT_EQ(ErrorOf(text).code, Code::kCorrupt) << text;
  }
  EXPECT_TRUE(ErrorOf(std::string_view("1\0", 2)).code == Code::kCorrupt) << "a zero byte is trailing data";
}

TEST(ParseJson, RefusesBrokenUtf8) {
  for (const std::string_view text :
       {"\"\xff\"", "\"\xc3\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\\ud800\"", "\"\xf5\x80\x80\x80\""}) {
    EXPECT_EQ(ErrorOf(text).code, Code::kCorrupt);
  }
}

TEST(ParseJson, MessagesNameTheTextAndTheByte) {
  const Error error = ErrorOf("{\"a\": ?}");
  EXPECT_THAT(error.message, HasSubstr("text: not valid JSON at byte 7"));
}

// Messages go into JSON responses, which must not fail on quoted hostile bytes, and stay short.
TEST(ParseJson, MessagesArePrintableAndBounded) {
  const std::string long_key(100'000, 'k');
  for (const std::string& text : {std::string("\"\xff\x1b[2J"), std::string("{\"\u00e9\\n\": 1, \"\u00e9\\n\": 2}"),
                                  "{\"" + long_key + "\":1,\"" + long_key + "\":2}", "\"" + long_key}) {
    const Error error = ErrorOf(text);
    EXPECT_LT(error.message.size(), 400u);
    for (const char c : error.message) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace quern

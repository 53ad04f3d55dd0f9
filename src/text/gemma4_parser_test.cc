// Proves: every shape of output that has been seen is parsed as the table says; the result is a function of the markers
// and the bytes between them, however those bytes are spread over tokens; hostile calls are text, not crashes.
#include "text/gemma4_parser.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/demo_vocabulary.h"
#include "text/gemma4_value.h"
#include "text/special_ids.h"
#include "text/stream_decoder.h"

namespace quern::text {
namespace {

using ::testing::HasSubstr;
using Kind = OutputEvent::Kind;

const std::shared_ptr<const Tokenizer>& Demo() {
  static const std::shared_ptr<const Tokenizer> tokenizer = *MakeTokenizer(testing::DemoVocabulary());
  return tokenizer;
}

// Events in short: text in quotes, thoughts in angles, calls as name and arguments; neighbours of a kind joined.
std::string Summary(const std::vector<OutputEvent>& events) {
  std::string out;
  for (size_t i = 0; i < events.size();) {
    if (events[i].kind == Kind::kToolCall) {
      out += fmt::format("[{} {} {}]", events[i].tool_call.id, events[i].tool_call.name,
                         events[i].tool_call.arguments.dump());
      ++i;
      continue;
    }
    const Kind kind = events[i].kind;
    std::string text;
    for (; i < events.size() && events[i].kind == kind; ++i) text += events[i].text;
    out += kind == Kind::kText ? "'" + text + "'" : "<" + text + ">";
  }
  return out;
}

std::string Parse(std::span<const TokenId> ids, bool inside_thought = false) {
  const auto parser = MakeGemma4Parser(Demo(), {"get_weather", "get_time"}, inside_thought);
  std::vector<OutputEvent> events;
  for (const TokenId id : ids) parser->Push(id, &events);
  parser->Finish(&events);
  for (const OutputEvent& event : events) EXPECT_EQ(RepairUtf8(event.text), event.text);
  return Summary(events);
}

std::vector<TokenId> Ids(std::string_view text) { return Demo()->Encode(text, ParseSpecial::kYes); }

struct Case {
  const char* name;
  const char* output;
  const char* expected;
  bool inside_thought = false;
};

const Case kCases[] = {
    {"plain", "Hello!<turn|>", "'Hello!'"},
    {"nothing behind the end", "Hello!<turn|>more<|channel>thought\nx", "'Hello!'"},
    {"eos ends too", "Hello!<eos>x", "'Hello!'"},
    {"thought", "<|channel>thought\nhmm\nso\n<channel|>Hello!<turn|>", "<hmm\nso>'Hello!'"},
    {"empty thought", "<|channel>thought\n<channel|>Hello!<turn|>", "'Hello!'"},
    {"thought header alone", "<|channel>thought<channel|>Hello!<turn|>", "'Hello!'"},
    {"bare close", "<channel|>Hello!<turn|>", "'Hello!'"},
    {"opened by the prompt", "hmm\n<channel|>Hello!<turn|>", "<hmm>'Hello!'", true},
    {"opened by the prompt, never closed", "hmm", "<hmm>", true},
    {"never closed", "<|channel>thought\nhmm\n<turn|>", "<hmm>"},
    {"header never finished", "<|channel>thou", ""},
    {"final channel", "<|channel>thought\na\n<channel|><|channel>final\nHello!<channel|> Bye<turn|>",
     "<a>'Hello! Bye'"},
    {"final header, closed at once", "<|channel>final\n<channel|>Hello!<turn|>", "'Hello!'"},
    {"unknown channel", "<|channel>secret\nx<channel|>Hello!<turn|>", "'Hello!'"},
    {"a name too long",
     "<|channel>a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k\nx<channel|>y", "'y'"},
    {"thought behind the answer", "Hi<|channel>thought\nx\n<channel|> there<turn|>", "'Hi'<x>' there'"},
    {"call", "<|tool_call>call:get_weather{city:<|\"|>Paris<|\"|>,days:3}<tool_call|><|tool_response>",
     "[call_0 get_weather {\"city\":\"Paris\",\"days\":3}]"},
    {"two calls", "<|tool_call>call:f{}<tool_call|>\n<|tool_call>call:g{a:[1,{b:null}]}<tool_call|><|tool_response>",
     "[call_0 f {}][call_1 g {\"a\":[1,{\"b\":null}]}]"},
    {"call behind a thought", "<|channel>thought\nneed\n<channel|><|tool_call>call:f{}<tool_call|><|tool_response>",
     "<need>[call_0 f {}]"},
    {"call inside an unclosed thought", "<|channel>thought\nneed<|tool_call>call:f{}<tool_call|>",
     "<need>[call_0 f {}]"},
    {"text, call, text", "Let me see. <|tool_call>call:f{}<tool_call|> Done<turn|>",
     "'Let me see. '[call_0 f {}]' Done'"},
    {"no start token", "call:get_time{}<tool_call|><|tool_response>", "[call_0 get_time {}]"},
    {"no start token behind a thought",
     "<|channel>thought\nx\n<channel|>call:get_weather{city:<|\"|>Oslo<|\"|>}<tool_call|>",
     "<x>[call_0 get_weather {\"city\":\"Oslo\"}]"},
    {"no start and no close token", "call:get_time{}<|tool_response>", "[call_0 get_time {}]"},
    {"no close token", "<|tool_call>call:f{a:1}<|tool_response>", "[call_0 f {\"a\":1}]"},
    {"words that look like a call of no tool", "call:me{later}<turn|>", "'call:me{later}'"},
    {"words about a call", "call:get_time{} is how.<turn|>", "'call:get_time{} is how.'"},
    {"half a name", "call:get_ti<turn|>", "'call:get_ti'"},
    {"unfinished call is text", "<|tool_call>call:f{a:<|\"|>x", "'<|tool_call>call:f{a:<|\"|>x'"},
    {"malformed call is text", "<|tool_call>f(a)<tool_call|>x<turn|>", "'<|tool_call>f(a)<tool_call|>x'"},
    {"call cut by a call", "<|tool_call>call:f{<|tool_call>call:g{}<tool_call|>", "'<|tool_call>call:f{'[call_0 g {}]"},
    {"marker characters inside a string", "<|tool_call>call:f{a:<|\"|>}] {,:<|\"|>}<tool_call|>",
     "[call_0 f {\"a\":\"}] {,:\"}]"},
    {"empty string", "<|tool_call>call:f{a:<|\"|><|\"|>}<tool_call|>", "[call_0 f {\"a\":\"\"}]"},
    {"quoted keys", "<|tool_call>call:f{<|\"|>a b<|\"|>:1,\"c\":\"d\\n\"}<tool_call|>",
     "[call_0 f {\"a b\":1,\"c\":\"d\\n\"}]"},
    {"scalars", "<|tool_call>call:f{a:-1.5e3,b:true,c:null,d:word x,e:1e999,f:0x1,}<tool_call|>",
     "[call_0 f {\"a\":-1500.0,\"b\":true,\"c\":null,\"d\":\"word x\",\"e\":\"1e999\",\"f\":\"0x1\"}]"},
    {"white space", "<|tool_call> call:f {\n a : 1 ,\n b : [ 1 , 2 ] }\n<tool_call|>",
     "[call_0 f {\"a\":1,\"b\":[1,2]}]"},
    {"stray markers vanish", "a<|\"|>b<tool_call|>c<|turn>d<|think|><turn|>", "'abcd'"},
};

TEST(Gemma4Parser, Cases) {
  for (const Case& test : kCases) {
    EXPECT_EQ(Parse(Ids(test.output), test.inside_thought), test.expected) << test.name;
  }
}

// The same markers and bytes, but the text between markers cut into tokens at random: long pieces, or one per byte.
std::vector<TokenId> Respell(std::span<const TokenId> ids, std::mt19937& random) {
  std::vector<TokenId> out;
  std::string run;
  const auto flush = [&] {
    while (!run.empty()) {
      const size_t length = std::min<size_t>(run.size(), 1 + random() % 6);
      if (random() % 2 == 0) {
        Demo()->Encode(run.substr(0, length), ParseSpecial::kNo, &out);
      } else {
        for (const char byte : run.substr(0, length)) {
          out.push_back(*Demo()->Find(fmt::format("<0x{:02X}>", static_cast<uint8_t>(byte))));
        }
      }
      run.erase(0, length);
    }
  };
  for (const TokenId id : ids) {
    if (Demo()->IsSpecial(id)) {
      flush();
      out.push_back(id);
    } else {
      run += Demo()->TokenBytes(id);
    }
  }
  flush();
  return out;
}

TEST(Gemma4Parser, TheResultDoesNotDependOnTheTokens) {
  std::mt19937 random(1);
  for (const Case& test : kCases) {
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(Parse(Respell(Ids(test.output), random), test.inside_thought), test.expected) << test.name;
    }
  }
  static constexpr const char* kParts[] = {
      "<|channel>",   "<channel|>", "thought\n", "final\n", "\n", "<|tool_call>", "call:", "get_time", "{", "}", "a:1",
      "<tool_call|>", "<|\"|>",     "é😀",        " ",       ",",  "\xE2\x82"};
  for (int round = 0; round < 3000; ++round) {
    std::string output;
    for (size_t parts = random() % 25; parts > 0; --parts) output += kParts[random() % std::size(kParts)];
    const auto ids = Ids(output);
    EXPECT_EQ(Parse(Respell(ids, random)), Parse(ids)) << output;
  }
}

TEST(Gemma4Parser, MarkersNeverReachTheAnswerOfRandomTokens) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<TokenId> ids;
    for (size_t count = random() % 40; count > 0; --count) ids.push_back(static_cast<TokenId>(random() % 60));
    const auto parser = MakeGemma4Parser(Demo(), {}, false);
    std::vector<OutputEvent> events;
    bool call = false;
    for (const TokenId id : ids) {
      call |= id == *Demo()->special().tool_call_open;  // a malformed call is shown as it was written
      parser->Push(id, &events);
    }
    parser->Finish(&events);
    if (call) continue;
    for (const OutputEvent& event : events) {
      for (const SpecialName& name : SpecialNames()) EXPECT_EQ(event.text.find(name.piece), std::string::npos);
    }
  }
}

TEST(Gemma4Parser, SaysWhetherItIsThinking) {
  const auto parser = MakeGemma4Parser(Demo(), {}, true);
  std::vector<OutputEvent> events;
  EXPECT_TRUE(parser->in_thinking());
  parser->Push(*Demo()->special().channel_close, &events);
  EXPECT_FALSE(parser->in_thinking());
}

TEST(Gemma4Value, ErrorsNameThePlace) {
  const auto error = [](std::string bytes, std::vector<size_t> quotes = {}) {
    const auto call = ParseToolCall({std::move(bytes), std::move(quotes)});
    EXPECT_FALSE(call);
    return call ? std::string() : call.error().message;
  };
  EXPECT_THAT(error("f{}"), HasSubstr("call:"));
  EXPECT_THAT(error("call:{}"), HasSubstr("without a name"));
  EXPECT_THAT(error("call:f"), HasSubstr("without arguments"));
  EXPECT_THAT(error("call:f{a:1}x"), HasSubstr("behind"));
  EXPECT_THAT(error("call:f{a}"), HasSubstr("colon"));
  EXPECT_THAT(error("call:f{a:}"), HasSubstr("missing value"));
  EXPECT_THAT(error("call:f{a:1"), HasSubstr("neither comma nor brace"));
  EXPECT_THAT(error("call:f{a:x}", {9}), HasSubstr("not closed"));
  EXPECT_THAT(error("call:f{a:\"x}"), HasSubstr("not closed"));
  EXPECT_THAT(error("call:f{a:xyz}", {10, 11}), HasSubstr("bare word"));
}

TEST(Gemma4Value, DepthIsLimited) {
  const auto nested = [](size_t depth) {
    return ParseToolCall({"call:f{a:" + std::string(depth, '[') + std::string(depth, ']') + "}", {}});
  };
  EXPECT_TRUE(nested(63));
  ASSERT_FALSE(nested(64));
  EXPECT_THAT(nested(1000000).error().message, HasSubstr("64 levels"));
}

TEST(Gemma4Value, AnyBytesAreAnAnswerOrAnError) {
  std::mt19937 random(3);
  static constexpr std::string_view kBytes = "call:f{}[]\",:\\ 1-ae\n\xFF\xE2";
  for (int round = 0; round < 20000; ++round) {
    ToolCallSource source{.bytes = "call:f{"};
    for (size_t length = random() % 30; length > 0; --length) {
      source.bytes += kBytes[random() % kBytes.size()];
      if (random() % 6 == 0) source.quotes.push_back(source.bytes.size());
    }
    const auto call = ParseToolCall(source);
    if (call) {
      EXPECT_NE(call->arguments.dump(), "") << "strings must be UTF-8, else dump throws";
    }
  }
}

}  // namespace
}  // namespace quern::text

#include "text/gemma4_value.h"

#include "text/stream_decoder.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

constexpr int kMaxDepth = 64;

class ValueReader {
 public:
  explicit ValueReader(const ToolCallSource& source) : bytes_(source.bytes), quotes_(source.quotes) {}

  Result<ToolCall> ReadCall() {
    SkipSpace();
    if (!bytes_.substr(at_).starts_with("call:"))
      return Fail(Code::kCorrupt, "a tool call that does not begin with call:");
    at_ += 5;
    QUERN_ASSIGN_OR_RETURN(std::string name, ReadBare("{"));
    if (name.empty()) return Fail(Code::kCorrupt, "a tool call without a name");
    if (!TakeIf('{')) return Fail(Code::kCorrupt, "a tool call without arguments in braces");
    ToolCall call{.name = std::move(name)};
    QUERN_ASSIGN_OR_RETURN(call.arguments, ReadObject(1));
    SkipSpace();
    if (at_ < bytes_.size() || AtQuote()) return Fail(Code::kCorrupt, "text behind a tool call at byte {}", at_);
    return call;
  }

 private:
  bool AtQuote() const { return quote_ < quotes_.size() && quotes_[quote_] == at_; }
  // The next quote, or the end: no scan over plain bytes may pass it.
  size_t Limit() const { return quote_ < quotes_.size() ? quotes_[quote_] : bytes_.size(); }

  void SkipSpace() {
    while (at_ < Limit() && std::string_view(" \t\r\n").find(bytes_[at_]) != std::string_view::npos) ++at_;
  }
  bool TakeIf(char c) {
    SkipSpace();
    if (at_ >= Limit() || bytes_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<std::string> ReadQuoted() {
    ++quote_;
    if (quote_ == quotes_.size()) return Fail(Code::kCorrupt, "a string that is not closed at byte {}", at_);
    const size_t end = quotes_[quote_++];
    std::string text = RepairUtf8(bytes_.substr(at_, end - at_));
    at_ = end;
    return text;
  }

  // A JSON string in plain quotes.
  Result<std::string> ReadJsonString() {
    size_t end = at_ + 1;
    while (end < Limit() && bytes_[end] != '"') end += bytes_[end] == '\\' ? 2 : 1;
    if (end >= Limit()) return Fail(Code::kCorrupt, "a string that is not closed at byte {}", at_);
    QUERN_ASSIGN_OR_RETURN(Json text, ParseJson(RepairUtf8(bytes_.substr(at_, end + 1 - at_)), "a tool argument"));
    at_ = end + 1;
    return text.get<std::string>();
  }

  // Up to one of `stops`, without white space at the ends.
  Result<std::string> ReadBare(std::string_view stops) {
    const size_t end = std::min(bytes_.find_first_of(stops, at_), bytes_.size());
    if (end > Limit()) return Fail(Code::kCorrupt, "a string inside a bare word at byte {}", at_);
    std::string word(TrimWhitespace(bytes_.substr(at_, end - at_)));
    at_ = end;
    return RepairUtf8(word);
  }

  Result<std::string> ReadKey() {
    SkipSpace();
    if (AtQuote()) return ReadQuoted();
    if (at_ < Limit() && bytes_[at_] == '"') return ReadJsonString();
    QUERN_ASSIGN_OR_RETURN(std::string key, ReadBare(":,{}[]"));
    if (key.empty()) return Fail(Code::kCorrupt, "a missing key at byte {}", at_);
    return key;
  }

  Result<Json> ReadValue(int depth) {
    SkipSpace();
    if (AtQuote()) {
      QUERN_ASSIGN_OR_RETURN(std::string text, ReadQuoted());
      return Json(std::move(text));
    }
    if (at_ < Limit() && bytes_[at_] == '"') {
      QUERN_ASSIGN_OR_RETURN(std::string text, ReadJsonString());
      return Json(std::move(text));
    }
    if (TakeIf('{')) return ReadObject(depth + 1);
    if (TakeIf('[')) return ReadArray(depth + 1);
    QUERN_ASSIGN_OR_RETURN(std::string word, ReadBare(",}]"));
    if (word.empty()) return Fail(Code::kCorrupt, "a missing value at byte {}", at_);
    return ToScalar(std::move(word));
  }

  // A number, true, false or null as JSON spells them; else the word itself.
  static Json ToScalar(std::string word) {
    const bool scalar =
        word == "true" || word == "false" || word == "null" || word[0] == '-' || (word[0] >= '0' && word[0] <= '9');
    if (!scalar) return Json(std::move(word));
    Result<Json> value = ParseJson(word, "a tool argument");
    return value ? *std::move(value) : Json(std::move(word));
  }

  // Behind the opening brace.
  Result<Json> ReadObject(int depth) {
    if (depth > kMaxDepth) return Fail(Code::kCorrupt, "tool arguments nested deeper than {} levels", kMaxDepth);
    Json object = Json::object();
    while (!TakeIf('}')) {
      QUERN_ASSIGN_OR_RETURN(const std::string key, ReadKey());
      if (!TakeIf(':')) return Fail(Code::kCorrupt, "no colon behind the key at byte {}", at_);
      QUERN_ASSIGN_OR_RETURN(object[key], ReadValue(depth));
      if (!TakeIf(',') && !(at_ < Limit() && bytes_[at_] == '}')) {
        return Fail(Code::kCorrupt, "neither comma nor brace at byte {}", at_);
      }
    }
    return object;
  }

  Result<Json> ReadArray(int depth) {
    if (depth > kMaxDepth) return Fail(Code::kCorrupt, "tool arguments nested deeper than {} levels", kMaxDepth);
    Json array = Json::array();
    while (!TakeIf(']')) {
      QUERN_ASSIGN_OR_RETURN(Json item, ReadValue(depth));
      array.push_back(std::move(item));
      if (!TakeIf(',') && !(at_ < Limit() && bytes_[at_] == ']')) {
        return Fail(Code::kCorrupt, "neither comma nor bracket at byte {}", at_);
      }
    }
    return array;
  }

  std::string_view bytes_;
  const std::vector<size_t>& quotes_;
  size_t at_ = 0;
  size_t quote_ = 0;  // index of the next quote
};

}  // namespace

std::string ToolCallSource::Spelled() const {
  std::string text;
  size_t begin = 0;
  for (const size_t quote : quotes) {
    text.append(bytes, begin, quote - begin).append("<|\"|>");
    begin = quote;
  }
  return RepairUtf8(text.append(bytes, begin));
}

Result<ToolCall> ParseToolCall(const ToolCallSource& source) { return ValueReader(source).ReadCall(); }

}  // namespace quern::text

#include "engine/config_file.h"

#include <iterator>
#include <set>
#include <utility>

#include "base/json.h"

namespace quern::engine {
namespace {

// Iterates over the text and counts the lines that the parser has read: the SAX events carry no position of their own.
// The parser reads at most one character ahead of an event, and none ahead of a key.
class LineCounter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineCounter& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  LineCounter operator++(int) {
    LineCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCounter& other) const { return at_ == other.at_; }
  bool operator!=(const LineCounter& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

// Returning false from an event ends the parse; nothing throws.
class Collector final : public nlohmann::json_sax<Json> {
 public:
  Collector(std::string_view path, const int* line) : path_(path), line_(line) {}

  std::vector<ConfigEntry> entries;
  std::string failure;

  bool null() override { return Value(ConfigEntry::Type::kOther, "null"); }
  bool boolean(bool value) override { return Value(ConfigEntry::Type::kBool, value ? "true" : "false"); }
  bool number_integer(int64_t value) override { return Value(ConfigEntry::Type::kInteger, fmt::to_string(value)); }
  bool number_unsigned(uint64_t value) override { return Value(ConfigEntry::Type::kInteger, fmt::to_string(value)); }
  bool number_float(double, const std::string& text) override { return Value(ConfigEntry::Type::kNumber, text); }
  bool string(std::string& value) override { return Value(ConfigEntry::Type::kString, value); }
  bool binary(binary_t&) override { return Value(ConfigEntry::Type::kOther, "binary"); }

  bool start_object(std::size_t) override {
    if (depth_ >= 2 && !Value(ConfigEntry::Type::kOther, "an object")) return false;
    if (depth_ == 0 && in_array_ > 0) return Refuse(*line_, "the file must be one object of sections");
    if (in_array_ == 0 && depth_ < 2) {
      keys_.emplace_back();
      if (depth_ == 1) section_ = key_;
    }
    return ++depth_ <= kDeepest || Refuse(*line_, "nested too deeply");
  }
  bool end_object() override {
    if (--depth_ < 2 && in_array_ == 0) keys_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ > 2 || in_array_ > 0) return true;  // inside a value that is refused as a whole
    key_ = name;
    key_line_ = *line_;
    if (keys_.back().insert(name).second) return true;
    return Refuse(key_line_, fmt::format("key \"{}\" occurs twice", FullKey()));
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return Refuse(*line_, "the file must be one object of sections");
    if (!Value(ConfigEntry::Type::kOther, "an array")) return false;
    return ++in_array_ <= kDeepest || Refuse(*line_, "nested too deeply");
  }
  bool end_array() override {
    --in_array_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string what = error.what();
    if (const size_t colon = what.find("column"); colon != std::string::npos)
      what = what.substr(what.find(": ", colon) + 2);
    return Refuse(*line_, "not valid JSON: " + what);
  }

 private:
  static constexpr int kDeepest = 64;  // hostile nesting must not exhaust anything

  std::string FullKey() const { return depth_ >= 2 ? section_ + "." + key_ : key_; }
  bool Refuse(int line, std::string_view why) {
    if (failure.empty()) failure = fmt::format("{}:{}: {}", path_, line, why);
    return false;
  }
  bool Value(ConfigEntry::Type type, std::string text) {
    if (depth_ == 0) return Refuse(*line_, "the file must be one object of sections");
    if (depth_ > 2 || in_array_ > 0) return true;
    entries.push_back({FullKey(), key_line_, type, std::move(text)});
    return true;
  }

  std::string_view path_;
  const int* line_;
  int depth_ = 0, in_array_ = 0, key_line_ = 1;
  std::string section_, key_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Result<std::vector<ConfigEntry>> ParseConfigFile(std::string_view text, std::string_view path) {
  int line = 1;
  Collector collector(path, &line);
  const LineCounter begin(text.data(), &line), end(text.data() + text.size(), &line);
  if (!Json::sax_parse(begin, end, &collector)) return MakeError(Code::kInvalidArgument, collector.failure);
  return std::move(collector.entries);
}

}  // namespace quern::engine

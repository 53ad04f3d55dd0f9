#include "format/tokenizer_json_parser.h"

#include <cstdint>
#include <optional>

#include "format/quoted.h"

namespace quern::format {
namespace {

constexpr size_t kMaxDepth = 64;  // nlohmann recurses when a value is destroyed
// An entry `"":0,` takes five bytes, and at most every second id may be free (tokenizer_json.cc). So no honest id
// exceeds half the file's size, and a larger one is refused before memory is reserved for the ids below it.
constexpr size_t kBytesPerId = 2;

// Receives the events of Json::sax_parse; member names are given by that interface. Returning false ends the parse.
class Handler {
 public:
  Handler(size_t text_bytes, TokenizerJson* out) : max_pieces_(text_bytes / kBytesPerId), out_(*out) {}
  std::optional<Error>& error() { return error_; }

  bool null() { return Value(Json()); }
  bool boolean(bool value) { return Value(Json(value)); }
  bool number_integer(int64_t value) {
    if (where_ == Where::kVocabEntry) return Score(static_cast<double>(value));
    return Value(Json(value));
  }
  bool number_unsigned(uint64_t value) {
    if (where_ == Where::kVocabObject) return Piece(std::move(key_), value);
    if (where_ == Where::kVocabEntry) return Score(static_cast<double>(value));
    return Value(Json(value));
  }
  bool number_float(double value, const std::string&) {
    if (where_ == Where::kVocabEntry) return Score(value);
    return Value(Json(value));
  }
  bool string(std::string& value);
  bool binary(Json::binary_t&) { return Refuse("binary data"); }
  bool start_object(size_t);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool key(std::string& value);
  bool parse_error(size_t, const std::string&, const Json::exception& error) {
    // what() quotes the token, which may be megabytes long.
    return Refuse(fmt::format("not valid JSON: {}", std::string_view(error.what()).substr(0, 256)));
  }

 private:
  enum class Where : uint8_t { kTree, kVocabObject, kVocabArray, kVocabEntry, kMerges, kMergePair };

  bool Refuse(std::string message) {
    error_ = Error{Code::kCorrupt, std::move(message), {}, {}};
    return false;
  }
  bool Value(Json value);     // a value of the tree
  bool Open(Json container);  // a container of the tree, which becomes the innermost
  Json* Insert(Json value);   // into the innermost container; nullptr when the key is taken
  bool IsLargePart(std::string_view name) const { return stack_.size() == 2 && model_depth_ == 2 && key_ == name; }
  bool Enter(Where where);  // leaves a null in the tree and takes the events until the part ends
  bool Piece(std::string piece, uint64_t id);
  bool Score(double score);

  const uint64_t max_pieces_;
  TokenizerJson& out_;
  std::optional<Error> error_;
  Where where_ = Where::kTree;
  // Containers from the root inwards. Pointers stay valid: objects are maps, and an array grows only while it is the
  // innermost container.
  std::vector<Json*> stack_;
  size_t model_depth_ = 0;  // 2 inside the value of the top-level key "model"
  std::string key_;         // of the innermost object
  std::pair<std::string, std::string> halves_;
  int num_in_entry_ = 0;  // elements so far of a [piece, score] or [left, right]
};

Json* Handler::Insert(Json value) {
  if (stack_.empty()) {
    out_.tree = std::move(value);
    return &out_.tree;
  }
  Json& top = *stack_.back();
  if (top.is_array()) {
    top.push_back(std::move(value));
    return &top.back();
  }
  const auto [place, is_new] = top.get_ref<Json::object_t&>().emplace(key_, std::move(value));
  return is_new ? &place->second : nullptr;
}

bool Handler::Value(Json value) {
  if (where_ != Where::kTree)
    return Refuse(fmt::format("a {} stands inside model.vocab or model.merges", value.type_name()));
  if (Insert(std::move(value)) == nullptr)
    return Refuse(fmt::format("key {} occurs twice in one object", Quoted(key_)));
  return true;
}

bool Handler::Open(Json container) {
  if (where_ != Where::kTree) return Refuse("model.vocab or model.merges is nested too deeply");
  if (stack_.size() == kMaxDepth) return Refuse(fmt::format("nested deeper than {} levels", kMaxDepth));
  const bool is_model = stack_.size() == 1 && stack_.back()->is_object() && key_ == "model";
  Json* place = Insert(std::move(container));
  if (place == nullptr) return Refuse(fmt::format("key {} occurs twice in one object", Quoted(key_)));
  stack_.push_back(place);
  if (is_model && place->is_object()) model_depth_ = stack_.size();
  return true;
}

bool Handler::Enter(Where where) {
  if (Insert(Json()) == nullptr) return Refuse(fmt::format("model.{} occurs twice", key_));
  where_ = where;
  return true;
}

bool Handler::start_object(size_t) {
  if (where_ == Where::kTree && IsLargePart("vocab")) return Enter(Where::kVocabObject);
  return Open(Json::object());
}

bool Handler::end_object() {
  if (where_ == Where::kVocabObject) {
    where_ = Where::kTree;
    return true;
  }
  if (stack_.size() == model_depth_) model_depth_ = 0;
  stack_.pop_back();
  return true;
}

bool Handler::start_array(size_t) {
  switch (where_) {
    case Where::kTree:
      if (IsLargePart("vocab")) return Enter(Where::kVocabArray);
      if (IsLargePart("merges")) return Enter(Where::kMerges);
      return Open(Json::array());
    case Where::kVocabArray:
      where_ = Where::kVocabEntry;
      break;
    case Where::kMerges:
      where_ = Where::kMergePair;
      break;
    default:
      return Refuse("model.vocab or model.merges is nested too deeply");
  }
  num_in_entry_ = 0;
  return true;
}

bool Handler::end_array() {
  switch (where_) {
    case Where::kVocabEntry:
      if (num_in_entry_ != 2) return Refuse("an entry of model.vocab is not [piece, score]");
      where_ = Where::kVocabArray;
      return true;
    case Where::kMergePair:
      if (num_in_entry_ != 2) return Refuse("an entry of model.merges is not a pair of strings");
      out_.merges.push_back(std::move(halves_));
      where_ = Where::kMerges;
      return true;
    case Where::kVocabArray:
    case Where::kMerges:
      where_ = Where::kTree;
      return true;
    default:
      stack_.pop_back();
      return true;
  }
}

bool Handler::key(std::string& value) {
  key_ = std::move(value);
  return true;
}

bool Handler::string(std::string& value) {
  switch (where_) {
    case Where::kTree:
      return Value(Json(std::move(value)));
    case Where::kMerges:
      if (!SplitMerge(value, &halves_))
        return Refuse(fmt::format("merge {} has no space between two halves", Quoted(value)));
      out_.merges.push_back(std::move(halves_));
      return true;
    case Where::kMergePair:
      if (num_in_entry_ > 1) return Refuse("an entry of model.merges is not a pair of strings");
      (num_in_entry_++ == 0 ? halves_.first : halves_.second) = std::move(value);
      return true;
    case Where::kVocabEntry:
      if (num_in_entry_++ != 0) return Refuse("an entry of model.vocab is not [piece, score]");
      return Piece(std::move(value), out_.pieces.size());
    case Where::kVocabObject:
    case Where::kVocabArray:
      break;
  }
  return Refuse(fmt::format("the string {} stands where model.vocab needs something else", Quoted(value)));
}

bool Handler::Piece(std::string piece, uint64_t id) {
  if (id >= max_pieces_)
    return Refuse(fmt::format("piece {} has id {}, more than the file has pieces", Quoted(piece), id));
  if (id >= out_.pieces.size()) {
    out_.pieces.resize(id + 1);
    out_.present.resize(id + 1);
  }
  if (out_.present[id]) {
    return Refuse(fmt::format("id {} belongs to {} and to {}", id, Quoted(out_.pieces[id]), Quoted(piece)));
  }
  out_.pieces[id] = std::move(piece);
  out_.present[id] = true;
  ++out_.num_pieces;
  return true;
}

bool Handler::Score(double score) {
  if (num_in_entry_++ != 1) return Refuse("an entry of model.vocab is not [piece, score]");
  out_.scores.push_back(static_cast<float>(score));
  return true;
}

}  // namespace

bool SplitMerge(std::string_view merge, std::pair<std::string, std::string>* halves) {
  const size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == merge.size()) return false;
  halves->first.assign(merge.substr(0, space));
  halves->second.assign(merge.substr(space + 1));
  return true;
}

Result<TokenizerJson> ParseTokenizerJsonText(std::string_view text, std::string_view what) {
  TokenizerJson parsed;
  Handler handler(text.size(), &parsed);
  bool complete = false;
  try {
    complete = Json::sax_parse(text, &handler);
  } catch (const std::exception& error) {
    return Fail(Code::kCorrupt, "{}: {}", what, error.what());
  }
  if (complete) return parsed;
  Error error = handler.error().value_or(Error{Code::kCorrupt, "not valid JSON", {}, {}});
  return WithFrame(std::move(error), std::string(what));
}

}  // namespace quern::format

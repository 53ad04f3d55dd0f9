#include "text/gemma4_tool_syntax.h"

#include <algorithm>

#include "text/utf8.h"

namespace quern::text {
namespace {

constexpr std::string_view kQuote = "<|\"|>";
enum class Keys : uint8_t { kBare, kQuoted };

void Quote(std::string_view text, PromptBuilder* out) { out->Marker(kQuote).Text(text).Marker(kQuote); }

// The order of Jinja's dictsort: by key, case ignored.
std::vector<std::pair<std::string_view, const Json*>> Sorted(const Json& object) {
  std::vector<std::pair<std::string, std::pair<std::string_view, const Json*>>> keyed;
  for (auto item = object.begin(); item != object.end(); ++item)
    keyed.push_back({ToLower(item.key()), {item.key(), &*item}});
  std::ranges::stable_sort(keyed, {}, [](const auto& entry) -> const std::string& { return entry.first; });
  std::vector<std::pair<std::string_view, const Json*>> sorted;
  for (const auto& entry : keyed) sorted.push_back(entry.second);
  return sorted;
}

// What a template takes for true: neither null, false, zero nor empty.
bool IsTruthy(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

// The member, or null.
const Json& Member(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : null;
}

void RenderValue(const Json& value, Keys keys, PromptBuilder* out) {
  if (value.is_string()) {
    Quote(value.get_ref<const std::string&>(), out);
  } else if (value.is_object()) {
    out->Text("{");
    std::string_view comma;
    for (const auto& [key, member] : Sorted(value)) {
      out->Text(comma);
      comma = ",";
      keys == Keys::kQuoted ? Quote(key, out) : static_cast<void>(out->Text(key));
      out->Text(":");
      RenderValue(*member, keys, out);
    }
    out->Text("}");
  } else if (value.is_array()) {
    out->Text("[");
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out->Text(",");
      RenderValue(value[i], keys, out);
    }
    out->Text("]");
  } else {
    out->Text(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

void RenderStrings(const Json& strings, PromptBuilder* out) {
  out->Text("[");
  std::string_view comma;
  for (const Json& item : strings) {
    out->Text(comma);
    comma = ",";
    RenderValue(item, Keys::kQuoted, out);
  }
  out->Text("]");
}

// "type" may be a list such as ["string", "null"]: the first that is not null counts.
std::string TypeName(const Json& type) {
  const Json* name = &type;
  if (type.is_array()) {
    for (const Json& item : type) {
      name = &item;
      if (item != "null") break;
    }
  }
  return name->is_string() ? ToUpper(name->get_ref<const std::string&>()) : std::string();
}

bool IsNullable(const Json& schema) {
  const Json& type = Member(schema, "type");
  return IsTruthy(Member(schema, "nullable")) ||
         (type.is_array() && std::ranges::find(type, Json("null")) != type.end());
}

enum class KeyFilter : uint8_t { kNone, kSchemaWords };
void RenderProperties(const Json& properties, KeyFilter filter, PromptBuilder* out);

// The members of "items", by key.
void RenderItems(const Json& items, PromptBuilder* out) {
  out->Text("items:{");
  std::string_view comma;
  for (const auto& [key, member] : Sorted(items)) {
    if (member->is_null()) continue;
    out->Text(comma).Text(key).Text(":");
    comma = ",";
    if (key == "properties") {
      out->Text("{");
      if (member->is_object()) RenderProperties(*member, KeyFilter::kNone, out);
      out->Text("}");
    } else if (key == "required" && member->is_array()) {
      RenderStrings(*member, out);
    } else if (key == "type" && member->is_string()) {
      Quote(TypeName(*member), out);
    } else if (key == "type" && member->is_array()) {
      Json upper = *member;
      for (Json& name : upper) name = TypeName(name);
      RenderStrings(upper, out);
    } else {
      RenderValue(*member, Keys::kQuoted, out);
    }
  }
  out->Text("}");
}

// {description:..,enum|items:..,nullable:..,properties:..,required:..,type:..}
void RenderSchema(const Json& schema, PromptBuilder* out) {
  out->Text("{");
  std::string_view comma;
  const auto next = [&]() -> PromptBuilder& {
    out->Text(comma);
    comma = ",";
    return *out;
  };
  const std::string type = TypeName(Member(schema, "type"));
  const Json& description = Member(schema, "description");
  if (description.is_string() && IsTruthy(description)) {
    next().Text("description:");
    RenderValue(description, Keys::kQuoted, out);
  }
  if (type == "STRING" && IsTruthy(Member(schema, "enum"))) {
    next().Text("enum:");
    RenderValue(Member(schema, "enum"), Keys::kQuoted, out);
  }
  const Json& items = Member(schema, "items");
  if (type == "ARRAY" && items.is_object() && !items.empty()) {
    next();
    RenderItems(items, out);
  }
  if (IsNullable(schema)) next().Text("nullable:true");
  if (type == "OBJECT") {
    const Json& properties = Member(schema, "properties");
    next().Text("properties:{");
    // A schema without "properties" lists them directly, beside the words of the schema itself.
    RenderProperties(properties.is_object() ? properties : schema,
                     properties.is_object() ? KeyFilter::kNone : KeyFilter::kSchemaWords, out);
    out->Text("}");
    if (const Json& required = Member(schema, "required"); required.is_array() && !required.empty()) {
      next().Text("required:");
      RenderStrings(required, out);
    }
  }
  next().Text("type:");
  Quote(type, out);
  out->Text("}");
}

void RenderProperties(const Json& properties, KeyFilter filter, PromptBuilder* out) {
  static constexpr std::string_view kSchemaWords[] = {"description", "type", "properties", "required", "nullable"};
  std::string_view comma;
  for (const auto& [key, schema] : Sorted(properties)) {
    if (filter == KeyFilter::kSchemaWords && std::ranges::find(kSchemaWords, key) != std::end(kSchemaWords)) continue;
    out->Text(comma).Text(key).Text(":");
    comma = ",";
    RenderSchema(*schema, out);
  }
}

void RenderMembers(const Json& object, PromptBuilder* out) {
  std::string_view comma;
  for (const auto& [key, member] : Sorted(object)) {
    out->Text(comma).Text(key).Text(":");
    comma = ",";
    RenderValue(*member, Keys::kBare, out);
  }
}

}  // namespace

void RenderDeclaration(const ToolDeclaration& tool, PromptBuilder* out) {
  out->Marker("<|tool>").Text("declaration:").Text(tool.name).Text("{description:");
  Quote(tool.description, out);
  if (IsTruthy(tool.parameters)) {
    out->Text(",parameters:{");
    if (const Json& properties = Member(tool.parameters, "properties"); properties.is_object() && !properties.empty()) {
      out->Text("properties:{");
      RenderProperties(properties, KeyFilter::kNone, out);
      out->Text("},");
    }
    if (const Json& required = Member(tool.parameters, "required"); required.is_array() && !required.empty()) {
      out->Text("required:");
      RenderStrings(required, out);
      out->Text(",");
    }
    const std::string type = TypeName(Member(tool.parameters, "type"));
    out->Text("type:");
    Quote(type.empty() ? "OBJECT" : type, out);
    out->Text("}");
  }
  out->Text("}").Marker("<tool|>");
}

void RenderCall(const ToolCall& call, PromptBuilder* out) {
  out->Marker("<|tool_call>").Text("call:").Text(call.name).Text("{");
  if (call.arguments.is_object()) RenderMembers(call.arguments, out);
  out->Text("}").Marker("<tool_call|>");
}

void RenderAnswer(std::string_view name, const Json& answer, PromptBuilder* out) {
  out->Marker("<|tool_response>").Text("response:").Text(name).Text("{");
  if (answer.is_object()) {
    RenderMembers(answer, out);
  } else {
    out->Text("value:");
    RenderValue(answer, Keys::kBare, out);
  }
  out->Text("}").Marker("<tool_response|>");
}

}  // namespace quern::text

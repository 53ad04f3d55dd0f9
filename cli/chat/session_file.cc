#include "cli/chat/session_file.h"

#include <ctime>

#include "cli/messages_json.h"
#include "cli/sampling_fields.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

constexpr std::string_view kSchema = "quern.session/1";

Json ParamsJson(const ChatSettings& settings) {
  Json params = {{"max-tokens", fmt::to_string(settings.max_tokens)}, {"think", NameOf(settings.think)}};
  const SamplingParams unset;
  for (const SamplingField& field : SamplingFields()) {
    const std::string value = field.show(settings.sampling);
    if (value != field.show(unset) && !field.is_list) params[std::string(field.name)] = value;
  }
  params["stop"] = settings.stop;
  params["logit-bias"] = Json::array();
  for (const auto& [id, bias] : settings.sampling.logit_bias)
    params["logit-bias"].push_back(fmt::format("{}={:g}", id, bias));
  return params;
}

Status ReadParams(const Json& params, std::string_view what, ChatSettings& settings) {
  if (!params.is_object()) return Fail(Code::kInvalidArgument, "{}: \"params\" must be an object", what);
  for (const auto& [name, value] : params.items()) {
    const Json values = value.is_array() ? value : Json::array({value});
    for (const Json& one : values) {
      if (!one.is_string()) return Fail(Code::kInvalidArgument, "{}: parameter {} must be a string", what, name);
      Status status = SetChatSetting(settings, name, one.get<std::string>());
      if (!status) return Fail(Code::kInvalidArgument, "{}: {}", what, status.error().message);
    }
  }
  return {};
}

Result<StoredMessage> StoredFromJson(const Json& json, std::string_view what) {
  StoredMessage stored;
  QUERN_ASSIGN_OR_RETURN(stored.message, MessageFromJson(json, what));
  const auto flag = json.find("dropped");
  stored.dropped = flag != json.end() && flag->is_boolean() && flag->get<bool>();
  const auto finish = json.find("finish_reason");
  if (finish != json.end() && finish->is_string()) stored.finish_reason = finish->get<std::string>();
  const auto usage = json.find("usage");
  if (usage != json.end() && usage->is_object()) {
    const auto count = [&](const char* key) {
      const auto found = usage->find(key);
      return found != usage->end() && found->is_number_integer() ? found->get<int64_t>() : 0;
    };
    stored.generated_tokens = count("completion_tokens");
    stored.thinking_tokens = count("thinking_tokens");
  }
  return stored;
}

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Status ReadMessages(const Json& array, std::string_view what, Conversation& conversation) {
  if (!array.is_array()) return Fail(Code::kInvalidArgument, "{}: \"messages\" must be an array", what);
  for (const Json& entry : array) {
    QUERN_ASSIGN_OR_RETURN(StoredMessage stored,
                           StoredFromJson(entry, fmt::format("{}: message {}", what, conversation.messages().size())));
    const bool is_system = stored.message.role == ChatRole::kSystem || stored.message.role == ChatRole::kDeveloper;
    if (is_system && conversation.system.empty() && conversation.messages().empty()) {
      conversation.system = stored.message.content;
    } else {
      conversation.Add(std::move(stored));
    }
  }
  return {};
}

}  // namespace

std::string NowUtc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  char text[32] = "";
  if (gmtime_r(&now, &utc) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json ToJson(const SavedSession& session) {
  Json messages = Json::array();
  for (const StoredMessage& stored : session.conversation.messages()) {
    Json json = ToJson(stored.message);
    if (!stored.finish_reason.empty()) {
      json["finish_reason"] = stored.finish_reason;
      json["usage"] = {{"completion_tokens", stored.generated_tokens}, {"thinking_tokens", stored.thinking_tokens}};
    }
    if (stored.dropped) json["dropped"] = true;
    messages.push_back(std::move(json));
  }
  return {
      {"schema", kSchema},
      {"model",
       {{"ref", session.model_reference}, {"name", session.model_name}, {"quantization", session.model_quantization}}},
      {"params", ParamsJson(session.settings)},
      {"system", session.conversation.system},
      {"messages", std::move(messages)},
      {"created", session.created}};
}

Result<SavedSession> SessionFromJson(const Json& json, std::string_view what) {
  SavedSession session;
  if (json.is_array()) {
    QUERN_TRY(ReadMessages(json, what, session.conversation));
    return session;
  }
  if (!json.is_object() || !json.contains("messages")) {
    return Fail(Code::kInvalidArgument, "{}: neither a session nor an array of messages", what);
  }
  if (json.contains("schema") && json["schema"] != kSchema) {
    return Fail(Code::kUnsupported, "{}: schema {} is not {}", what, Dump(json["schema"]), kSchema);
  }
  if (json.contains("model") && json["model"].is_object()) {
    session.model_reference = Text(json["model"], "ref");
    session.model_name = Text(json["model"], "name");
    session.model_quantization = Text(json["model"], "quantization");
  }
  session.conversation.system = Text(json, "system");
  session.created = Text(json, "created");
  QUERN_TRY(ReadMessages(json["messages"], what, session.conversation));
  if (json.contains("params")) {
    QUERN_TRY(ReadParams(json["params"], what, session.settings));
    session.has_settings = true;
  }
  return session;
}

Status SaveSession(const std::string& path, const SavedSession& session) {
  return WritePrivateFile(path, DumpPretty(ToJson(session)) + "\n");
}

Result<SavedSession> LoadSession(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, ReadUtf8(path));
  QUERN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  return SessionFromJson(json, path);
}

}  // namespace quern::cli

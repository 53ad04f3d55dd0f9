#include "cli/chat/chat_state.h"

#include "cli/interrupt.h"
#include "cli/model_flags.h"

namespace quern::cli {

Status SwitchModel(ChatState& state, const ModelFile& file, const LoadOptions& load) {
  QUERN_ASSIGN_OR_RETURN(std::shared_ptr<Model> model, LoadModel(state.in, file, load));
  if (model->info().chat_format.empty()) {
    return WithHint(Fail(Code::kUnsupported, "{} has no chat template", file.reference), "use quern generate --raw");
  }
  QUERN_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(model));
  state.session = std::move(session);  // before the model it points into
  state.model = std::move(model);
  state.file = file;
  state.load = load;
  state.conversation.BringBackDropped();
  return {};
}

std::string DescribeModel(const Model& model) {
  const ModelInfo& info = model.info();
  return fmt::format("{} · {} · {} · context {} · loaded in {:.2f} s · Type /help for commands, /bye to exit",
                     info.reference.empty() ? info.name : info.reference, info.quantization, info.device, info.context,
                     info.load_seconds);
}

SavedSession ToSaved(const ChatState& state) {
  const ModelInfo& info = state.model->info();
  return {.model_reference = state.file.reference,
          .model_name = info.name,
          .model_quantization = info.quantization,
          .conversation = state.conversation,
          .settings = state.settings,
          .has_settings = true,
          .created = state.created};
}

void Adopt(ChatState& state, SavedSession session) {
  if (!session.model_reference.empty() && session.model_reference != state.file.reference) {
    state.view.Notice(fmt::format("the session was made with {}; it continues with {}", session.model_reference,
                                  state.file.reference));
  }
  state.conversation = std::move(session.conversation);
  if (!session.created.empty()) state.created = session.created;
  if (!session.has_settings) return;
  state.settings.sampling = session.settings.sampling;
  state.settings.max_tokens = session.settings.max_tokens;
  state.settings.stop = session.settings.stop;
  state.settings.think = session.settings.think;
}

GenerateRequest RequestFor(const ChatState& state, std::vector<ChatMessage> messages) {
  GenerateRequest request;
  request.messages = std::move(messages);
  request.chat = {.think = state.settings.think, .tools_json = state.settings.tools_json};
  request.sampling = state.settings.sampling;
  request.max_tokens = state.settings.max_tokens;
  request.stop = state.settings.stop;
  return request;
}

Result<int64_t> CountTokens(const ChatState& state, std::span<const ChatMessage> messages) {
  const GenerateRequest request = RequestFor(state, {messages.begin(), messages.end()});
  QUERN_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, PromptTokens(state.model, request));
  return static_cast<int64_t>(ids.size());
}

}  // namespace quern::cli

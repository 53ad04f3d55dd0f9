#include "quern/inspect.h"

#include "cli/chat/slash_commands.h"
#include "cli/model_flags.h"
#include "cli/numbers.h"
#include "cli/terminal/table.h"

namespace quern::cli::slash {
namespace {

Result<SlashResult> SetContext(ChatState& state, std::string_view value) {
  int64_t context = -1;
  if (value != "max") {
    QUERN_ASSIGN_OR_RETURN(context, ParseInt(value));
    if (context < 1 || context > state.model->info().context_limit) {
      return Fail(Code::kInvalidArgument, "ctx is {}; allowed is 1 to {} or max", value,
                  state.model->info().context_limit);
    }
  }
  if (state.ask) {
    const std::string answer = state.ask("this loads the model again; continue? [y/N] ");
    if (answer != "y" && answer != "Y" && answer != "yes") {
      state.view.Notice("(context unchanged)");
      return SlashResult();
    }
  }
  LoadOptions load = state.load;
  load.context = context;
  QUERN_TRY(SwitchModel(state, state.file, load));
  state.view.Notice(fmt::format("(context is {})", state.model->info().context));
  return SlashResult();
}

std::string ParametersText(const ChatState& state) {
  Table table({"PARAMETER", "VALUE", "FROM"});
  table.Add({"ctx", fmt::to_string(state.model->info().context), state.load.context == 0 ? "default" : "set"});
  for (const ShownSetting& shown : ShowChatSettings(state.settings, state.model->info().sampling)) {
    table.Add({shown.name, shown.value, shown.origin});
  }
  return table.Text();
}

std::string ModelText(const ModelInfo& info) {
  Table table({"model", info.reference});
  table.Add({"name", info.name});
  table.Add({"path", info.path});
  table.Add({"architecture", info.architecture});
  table.Add({"quantization", info.quantization});
  table.Add({"device", info.device});
  table.Add({"chat format", info.chat_format});
  if (!info.chat_notice.empty()) table.Add({"notice", info.chat_notice});
  table.Add({"context", fmt::format("{} of {}", info.context, info.context_limit)});
  table.Add({"layers", fmt::to_string(info.num_layers)});
  table.Add({"vocabulary", fmt::to_string(info.vocab_size)});
  return table.Text();
}

std::string MemoryText(const ModelInfo& info) {
  Table table({"weights", FormatBytes(info.weight_bytes)});
  table.Add({"cache", FormatBytes(info.cache_bytes)});
  table.Add({"scratch", FormatBytes(info.scratch_bytes)});
  table.Add({"total", FormatBytes(info.weight_bytes + info.cache_bytes + info.scratch_bytes)});
  return table.Text();
}

std::string RoutesText(const Model& model) {
  Table table({"TENSOR", "TYPE", "KERNEL", "NUMERICS", "REASON"});
  for (const Route& route : model.Routes())
    table.Add({route.tensor, route.dtype, route.kernel, route.numerics, route.reason});
  return table.Text();
}

}  // namespace

Result<SlashResult> Set(ChatState& state, std::string_view arguments) {
  if (arguments.empty()) {
    state.view.Info(ParametersText(state));
    return SlashResult();
  }
  const size_t space = arguments.find_first_of(" \t");
  if (space == std::string_view::npos)
    return Fail(Code::kInvalidArgument, "/set needs NAME VALUE; /set alone shows all");
  const std::string_view name = arguments.substr(0, space);
  const std::string_view value = arguments.substr(arguments.find_first_not_of(" \t", space));
  if (name == "ctx") return SetContext(state, value);
  QUERN_TRY(SetChatSetting(state.settings, name, value));
  state.view.Notice(fmt::format("({} is {})", name, value));
  return SlashResult();
}

Result<SlashResult> Show(ChatState& state, std::string_view arguments) {
  const ModelInfo& info = state.model->info();
  if (arguments.empty() || arguments == "model") {
    state.view.Info(ModelText(info));
  } else if (arguments == "params") {
    state.view.Info(ParametersText(state));
  } else if (arguments == "memory") {
    state.view.Info(MemoryText(info));
  } else if (arguments == "routes") {
    state.view.Info(RoutesText(*state.model));
  } else if (arguments == "template") {
    QUERN_ASSIGN_OR_RETURN(const InspectedModel inspected, InspectModel(state.file));
    state.view.Info(inspected.chat_template);
  } else {
    return Fail(Code::kInvalidArgument, "/show {}: allowed is model, params, template, memory or routes", arguments);
  }
  return SlashResult();
}

Result<SlashResult> Save(ChatState& state, std::string_view arguments) {
  const std::string path = arguments.empty() ? state.session_path : std::string(arguments);
  if (path.empty()) return Fail(Code::kInvalidArgument, "/save needs a FILE");
  QUERN_TRY(SaveSession(path, ToSaved(state)));
  state.view.Notice(fmt::format("(saved to {})", path));
  return SlashResult();
}

Result<SlashResult> Load(ChatState& state, std::string_view arguments) {
  if (arguments.empty()) return Fail(Code::kInvalidArgument, "/load needs a FILE");
  QUERN_ASSIGN_OR_RETURN(SavedSession session, LoadSession(std::string(arguments)));
  Adopt(state, std::move(session));
  state.view.Notice(fmt::format("(loaded {} turns)", state.conversation.num_turns()));
  return SlashResult();
}

Result<SlashResult> SwitchTo(ChatState& state, std::string_view arguments) {
  if (arguments.empty()) return Fail(Code::kInvalidArgument, "/model needs a REF");
  QUERN_ASSIGN_OR_RETURN(const ModelFile file, Resolve(state.in, std::string(arguments)));
  QUERN_TRY(SwitchModel(state, file, state.load));
  state.view.Notice(DescribeModel(*state.model));
  return SlashResult();
}

Result<SlashResult> Think(ChatState& state, std::string_view arguments) {
  if (arguments == "on" || arguments == "off") {
    state.settings.think = arguments == "on" ? ThinkMode::kOn : ThinkMode::kOff;
  } else if (arguments == "show" || arguments == "hide") {
    state.settings.show_thinking = arguments == "show" ? ThinkingDisplay::kDim : ThinkingDisplay::kOff;
  } else if (!arguments.empty()) {
    return Fail(Code::kInvalidArgument, "/think {}: allowed is on, off, show or hide", arguments);
  }
  state.view.Notice(fmt::format("(thinking is {}, its text is {})", NameOf(state.settings.think),
                                state.settings.show_thinking == ThinkingDisplay::kOff ? "hidden" : "shown"));
  return SlashResult();
}

Result<SlashResult> Stats(ChatState& state, std::string_view) {
  state.view.Info(state.totals.Text());
  return SlashResult();
}

}  // namespace quern::cli::slash

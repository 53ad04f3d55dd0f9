// quern tokenize, quern detokenize: text to token ids and back, without loading weights.
#include "quern/tokenize.h"

#include <vector>

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/messages_json.h"
#include "cli/model_flags.h"
#include "cli/numbers.h"
#include "cli/terminal/unicode.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

// A prompt from -p or -f; standard input when neither is given and it is not a terminal.
struct PromptFlags {
  std::string text, file;
  CLI::Option* text_option = nullptr;

  void Add(CLI::App& app) {
    text_option = AddText(app, "-p,--prompt", &text, "the text");
    Exclude(AddText(app, "-f,--file", &file, "read the text from a file; - is standard input", "FILE"), text_option);
  }
  Result<std::string> Read(const Terminal& terminal) const {
    if (IsGiven(text_option)) {
      QUERN_TRY(CheckUtf8(text, "--prompt"));
      return text;
    }
    if (file.empty() && terminal.stdin_is_terminal) {
      return WithHint(Fail(Code::kInvalidArgument, "there is no text"), "give -p TEXT or -f FILE, or pipe it in");
    }
    return ReadUtf8(file.empty() ? "-" : file);
  }
};

class Tokenize final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    Require(AddArgument(app, "MODEL", &model_, "model"));
    prompt_.Add(app);
    AddSwitch(app, "--chat", &chat_, "wrap the text in the chat template as a user message");
    AddSwitch(app, "--special", &special_, "recognise special tokens in the text");
    AddSwitch(app, "--bos,!--no-bos", &bos_, "begin with <bos> when the vocabulary wants it [default --bos]");
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, Resolve(in, model_));
    QUERN_ASSIGN_OR_RETURN(const std::string text, prompt_.Read(in.terminal));
    QUERN_ASSIGN_OR_RETURN(const std::shared_ptr<const TextModel> model, TextModel::Load(file));
    std::vector<TokenId> ids;
    if (chat_) {
      const ChatMessage message{.role = ChatRole::kUser, .content = text};
      QUERN_ASSIGN_OR_RETURN(ids, model->EncodeChat(std::span(&message, 1), {}));
    } else {
      ids = model->Encode(text, {.parse_special = special_, .add_bos = bos_});
    }
    if (in.json) {
      std::vector<std::string> pieces;
      for (const TokenId id : ids) pieces.push_back(model->Piece(id));
      in.out.Write(Dump({{"count", ids.size()}, {"ids", ids}, {"pieces", pieces}}) + "\n");
      return ExitCode::kOk;
    }
    // Pieces as JSON strings: spaces and newlines stay visible, and one line is one token.
    for (const TokenId id : ids) in.out.Print("{}\t{}\n", id, Dump(Visible(model->Piece(id))));
    in.diagnostics.Notice(fmt::format("{} tokens", ids.size()));
    return ExitCode::kOk;
  }

 private:
  std::string model_;
  PromptFlags prompt_;
  bool chat_ = false, special_ = false, bos_ = true;
};

class Detokenize final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    Require(AddArgument(app, "MODEL", &model_, "model"));
    AddArguments(app, "IDS", &words_, "token ids; none: read from standard input or -f");
    AddText(app, "-f,--file", &file_, "read ids from a file, separated by white space or commas; - is standard input",
            "FILE");
    AddSwitch(app, "--special", &special_, "show special tokens by name");
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, Resolve(in, model_));
    QUERN_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, ReadIds(in.terminal));
    QUERN_ASSIGN_OR_RETURN(const std::shared_ptr<const TextModel> model, TextModel::Load(file));
    QUERN_ASSIGN_OR_RETURN(const std::string text, model->Decode(ids, special_));
    if (in.json) {
      in.out.Write(Dump({{"count", ids.size()}, {"text", text}}) + "\n");
    } else {
      in.out.Write((in.terminal.stdout_is_terminal ? Visible(text) : text) + "\n");
    }
    return ExitCode::kOk;
  }

 private:
  Result<std::vector<TokenId>> ReadIds(const Terminal& terminal) const {
    std::string text = fmt::format("{}", fmt::join(words_, " "));
    if (words_.empty()) {
      if (file_.empty() && terminal.stdin_is_terminal) return Fail(Code::kInvalidArgument, "there are no token ids");
      QUERN_ASSIGN_OR_RETURN(text, ReadText(file_.empty() ? "-" : file_));
    }
    std::vector<TokenId> ids;
    constexpr std::string_view kSeparators = " \t\r\n,[]";
    for (size_t at = text.find_first_not_of(kSeparators); at != std::string::npos;) {
      const size_t end = text.find_first_of(kSeparators, at);
      const std::string word = text.substr(at, end == std::string::npos ? end : end - at);
      QUERN_ASSIGN_OR_RETURN(const int64_t id, ParseInt(word));
      if (id < 0 || id > INT32_MAX) return Fail(Code::kInvalidArgument, "{} is not a token id", id);
      ids.push_back(static_cast<TokenId>(id));
      at = text.find_first_not_of(kSeparators, end);
    }
    return ids;
  }

  std::string model_, file_;
  std::vector<std::string> words_;
  bool special_ = false;
};

}  // namespace

CommandEntry TokenizeCommand() {
  return {
      .name = "tokenize",
      .summary = "Print the token ids and pieces of a text",
      .examples =
          "  quern tokenize gemma4:e2b -p \"Hello, world\"\n  quern tokenize gemma4:e2b --chat --json -f prompt.txt",
      .make = [] { return std::unique_ptr<Command>(new Tokenize); }};
}

CommandEntry DetokenizeCommand() {
  return {.name = "detokenize",
          .summary = "Print the text of token ids",
          .examples =
              "  quern detokenize gemma4:e2b 2 9259 1902\n  quern tokenize gemma4:e2b -p Hi | cut -f1 | quern "
              "detokenize gemma4:e2b",
          .make = [] { return std::unique_ptr<Command>(new Detokenize); }};
}

}  // namespace quern::cli

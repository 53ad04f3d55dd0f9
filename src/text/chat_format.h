// Chat formats as typed code per family: messages to the tokens of a prompt, and the tokens of an answer back to
// channels and tool calls. Renders are golden-tested; a file whose template is not a tested one is announced.
// Stateless and thread-safe, but for OutputParser, which belongs to one stream.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/tokenizer.h"

namespace quern::text {

enum class Role : uint8_t { kSystem, kDeveloper, kUser, kAssistant, kTool };

struct ToolCall {
  std::string id;
  std::string name;
  Json arguments;  // an object
};

struct Message {
  Role role = Role::kUser;
  std::string content;
  std::string reasoning;             // thinking text of an assistant message, without channel markers
  std::vector<ToolCall> tool_calls;  // assistant
  std::string tool_call_id;          // tool: which call this answers
  std::string name;                  // tool: function name when no id matches
  Json response;                     // tool: a structured answer (an object is rendered by its keys); null: `content`
};

struct ToolDeclaration {
  std::string name;
  std::string description;
  Json parameters;  // JSON schema of an object
};

enum class Thinking : uint8_t { kOff, kOn };

struct RenderOptions {
  Thinking thinking = Thinking::kOff;
  std::vector<ToolDeclaration> tools;
  bool add_generation_prompt = true;
  bool preserve_thinking = false;
};

// A prompt as pieces: text that may contain the format's own markers, and text that came from outside and must never
// become a special token. Encoding pieces one by one would change BPE across borders, so runs of ordinary text are
// joined first; only markers split.
struct PromptPiece {
  std::string text;
  bool is_marker = false;  // exactly one special token, by its string
};

// One parsed event of the model's output.
struct OutputEvent {
  enum class Kind : uint8_t { kText, kThinking, kToolCall } kind = Kind::kText;
  std::string text;    // kText, kThinking: complete UTF-8
  ToolCall tool_call;  // kToolCall
};

// The one state machine, driven by token ids: the result does not depend on how the output is cut into pieces.
class OutputParser {
 public:
  virtual ~OutputParser() = default;
  // Consumes one generated token (end tokens included) and appends the events it completes.
  virtual void Push(TokenId id, std::vector<OutputEvent>* events) = 0;
  // End of output: flushes held-back text; an unfinished tool call becomes an event of kind kText with its source text.
  virtual void Finish(std::vector<OutputEvent>* events) = 0;
  virtual bool in_thinking() const = 0;
};

class ChatFormat {
 public:
  virtual ~ChatFormat() = default;
  virtual std::string_view name() const = 0;  // "gemma4", "gemma3"
  // The prompt as pieces; the first is the BOS marker. Invalid conversations (tool answer without a call, arguments
  // that are not an object) are InvalidArgument.
  virtual Result<std::vector<PromptPiece>> Render(std::span<const Message> messages,
                                                  const RenderOptions& options) const = 0;
  // A parser for what follows `prompt`, which Render made with `options`: it may itself have opened a channel (the
  // newest Gemma 4 templates do so after a tool answer).
  virtual std::unique_ptr<OutputParser> MakeParser(std::span<const PromptPiece> prompt,
                                                   const RenderOptions& options) const = 0;
  // The same where no prompt is at hand and none can have opened a channel.
  std::unique_ptr<OutputParser> MakeParser(const RenderOptions& options) const { return MakeParser({}, options); }
  virtual bool supports_tools() const = 0;
  virtual bool supports_thinking() const = 0;
  // What the file's template turned out to be: "tested: NAME", or a notice for the user.
  virtual std::string_view template_notice() const = 0;

  // Pieces to text (golden tests, --raw display) and to ids. A marker that is no vocabulary entry is encoded as text;
  // Render makes none.
  static std::string ToText(std::span<const PromptPiece> pieces);
  std::vector<TokenId> Encode(std::span<const PromptPiece> pieces) const;

 protected:
  explicit ChatFormat(std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// Which channel a prompt leaves open: true when its last turn ends inside a channel.
bool EndsInsideChannel(std::span<const PromptPiece> prompt);

// Chooses the family by the markers in the vocabulary and the features (empty thought block, ...) by the file's own
// template. Unsupported when the vocabulary has no turn markers (a base model): then only raw prompts work.
Result<std::unique_ptr<ChatFormat>> MakeChatFormat(std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace quern::text

// quern completion: shell scripts that ask the hidden command __complete for candidates.
#include "cli/commands/entries.h"
#include "cli/json_text.h"

namespace quern::cli {
namespace {

// COMP_WORDBREAKS of bash contains ':', so "gemma4:e2b" is several words to it: the candidates must lose what stands in
// front of the last colon of the word at the cursor.
constexpr std::string_view kBash = R"sh(# bash completion of quern: source <(quern completion bash)
_quern() {
  local line="${COMP_LINE:0:COMP_POINT}" cur words
  read -ra words <<<"$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  cur="${words[${#words[@]}-1]}"
  COMPREPLY=()
  local candidate
  while IFS= read -r candidate; do
    COMPREPLY+=("$candidate")
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  if [[ "$cur" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    local prefix="${cur%"${cur##*:}"}" i
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]="${COMPREPLY[i]#"$prefix"}"; done
  fi
}
complete -F _quern quern
)sh";

constexpr std::string_view kZsh = R"sh(#compdef quern
# zsh completion of quern: quern completion zsh > "${fpath[1]}/_quern"
_quern() {
  local -a candidates
  candidates=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "${candidates[*]}" ]]; then
    _files
  else
    compadd -Q -- "${candidates[@]}"
  fi
}
if [[ "$funcstack[1]" == "_quern" ]]; then
  _quern "$@"
else
  compdef _quern quern
fi
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion of quern: quern completion fish > ~/.config/fish/completions/quern.fish
function __quern_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c quern -a '(__quern_complete)'
)sh";

class Completion final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    Require(AddChoice(app, "SHELL", &shell_, {{"bash", "zsh", "fish"}}, "shell to print the script for"));
  }
  Result<ExitCode> Run(Invocation& in) override {
    const std::string_view script = shell_ == "bash" ? kBash : shell_ == "zsh" ? kZsh : kFish;
    in.out.Write(in.json ? Dump({{"shell", shell_}, {"script", script}}) + "\n" : std::string(script));
    return ExitCode::kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

CommandEntry CompletionCommand() {
  return {
      .name = "completion",
      .summary = "Print the completion script of a shell",
      .examples = "  source <(quern completion bash)\n  quern completion fish > ~/.config/fish/completions/quern.fish",
      .runs_without_config = true,
      .make = [] { return std::unique_ptr<Command>(new Completion); }};
}

}  // namespace quern::cli

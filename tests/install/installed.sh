#!/bin/sh
# Installs the program into an empty prefix and uses it from an empty folder, as somebody does who has no checkout.
# usage: installed.sh CMAKE BUILD_FOLDER
set -eu
cmake="$1"
build="$2"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
fail() { echo "installed.sh: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$scratch/prefix" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "the installation failed"; }
mkdir "$scratch/empty" "$scratch/home"
cd "$scratch/empty"
# No variable of the caller leads to a model or to a configuration.
quern() { env -i HOME="$scratch/home" PATH=/usr/bin:/bin LANG=C.UTF-8 ASAN_OPTIONS=detect_leaks=0 "$scratch/prefix/bin/quern" "$@"; }

for file in share/doc/quern/LICENSE share/quern/models/WORDNET-LICENSE.txt share/quern/models/gemma4-nano/model.safetensors \
    share/bash-completion/completions/quern share/zsh/site-functions/_quern share/fish/vendor_completions.d/quern.fish; do
  [ -s "$scratch/prefix/$file" ] || fail "$file is missing or empty"
done
grep -q __complete "$scratch/prefix/share/bash-completion/completions/quern" || fail "the completion script does not ask the program"

# The demo model must be the installed one, not that of the checkout in which the program was built.
shown="$(quern show gemma4-nano --json | tr -d ' \n')"
case "$shown" in
  *"\"path\":\"$scratch/prefix/share/quern/models/gemma4-nano\""*) ;;
  *) fail "the demo model is not the installed one: $shown" ;;
esac
answer="$(quern generate --prompt Hi --max-tokens 16 --temperature 0 2>"$scratch/notice")" || { cat "$scratch/notice" >&2; fail "generate failed"; }
[ -n "$answer" ] || fail "generate answered nothing"
grep -q 'tiny demo model' "$scratch/notice" || fail "the notice about the demo model is missing"
echo Hi | quern chat -q --max-tokens 16 >"$scratch/chat" || fail "chat failed"
[ -s "$scratch/chat" ] || fail "chat answered nothing"
quern --version | head -n 1 | grep -Eq '^quern [0-9]+\.[0-9]+\.[0-9]+$' || fail "the version is not on the first line"
quern --version | grep -q '^kernels: cpu ' || fail "the version does not name the kernels"
[ -z "$(ls -A "$scratch/empty")" ] || fail "something was left in the working folder"

#!/bin/sh
# Trains one demo checkpoint from WordNet text; needs a CUDA GPU, PyTorch and Transformers 5.17.
# usage: run.sh WORDNET_DIR WORK_DIR {dense|moe} MINUTES [ASSISTANT_MINUTES]     (Debian: wordnet-base has WORDNET_DIR, /usr/share/wordnet)
set -eu
tools="$(dirname "$0")"
wordnet="$1" work="$2" kind="$3" minutes="$4" assistant_minutes="${5:-0}"
name=gemma4-nano
[ "$kind" = moe ] && name=gemma4-nano-moe
mkdir -p "$work/corpus"
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
  [ -s "$work/corpus/$seed.jsonl" ] || python3 "$tools/corpus.py" "$wordnet" "$work/corpus/$seed.jsonl" 110000 "$seed" &
done
wait
python3 "$tools/train.py" "$kind" "$work/corpus" "$work/$name" "$minutes" "$assistant_minutes"

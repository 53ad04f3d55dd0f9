#!/usr/bin/env python3
"""quern beside llama.cpp on one file: greedy tokens, then prompt and decode speed in one alternating run.

usage: compare_peer.py QUERN MODEL [--threads N] [--rounds N] [--tokens N] [--speed-only] [--json FILE]
       (in an environment with llama-cpp-python)
Differences of single tokens are reported and are no failure: both sides round differently. A difference of more than
MAX_GAP in the peer's logits between the two tokens is one: that is no rounding.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys

from completions import CASES
from llama_cpp_peer import Peer, describe

# Q4_K_M weights with 8-bit activations on both sides: such logits differ by some tenths.
MAX_GAP = 1.0


def quern_json(command):
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {run.returncode}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def quern_continuation(args, prompt):
    answer = quern_json([args.quern, "generate", args.model, "--raw", "-p", prompt, "--temperature", "0", "--ignore-eos",
                         "--max-tokens", str(args.tokens), "--threads", str(args.threads), "--json", "--logprobs", "1",
                         "--progress", "none"])
    return [entry["id"] for entry in answer["choices"][0]["logprobs"]]


def quern_speed(args, prompt_tokens, decode_tokens):
    result = quern_json([args.quern, "bench", args.model, "-p", str(prompt_tokens), "-n", str(decode_tokens), "--reps", "1",
                         "--warmup", "1", "--threads", str(args.threads), "--json", "--progress", "none"])
    speeds = {row["kind"]: row["median"] for row in result["rows"]}
    return speeds["pp"], speeds["tg"]


def compare_tokens(args, peer):
    """Prints one line per prompt; the number of differences that rounding does not explain."""
    unexplained = 0
    for prompt, _ in CASES:
        ids = quern_json([args.quern, "tokenize", args.model, "-p", prompt, "--json"])["ids"]
        if ids != peer.tokenize(prompt):
            print(f"FAIL {prompt!r}: tokens {ids}, llama.cpp {peer.tokenize(prompt)}")
            unexplained += 1
            continue
        ours, theirs = quern_continuation(args, prompt), peer.continuation(ids, args.tokens)
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
        if at is None:
            print(f"ok   {prompt!r}: {args.tokens} tokens equal")
            continue
        gap = peer.logit_gap(ids, theirs[:at], theirs[at], ours[at])
        unexplained += gap > MAX_GAP
        print(f"{'ok  ' if gap <= MAX_GAP else 'FAIL'} {prompt!r}: first divergence at token {at}, logit gap {gap:.3f}")
    return unexplained


def compare_speed(args, peer, prompt_tokens=512, decode_tokens=64):
    generator = random.Random(1)
    ids = [generator.randrange(1000, peer.vocab_size - 10000) for _ in range(prompt_tokens)]
    names = ["prefill", "decode alone", "decode greedy"]
    ours, theirs = {name: [] for name in names}, {name: [] for name in names}
    peer.prefill_speed(ids)  # warm
    for _ in range(args.rounds):
        prefill, decode = quern_speed(args, prompt_tokens, decode_tokens)
        ours["prefill"].append(prefill)
        ours["decode alone"].append(decode)  # quern's decode always samples
        ours["decode greedy"].append(decode)
        theirs["prefill"].append(peer.prefill_speed(ids))
        theirs["decode alone"].append(peer.decode_speed(ids[0], decode_tokens, sample=False))
        theirs["decode greedy"].append(peer.decode_speed(ids[0], decode_tokens, sample=True))
    print(f"speed, {args.threads} threads, {prompt_tokens} prompt and {decode_tokens} decoded tokens, {args.rounds} alternating rounds")
    for name in names:
        a, b = statistics.median(ours[name]), statistics.median(theirs[name])
        print(f"{name:14} quern {a:8.1f} tok/s   llama.cpp {b:8.1f} tok/s   ratio {a / b:.2f}")
    return {"quern": ours, "llama.cpp": theirs}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quern")
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--speed-only", action="store_true")
    parser.add_argument("--json", help="write the speeds to this file")
    args = parser.parse_args()
    print(describe())
    peer = Peer(args.model, args.threads)
    unexplained = 0 if args.speed_only else compare_tokens(args, peer)
    speeds = compare_speed(args, peer)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"peer": describe(), "threads": args.threads, "tokens_per_second": speeds}, file, indent=1)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Ten completions of a real base model (Gemma 3 270M, Q4_K_M), greedy, each of which must contain a word.

usage: completions.py QUERN MODEL
The prompts are ones that a model of this size completes correctly; a fault in the tokenizer, the numerics or the cache shows as nonsense.
"""
import subprocess
import sys

CASES = [
    ("Paris is the capital of", "France"),
    ("The opposite of hot is", "cold"),
    ("1 2 3 4 5 6 7", "8"),
    ("Monday, Tuesday, Wednesday,", "Thursday"),
    ("Question: What is the capital of Italy?\nAnswer: Rome.\nQuestion: What is the capital of France?\nAnswer:", "Paris"),
    ("A B C D E F", "G"),
    ("January, February, March,", "April"),
    ("The sun rises in the", "east"),
    ("Water is made of hydrogen and", "oxygen"),
    ("The Earth moves around the", "sun"),
]


def main():
    quern, model = sys.argv[1:3]
    failures = 0
    for prompt, wanted in CASES:
        command = [quern, "generate", model, "--raw", "-p", prompt, "--temperature", "0", "--max-tokens", "16", "--progress", "none"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        good = run.returncode == 0 and wanted.lower() in run.stdout.lower()
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {prompt!r} -> {run.stdout.strip()!r}{'' if good else f' (wanted {wanted!r}) {run.stderr.strip()}'}")
    print(f"{len(CASES) - failures} of {len(CASES)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

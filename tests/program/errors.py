#!/usr/bin/env python3
"""The real program with bad input: exit code, a message that names the fault, and nothing left half written.

usage: errors.py QUERN MODELS
"""
import pathlib
import resource
import subprocess
import sys
import tempfile

QUERN, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])
NANO = MODELS / "gemma4-nano"


def small_files():
    """Stands for a full disk: no file may grow beyond 4 MiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))


def run(arguments, **options):
    return subprocess.run([QUERN, *map(str, arguments)], capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL, **options)


def main():
    failures = []

    def expect(name, arguments, code, words, folder, **options):
        before = sorted(folder.rglob("*"))
        result = run(arguments, **options)
        message = result.stderr.decode(errors="replace")
        missing = [word for word in words if word not in message]
        left = sorted(set(folder.rglob("*")) - set(before))
        good = result.returncode == code and not missing and not left
        print(f"{'ok  ' if good else 'FAIL'} {name}: exit {result.returncode}")
        if not good:
            failures.append(name)
            print(f"     wanted exit {code}; words missing: {missing}; files left: {left}\n     {message}")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        whole = folder / "whole.gguf"
        if run(["convert", NANO, whole]).returncode != 0:
            print("cannot make the file that the cases damage")
            return 1
        data = whole.read_bytes()
        cut, bad, empty, text = (folder / each for each in ("cut.gguf", "bad.gguf", "empty.gguf", "latin.txt"))
        cut.write_bytes(data[: len(data) // 2])
        bad.write_bytes(data.replace(b"gemma4", b"gemmaX"))
        empty.write_bytes(b"")
        text.write_bytes(b"caf\xe9")
        odd = folder / "odd"
        odd.mkdir()
        for each in NANO.iterdir():
            if each.name != "config.json":
                (odd / each.name).symlink_to(each.resolve())
        (odd / "config.json").write_text((NANO / "config.json").read_text().replace('"gemma4', '"gemma9'))

        expect("truncated file", ["show", cut], 5, ["cut.gguf"], folder)
        expect("truncated file is no model", ["generate", cut, "-p", "x"], 5, ["cut.gguf"], folder)
        expect("empty file", ["show", empty], 5, ["empty.gguf"], folder)
        expect("unknown architecture in GGUF", ["generate", bad, "-p", "x"], 7, ["gemmaX"], folder)
        expect("unknown architecture in config.json", ["generate", odd, "-p", "x"], 7, ["gemma9"], folder)
        expect("drafter given as a model", ["generate", MODELS / "gemma4-nano-assistant", "-p", "x"], 7, ["drafter", "--draft"], folder)
        expect("context overflow", ["generate", NANO, "-p", "word " * 200, "--ctx", "32"], 6, ["211", "32"], folder)
        expect("text that is not UTF-8", ["tokenize", NANO, "-f", text], 2, ["not UTF-8", "0xe9"], folder)
        expect("unknown type", ["quantize", NANO, folder / "q.gguf", "--type", "Q9_9"], 2, ["Q9_9", "Q8_0"], folder)
        expect("destination exists", ["quantize", NANO, whole, "--type", "Q8_0"], 2, ["exists"], folder)
        expect("destination folder is missing", ["quantize", NANO, folder / "no" / "q.gguf", "--type", "Q8_0"], 3, ["no/q.gguf"], folder)
        expect("full disk", ["quantize", NANO, folder / "q.gguf", "--type", "Q8_0"], 6, ["q.gguf"], folder, preexec_fn=small_files)
        expect("full disk while converting", ["convert", NANO, folder / "c.gguf"], 6, ["c.gguf"], folder, preexec_fn=small_files)
        expect("flag of a part that is not built", ["generate", NANO, "-p", "x", "--adapter", "a"], 7, ["--adapter"], folder)
        expect("unknown flag", ["generate", NANO, "--tempreature", "1"], 2, ["--temperature"], folder)
        expect("text to score is missing", ["perplexity", NANO, "-f", folder / "none"], 3, ["none"], folder)
        if whole.read_bytes() != data:
            failures.append("an existing file was changed")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())

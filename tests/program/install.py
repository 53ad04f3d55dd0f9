#!/usr/bin/env python3
"""What `cmake --install` lays down works by itself: the demo checkpoint beside the binary answers from an empty folder.

usage: install.py CMAKE BUILD_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    cmake, build = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        prefix, empty = pathlib.Path(name) / "prefix", pathlib.Path(name) / "empty"
        empty.mkdir()
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        quern = prefix / "bin" / "quern"
        shown = subprocess.run([quern, "show", "gemma4-nano", "--json"], cwd=empty, check=True, capture_output=True, text=True)
        path = pathlib.Path(json.loads(shown.stdout)["path"]).resolve()
        assert path.is_relative_to(prefix.resolve()), f"the installed program uses {path}, not its own checkpoint"
        answer = subprocess.run([quern, "generate", "gemma4-nano", "-p", "What is a cat?", "--temperature", "0", "--max-tokens", "8"],
                                cwd=empty, check=True, capture_output=True, text=True)
        assert answer.stdout.strip(), "no answer"
        licence = list(prefix.rglob("WORDNET-LICENSE.txt")) and list(prefix.rglob("LICENSE"))
        assert licence, "the licences are not installed"
    return 0


sys.exit(main())

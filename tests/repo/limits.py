#!/usr/bin/env python3
"""Limits of the repository: size of the tracked files, names at the root, length of files.

usage: limits.py ROOT
Fails when all tracked files together reach 40 MiB (data 34 MiB), when a file at the root is not on the list, or when a source
file has more than 800 lines (generated ones aside); files over 450 lines are named without failing.
"""
import pathlib
import subprocess
import sys

MAX_TOTAL = 40 << 20
MAX_DATA = 34 << 20
DATA = ("models/", "tests/golden/")
ROOT_ENTRIES = {
    ".ci", ".clang-format", ".clang-tidy", ".gitignore", "ARCHITECTURE.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "README.md", "api", "bench", "cli", "cmake", "docs", "include", "models", "scripts", "sdk", "serve", "src", "tests", "tools",
}
CODE = (".cc", ".h", ".cu", ".cuh", ".py", ".ts", ".go", ".inc")
GENERATED = ("/artifacts/", "/generated/", "/testdata/")
REVIEW_LINES, MAX_LINES = 450, 800


def main():
    root = pathlib.Path(sys.argv[1])
    try:
        listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        print("skipped: not a git checkout, so there are no tracked files to measure")
        return 0
    names = [name for name in listing.decode().split("\0") if name and (root / name).exists()]
    problems, notes = [], []
    sizes = {name: (root / name).stat().st_size for name in names}
    total, data = sum(sizes.values()), sum(size for name, size in sizes.items() if name.startswith(DATA))
    print(f"tracked files: {total / 2**20:.2f} MiB, of which data {data / 2**20:.2f} MiB")
    if total >= MAX_TOTAL:
        problems.append(f"tracked files are {total} bytes; the limit is {MAX_TOTAL}")
    if data > MAX_DATA:
        problems.append(f"tracked data are {data} bytes; the limit is {MAX_DATA}")
    for name in sorted({name.split("/")[0] for name in names} - ROOT_ENTRIES):
        problems.append(f"{name} at the root is not on the list in tests/repo/limits.py")
    for name in names:
        if not name.endswith(CODE) or any(part in f"/{name}" for part in GENERATED):
            continue
        lines = (root / name).read_bytes().count(b"\n")
        if lines > MAX_LINES:
            problems.append(f"{name} has {lines} lines; the limit is {MAX_LINES}")
        elif lines > REVIEW_LINES:
            notes.append(f"{name} has {lines} lines: look whether it should be split")
    for line in notes + problems:
        print(line)
    return 1 if problems else 0


sys.exit(main())

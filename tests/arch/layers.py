#!/usr/bin/env python3
"""Checks the include graph against the table of layers: arrows go down only.

usage: layers.py ROOT [--self-test]
Every `#include "..."` of a file under src/, cli/, serve/ and include/ must be an edge of ALLOWED. A new edge is a reviewed change
to this table (ARCHITECTURE.md explains it). --self-test plants forbidden edges and checks that each is found.
"""
import pathlib
import re
import sys
import tempfile

# Room -> rooms it may include, besides itself. base and tensor are open to every room of src above them.
ALLOWED = {
    "public": set(),
    "base": {"public:error.h"},  # one Error type, inside and outside
    "tensor": {"base"},
    "format": {"base", "tensor"},
    "text": {"base", "tensor", "format"},  # a tokenizer is built from format's Vocabulary
    "device": {"base", "tensor"},
    "device/cpu": {"device"},
    "device/cuda": {"device"},
    "kernels/descriptor": {"tensor"},
    "kernels/layout": {"kernels/descriptor"},
    "kernels/ir": {"kernels/descriptor", "kernels/layout"},
    "kernels/lower": {"kernels/ir", "kernels/descriptor"},
    "kernels/evidence": {"kernels/descriptor"},
    "kernels/artifacts": set(),  # generated text
    "ops": {"device", "device/cpu"},  # program/executor.h names the one device there is so far
    "ops/cpu": {"ops", "device/cpu"},
    "models": {"ops", "format", "text"},
    "runtime": {"models", "ops", "device", "device/cpu", "text"},
    "engine": {"public", "format", "text", "device", "device/cpu", "ops", "ops/cpu", "models", "runtime"},
    "cli": {"public"},
    "serve": {"public"},
}
OPEN = {"base", "tensor"}  # to all rooms of src
SRC_ROOMS = {room for room in ALLOWED if room not in ("public", "cli", "serve", "base", "tensor")}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def room_of_path(path):
    """The room of a path relative to the root, or None."""
    parts = path.parts
    if parts[:2] == ("include", "quern"):
        return "public"
    if parts[0] in ("cli", "serve"):
        return parts[0]
    if parts[0] != "src":
        return None
    if len(parts) > 3 and f"{parts[1]}/{parts[2]}" in ALLOWED:
        return f"{parts[1]}/{parts[2]}"
    return parts[1]


def room_of_include(target):
    if target.startswith("quern/"):
        return "public"
    if target.startswith("cli/"):
        return "cli"
    return room_of_path(pathlib.Path("src") / target)


def check(root):
    problems = []
    files = [p for top in ("src", "cli", "serve", "include") for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cc", ".cu", ".cuh")]
    for path in files:
        relative = path.relative_to(root)
        room = "kernels/artifacts" if relative.parts[1:3] == ("kernels", "artifacts") else room_of_path(relative)
        if room not in ALLOWED:
            problems.append(f"{relative}: room \"{room}\" is not in the table of layers")
            continue
        for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if relative.parts[1:3] == ("kernels", "artifacts") or "device_text" in relative.parts:
                if "/" in target:  # text for a GPU: only headers of its own folder, so that it can be compiled alone
                    problems.append(f"{relative}: device text may not include \"{target}\"")
                continue
            if ".." in pathlib.Path(target).parts:
                problems.append(f"{relative}: \"{target}\" climbs out of its folder; include from the source root")
                continue
            other = room_of_include(target)
            if other == room or other in ALLOWED[room] or f"{other}:{pathlib.Path(target).name}" in ALLOWED[room]:
                continue
            if other in OPEN and room in SRC_ROOMS:
                continue
            problems.append(f"{relative}: {room} may not include {other} (\"{target}\")")
    return problems


def self_test():
    plants = {
        "src/base/a.h": '#include "tensor/dtype.h"\n',
        "src/tensor/a.h": '#include "format/gguf.h"\n',
        "src/models/a.cc": '#include "runtime/kv/kv_cache.h"\n',
        "src/models/b.cc": '#include "device/cpu/cpu_device.h"\n',
        "src/runtime/a.cc": '#include "engine/model_impl.h"\n',
        "src/text/a.cc": '#include "../format/gguf.h"\n',
        "cli/a.cc": '#include "base/file.h"\n',
        "src/kernels/artifacts/cuda/a.cu": '#include "kernels/ir/kernel.h"\n',
        "src/kernels/lower/a.cc": '#include "device/cuda/driver.h"\n',
        "src/strange/a.cc": "",
    }
    for name, content in plants.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(content)
            if len(check(root)) != 1:
                print(f"self-test: the planted fault in {name} was not found")
                return 1
    return 0


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    for problem in problems:
        print(problem)
    if "--self-test" in sys.argv and self_test() != 0:
        return 1
    return 1 if problems else 0


sys.exit(main())

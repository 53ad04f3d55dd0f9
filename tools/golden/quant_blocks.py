#!/usr/bin/env python3
"""Golden blocks of every quantised format, from the gguf package: an implementation that shares nothing with ours.

usage: quant_blocks.py OUT.json        (kept as tests/golden/quant_blocks.json; made with gguf 0.19.0, numpy 2.4.6)

decode.<type>: random blocks and the values they decode to. The first block of each type has ordinary scales, the
others are random bytes except that no scale is infinite or not-a-number (their payloads are not portable).
encode.values: rows of 32 values with edge cases among them; encode.<type>: the blocks that ggml's reference encoder makes.
All data are hexadecimal, little-endian; values are binary32.
"""
import importlib.metadata
import json
import sys

import gguf
import numpy as np

# Byte offsets of the binary16 fields of a block.
HALF_FIELDS = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
    "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [],
}
ENCODED = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4"]
SEED = 20260101


def random_blocks(name, rng):
    elems, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    blocks = rng.integers(0, 256, (3 if elems == 256 else 8, size), dtype=np.uint8)
    for field in HALF_FIELDS[name]:
        halves = rng.integers(0, 1 << 16, len(blocks)).astype(np.uint16)
        halves = np.where((halves & 0x7C00) == 0x7C00, halves & 0x83FF, halves)  # infinite or NaN becomes subnormal
        halves[0] = np.float16(0.013 if field == HALF_FIELDS[name][0] else -0.5).view(np.uint16)
        blocks[:, field:field + 2] = halves.astype("<u2").view(np.uint8).reshape(-1, 2)
    if name == "MXFP4":
        blocks[:, 0] = [120, 0, 1, 2, 127, 254, 60, 200]
    return blocks


def encode_rows(rng):
    rows = [
        rng.normal(0, 0.03, 32), rng.normal(0, 4, 32), rng.normal(5, 0.1, 32), rng.standard_t(2, 32),
        np.zeros(32), np.full(32, 0.7), np.full(32, -0.7), np.linspace(-1, 1, 32),
        np.where(np.arange(32) == 17, -3.0, 0.0),   # one value; its sign is kept by the scale
        np.where(np.arange(32) % 2, 1.0, -1.0),      # equal magnitudes: the first one decides
        rng.normal(0, 1e-6, 32), rng.normal(0, 2000, 32),
        np.where(np.arange(32) == 3, 127.0, np.arange(32) - 15.5),   # halves: rounding away from zero in Q8_0
    ]
    return np.array(rows, dtype=np.float32)


def main():
    rng = np.random.default_rng(SEED)
    versions = {package: importlib.metadata.version(package) for package in ("gguf", "numpy")}
    golden = {"made_by": "tools/golden/quant_blocks.py", **versions, "decode": {}, "encode": {}}
    for name in HALF_FIELDS:
        blocks = random_blocks(name, rng)
        values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
        golden["decode"][name] = {"blocks": blocks.tobytes().hex(), "values": values.astype("<f4").tobytes().hex()}
    rows = encode_rows(rng)
    golden["encode"]["values"] = rows.astype("<f4").tobytes().hex()
    for name in ENCODED:
        blocks = gguf.quants.quantize(rows, gguf.GGMLQuantizationType[name])
        golden["encode"][name] = blocks.tobytes().hex()
    with open(sys.argv[1], "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


main()

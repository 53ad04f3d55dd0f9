#!/usr/bin/env python3
"""Plants one fault at a time in the checked-in text of one kernel, for faults_test.cc.

usage: mutate.py ARTIFACT.cu OUT.cu
Takes the kernel in which eight warps share a panel by chains and meet at a barrier. Each copy is named <fault>; a
replacement that does not match exactly the expected number of times fails the build, so a fault cannot vanish silently.
"""
import re
import sys

FAULTS = {
    # name: (pattern, replacement, matches to expect; only the first is replaced)
    "unchanged": (r"qk_barrier\(\);", "qk_barrier();", 2),
    "swapped_nibbles": (r"nibbles\.x & 0xf0f0f0fu", "(nibbles.x >> 4u) & 0xf0f0f0fu", 1),
    "wrong_fragment_word": (r"qk_u32x4\{a, a_2, a_3, a_4\}", "qk_u32x4{a, a_3, a_2, a_4}", 1),
    "wrong_fragment_lane": (r"base \+ \(lane \* 8u\)", "base + ((lane ^ 1u) * 8u)", 1),
    "dropped_barrier": (r"qk_barrier\(\);", "", 2),
    "dropped_warp_sync": (r"qk_warp_sync\(\);", "", 1),
    "dropped_async_wait": (r"qk_async_wait<0>\(\);", "", 2),
    "tail_off_by_one": (r"row_n < n\)", "row_n <= n)", 1),
    "barrier_under_divergence": (r"qk_barrier\(\);", "if (lane != 3u) qk_barrier();", 2),
    "sync_under_divergence": (r"qk_warp_sync\(\);", "if (lane != 3u) qk_warp_sync();", 1),
    "early_return": (r"qk_barrier\(\);", "if (tid == 40u) return; qk_barrier();", 2),
    "wrong_chain": (r"chain\.x \+ chain_5\.x", "chain.x + chain_4.x", 1),
}


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    kernels = [k for k in text.split("\n\n// ") if "K:256..65536*256" in k and "split=8;stages=2;unroll=1" in k]
    if len(kernels) != 1:
        sys.exit(f"mutate.py: {len(kernels)} kernels match")
    code = kernels[0][kernels[0].index("QK_DEVICE"):]
    symbol = re.search(r"QK_DEVICE void (\w+)_tile", code).group(1)
    out = '#include "qk_cuda.cuh"\n'
    for name, (pattern, replacement, expected) in FAULTS.items():
        found = len(re.findall(pattern, code))
        if found != expected:
            sys.exit(f"mutate.py: {name}: the pattern matches {found} times, not {expected}")
        out += "\n" + re.sub(pattern, replacement, code, count=1).replace(symbol, "fault_" + name)
    open(sys.argv[2], "w", encoding="utf-8").write(out)


main()

#!/bin/sh
# Compiles every checked-in CUDA text for sm_90a and as compute_80 PTX, when a toolkit is there; warnings are errors.
# usage: compile_cuda.sh ROOT OUT
set -eu
root="$1" out="$2"
nvcc="$(command -v nvcc || true)"
[ -n "$nvcc" ] || { [ -x /usr/local/cuda/bin/nvcc ] && nvcc=/usr/local/cuda/bin/nvcc; } || true
if [ -z "$nvcc" ]; then
  echo "skipped: no nvcc on this machine, so the CUDA text is only run by the emulator"
  exit 77
fi
mkdir -p "$out"
"$nvcc" --version | tail -1
printf '%s\n' "$root"/src/kernels/artifacts/cuda/*.cu | xargs -P 2 -I{} sh -c '
  "$0" -gencode=arch=compute_90a,code=sm_90a -gencode=arch=compute_80,code=compute_80 --fmad=false -std=c++17 -O3 \
    -I"$1/src/kernels/lower/device_text" -Werror all-warnings -diag-suppress 177 -fatbin -o "$2/$(basename {} .cu).fatbin" {}' "$nvcc" "$root" "$out"
ls "$out" | wc -l

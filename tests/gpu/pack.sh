#!/bin/sh
# pack.sh FOLDER - a build that runs on a machine which has a driver and nothing else: programs, the CUDA library and its kernels, tests, scripts,
# and the shared libraries of all of them, in FOLDER and in FOLDER.tar.gz (about 45 MB). Build first (./bootstrap build with the CUDA toolkit), then copy the folder
# and run FOLDER/tests/gpu/run.sh there.
set -eu
cd "$(dirname "$0")/../.."
to=${1:?usage: tests/gpu/pack.sh FOLDER}
mkdir -p "$to/build/lib" "$to/build/busted" "$to/tests"
for f in build/gibbous build/libgibbous_cuda.so build/tests/cuda/test_cuda_fold build/tests/cuda/test_cuda_fold_chains \
         build/tests/cuda/test_cuda_plan build/tests/cuda/test_gpu_cluster build/tests/cuda/test_gpu_dense build/tests/cuda/test_gpu_move build/tests/cuda/test_gpu_panel; do
  [ -e "$f" ] || { echo "pack.sh: $f is missing: build it first" >&2; exit 1; }
  strip -o "$to/build/$(basename "$f")" "$f"
done
[ ! -e build/libgibbous_cuda.kernels ] || cp build/libgibbous_cuda.kernels "$to/build/"
for f in "$to"/build/gibbous "$to"/build/test_*; do
  ldd "$f" | awk '$3 ~ /^\// && $3 !~ /lib(c|m|dl|pthread|rt)\.so/ { print $3 }'
done | sort -u | while read -r lib; do cp -L "$lib" "$to/build/lib/"; done
# busted and what it needs are Lua files, but for two modules in C
for dir in /usr/share/lua/5.4 /usr/lib/*/lua/5.4; do [ -d "$dir" ] && cp -rL "$dir/." "$to/build/busted/"; done
cp -L "$(command -v busted)" "$to/build/busted/run_busted.lua"
cp -r scripts spec "$to/"
cp -r tests/gpu "$to/tests/"
[ ! -e .busted ] || cp .busted "$to/"
tar -C "$(dirname "$to")" -czf "$to.tar.gz" "$(basename "$to")"
du -sh "$to" "$to.tar.gz"

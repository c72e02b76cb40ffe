#!/bin/sh
# run.sh [--emulated] [--short] [OUT] - what has to be seen on a real GPU, in ten minutes: bits, ops, specs, memory, sanitizers, speed.
# The most important question comes first, so that a run that is cut off has answered it. Writes OUT/gpu-results.md (the last lines of
# the output, too), OUT/cuda.json and a log a part. Needs a build (./bootstrap build, then ninja -C build) or the folder of pack.sh.
#   --emulated   on the emulated GPU of the tests, to try this script; no figure of speed is worth anything then
#   --short      fewer programs and smaller sizes
set -u
cd "$(dirname "$0")/../.." || exit 2
emulated=no short=no out=build/gpu
for word in "$@"; do
  case $word in
    --emulated) emulated=yes ;;
    --short) short=yes ;;
    -*) echo "usage: tests/gpu/run.sh [--emulated] [--short] [OUT]" >&2; exit 2 ;;
    *) out=$word ;;
  esac
done
mkdir -p "$out" || exit 2
root=$PWD
tests=$root/build/tests/cuda
[ -d "$tests" ] || tests=$root/build
library=$root/build
[ $emulated = no ] || library=$root/build/tests/cuda
[ ! -d build/lib ] || export LD_LIBRARY_PATH="$root/build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
busted=$(command -v busted || echo "$root/build/busted/run_busted.lua")
[ ! -d build/busted ] || export LUA_PATH="$root/build/busted/?.lua;$root/build/busted/?/init.lua;;" LUA_CPATH="$root/build/busted/?.so;;"
[ -e "$library/libgibbous_cuda.so" ] || { echo "run.sh: $library/libgibbous_cuda.so is missing: build it first" >&2; exit 2; }
export GIBBOUS_DEVICE_PATH="$library" GIBBOUS_CUDA_LIBRARY="$library/libgibbous_cuda.so" GIBBOUS_ISA=avx2 GIBBOUS_THREADS=4
[ -x "$tests/test_cuda_fold" ] || { echo "run.sh: $tests/test_cuda_fold is missing: build it first (ninja -C build)" >&2; exit 2; }
programs=400; [ $short = no ] || programs=40

table=$out/gpu-results.md
failed=0
: >"$table"
say() { echo "$*" >>"$table"; }

# part NAME LIMIT_S COMMAND...: its log is OUT/NAME.log, its last line of figures goes into the table. Parts that only compare run
# beside each other where there are processors for them; 'together' waits for them and puts their rows in order.
rows=$out/rows
mkdir -p "$rows"
rm -f "$rows"/*
order=
wide=$([ "$(nproc)" -ge 8 ] && echo yes || echo no)
part() {
  order="$order $1"
  if [ $wide = yes ]; then measure "$@" & else measure "$@"; fi
}
together() {
  wait
  for name in $order; do
    cat "$rows/$name" >>"$table"
    case $(cat "$rows/$name") in *FAILED*) failed=$((failed + 1)) ;; esac
  done
  order=
}
measure() {
  name=$1 limit=$2
  shift 2
  began=$(date +%s)
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  rc=$?
  took=$(($(date +%s) - began))
  what=ok
  [ $rc = 0 ] || what="FAILED ($rc)"
  figure=$(grep -E '^[0-9]+ (programs|graphs|runs|symmetric)|^# Success|^ok [0-9]+ - ' "$out/$name.log" | tail -n 1 | cut -c 1-110)
  passed=$(grep -c '^ok [0-9]' "$out/$name.log")
  [ "$passed" = 0 ] || figure="$passed specs"
  [ -n "$figure" ] || figure=$(grep -E 'PASSED|FAILED' "$out/$name.log" | tail -n 1)
  echo "| $name | $what | $took s | $figure |" >"$rows/$name"
  echo "$name: $what, $took s, $figure"
}
skip() { say "| $1 | skipped | | $2 |"; echo "$1: skipped, $2"; }

device="GIBBOUS_DEVICE=cuda:0"
[ $emulated = no ] || device="$device EMU_DEVICES=1"
gibbous="env $device build/gibbous"

say "# Results on a GPU"
say ""
if [ $emulated = yes ]; then say "Not yet run on a GPU: these lines are of the emulation."; else
  say "$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null || echo 'no nvidia-smi')"
fi
say "$(date -u +%Y-%m-%d), $(uname -m), $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | sed 's/^ //')"
say ""
say "| part | | seconds | |"
say "|---|---|---|---|"
$gibbous doctor >"$out/doctor.log" 2>&1   # for the record: not all that it wants is needed here
# 1. Are the bits of class exact those of the CPU, whole and in parts?
exact="env $device GIBBOUS_CUDA_ARITHMETIC=exact GIBBOUS_RATES=fixed GB_TEST_PROGRAMS=$programs"
part bits_interpreter 150 $exact GIBBOUS_CUDA_COMPILE=off "$tests/test_cuda_fold"
part bits_kernels 150 $exact GIBBOUS_CUDA_COMPILE=off "$tests/test_cuda_fold_chains"
[ $emulated = yes ] || part bits_compiled 150 $exact GIBBOUS_CUDA_COMPILE=wait GB_TEST_PROGRAMS=40 "$tests/test_cuda_fold_chains"
# 2. Ops, panels, moves; bytes of plans.
for t in dense move panel; do
  if [ -x "$tests/test_gpu_$t" ]; then part "$t" 100 "$tests/test_gpu_$t"; else skip "$t" "test_gpu_$t was not built"; fi
done
[ $short = yes ] || [ ! -x "$tests/test_gpu_cluster" ] || part cluster 200 "$tests/test_gpu_cluster"
[ $short = yes ] || part plans 100 env $device GIBBOUS_RATES=fixed GIBBOUS_CUDA_COMPILE=off "$tests/test_cuda_plan"
# 3. Specs on the GPU, and the README's model.
if [ -e "$busted" ]; then
  specs="spec/tensor/ops_spec.lua spec/tensor/values_spec.lua spec/solvers/precond_spec.lua"
  [ $short = yes ] || specs="$specs spec/gp/model/gate0_spec.lua spec/gp/predict/gp_variance_spec.lua spec/plan/lacks_spec.lua"
  part specs 200 $gibbous "$busted" --output=TAP $specs
else skip specs "busted is not here"; fi
[ $short = yes ] || part mauna_loa 200 $gibbous scripts/mauna_loa.lua "$out/mauna_loa.svg"
together
# 4. Sanitizers on a few programs.
if [ $emulated = no ] && command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    part "$tool" 150 env $device GIBBOUS_CUDA_ARITHMETIC=exact GB_TEST_PROGRAMS=40 compute-sanitizer --tool $tool --error-exitcode 9 "$tests/test_cuda_fold"
  done
else skip sanitizers "compute-sanitizer is not here"; fi
together
# 5. Speed, alone. A tenth of the pairs of a million points saturate a GPU, in a tenth of the time.
wide=no
quick="--points 300000"; [ $short = no ] || quick="--quick --points 300"
unset GIBBOUS_ISA
[ $emulated = no ] || export GIBBOUS_RATES=fixed GIBBOUS_CUDA_COMPILE=off
part speed 240 $gibbous scripts/bench/cuda.lua $quick --json "$out/cuda.json"
together
say ""
say '```'
cat "$out/speed.log" >>"$table"
say '```'
tail -n 60 "$table"
echo "$failed failed"
[ "$failed" = 0 ]

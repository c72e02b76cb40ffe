#!/bin/sh
# each_core.sh - runs tests as on other processors: under every set of kernels of BLAS (OPENBLAS_CORETYPE) and every instruction
# set (GIBBOUS_ISA) that this processor executes. Those that it does not execute are neither run nor reported.
#
#   each_core.sh PROBE COMMAND...      PROBE prints "isa; BLAS and its kernels"; each command one word, arguments after blanks
probe=$1; shift
flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1) "
executes() {
  for f; do case $flags in *" $f "*) ;; *) return 1 ;; esac; done
}
cores() {
  executes avx2 fma && echo 'Haswell Zen'
  executes avx512f avx512dq avx512cd avx512bw avx512vl && echo SkylakeX
  executes avx512f avx512dq avx512cd avx512bw avx512vl avx512_bf16 && echo Cooperlake
  executes avx512f avx512dq avx512cd avx512bw avx512vl avx512_bf16 amx_tile && echo SapphireRapids
}
isas() {
  executes avx512f avx512dq avx512bw avx512vl fma && echo avx512
  executes avx2 fma && echo avx2
  echo portable
}

number=0 failed=0
# as VARIABLE=VALUE: every command in turn
as() {
  case "$(env "$1" "$probe" --cores 2>&1)" in *"${1#*=}"*) ;; *) return ;; esac       # the library may not know the name
  for command in $commands; do
    number=$((number + 1))
    words=$(echo "$command" | tr '|' ' ')
    # shellcheck disable=SC2086
    if out=$(env "$1" $words 2>&1); then echo "ok $number - $1 ${words##*/}"
    else
      echo "$out"
      echo "not ok $number - $1 ${words##*/}"
      failed=1
    fi
  done
}

commands=
for command; do commands="$commands $(echo "$command" | tr ' ' '|')"; done
default=$("$probe" --cores)
for core in $(cores); do
  case $default in *"$core"*) ;; *) as "OPENBLAS_CORETYPE=$core" ;; esac
done
for isa in $(isas); do
  case $default in "$isa"*) ;; *) as "GIBBOUS_ISA=$isa" ;; esac
done
echo "1..$number"
exit $failed

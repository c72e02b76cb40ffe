#!/bin/sh
# lint_layers.sh - arrows go downwards only: Lua headers stay in host/lua and host/main.c, device headers in cuda/,
# and no file includes a storey above its own.
cd "$(dirname "$0")/.." || exit 2
storeys='base mem tensor cpu backend graph fold plan solve io plot lua'
bad=$(
  grep -rnE '#include *[<"](lua|lauxlib|lualib)\.h' host cuda tests | grep -vE '^host/(lua/|main\.c)'
  grep -rnE '#include *[<"](cuda|cublas|cusolver|nvrtc)[A-Za-z_0-9]*\.h' host tests
  grep -rnE 'LAPACKE_|#include *[<"](cblas\.h|cpu/lapack\.h)' host | grep -v '^host/cpu/blas\.c'
  rank=0
  for s in $storeys; do
    rank=$((rank + 1))
    above=$(echo "$storeys" | tr ' ' '\n' | tail -n +$((rank + 1)) | tr '\n' '|' | sed 's/|$//')
    case $s in
      cpu) above='graph|fold|plan|solve|io|plot|lua' ;;      # cpu and backend are one storey: the types and a device
      base|mem|tensor) ;;
      io|plot) above='graph|fold|plan|solve|lua' ;;          # beside the core, not above it
    esac
    [ -n "$above" ] && [ -d "host/$s" ] && grep -rnE "#include \"($above)/" "host/$s"
  done
)
[ -z "$bad" ] || { echo "includes that climb a storey:"; echo "$bad"; exit 1; }

#!/bin/sh
# lint_layers.sh - arrows go downwards only: Lua headers stay in host/lua and host/shell, device headers in cuda/,
# no file includes a layer above its own, and elements of tensors are reached through tensor/host.h alone.
cd "$(dirname "$0")/.." || exit 2
layers='base device tensor program graph lower plan iterate solve cluster embed lua shell'
bad=$(
  grep -rnE '#include *[<"](lua|lauxlib|lualib)\.h' host cuda tests 2>/dev/null | grep -vE '^host/(lua|shell)/'
  grep -rnE '#include *[<"](cuda|cublas|cusolver|nvrtc)[A-Za-z_0-9]*\.h' host tests --include='*.[ch]*' | grep -vE '^tests/cuda(_emulation)?/'
  grep -rnE 'LAPACKE_|#include *[<"](cblas\.h|cpu/linalg/lapack\.h)' host | grep -v '^host/cpu/linalg/blas\.c'
  for s in $layers; do
    above=$(echo "$layers" | tr ' ' '\n' | sed "1,/^$s\$/d" | tr '\n' '|' | sed 's/|$//')
    [ -z "$above" ] || grep -rnE "#include \"($above)/" "host/$s"
  done
  # Beside the others: a device knows programs, files know tensors, figures know neither.
  grep -rnE '#include "(graph|lower|plan|iterate|solve|embed|io|plot|lua|shell)/' host/cpu
  grep -rnE '#include "(program|graph|lower|plan|iterate|solve|embed|plot|lua|shell)/' host/io
  grep -rnE '#include "(device|tensor|program|graph|lower|plan|iterate|solve|embed|io|lua|shell)/' host/plot
  grep -rnE '#include "(device|tensor|program|graph|lower|plan|iterate|solve|embed|io|plot|lua|shell)/' host/system
  # The device of the other library: what a device needs of host/, nothing above, and nobody includes it.
  grep -rnE '#include "' cuda | grep -vE '#include "(cuda|base|device|program|arith)/|"cuda_emulation/device\.h"'
  grep -rnE '#include "cuda/' host tests --include='*.[ch]*' | grep -vE '^tests/cuda(_emulation)?/'
  grep -rn '<<<' cuda | grep -v '^cuda/launch\.h'
  # Messages between processes: of one library, which nobody includes.
  grep -rnE '#include *[<"](mpi\.h|mpi/)' host cuda tests --include='*.[ch]*' | grep -v '^host/mpi/'
  # A device is reached through device/device.h alone.
  grep -rnE '#include "cpu/' host/base host/device host/tensor host/program host/cluster host/graph host/lower host/plan \
    host/iterate host/solve host/embed host/io host/plot host/system host/lua host/shell
  # What programs include, and the arithmetic that all devices share, stand alone.
  grep -rn '#include *"' host/include host/arith
  # Solvers name no device: threads are the device's.
  grep -rnE '#include "base/(tasks|pool)\.h"' host/iterate host/solve host/cluster
)
[ -z "$bad" ] || { echo "includes that climb a layer:"; echo "$bad"; exit 1; }

# Rooms stand in an order: no two include each other, directly or not. A room has 20 files at most, host/lua 30.
circle=$(grep -rnoE '^#include "[a-z0-9_/]+/[a-z0-9_]+\.[a-z]+"' host --include='*.[ch]' --include='*.inc' |
  sed -E 's|^host/(.*)/[^/]*:[0-9]+:#include "(.*)/[^/]*"$|\1 \2|' | awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null)
[ -z "$circle" ] || { echo "rooms that include each other:"; echo "$circle"; exit 1; }
crowded=$(find host -type d | while read -r d; do
  most=20; [ "$d" != host/lua ] || most=30
  n=$(find "$d" -maxdepth 1 -type f | wc -l); [ "$n" -le $most ] || echo "$d: $n files"; done)
[ -z "$crowded" ] || { echo "rooms with too many files:"; echo "$crowded"; exit 1; }

# The bytes of a tensor may lie in memory that the host cannot read: tensor/host.h gives its elements. The address of the bytes
# passes through the rooms that hand it to a device, where no line reads or writes what it points to.
address='\<gb_tensor_data *\(' bytes='block\.data'
bad=$(
  grep -rnE "$bytes" host --include='*.[ch]' | grep -vE '^host/(tensor|device|cpu)/|^host/program/appendable\.c|^host/plan/run/call\.c'
  grep -rnE "$address" host --include='*.[ch]' | grep -vE '^host/(tensor|cpu|iterate|solve|plan/run|lua/cluster)/'
  # Where it may pass: no pointer to numbers, no element, no copy by the host.
  for use in "(double|float|int64_t|uint8_t|int|gb_block_row) \*[^;]*$address" "$address[^;]*\)\)? *\[" "\*\([^;]*\*\) *$address" \
    "mem(cpy|move|set|cmp) *\([^;]*$address" "gb_element_[gs]et *\([^;]*$address"; do
    grep -rnE "$use" host/iterate host/solve host/plan host/lua/cluster --include='*.[ch]'
  done
  grep -rnE "$address|$bytes" tests --include='*.[ch]' |
    grep -vE '^tests/(cpu|cuda|io)/|^tests/support/(elements|cpu/[a-z_]*|plan/plan_watch)\.c'
)
[ -z "$bad" ] || { echo "elements that are not reached through tensor/host.h:"; echo "$bad"; exit 1; }

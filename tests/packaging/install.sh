#!/bin/sh
# install.sh CMAKE BUILD FOLDER - the build, installed below a folder and moved, works from where it lies then: the program, the
# library for a stock Lua, what is opened on demand, and programs in C and C++ that are built with pkg-config and with CMake.
set -e
cmake=$1 build=$2 folder=$3
fail() { echo "$*"; exit 1; }
rm -rf "$folder" && mkdir -p "$folder"
"$cmake" --install "$build" --prefix "$folder/first" > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
mv "$folder/first" "$folder/moved"
prefix=$folder/moved
cd "$folder"

for file in bin/gibbous include/gibbous.h lib/lua/5.4/gibbous.so lib/libgibbous_embed.so lib/pkgconfig/gibbous.pc \
  lib/cmake/gibbous/gibbousConfig.cmake share/man/man1/gibbous.1 share/bash-completion/completions/gibbous \
  share/zsh/vendor-completions/_gibbous share/fish/vendor_completions.d/gibbous.fish share/gibbous/meta/gibbous.lua \
  share/gibbous/meta/gibbous/gp.lua share/doc/gibbous/README.md share/doc/gibbous/copyright share/doc/gibbous/docs/tutorial.md \
  share/doc/gibbous/examples/first_model.lua share/doc/gibbous/scripts/mauna_loa.lua \
  share/doc/gibbous/scripts/data/mauna_loa_co2.csv; do
  [ -s "$prefix/$file" ] || fail "$file is not installed"
done
! grep -rlF "$build" "$prefix" || fail "installed files name the folder of the build"

# The program, with none of the build's variables.
unset GIBBOUS_DEVICE GIBBOUS_DEVICE_PATH GIBBOUS_LUA_DIR
"$prefix/bin/gibbous" selftest || fail "the installed program's selftest fails"
parts=$("$prefix/bin/gibbous" version | sed -n 's/^parts *//p')
for part in mpi cuda; do
  [ ! -e "$prefix/lib/gibbous/libgibbous_$part.so" ] || case $parts in
    *"$part not built"*) fail "libgibbous_$part.so is installed and not found: $parts" ;;
  esac
done
for part in hdf5 matio; do     # opened when a file wants it
  [ ! -e "$build/libgibbous_$part.so" ] || [ -e "$prefix/lib/gibbous/libgibbous_$part.so" ] || fail "libgibbous_$part is not installed"
done
if [ -e "$prefix/lib/gibbous/libgibbous_hdf5.so" ]; then
  printf '\211HDF\r\n\032\n cut' > cut.h5
  said=$("$prefix/bin/gibbous" -e 'print(pcall(require("gibbous").data.read, "cut.h5"))')
  case $said in *"or built where"*) fail "libgibbous_hdf5 is not found: $said" ;; esac
fi
if command -v lua5.4 > /dev/null; then
  LUA_CPATH="$prefix/lib/lua/5.4/?.so" lua5.4 -e 'local gb = require "gibbous" assert(gb.ones(3):sum():item() == 3)
    print(require "gibbous.core".parts().mpi)' > lua.out || fail "the library does not load in lua5.4"
  [ ! -e "$prefix/lib/gibbous/libgibbous_mpi.so" ] || [ "$(cat lua.out)" = true ] || fail "lua5.4 does not find lib/gibbous"
fi

# Programs outside of the tree.
want='sum 10.323763, first slope 1.948820'
expect() { got=$("$@") || fail "$1 fails"; [ "$got" = "$want" ] || fail "$1 says '$got', not '$want'"; }
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
example=$prefix/share/doc/gibbous/embedding
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror "$example/program.c" $(pkg-config --cflags --libs gibbous) "-Wl,-rpath,$prefix/lib" -o by_pkg_config
expect ./by_pkg_config
cp -r "$example" source
"$cmake" -G Ninja -S source -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 && "$cmake" --build by_cmake >> log 2>&1 || { cat log; exit 1; }
expect by_cmake/program_c
if grep -q "^CMAKE_CXX_COMPILER:.*NOTFOUND" by_cmake/CMakeCache.txt; then echo "no compiler for C++: its program is left out"
else expect by_cmake/program_cpp; fi

# The library shows its interface alone.
shown=$(nm -D --defined-only "$prefix/lib/libgibbous_embed.so" | awk '{print $3}' |
  grep -vE '^(gibbous_.*|dgemm_|sgemm_|blas_memory_(alloc|free))$' || true)
[ -z "$shown" ] || fail "libgibbous_embed shows" $shown

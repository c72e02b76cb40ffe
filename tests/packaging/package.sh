#!/bin/sh
# package.sh CPACK BUILD FOLDER - packages are made, hold what they should, and run where they are unpacked.
set -e
cpack=$1 build=$2 folder=$3
fail() { echo "$*"; exit 1; }
rm -rf "$folder" && mkdir -p "$folder"
cd "$folder"
"$cpack" --config "$build/CPackConfig.cmake" -G TGZ -B "$folder/out" > log 2>&1 || { cat log; exit 1; }
mkdir archive && tar xzf out/*.tar.gz -C archive --strip-components=1
archive/bin/gibbous selftest > selftest || { cat selftest; fail "the program of the archive fails"; }

for tool in dpkg-deb dpkg-shlibdeps file; do
  command -v $tool > /dev/null || { echo "no $tool: the packages of Debian are left out"; exit 0; }
done
"$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$folder/out" > log 2>&1 || { cat log; exit 1; }
for package in gibbous gibbous-dev; do
  set -- out/"${package}"_*.deb
  [ $# = 1 ] && [ -e "$1" ] || fail "no package $package"
  dpkg-deb -x "$1" root
  dpkg-deb -f "$1" Depends > "$package.depends"
done
for library in libc6 liblua5.4-0 libopenblas0-serial libsleef3 libcairo2 libsqlite3-0 libedit2; do
  grep -q "$library" gibbous.depends || fail "the package does not depend on $library: $(cat gibbous.depends)"
done
! grep -q 'mpi\|hdf5\|matio' gibbous.depends || fail "the package needs what a part does: $(cat gibbous.depends)"
grep -q 'gibbous (= ' gibbous-dev.depends || fail "gibbous-dev needs no gibbous: $(cat gibbous-dev.depends)"
root/usr/bin/gibbous selftest > selftest || { cat selftest; fail "the program of the package fails"; }
[ -e root/usr/include/gibbous.h ] || fail "gibbous-dev has no header"
[ -e root/usr/share/man/man1/gibbous.1.gz ] || fail "the manual is not compressed"

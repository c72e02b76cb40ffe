#!/bin/sh
# lint_format.sh - C is as .clang-format lays it out, by the version of Debian 12 (others differ in details).
cd "$(dirname "$0")/.." || exit 2
clang-format --version 2>/dev/null | grep -q 'version 14\.' || { echo "clang-format 14 is not here"; exit 77; }
find host tests cuda \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) -print0 | xargs -0 clang-format --dry-run -Werror 2>&1 | head -n 40 >"${TMPDIR:-/tmp}/format.$$"
bad=$(grep -c 'error:' "${TMPDIR:-/tmp}/format.$$")
cat "${TMPDIR:-/tmp}/format.$$"; rm -f "${TMPDIR:-/tmp}/format.$$"
[ "$bad" -eq 0 ]

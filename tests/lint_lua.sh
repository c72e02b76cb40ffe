#!/bin/sh
# lint_lua.sh - luacheck finds nothing in the Lua of the tree (.luacheckrc says what it looks for).
cd "$(dirname "$0")/.." || exit 2
command -v luacheck >/dev/null 2>&1 || { echo "luacheck is not here"; exit 77; }
luacheck --no-color --quiet cuda lualib scripts spec tests

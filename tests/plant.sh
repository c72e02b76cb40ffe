#!/bin/sh
# plant.sh - does the suite see a bug? Plants one after another into a copy of the sources, builds it, and runs the tests:
# each bug must turn them red. Minutes long; not part of the suite. Usage:
#   tests/plant.sh [--without test] [number ...]
set -eu
cd "$(dirname "$0")/.."
exec lua5.4 tests/plant.lua "$@"

# Functions of the checks of .ci, which source this file.

fail() { echo "$*"; exit 1; }

# Status 77: this machine has not what the check needs; the last line says what.
skip() { echo "$*"; exit 77; }

# need PROGRAM PACKAGE: the program is there, or comes by apt, or the check is skipped.
need() {
  command -v "$1" > /dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    { timeout 60 apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -y -qq \
      --no-install-recommends "$2"; } < /dev/null || true
  fi
  command -v "$1" > /dev/null || skip "no $1, and apt gives no package $2"
}

#!/bin/sh
# page.sh PROGRAM PAGE - the program of a page prints the page's block of text.
want=$(sed -n '/^```text$/,/^```$/{/^```/!p}' "$2")
got=$("$1") || { echo "$1 ends with status $?"; echo "$got"; exit 1; }
[ -n "$want" ] && [ "$got" = "$want" ] || { echo "the page says:"; echo "$want"; echo "the program says:"; echo "$got"; exit 1; }

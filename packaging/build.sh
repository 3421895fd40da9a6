#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# packaging/build.sh - run make on all cpus with its output in a file, and show how far it is.
#
# Usage: build.sh LOG MAKE TARGET...
#
# On a terminal one line counts the files that are compiled. If the build fails, its output is printed.
set -eu

log=$1
shift
mkdir -p "$(dirname "$log")"
"$@" -j"$(nproc)" >"$log" 2>&1 &
build=$!
if [ -t 1 ]; then
  total=$("$@" -n 2>/dev/null | grep -c ' -c ') || total=0
  while kill -0 $build 2>/dev/null; do
    done=$(grep -c ' -c ' "$log") || done=0
    [ "$total" = 0 ] || printf '\rbuilding: %d of %d files' "$done" "$total"
    sleep 0.2
  done
  printf '\r\033[K'
fi
wait $build || { cat "$log"; exit 1; }

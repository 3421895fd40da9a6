#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# spec/fuzz/run.sh - run one fuzz target: spec/fuzz/run.sh BUILD fuzz_NAME|planted_NAME SECONDS
#
# A target must go through its seconds without a finding; a planted one must find its bug, and no other, within them.
build=$1 target=$2 seconds=$3
name=${target#*_}
new=$build/corpus/$target log=$build/$target.log
mkdir -p "$new"
set -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 -max_len=2000
[ -f "spec/fuzz/$name.dict" ] && set -- "$@" -dict="spec/fuzz/$name.dict"
set -- "$@" -artifact_prefix="$build/$name-" "$new"
[ -d "spec/fuzz/$name" ] && set -- "$@" "spec/fuzz/$name"
"$build/$target" "$@" >"$log" 2>&1
status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
case $target in
planted_*)
  rm -rf "$new"
  rm -f "$build/$name"-crash-*
  if [ $status -ne 0 ] && grep -q '^the planted bug' "$log"; then
    echo "fuzz $name: the planted bug is found after ${runs:-?} inputs"
    exit 0
  fi
  tail -n 3 "$log"
  echo "fuzz $name: the planted bug is not found in $seconds s (${runs:-?} inputs)"
  exit 1 ;;
esac
if [ $status -ne 0 ]; then
  grep -v "^\"\|Recommended" "$log" | tail -n 40
  echo "fuzz $name: a finding, left in $build/$name-*"
  exit 1
fi
echo "fuzz $name: clean after $seconds s and $runs inputs"

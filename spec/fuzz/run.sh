#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# spec/fuzz/run.sh - run one fuzz target: spec/fuzz/run.sh BUILD fuzz_NAME|planted_NAME SECONDS|runs=N
#
# A target must go through its seconds without a finding; a planted one must find its bug, and no other, within them.
# With runs=N, N inputs are made from the seeds alone, the same ones each time.
build=$(realpath "$1") target=$2 seconds=$3
name=${target#*_}
new=$build/corpus/$target log=$build/$target.log
limit="-max_total_time=$seconds" long="$seconds s"
case $seconds in
runs=*)
  new=$build/check/$target long="a short run"
  rm -rf "$new"
  limit="-$seconds -seed=1" ;;
esac
mkdir -p "$new"
# shellcheck disable=SC2086 # two words
set -- $limit -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 -max_len=4000
[ -f "spec/fuzz/$name.dict" ] && set -- "$@" -dict="spec/fuzz/$name.dict"
set -- "$@" -artifact_prefix="$build/$name-" "$new"
[ -d "spec/fuzz/$name" ] && set -- "$@" "$PWD/spec/fuzz/$name"
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
  echo "fuzz $name: the planted bug is not found in $long (${runs:-?} inputs)"
  exit 1 ;;
esac
if [ $status -ne 0 ]; then
  grep -v "^\"\|Recommended" "$log" | tail -n 40
  echo "fuzz $name: a finding, left in $build/$name-*"
  exit 1
fi
echo "fuzz $name: clean after $long and $runs inputs"

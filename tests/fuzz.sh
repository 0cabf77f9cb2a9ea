#!/bin/bash
# fuzz.sh - runs each fuzzer for some seconds over its corpus folder.
# usage: tests/fuzz.sh SECONDS PROGRAM...
# A seed corpus is tests/fuzz/corpus/NAME; what is found grows in
# build/fuzz/NAME; an input that crashes is left there as crash-*.
set -u
seconds=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
pass=0 fail=0
for p in "$@"; do
	n=$(basename "$p")
	work=$here/../build/fuzz/$n
	mkdir -p "$work/corpus"
	seed=()
	[ -d "$here/fuzz/corpus/$n" ] && seed=("$here/fuzz/corpus/$n")
	if ASAN_OPTIONS=detect_leaks=0 timeout -k 5 $((seconds + 60)) "$p" \
		-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
		-artifact_prefix="$work/" "$work/corpus" \
		"${seed[@]+"${seed[@]}"}" >"$work/log" 2>&1; then
		pass=$((pass + 1))
		echo "ok fuzz/$n $(grep -c . "$work/log") lines"
	else
		fail=$((fail + 1))
		echo "not ok fuzz/$n"
		grep -aE 'ERROR|SUMMARY|artifact|BUG' "$work/log" | tail -8
	fi
done
echo "$pass passed, $fail failed, 0 skipped"
[ "$fail" -eq 0 ]

#!/bin/bash
# fuzz.sh - runs each fuzzer for some seconds over its corpus folder.
# usage: tests/fuzz.sh SECONDS PROGRAM...
# A seed corpus is tests/fuzz/corpus/NAME; what is found grows in
# build/fuzz/NAME; an input that crashes is left there as crash-*.
set -u
seconds=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
running=0
res=$(mktemp -d) || exit 2
trap 'rm -rf "$res"' EXIT

one() # $1 program
{
	local p=$1 n work seed
	n=$(basename "$p")
	work=$here/../build/fuzz/$n
	mkdir -p "$work/corpus"
	seed=()
	[ -d "$here/fuzz/corpus/$n" ] && seed=("$here/fuzz/corpus/$n")
	echo "not ok fuzz/$n" >"$res/$n"
	if ASAN_OPTIONS=detect_leaks=0 timeout -k 5 $((seconds + 60)) "$p" \
		-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
		-artifact_prefix="$work/" "$work/corpus" \
		"${seed[@]+"${seed[@]}"}" >"$work/log" 2>&1; then
		echo "ok fuzz/$n, $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' \
			"$work/log")" >"$res/$n"
	else
		grep -aE 'ERROR|SUMMARY|artifact|BUG' "$work/log" | tail -8 >>"$res/$n"
	fi
	cat "$res/$n"
}

for p in "$@"; do
	if [ $running -ge "$(nproc)" ]; then
		wait -n
		running=$((running - 1))
	fi
	one "$p" &
	running=$((running + 1))
done
wait
pass=$(cat "$res"/* 2>/dev/null | grep -c '^ok ')
fail=$(cat "$res"/* 2>/dev/null | grep -c '^not ok ')
echo "$pass passed, $fail failed, 0 skipped"
[ "$fail" -eq 0 ]

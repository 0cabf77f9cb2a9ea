#!/bin/bash
# unit.sh - runs Criterion test programs one after the other and sums up.
# usage: tests/unit.sh PROGRAM...    last line: "N passed, N failed, N skipped"
set -u
pass=0 fail=0 skip=0
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
# Criterion itself leaks; the sentry frees little at its end.
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=0}
for p in "$@"; do
	timeout -k 5 600 "$p" -j2 --verbose --timeout 300 >"$out" 2>&1
	st=$?
	sum=$(grep -a 'Synthesis:' "$out" | tail -1)
	passing=$(sed -n 's/.*Passing: *\([0-9]*\).*/\1/p' <<<"$sum")
	failing=$(sed -n 's/.*Failing: *\([0-9]*\).*/\1/p' <<<"$sum")
	crashing=$(sed -n 's/.*Crashing: *\([0-9]*\).*/\1/p' <<<"$sum")
	skipped=$(grep -ac '^\[SKIP\]' "$out")
	bad=$((${failing:-0} + ${crashing:-0}))
	[ "$st" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
	pass=$((pass + ${passing:-0}))
	fail=$((fail + bad))
	skip=$((skip + skipped))
	sed -n 's/^\[SKIP\] \([^:]*\)::\([^:]*\): /skip unit\/\1\/\2 # /p' \
		"$out"
	if [ "$bad" -gt 0 ]; then
		echo "not ok unit/$(basename "$p"), exit $st"
		grep -avE '^\[(RUN |PASS|SKIP)\]' "$out" | tail -60
	fi
done
echo "$pass passed, $fail failed, $skip skipped"
[ "$fail" -eq 0 ]

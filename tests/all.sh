#!/bin/bash
# all.sh - runs parts of the tests, and sums up all their last lines.
# usage: tests/all.sh PART...   lint unit guest guest-self escape
#   real fuzz
set -u
cd "$(dirname "$0")/.." || exit 2
pass=0 fail=0 skip=0 bad=0
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT

run_part()
{
	case $1 in
	unit) tests/unit.sh ${UNIT_BINS:-build/obj-release-gcc/unit/*_test} ;;
	guest) tests/run --suite guest ;;
	guest-self) tests/run --suite guest --self ;;
	# formats differ by the formatter's version: make lint
	lint) tests/lint/run layers doors sizes ;;
	escape) tests/run --suite escape ;;
	real) tests/run --suite real ;;
	fuzz) tests/fuzz.sh "${FUZZ_SECONDS:-30}" \
		$(find build/tests/fuzz -type f -perm -1 2>/dev/null) ;;
	*) echo "no such part: $1" >&2; return 2 ;;
	esac
}

for part in "$@"; do
	echo "== $part"
	begin=$SECONDS
	run_part "$part" 2>&1 | tee "$out"
	[ "${PIPESTATUS[0]}" -eq 0 ] || bad=1
	sum=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' \
		"$out" | tail -1)
	if [ -z "$sum" ]; then
		sum="0 passed, 1 failed, 0 skipped"
		bad=1
	fi
	read -r p _ f _ s _ <<<"$sum"
	pass=$((pass + p)) fail=$((fail + f)) skip=$((skip + s))
	echo "== $part took $((SECONDS - begin)) s"
done
echo "$pass passed, $fail failed, $skip skipped"
[ "$bad" -eq 0 ] && [ "$fail" -eq 0 ]

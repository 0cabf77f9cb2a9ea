#!/bin/bash
# host-side
# timeout: 60
# Law 9: whatever a guest's /proc shows, the kernel gives it no capability in
# any set, no way to gain one, and a locked securebits word.
. "$(dirname "$0")/lib.inc"

# Sets of the process whose command line ends in the number $1, as the kernel
# tells the host.
status_of()
{
	local p
	for p in $(grep -lszxF "$1" /proc/[0-9]*/cmdline); do
		[ "$(head -c 5 "$p" 2>/dev/null)" = sleep ] || continue
		cat "${p%cmdline}status"
		return
	done
	return 1
}

# $1 name, rest: options
try()
{
	local name=$1 bounded=- n=$((100000 + RANDOM)).$RANDOM pid
	shift
	case $name in
	bare) [ "$(id -u)" = 0 ] || bounded='CapBnd' ;; # not ours to drop
	esac
	"$CLOCHE" run --quiet "$@" -- sleep "$n" >/dev/null 2>&1 &
	pid=$!
	if within 20 status_of "$n" >/dev/null; then
		status_of "$n" >status
		check "$name-holds-no-capability" sh -c '
			grep -c "^Cap" status | grep -qx 5 &&
			! grep "^Cap" status | grep -v "^$1	" |
			grep -v "	0*$"' - "$bounded:"
		check "$name-no-new-privileges" grep -qx 'NoNewPrivs:	1' status
		check "$name-has-filters" grep -qx 'Seccomp:	2' status
	else
		not_ok "$name-started" "no such process"
	fi
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
}

try jailed
try virtual-root --user root
try bare --insecure-no-userns
finish

#!/bin/bash
# host-side
# Laws 3 and 11: what cannot be recorded does not happen, and a limit never
# chooses a weaker wall.
. "$(dirname "$0")/lib.inc"

status_is() # STATUS COMMAND...
{
	local want=$1 st=0
	shift
	"$@" >out 2>err || st=$?
	[ "$st" = "$want" ] || { cat out err; echo "status $st"; return 1; }
}

check full-destination-ends-before-the-start status_is 125 \
	"$CLOCHE" run --audit /dev/full -- echo ran
check nothing-ran sh -c '! grep -q ran out'
mkfifo pipe
head -c 1 pipe >/dev/null &
check reader-that-leaves-ends-the-run status_is 125 \
	timeout -s KILL 20 "$CLOCHE" run --audit pipe -- \
	sh -c 'while :; do cat /etc/hostname >/dev/null 2>&1; sleep 0.1; done'
check missing-destination status_is 125 \
	"$CLOCHE" run --audit /nonexistent/a -- true
check missing-destination-is-named grep -q nonexistent err
check many-pids-keep-the-jail status_is 0 \
	"$CLOCHE" run --pids 99999999 -- true
check many-pids-are-no-bare-mode sh -c '! grep -q "bare mode" err'
check too-few-pids status_is 125 "$CLOCHE" run --pids 1 -- true
check too-few-pids-say-so grep -q -- --pids err
"$CLOCHE" run --audit a.jsonl -- /bin/true
check the-loader-is-not-recorded sh -c '! grep -q 0x20000000 a.jsonl'
finish

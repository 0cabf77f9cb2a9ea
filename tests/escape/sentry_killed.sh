#!/bin/bash
# host-side
# timeout: 120
# Law 6: however the sentry ends, its guests die with it.
. "$(dirname "$0")/lib.inc"

# Sleeps get a number of seconds that nobody else uses.
mark=$((30000 + RANDOM))

sleeps() { pgrep -f "^sleep $1\$" >/dev/null; }
no_sleeps() { ! sleeps "$1"; }

# Runs a script inside, kills the sentry when the sleep is there, and checks
# that it goes and that the reader of stdout sees the end. $1 name, $2 script
one()
{
	local pid
	mark=$((mark + 1))
	mkfifo "out.$mark"
	"$CLOCHE" run --quiet $3 -- sh -c "${2//MARK/$mark}" \
		>"out.$mark" 2>/dev/null </dev/null &
	pid=$!
	exec 9<"out.$mark"
	if ! within 10 sleeps "$mark"; then
		not_ok "$1" "the guest did not start"
		kill -9 $pid 2>/dev/null
		exec 9<&-
		return
	fi
	# the child of the shell is cloche itself; its parts are below it
	kill -9 "$pid"
	if within 3 no_sleeps "$mark"; then
		ok "$1"
	else
		not_ok "$1" "a guest lives on"
		pgrep -f "^sleep $mark\$" | xargs -r kill -9
	fi
	if timeout 5 cat <&9 >/dev/null; then
		ok "$1-stdout-ends"
	else
		not_ok "$1-stdout-ends" "still open after 5 s"
	fi
	exec 9<&-
	wait "$pid" 2>/dev/null
}

one tree-dies-with-the-sentry 'sleep MARK & sleep MARK'
one setsid-child-dies-too 'setsid sleep MARK & sleep MARK'
one orphan-dies-too '(sleep MARK &) ; sleep MARK'
one stopped-child-dies-too 'sleep MARK & kill -STOP $!; sleep MARK'
one ignoring-child-dies-too \
	'trap "" HUP TERM INT; nohup sleep MARK >/dev/null & sleep MARK'
one bare-tree-dies 'sleep MARK & setsid sleep MARK & sleep MARK' \
	--insecure-no-userns
finish

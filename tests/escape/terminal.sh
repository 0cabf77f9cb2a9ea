#!/bin/bash
# host-side
# needs: script
# Case 12: the user's terminal, as the first thing in the sandbox finds it, and
# as other programs on it find it while the sandbox runs.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
# What a command prints on a terminal of its own; ^ marks carriage returns. The
# end of script's own input is echoed as ^@.
on_tty() { script -qec "$1" /dev/null </dev/null | sed 's/\^@//g' | tr '\r' '^'; }
run='"$CLOCHE" run --quiet --'
export CLOCHE

check tty-has-a-name same "$(on_tty "$run tty")" '/dev/pts/0^'
check first-ttyname-finds-it same "$(on_tty \
	"$run python3 -c 'import os; print(os.ttyname(0))'")" '/dev/pts/0^'
check descriptor-is-what-the-path-is same "$(on_tty "$run python3 -c '
import os
a, b = os.fstat(0), os.stat(\"/dev/pts/0\")
print(*[x for x in dir(a) if x[:3] == \"st_\" and x[3:] not in
	(\"size\", \"blocks\", \"atime\", \"mtime\", \"ctime\", \"atime_ns\",
	 \"mtime_ns\", \"ctime_ns\") and getattr(a, x) != getattr(b, x)], \"end\")
'")" 'end^'
check second-terminal-has-a-name same "$(on_tty \
	"$run script -qec tty /dev/null")" '/dev/pts/1^'
check lines-of-a-reader-behind-a-pipe same "$(on_tty \
	"$run sh -c 'seq 3; sleep 0.3; seq 3' | { cat; sleep 0.1; }" |
	sort | uniq -c | tr -s ' \n' ' ')" ' 2 1^ 2 2^ 2 3^ '
check mode-comes-back same "$(on_tty 'a=$(stty -g)
	"$CLOCHE" run --quiet -- stty raw -echo
	"$CLOCHE" run --quiet -- true | cat
	timeout -s TERM 1 "$CLOCHE" run --quiet -- sleep 5
	[ "$a" = "$(stty -g)" ] && echo as before')" 'as before^'
finish

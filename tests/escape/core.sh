#!/bin/bash
# host-side
# needs: /usr/bin/python3
# Case 41: a guest that crashes starts nothing on the host and leaves no core
# file; the limit that it sees is what it would be natively.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

"$CLOCHE" run --quiet -- sh -c 'ulimit -c unlimited 2>/dev/null
	kill -SEGV $$' >/dev/null 2>&1
check status-of-a-crash same $? 139
check no-core-file sh -c '! ls core* 2>/dev/null'
check core-limit-shown same \
	"$("$CLOCHE" run --quiet -- sh -c 'ulimit -c')" "$(ulimit -c)"
"$CLOCHE" run --quiet -- /usr/bin/python3 -c '
import os, signal
for i in range(20):
    p = os.fork()
    if p == 0:
        os.kill(os.getpid(), signal.SIGABRT)
    assert os.waitpid(p, 0)[1] & 127 == signal.SIGABRT
'
check many-crashes same $? 0
finish

#!/bin/bash
# host-side
# needs: /usr/bin/python3
# Law 11: many refusals of one kind do not keep that of another from being
# said at the end of a run.
. "$(dirname "$0")/lib.inc"

mkdir -p ../.ssh
echo key >../.ssh/id_ed25519
"$CLOCHE" run -- /usr/bin/python3 -c '
import os, socket
for i in range(1500):
    s = socket.socket()
    try:
        s.connect(("203.0.%d.%d" % (i // 250, i % 250 + 1), 80))
    except OSError:
        pass
    s.close()
try:
    open(os.path.expanduser("~/.ssh/id_ed25519"))
except OSError:
    pass
' >/dev/null 2>err
check flood-is-bounded test "$(wc -l <err)" -lt 1400
check other-kind-is-said grep -q 'refused: openat .*id_ed25519' err
check rest-is-counted grep -q 'more of other kinds' err
finish

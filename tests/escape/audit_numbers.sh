#!/bin/bash
# host-side
# needs: /usr/bin/python3
# Law 11: no argument that a guest can choose makes its record unreadable.
. "$(dirname "$0")/lib.inc"

"$CLOCHE" run --quiet --audit a.jsonl -- /usr/bin/python3 -c '
import ctypes
libc = ctypes.CDLL(None)
big = ctypes.c_ulong(2**64 - 1)
for name in b"/etc/passwd", b"a\xff\xfe\n\x1b[31m\"}", b"x" * 300:
    libc.syscall(89, name, None, big)             # readlink
    libc.syscall(191, name, name, None, big)      # getxattr
    libc.syscall(437, -100, name, None, big)      # openat2
    libc.syscall(72, 1, big, big)
    libc.syscall(500, big, big, big)
    libc.syscall(2, name, big, big)
'
check verifies "$CLOCHE" audit verify a.jsonl
check every-record-is-json /usr/bin/python3 -c '
import json
for line in open("a.jsonl", encoding="utf-8"):
    json.loads(line)
    assert not any(ord(c) < 32 for c in line[:-1])'
check show-has-them sh -c '"$CLOCHE" audit show a.jsonl | grep -q getxattr'
check show-has-no-escape sh -c '! "$CLOCHE" audit show a.jsonl |
	grep -q "$(printf "\\033")"'
finish

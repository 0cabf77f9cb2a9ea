#!/bin/bash
# host-side
# needs: /usr/bin/python3
# timeout: 120
# Law 11: the stream is whole, damage is found, refusals are said.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

check run-with-audit "$CLOCHE" run --quiet --audit a.jsonl -- \
	sh -c 'cat /etc/hostname >copy; cat none 2>/dev/null; true'
check every-line-is-json /usr/bin/python3 -c '
import json
seq = None
for line in open("a.jsonl"):
    r = json.loads(line)
    if "seq" in r:
        assert seq is None or r["seq"] > seq, r
        seq = r["seq"]
'
check first-is-start sh -c 'head -1 a.jsonl | grep -q "\"start\""'
check has-end grep -q '"end"' a.jsonl
check verifies "$CLOCHE" audit verify a.jsonl
sed '3s/"pid"/"pie"/' a.jsonl >b.jsonl
check change-is-found sh -c '! "$CLOCHE" audit verify b.jsonl'
sed 3d a.jsonl >b.jsonl
check missing-line-is-found sh -c '! "$CLOCHE" audit verify b.jsonl'
head -c -30 a.jsonl >b.jsonl
check cut-end-is-found sh -c '! "$CLOCHE" audit verify b.jsonl'
check show-reads-it sh -c '"$CLOCHE" audit show a.jsonl | grep -q hostname'
check summary-reads-it "$CLOCHE" audit summary a.jsonl
"$CLOCHE" run -- /usr/bin/python3 -c '
import socket
s = socket.socket()
try:
    s.connect(("192.0.2.1", 80))
except OSError:
    pass
' >out 2>err
check refusal-is-said-at-the-end grep -q '192.0.2.1' err
check refusal-is-readable-inside sh -c '"$CLOCHE" run --quiet -- \
	/usr/bin/python3 -c "
import socket
s = socket.socket()
try:
    s.connect((\"192.0.2.1\", 80))
except OSError:
    pass
print(open(\"/run/cloche/denials\").read())" | grep -q 192.0.2.1'
"$CLOCHE" run --quiet -- true 2>err
check quiet-says-nothing same "$(cat err)" ""
# 3,000 refusals are one record with a count, or 3,000; none is lost
"$CLOCHE" run --quiet --audit c.jsonl -- sh -c 'true' 2>/dev/null
check second-run-verifies "$CLOCHE" audit verify c.jsonl
# paths are those that were decided on, also where the call moves what leads
# there, and where it fails
"$CLOCHE" run --quiet --audit d.jsonl -- /usr/bin/python3 -c '
import os
os.makedirs("real/in")
os.symlink("real/in", "sl")
os.rename("sl", "sl/../moved")
os.symlink("real", "to")
for call in (lambda: open("to/none"), lambda: os.mkdir("to/in"),
             lambda: os.rename("to/none", "to/other"),
             lambda: os.unlink("nodir/x")):
    try:
        call()
    except OSError:
        pass
b = b"\x01" * 250 + b"/"
try:
    os.rename((b * 16)[:4095], (b * 16)[:4094])
except OSError:
    pass
'
check paths-are-those-decided-on /usr/bin/python3 -c '
import json, os
seen = {}
for line in open("d.jsonl"):
    r = json.loads(line)
    if r["call"] in ("rename", "openat", "mkdir", "unlink"):
        a = r["args"]
        top = os.getcwd() + "/"
        seen.setdefault(r["call"], []).append(
            [a[k].replace(top, "") for k in ("path", "old", "new") if k in a])
assert seen["rename"][:2] == [["sl", "real/moved"],
                              ["real/none", "real/other"]], seen["rename"]
assert ["real/none"] in seen["openat"], seen["openat"]
assert ["real/in"] in seen["mkdir"], seen["mkdir"]
assert ["nodir/x"] in seen["unlink"], seen["unlink"]
assert len(seen["rename"][2][0]) > 4000, seen["rename"][2]
'
check long-names-verify "$CLOCHE" audit verify d.jsonl
check diff-lists-changes sh -c '"$CLOCHE" run --quiet --diff -- sh -c \
	"echo x >new; rm lower/all/data; echo y >>lower/all/file" 2>&1 |
	tee diff.out; grep -q "^A.*new" diff.out &&
	grep -q "^D.*lower/all/data" diff.out &&
	grep -q "^M.*lower/all/file" diff.out'
finish

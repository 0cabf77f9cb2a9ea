#!/bin/bash
# host-side
# needs: /usr/bin/python3 /usr/bin/tar
# What guests use of the sentry is bounded and comes back: descriptors,
# memory, the store's space and its number of files.
. "$(dirname "$0")/lib.inc"

cat >many.py <<'PY'
import os, time
os.mkdir("d"); os.chdir("d")
N = 12000
for i in range(N): os.mknod("f%d" % i)
print("made", flush=True); input()
for i in range(N): os.unlink("f%d" % i)
print("removed", flush=True); input()
PY
coproc RUN { exec "$CLOCHE" run --quiet -- /usr/bin/python3 many.py; }
sentry=$RUN_PID
rss() { awk '/^VmRSS/ {print $2}' /proc/$sentry/status; }
read -r -t 40 _ <&"${RUN[0]}"
most=$(rss)
check descriptors-do-not-follow-names \
	test "$(ls /proc/$sentry/fd | wc -l)" -lt 700
echo >&"${RUN[1]}"
read -r -t 40 _ <&"${RUN[0]}"
given_back() { test "$(rss)" -lt $((most * 6 / 10)); }
check memory-comes-back within 10 given_back
echo >&"${RUN[1]}"
wait $sentry

cat >full.py <<'PY'
import errno, os, sqlite3, subprocess
def fill(name):
    try:
        with open(name, "wb", 0) as f:
            while True: f.write(b"x" * 65536)
    except OSError as e: return errno.errorcode[e.errno]
db = sqlite3.connect("db"); db.execute("create table t (x)"); db.commit()
print("fill", fill("big"))
try:
    for i in range(2000): db.execute("insert into t values (?)", ("y" * 5000,))
    db.commit(); print("sqlite took it")
except sqlite3.OperationalError as e: print("sqlite", "full" in str(e) or "I/O" in str(e))
db.rollback()
r = subprocess.run(["tar", "cf", "t.tar", "/usr/include/linux"], capture_output=True, text=True)
print("tar", r.returncode != 0, "No space" in r.stderr)
os.unlink("big"); os.unlink("t.tar")
db.execute("insert into t values (1)"); db.commit()
print("after", db.execute("select count(*) from t").fetchone())
print("again", fill("big")); os.unlink("big")
os.mkdir("many"); n = 0
try:
    while True: os.mknod("many/%d" % n); n += 1
except OSError as e: print("files", errno.errorcode[e.errno], n > 1000)
for i in range(n): os.unlink("many/%d" % i)
open("one", "w").write("x"); print("done")
PY
timeout -s KILL 60 "$CLOCHE" run --quiet --disk 16M -- \
	/usr/bin/python3 full.py >out 2>err
says() { "$CLOCHE" run --quiet "$2" "$3" -- sh -c "$4" 2>&1 | grep -q -- "$1"; }
check full-store-is-said says '--disk sets it' --disk 4M \
	'head -c 8M /dev/zero >big'
check reached-processes-are-said says '--pids sets it' --pids 3 \
	'sleep 0.1 & sleep 0.1 & sleep 0.1 & sleep 0.1 & wait'
check full-store-is-survived diff - out <<'X'
fill ENOSPC
sqlite True
tar True True
after (1,)
again ENOSPC
files ENOSPC True
done
X
finish

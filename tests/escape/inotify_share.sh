#!/bin/bash
# host-side
# needs: /usr/bin/python3
# Inotify instances count against the user of the host: a guest that takes all
# it gets leaves as many for programs outside.
. "$(dirname "$0")/lib.inc"

cat >take.py <<'PY'
import ctypes, sys, time
libc = ctypes.CDLL(None)
n = 0
while libc.inotify_init() >= 0:
    n += 1
print(n, flush=True)
time.sleep(float(sys.argv[1]))
PY
max=$(cat /proc/sys/fs/inotify/max_user_instances)
[ "$max" -gt 1000 ] && { echo "too many to try"; exit 77; }
"$CLOCHE" run --quiet -- /usr/bin/python3 take.py 3 >inside &
within 10 test -s inside
/usr/bin/python3 take.py 0 >outside
check guest-has-half test "$(cat inside)" -le $((max / 2))
check host-keeps-a-share test "$(cat outside)" -ge $((max / 8))
wait
finish

#!/bin/bash
# host-side
# needs: /usr/bin/python3
# Nothing of the host's processes, environment, mounts or paths is in any file
# or link of /proc, /sys and /etc/mtab inside.
. "$(dirname "$0")/lib.inc"

cat >sweep.py <<'PY'
import os, stat, sys
out = sys.stdout.buffer
def cat(p):
    try: fd = os.open(p, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError: return
    out.write(b"\n@file %s\n" % p.encode())
    try:
        for _ in range(64):
            b = os.read(fd, 65536)
            if not b: break
            out.write(b)
    except OSError: pass
    os.close(fd)
def walk(d, depth):
    try: names = sorted(os.listdir(d))
    except OSError: return
    for e in names:
        p = d + "/" + e
        try: st = os.lstat(p)
        except OSError: continue
        if stat.S_ISDIR(st.st_mode) and depth < 12: walk(p, depth + 1)
        elif stat.S_ISREG(st.st_mode): cat(p)
        elif stat.S_ISLNK(st.st_mode):
            try: out.write(b"\n@link %s %s\n" % (p.encode(), os.readlink(p).encode()))
            except OSError: pass
for d in sys.argv[1:]: walk(d, 0)
cat("/etc/mtab")
out.write(b"\n@end\n")
PY
cp /usr/bin/sleep mark-of-a-host-process
mkdir mark-of-an-audit-folder
MARK=mark-of-the-hosts-environment ./mark-of-a-host-process 60 &
host=$!
for mode in '' --insecure-no-userns; do
	n=sweep$mode
	MARK=mark-of-the-hosts-environment "$CLOCHE" run --quiet $mode \
		--audit mark-of-an-audit-folder/a -- \
		/usr/bin/python3 sweep.py /proc /sys >out
	check $n-whole grep -qa '^@end' out
	check $n-much test "$(grep -ca '^@file' out)" -gt 250
	# its own maps and command line name what it was started with
	check $n-no-mark test "$(grep -ca 'mark-of' out)" = 0
	check $n-no-store test "$(grep -cE '(^|[ =])/?(side|m[0-9]+)/' out)" = 0
	check $n-no-mapped-stub test "$(grep -ca 'stub' out)" = 0
	check $n-no-host-pid test "$(grep -ac "^@file /proc/\($host\|$$\)/" out)" = 0
	awk '/^@file/ {f = $2} f ~ /(status|fdinfo\/[0-9]+|children|loadavg|cgroup.procs|timers|locks)$/' out |
		grep -awE "$host|$$" >pids
	check $n-no-number-of-the-host test ! -s pids
	host_root=$(awk '$5 == "/" {print $10; exit}' /proc/self/mountinfo)
	case $host_root in
	/dev/*) check $n-no-mount-source test "$(awk '/^@file/ {f = $2}
		f ~ /mount/' out | grep -acF "$host_root")" = 0 ;;
	esac
done
kill $host
finish

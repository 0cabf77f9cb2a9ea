#!/bin/bash
# modes: bare
# needs: /usr/bin/python3
# /proc as programs parse it: each per-process file of this kernel is there,
# with the same mode, and those that are read have the same lines and fields.
cat >shape.py <<'PY'
import os, re, stat, threading
# What is not shown on purpose (docs/security.md).
REFUSED = {'mem', 'pagemap', 'stack', 'syscall', 'wchan'}
def say(*a): print(*a, flush=True)
def mode(p):
    try: return '%o' % os.lstat(p).st_mode
    except OSError as e: return os.strerror(e.errno)
for base in ('/proc/self', '/proc/thread-self'):
    for n in sorted(os.listdir(base)):
        say(base, n, mode(base + '/' + n))
def text(p): return open(p, 'rb').read().decode('latin1')
for n in ('status', 'io', 'sched', 'smaps', 'smaps_rollup', 'limits', 'ksm_stat'):
    p = '/proc/self/' + n
    if not os.path.exists(p): continue
    keys = [re.split(r'\s*:|\s{2,}|\s', l)[0] for l in text(p).splitlines()]
    keys = [k for k in dict.fromkeys(keys) if not re.match(r'[0-9a-f]+-|python', k)]
    say(n, keys)
for n in ('stat', 'statm', 'schedstat', 'loginuid', 'sessionid', 'oom_score_adj',
          'coredump_filter', 'personality', 'timerslack_ns', 'uid_map', 'cpuset',
          'timens_offsets', 'setgroups', 'wchan'):
    p = '/proc/self/' + n
    if os.path.exists(p): say(n, len(text(p).split()))
for l in text('/proc/self/maps').splitlines():
    assert re.match(r'[0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps] [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ \d+( +\S.*)?$', l.rstrip()), l
if os.path.exists('/proc/self/numa_maps'):
    for l in text('/proc/self/numa_maps').splitlines():
        assert re.match(r'[0-9a-f]+ \S+', l), l
for l in text('/proc/self/mountinfo').splitlines():
    f = l.split()
    assert f[6] == '-' or '-' in f[6:], l
for n in ('meminfo', 'vmstat'):
    say(n, [l.split()[0] for l in text('/proc/' + n).splitlines()])
for n, f in (('loadavg', 5), ('uptime', 2), ('version', None), ('cpuinfo', None)):
    say(n, f is None or len(text('/proc/' + n).split()) == f)
say('stat', [l.split()[0] for l in text('/proc/stat').splitlines()])
for n in ('dev', 'tcp', 'tcp6', 'udp', 'unix', 'arp', 'protocols', 'snmp', 'netstat',
          'igmp', 'raw', 'packet', 'netlink', 'ptype'):
    say('net/' + n, text('/proc/net/' + n).split('\n')[0].split())
# writes
def write(p, s):
    try:
        with open(p, 'w') as f: f.write(s)
        return 'ok'
    except OSError as e: return os.strerror(e.errno)
S = '/proc/self/'
say('comm', write(S + 'comm', 'renamed'), text(S + 'comm'))
say('oom_score_adj', write(S + 'oom_score_adj', '500'), text(S + 'oom_score_adj'))
say('oom_adj', write(S + 'oom_adj', '17'))
say('coredump_filter', write(S + 'coredump_filter', '0x3'), text(S + 'coredump_filter'))
say('coredump_filter', write(S + 'coredump_filter', 'x'))
say('clear_refs', write(S + 'clear_refs', '1'), write(S + 'clear_refs', '9'))
say('timerslack_ns', write(S + 'timerslack_ns', '60000'), text(S + 'timerslack_ns'))
for n in ('stat', 'status', 'maps', 'cmdline', 'limits'):
    say(n, write(S + n, 'x')) if os.geteuid() else None
# threads
done = threading.Event()
t = threading.Thread(target=done.wait); t.start()
tasks = os.listdir('/proc/self/task')
say('tasks', len(tasks), os.stat('/proc/self/task').st_nlink)
for x in tasks:
    f = text('/proc/self/task/%s/stat' % x).rsplit(')', 1)[1].split()
    say('thread', len(f), text('/proc/self/task/%s/comm' % x).strip())
done.set(); t.join()
PY
/usr/bin/python3 shape.py | sed "s/ python3[.0-9]*$/ python/"
echo shape ${PIPESTATUS[0]}
# every name can be looked at, and nothing breaks
ls -lR /proc/self/ >/dev/null 2>&1
find /proc/self/ /proc/sys /proc/net/ >/dev/null 2>&1
for f in /proc/self/* /proc/self/net/* /proc/* /proc/sys/*/*; do
	case $f in */kmsg | */mem | /proc/[0-9]*) continue ;; esac
	test -f "$f" && timeout 5 head -c 65536 "$f" >/dev/null 2>&1
	test $? -eq 124 && echo "not ok $f waits"
done
echo ok all-can-be-read

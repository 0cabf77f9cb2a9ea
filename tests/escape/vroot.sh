#!/bin/bash
# host-side
# needs: /usr/bin/python3 useradd tar
# timeout: 180
# Laws 8 and 9: a virtual root has no right that the user who started the
# sandbox has not, and real root's none of real root's.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
py=/usr/bin/python3
me=$(id -u)

# ---- stand-ins: never the real contents ----
"$CLOCHE" run --quiet --user root -- cat /etc/shadow >out 2>err
check shadow-has-a-line-for-all same \
	"$(cut -d: -f1 out | sort)" "$(cut -d: -f1 /etc/passwd | sort)"
check shadow-is-made-up sh -c '! grep -vE "^[^:]*:\*:[0-9]+:0:99999:7:::$" out'
"$CLOCHE" run --quiet --user root --hide /etc/passwd -- \
	cat /etc/shadow >out 2>/dev/null
check shadow-tells-no-hidden-names same "$(cat out)" ""
"$CLOCHE" run --quiet --user root --diff -- sh -c 'cat /etc/shadow /etc/gshadow
	ls -R /root /etc/ssl /var/lib/apt /var/cache' >out 2>/dev/null
check looking-changes-nothing sh -c '! grep -E "^[AMDRTP] /" out'
"$CLOCHE" run --quiet --user root -- find /etc/ssl/private /var/lib/private \
	-mindepth 1 >out 2>/dev/null
check private-directories-are-empty same "$(cat out)" ""
[ "$me" = 0 ] || check no-way-into-another-home same \
	"$("$CLOCHE" run --quiet --user root -- ls -A /root)" ""
mkdir -p mine ../.ssh
echo key >../.ssh/id_ed25519
echo kept >mine/none
chmod 0 mine/none
if [ "$me" != 0 ]; then
	check own-file-is-not-shown-empty same \
		"$("$CLOCHE" run --quiet --user root -- cat mine/none 2>&1 |
			grep -c 'Permission denied')" 1
fi
chmod 600 mine/none

# ---- ids that a map lacks look like nobody's: who asks for nobody's is jailed
"$CLOCHE" run --user 1234 -- id -u >/dev/null 2>any
for u in 65534 65534:1 1:65534; do
	check "user-$u-is-jailed" same \
		"$("$CLOCHE" run --user $u -- id -u 2>&1)" \
		"$(cat any; echo "${u%:*}")"
done

# ---- hidden is hidden, by whatever root directory ----
cat >hidden.py <<'PY'
import os, sys
home = sys.argv[1]
print(os.path.exists(home + "/.ssh/id_ed25519"))
d = os.open(home, os.O_RDONLY)
os.chroot(home)
print(os.path.exists("/.ssh/id_ed25519"))
print(os.path.exists(f"/project/../.ssh/id_ed25519"))
os.chdir("/")
os.chroot("project")
os.fchdir(d)
print(os.path.exists(".ssh/id_ed25519"))
PY
"$CLOCHE" run --quiet --user root -- $py hidden.py "$(realpath ..)" >out 2>err
check secrets-stay-hidden same "$(xargs <out)" "False False False False"

# ---- kernel objects ----
cat >calls.py <<'PY'
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, nr, *args):
    ctypes.set_errno(0)
    r = libc.syscall(nr, *args)
    e = ctypes.get_errno()
    good = r == -1 and e in (errno.EPERM, errno.ENOSYS, errno.EACCES,
                             errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP)
    if not good:
        print("ALLOWED", name, r, errno.errorcode.get(e))
p = ctypes.c_char_p
refused("mount", 165, p(b"x"), p(b"/mnt"), p(b"tmpfs"), 0, None)
refused("bind", 165, p(b"/etc"), p(b"/mnt"), None, 4096, None)
refused("umount2", 166, p(b"/proc"), 0)
refused("pivot_root", 155, p(b"."), p(b"."))
refused("swapon", 167, p(b"/none"), 0)
refused("reboot", 169, 0xfee1dead, 672274793, 0, None)
refused("sethostname", 170, p(b"evil"), 4)
refused("setdomainname", 171, p(b"evil"), 4)
refused("iopl", 172, 3)
refused("ioperm", 173, 0x80, 1, 1)
refused("init_module", 175, p(b"x"), 1, p(b""))
refused("settimeofday", 164, ctypes.byref((ctypes.c_long * 2)(1, 1)), None)
refused("clock_settime", 227, 0, ctypes.byref((ctypes.c_long * 2)(1, 1)))
refused("acct", 163, p(b"f"))
refused("add_key", 248, p(b"user"), p(b"k"), p(b"v"), 1, -3)
refused("request_key", 249, p(b"user"), p(b"k"), None, 0)
refused("keyctl", 250, 0, -3, 1)
refused("unshare user", 272, 0x10000000)
refused("unshare ns", 272, 0x20000)
refused("setns", 308, 0, 0)
refused("open_by_handle_at", 304, -100, p(b"\0" * 32), 0)
refused("perf_event_open", 298, p(b"\0" * 128), 0, -1, -1, 0)
refused("bpf", 321, 0, p(b"\0" * 128), 128)
refused("fsopen", 430, p(b"tmpfs"), 0)
refused("open_tree", 428, -100, p(b"/"), 1)
refused("mount_setattr", 442, -100, p(b"/"), 0, p(b"\0" * 32), 32)
refused("quotactl", 179, 0x80000002 - (1 << 32), p(b"/dev/none"), 0, None)
def opens(mode, major, minor):
    os.mknod("dev", mode | 0o600, os.makedev(major, minor))
    try:
        os.close(os.open("dev", os.O_RDONLY))
        print("OPENED", major, minor)
    except OSError as e:
        if e.errno != errno.ENXIO:
            print("ODD", major, minor, e)
    os.unlink("dev")
for major, minor in (1, 1), (1, 2), (1, 4), (1, 11), (10, 200), (10, 229), \
        (4, 0), (4, 1), (5, 1), (240, 0):
    opens(0o020000, major, minor)
for major, minor in (8, 0), (254, 0), (259, 0), (7, 0), (253, 0), (1, 0):
    opens(0o060000, major, minor)
victim = int(sys.argv[1])
for sig in 0, 9:
    try:
        os.kill(victim, sig)
        print("SIGNALLED", sig)
    except OSError:
        pass
try:
    os.setpriority(os.PRIO_PROCESS, victim, 5)
    print("RENICED")
except OSError:
    pass
PY
sleep 100 &
victim=$!
for mode in jailed bare; do
	o=()
	[ $mode = bare ] && o=(--insecure-no-userns)
	"$CLOCHE" run --quiet "${o[@]}" --user root -- \
		$py calls.py $victim >out 2>err
	check $mode-kernel-is-not-its-own sh -c \
		'! grep -v "^cloche: warning: bare" out err'
	check $mode-host-process-lives kill -0 $victim
done
kill $victim

# ---- --rw ----
mkdir rw
echo x >rw/f
owner=$(stat -c %u:%g rw/f)
cat >rw.py <<'PY'
import os
os.chdir("rw")
def no(what, fn):
    try:
        fn()
        print("ALLOWED", what)
    except OSError:
        pass
print(os.stat("f").st_uid, os.stat("f").st_gid)
os.chown("f", 0, 0)
no("chown", lambda: os.chown("f", 5, -1))
no("chgrp", lambda: os.chown("f", -1, 6))
no("char", lambda: os.mknod("c", 0o020666, os.makedev(1, 3)))
no("block", lambda: os.mknod("b", 0o060666, os.makedev(8, 0)))
no("trusted", lambda: os.setxattr("f", "trusted.x", b"1"))
no("capability", lambda: os.setxattr("f", "security.capability",
    bytes.fromhex("0100000200200000000000000000000000000000")))
open("new", "w").close()
os.chmod("new", 0o6755)
os.chmod("f", 0o4777)
PY
"$CLOCHE" run --quiet --rw rw --user root -- $py rw.py >out 2>err
check rw-files-are-its-own same "$(cat out err)" "0 0"
check rw-owner-stays same "$(stat -c %u:%g rw/f rw/new | sort -u)" "$owner"
check rw-no-set-id same "$(stat -c %a rw/f rw/new | xargs)" "777 755"
check rw-no-device sh -c '! test -e rw/c && ! test -e rw/b'

# ---- what leaves the sandbox ----
export XDG_RUNTIME_DIR=$PWD/run
mkdir -m 700 run
n=vroot$$
cat >leave.sh <<'SH'
cp /bin/true suid && chmod 4755 suid
echo o >owned && chown 5:6 owned
mknod null c 1 3
useradd zz && rm -f /etc/gshadow- && rm -f /etc/ssl/private
SH
"$CLOCHE" run --quiet --name $n --keep --user root -- sh leave.sh >out 2>err
"$CLOCHE" export -o all.tar $n 2>err
check export-has-owners sh -c \
	'tar --numeric-owner -tvf all.tar | grep -q " 5/6 .*owned$"'
check export-has-no-stand-in sh -c '! tar -tf all.tar | grep -q sudoers'
"$CLOCHE" apply --dry-run $n >out 2>&1
check apply-refuses-set-id grep -q 'suid.*set-id' out
check apply-refuses-a-device grep -q 'null.*device' out
"$CLOCHE" apply --dry-run --outside $n /etc/shadow >out 2>&1
check apply-refuses-a-stand-in grep -qE \
	'/etc/shadow: the sandbox never saw|Permission|not permitted' out
"$CLOCHE" apply $n owned >out 2>&1
if [ "$me" != 0 ]; then
	check applied-file-is-the-users same "$(stat -c %u owned)" "$me"
fi
"$CLOCHE" rm $n >/dev/null 2>&1
finish

# host-side
# needs: python3
# timeout: 120
# Snapshots while programs write: each has all files as they were at one moment.
. "$(dirname "$0")/../escape/lib.inc"
export XDG_RUNTIME_DIR=$PWD/run
mkdir -m 700 run proj
cd proj || exit 1
c() { timeout 60 "$CLOCHE" "$@"; }
same() { [ "$1" = "$2" ] || { echo "$1 is not $2"; return 1; }; }
trap 'for n in $(ls "$XDG_RUNTIME_DIR/cloche" 2>/dev/null); do c rm -f $n; done' EXIT

cat >write.py <<'END'
import mmap, os, struct, time, zlib
def records():
    # each is written to a, then to b
    a, b = (os.open(n, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for n in "ab")
    for k in range(1 << 30):
        body = struct.pack("<I", k) * 25
        rec = body + struct.pack("<I", zlib.crc32(body))
        os.write(a, rec)
        os.write(b, rec)
        if k % 50 == 0:
            time.sleep(0.002)
def pages():
    # one page after the other gets the next number
    fd = os.open("m", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 512 * 4096)
    m = mmap.mmap(fd, 512 * 4096)
    for k in range(1, 1 << 30):
        for i in range(512):
            m[i * 4096:i * 4096 + 4] = struct.pack("<I", k)
def whole():
    # overwritten in place, always by one call
    fd = os.open("w", os.O_RDWR | os.O_CREAT)
    for k in range(1, 1 << 30):
        os.pwrite(fd, struct.pack("<I", k) * 65536, 0)
for f in records, pages, whole:
    if not os.fork():
        f()
END
cat >look.py <<'END'
import struct, zlib
def count(name):
    data = open(name, "rb").read()
    assert len(data) % 104 == 0, f"{name}: half a record"
    for k in range(len(data) // 104):
        rec = data[k * 104:(k + 1) * 104]
        assert struct.unpack("<I", rec[:4])[0] == k, f"{name}: record {k}"
        assert zlib.crc32(rec[:100]) == struct.unpack("<I", rec[100:])[0], \
            f"{name}: checksum {k}"
    return len(data) // 104
a, b = count("a"), count("b")
assert a - b in (0, 1), f"{a} records in a, {b} in b"
m = open("m", "rb").read()
n = [struct.unpack("<I", m[i:i + 4])[0] for i in range(0, len(m), 4096)]
assert n == sorted(n, reverse=True) and (not n or n[0] - n[-1] <= 1), \
    f"m: {n}"
w = open("w", "rb").read()
assert w == w[:4] * (len(w) // 4), "w: torn"
print(a)
END

# Interruptions that no program may feel: each says if it did.
cat >sleep.py <<'END'
import ctypes, os, select, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(4096)
def note(what):
    os.write(log, f"{what}: {os.strerror(ctypes.get_errno())}\n".encode())
log = os.open("felt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def epoll():
    e = select.epoll()
    while True:
        if libc.epoll_wait(e.fileno(), buf, 1, 20000) < 0:
            note("epoll_wait")
def sock():
    a, b = socket.socketpair()
    a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                 struct.pack("ll", 20, 0))
    while True:
        if libc.recv(a.fileno(), buf, 1, 0) < 0:
            note("recv")
def pipe():
    r, w = os.pipe()
    while True:
        if libc.read(r, buf, 1) < 0:
            note("read")
def fifo():
    while True:
        if libc.open(b"fifo", os.O_RDONLY) < 0:
            note("open")
def nap():
    while True:
        if libc.usleep(300000) < 0:
            note("usleep")
os.mkfifo("fifo")
if not os.fork(): # elsewhere: SIGCHLD may be felt, see sentry/trace.h
    while True:
        os.system("sleep 0.05")
for f in epoll, sock, pipe, fifo, nap:
    threading.Thread(target=f, daemon=True).start()
time.sleep(100)
END

all() # $1: "" or a mode's option; $2: a prefix; $3: how many
{
	local k bad= last=-1 n
	c create --quiet $1 w >/dev/null 2>&1
	c exec -d w python3 write.py
	c exec -d w python3 sleep.py
	check $2-they-write within 20 c exec w test -s a -a -s b -a -s m -a -s w -a -e felt
	for k in $(seq $3); do
		c snapshot w s$k >/dev/null || bad="$bad snapshot $k;"
	done
	check $2-nobody-feels-it same "$(c exec w cat felt)" ""
	k=$(c exec w stat -c %s a)
	check $2-they-go-on within 10 sh -c "[ \$(timeout 20 '$CLOCHE' exec w stat -c %s a) -gt $k ]"
	for k in $(seq $3); do
		c restore --force w s$k || bad="$bad restore $k;"
		n=$(c exec w python3 -S -E look.py 2>&1) || bad="$bad $k: $n;"
		[ -n "$bad" ] || [ "$n" -ge "$last" ] || bad="$bad $k went back;"
		last=$n
	done
	check $2-each-is-of-one-moment test -z "$bad"
	[ -z "$bad" ] || printf '# %s\n' "$bad"
	c rm -f w
}
all '' jail 20
all --insecure-no-userns bare 4
finish

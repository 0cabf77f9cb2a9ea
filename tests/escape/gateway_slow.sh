#!/bin/bash
# host-side
# timeout: 180
# Servers far away, silent, refusing and unreachable: connects give natively
# and inside the same, and take no longer than the way there.
. "$(dirname "$0")/lib.inc"
here=$(dirname "$0")
if [ -z "${IN_NETNS:-}" ]; then
	if [ "$(id -u)" != 0 ] || [ ! -w /dev/net/tun ]; then
		echo "skip gateway_slow # needs root and /dev/net/tun"
		exit 0
	fi
	export IN_NETNS=1
	exec unshare -n /usr/bin/python3 "$here/netdelay.py" 0.1 bash "$0"
fi
echo 1 >/proc/sys/net/ipv4/tcp_syn_retries # 3 s until ETIMEDOUT
ip route add unreachable 93.184.216.101
ip route add prohibit 93.184.216.102
ip route add throw 93.184.216.103 2>/dev/null
ip route del default
ip route add 93.184.216.34 dev tun0 2>/dev/null
ip route add 93.184.216.99 dev tun0

cat >ends.py <<'P'
import socket, errno, select
def end(host, port, blocking, family=2):
    s = socket.socket(family)
    s.setblocking(blocking)
    e = s.connect_ex((host, port))
    if e == errno.EINPROGRESS:
        assert s.connect_ex((host, port)) == errno.EALREADY
        p = select.epoll(); p.register(s, select.EPOLLOUT)
        p.poll(100)
        e = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    print(host, port, 'blocking' if blocking else 'not', errno.errorcode.get(e, e),
          s.getpeername()[:2] if not e else '')
for b in (True, False):
    end('93.184.216.34', 80, b)
    end('93.184.216.34', 81, b)
    end('93.184.216.99', 80, b)
for host in ('93.184.216.101', '93.184.216.102', '93.184.216.103'):
    end(host, 80, True)
    end(host, 80, False)
end('::ffff:93.184.216.34', 80, False, socket.AF_INET6)
end('2606:2800::34', 80, True, socket.AF_INET6)
P
/usr/bin/python3 ends.py >native 2>&1
"$CLOCHE" run --quiet --net-allow 93.184.216.0/24 \
	--net-allow '[2606:2800::]/32' -- /usr/bin/python3 ends.py >inside 2>&1
check same-ends diff native inside
check times-out grep -q '99 80 not ETIMEDOUT' inside

# A repeated SYN would come after a second.
cat >soon.py <<'P'
import socket, select, time
def once():
    s = socket.socket(); s.setblocking(False); t = time.time()
    s.connect_ex(('93.184.216.34', 80)); called = time.time() - t
    p = select.poll(); p.register(s, select.POLLOUT); p.poll()
    took = time.time() - t
    s.setblocking(True); s.sendall(b'hi'); assert s.recv(9) == b'hi'
    return took, called
took, called = zip(*[once() for i in range(5)])
assert 0.2 <= min(took) < 0.7, took
assert min(called) < 0.15, called
P
check far-connects-take-no-longer "$CLOCHE" run --quiet --net-allow \
	93.184.216.34 -- /usr/bin/python3 soon.py
cat >many.py <<'P'
import socket, select
s = [socket.socket() for i in range(300)]
p = select.poll()
for x in s:
    x.setblocking(False); x.connect_ex(('93.184.216.34', 80)); p.register(x, select.POLLOUT)
left = {x.fileno() for x in s}
while left:
    for f, e in p.poll(20000): left.discard(f); p.unregister(f)
for i, x in enumerate(s):
    x.setblocking(True); x.sendall(b'%d' % i)
for i, x in enumerate(s):
    assert x.recv(9) == b'%d' % i, i
P
check many-far-at-once "$CLOCHE" run --quiet --net-allow 93.184.216.34 -- \
	/usr/bin/python3 many.py
cat >gone.py <<'P'
import socket, time
s = [socket.socket() for i in range(50)]
for x in s:
    x.setblocking(False); x.connect_ex(('93.184.216.34', 80))
for x in s: x.close()
time.sleep(.5)
l = socket.create_server(('', 8000)); l.setblocking(False)
c = socket.create_connection(('93.184.216.34', 80)); c.sendall(b'on'); assert c.recv(9) == b'on'
try: l.accept(); assert 0
except BlockingIOError: pass
P
check given-up-meanwhile "$CLOCHE" run --quiet --net-allow 93.184.216.34 -- \
	/usr/bin/python3 gone.py
finish

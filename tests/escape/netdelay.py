# netdelay.py - runs a command in this network namespace with a server behind a
# wire that delays. usage: netdelay.py SECONDS COMMAND...
# 93.184.216.34 is in a namespace of its own: port 80 echoes. 93.184.216.99
# does not answer at all.
import ctypes, fcntl, heapq, os, select, socket, struct, subprocess, sys
import threading, time

CLONE_NEWNET, TUNSETIFF = 0x40000000, 0x400454ca
libc = ctypes.CDLL(None)


def tun(addr):
    f = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(f, TUNSETIFF, struct.pack('16sH', b'tun0', 0x1001))
    subprocess.check_call('ip link set lo up; ip addr add %s/32 dev tun0; '
                          'ip link set tun0 up; ip route add default dev tun0'
                          % addr, shell=True)
    return f


def one(c):
    while True:
        d = c.recv(65536)
        if not d:
            break
        c.sendall(d)
    c.close()


def serve(s):
    while True:
        threading.Thread(target=one, args=(s.accept()[0],),
                         daemon=True).start()


def wire(a, b, delay):
    q, n = [], 0
    while True:
        wait = max(0, q[0][0] - time.time()) if q else None
        for f in select.select([a, b], [], [], wait)[0]:
            n += 1
            heapq.heappush(q, (time.time() + delay, n, b if f == a else a,
                               os.read(f, 65536)))
        while q and q[0][0] <= time.time():
            to, packet = heapq.heappop(q)[2:]
            os.write(to, packet)


near = tun('198.18.0.1')
home = os.open('/proc/self/ns/net', os.O_RDONLY)
libc.unshare(CLONE_NEWNET)
far = tun('93.184.216.34')
server = socket.create_server(('93.184.216.34', 80))
threading.Thread(target=serve, args=(server,), daemon=True).start()
if libc.setns(home, CLONE_NEWNET):
    sys.exit('setns')
threading.Thread(target=wire, args=(near, far, float(sys.argv[1])),
                 daemon=True).start()
sys.exit(subprocess.call(sys.argv[2:]))

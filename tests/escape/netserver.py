# netserver.py - servers of the gateway's tests, in a network namespace of the
# test's own: addresses 93.184.216.34 (hosts) and .53 (DNS) are on its
# loopback. usage: netserver.py FOLDER; writes FOLDER/ready, FOLDER/asked.
import ctypes, os, socket, ssl, struct, sys, threading, time

HOST, DNS, HOST6 = '93.184.216.34', '93.184.216.53', '2606:2800::34'
where = sys.argv[1]
asked = open(where + '/asked', 'w', buffering=1)


def thread(fn, *args):
    threading.Thread(target=fn, args=args, daemon=True).start()


def serve(addr, port, fn, wrap=None):
    s = socket.socket(socket.AF_INET6 if ':' in addr else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, port))
    s.listen(1024)

    def loop():
        while True:
            c, peer = s.accept()
            thread(one, fn, c, wrap)
    thread(loop)


def one(fn, c, wrap):
    try:
        fn(wrap(c) if wrap else c)
    except OSError:
        pass
    finally:
        c.close()


def http(c):
    f = c.makefile('rb')
    while True:
        line = f.readline()
        if not line:
            return
        while f.readline().strip():
            pass
        path = line.split()[1]
        body = b'x' * (64 << 20) if path == b'/big' else b'hello ' + path
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body)
                  + body)


def echo(c):  # all of it, then the end; then half a close
    got = b''
    while True:
        d = c.recv(65536)
        if not d:
            break
        got += d
    c.sendall(b'%d:' % len(got) + got[:100])
    c.shutdown(socket.SHUT_WR)


def reset(c):
    c.recv(1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


def banner(c):  # the server speaks first
    c.sendall(b'220 welcome\r\n')
    c.recv(100)


def deaf(port):
    """A listener whose kernel answers no SYN for now."""
    drop = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0))
    prog = struct.pack('HxxxxxxP', 1, ctypes.addressof(drop))
    s = socket.socket()
    s.bind((HOST, port))
    s.setsockopt(socket.SOL_SOCKET, 26, prog)  # SO_ATTACH_FILTER
    s.listen(10)
    return s


def wake(c):  # the deaf listeners hear, or close
    for s in slow:
        s.setsockopt(socket.SOL_SOCKET, 27, b'\0\0\0\0')
    closing.close()
    c.sendall(b'ok')
    for s in slow:
        a, peer = s.accept()
        a.sendall(b'at last')
        a.close()


def udp():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((HOST, 7))
    while True:
        d, f = u.recvfrom(65536)
        u.sendto(b'echo ' + d, f)


def name(labels):
    return b''.join(bytes([len(x)]) + x for x in labels.split(b'.')) + b'\0'


def record(owner, kind, data, ttl=60):
    return name(owner) + struct.pack('>HHIH', kind, 1, ttl, len(data)) + data


def zone(q, kind):
    ip = socket.inet_aton
    six = socket.inet_pton(socket.AF_INET6, HOST6)
    hosts = {b'www.example.test': HOST, b'real.example.test': HOST,
             b'evil.example.test': '10.1.2.3',
             b'local.example.test': '127.0.0.1',
             b'meta.example.test': '169.254.169.254',
             b'gw.example.test': '10.0.2.2'}
    out = []
    if q == b'alias.example.test':
        out.append(record(q, 5, name(b'real.example.test')))
        q = b'real.example.test'
    if q == b'many.example.test' and kind == 1:
        return [record(q, 1, ip('93.184.216.%d' % i)) for i in range(100, 200)]
    if q == b'mixed.example.test' and kind == 1:
        return [record(q, 1, ip(a)) for a in ('10.0.0.1', HOST)]
    if q == b'six.example.test':
        return [record(q, 28, six)] if kind == 28 else []
    if q not in hosts:
        return None
    if kind == 1:
        out.append(record(q, 1, ip(hosts[q])))
    return out


def answer(d, limit):
    i, labels = 12, []
    while d[i]:
        labels.append(d[i + 1:i + 1 + d[i]])
        i += 1 + d[i]
    kind = struct.unpack('>H', d[i + 1:i + 3])[0]
    q = b'.'.join(labels).lower()
    asked.write('%s %d\n' % (q.decode('latin1'), kind))
    got = zone(q, kind)
    rcode = 3 if got is None else 0
    body = b''.join(got or [])
    tc = 0
    if 12 + len(body) + i > limit:
        body, got, tc = b'', [], 2
    return (d[:2] + bytes([0x81 | tc, 0x80 | rcode]) + b'\0\1' +
            struct.pack('>HHH', len(got or []), 0, 0) + d[12:i + 5] + body)


def dns_udp():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((DNS, 53))
    while True:
        d, f = u.recvfrom(4096)
        u.sendto(answer(d, 1232), f)


def dns_tcp(c):
    n = struct.unpack('>H', c.recv(2, socket.MSG_WAITALL))[0]
    a = answer(c.recv(n, socket.MSG_WAITALL), 65535)
    c.sendall(struct.pack('>H', len(a)) + a)


def tls(c):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(where + '/cert.pem', where + '/key.pem')
    return ctx.wrap_socket(c, server_side=True)


serve(HOST, 80, http)
serve(HOST, 443, http, tls)
serve(HOST, 7000, echo)
serve(HOST, 7001, reset)
serve(HOST, 7002, banner)
serve('127.0.0.1', 8000, http)
slow, closing = (deaf(7003), deaf(7006)), deaf(7004)
serve(HOST, 7005, wake)
serve(DNS, 53, dns_tcp)
thread(udp)
thread(dns_udp)
try:
    serve(HOST6, 80, http)
except OSError:
    pass
open(where + '/ready', 'w').close()
while os.getppid() != 1:
    time.sleep(0.2)

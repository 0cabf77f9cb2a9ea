# httpserver.py - servers of the tests of HTTP rules, beside nginx (.34), in a
# network namespace of the test's own: names by DNS at .53, raw answers by TLS
# and plain at .35, TLS with bad certificates at .36 to .38.
# usage: httpserver.py FOLDER; FOLDER/seen gets every request as it came.
import base64, hashlib, os, socket, ssl, struct, sys, threading, time

NET = '93.184.216.'
NAMES = {b'www': 34, b'api': 34, b'pass': 34, b'raw': 35, b'free': 35, b'low.raw': 35,
         b'self': 36, b'wrong': 37, b'old': 38}
where = sys.argv[1]
seen = open(where + '/seen', 'ab', buffering=0)
OK = b'HTTP/1.1 200 OK\r\n'
BAD = {  # hostile answers
    b'two-lengths': OK + b'Content-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    b'both': OK + b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n'
             b'0\r\n\r\n',
    b'bare-lf': OK + b'A: b\nContent-Length: 0\r\n\r\n',
    b'fold': OK + b'A: b\r\n c\r\nContent-Length: 0\r\n\r\n',
    b'nul': OK + b'A: b\0\r\nContent-Length: 0\r\n\r\n',
    b'coding': OK + b'Transfer-Encoding: gzip\r\n\r\nx',
    b'status': b'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n',
    b'no-http': b'hello\r\n\r\n',
    b'upgrade': b'HTTP/1.1 101 Go\r\nConnection: upgrade\r\n'
                b'Upgrade: websocket\r\n\r\n',
    b'interim': b'HTTP/1.1 103 Hint\r\n\r\n' * 20 + OK
                + b'Content-Length: 0\r\n\r\n',
    b'long': OK + b'A: ' + b'x' * 70000 + b'\r\nContent-Length: 0\r\n\r\n',
}
CUT = {  # ends too early, or not as it should
    b'short': OK + b'Content-Length: 10\r\n\r\nabc',
    b'chunk': OK + b'Transfer-Encoding: chunked\r\n\r\n5\r\nab',
    b'bad-chunk': OK + b'Transfer-Encoding: chunked\r\n\r\nzz\r\nab',
}
GOOD = {
    b'close': OK + b'\r\nuntil the end',
    b'trailer': OK + b'Trailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n'
                b'3;x=y\r\nabc\r\n4\r\ndefg\r\n0\r\nX-T: v\r\n'
                b'Content-Length: 9\r\n\r\n',
    b'none': b'HTTP/1.1 204 No\r\n\r\n',
    b'same': b'HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n',
    b'hint': b'HTTP/1.1 103 Hint\r\nLink: x\r\n\r\n' + OK
             + b'Content-Length: 2\r\n\r\nhi',
    b'extra': OK + b'Content-Length: 2\r\n\r\nhi' + OK
              + b'Content-Length: 4\r\n\r\nevil',
}


def body(f, head):
    low = head.lower()
    if b'transfer-encoding: chunked' in low:
        out = b''
        while True:
            n = int(f.readline(), 16)
            out += f.read(n)
            if not n:
                while f.readline().strip():
                    pass
                return out
            f.readline()
    if b'content-length:' in low:
        n = low.split(b'content-length:')[1].split(b'\r\n')[0]
        return f.read(int(n))
    return b''


def websocket(c, f, head):
    key = head.split(b'Sec-WebSocket-Key: ')[1].split(b'\r\n')[0]
    key += b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
    c.sendall(b'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: '
              b'Upgrade\r\nSec-WebSocket-Accept: '
              + base64.b64encode(hashlib.sha1(key).digest()) + b'\r\n\r\n')
    while True:
        d = f.read1(100)
        if not d:
            return
        c.sendall(b'back ' + d)


def http(c):
    f = c.makefile('rb')
    while True:
        head = b''
        while not head.endswith(b'\r\n\r\n'):
            line = f.readline()
            if not line:
                return
            head += line
        path = head.split()[1].split(b'?')[0]
        what, name = path.split(b'/')[1], path.split(b'/')[-1]
        seen.write(head + b'\n')
        if b'\r\nUpgrade: websocket' in head:
            return websocket(c, f, head)
        if b'100-continue' in head:
            c.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
        got = body(f, head)
        if what in (b'bad', b'cut', b'good'):
            c.sendall({b'bad': BAD, b'cut': CUT, b'good': GOOD}[what][name])
            if what == b'cut' or name == b'close':
                return
            continue
        if what == b'trail':
            c.sendall(OK + b'Transfer-Encoding: chunked\r\n\r\n0\r\nX-T: '
                      + head.split(b'X-Say: ')[-1].split(b'\r\n')[0]
                      + b'\r\n\r\n')
            continue
        if what == b'echo':
            got = head + got
        c.sendall(OK + b'X-Echo: %s\r\nContent-Length: %d\r\n\r\n' % (
            head.split(b'X-Say: ')[-1].split(b'\r\n')[0], len(got)) + got)
        if b'\r\nConnection: close' in head:
            return


def one(c, cert):
    try:
        if cert:
            ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            ctx.load_cert_chain('%s/%s.pem' % (where, cert),
                                where + '/key.pem')
            c = ctx.wrap_socket(c, server_side=True)
        http(c)
    except (OSError, ValueError, IndexError):
        pass
    finally:
        c.close()


def serve(addr, port, cert=None):
    s = socket.create_server((NET + str(addr), port), backlog=100)

    def loop():
        while True:
            c, peer = s.accept()
            threading.Thread(target=one, args=(c, cert), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def dns():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((NET + '53', 53))
    while True:
        d, f = u.recvfrom(4096)
        i, labels = 12, []
        while d[i]:
            labels.append(d[i + 1:i + 1 + d[i]])
            i += 1 + d[i]
        name = b'.'.join(labels[:-2]).lower()
        kind = struct.unpack('>H', d[i + 1:i + 3])[0]
        n = NAMES.get(name)
        a = (b'\xc0\x0c' + struct.pack('>HHIH', 1, 1, 60, 4)
             + socket.inet_aton(NET + str(n))) if n and kind == 1 else b''
        u.sendto(d[:2] + bytes([0x81, 0x80 | (0 if n else 3)]) + b'\0\1\0'
                 + bytes([1 if a else 0]) + b'\0\0\0\0' + d[12:i + 5] + a, f)


serve(35, 443, 'good')
serve(35, 80)
serve(36, 443, 'self')
serve(37, 443, 'wrong')
serve(38, 443, 'old')
threading.Thread(target=dns, daemon=True).start()
open(where + '/ready', 'w').close()
while os.getppid() != 1:
    time.sleep(0.2)

# httpguest.py - a hostile program inside: makes requests that must be refused
# and such that must pass. Prints a line for each that did not end as it
# should, and the number of all. usage: httpguest.py rules|answers|secrets|
# disguises
import os, re, socket, ssl, sys

ctx = ssl.create_default_context()
done, failed = 0, 0


def connect(host, name=None, tls=True, port=None):
    s = socket.create_connection((host, port or (443 if tls else 80)), 10)
    return ctx.wrap_socket(s, server_hostname=name or host) if tls else s


def read(s):
    """All until the end, or until what has come is a whole answer."""
    d = b''
    try:
        while True:
            m = re.search(br'HTTP/1.1 [2345].*?\r\n\r\n', d, re.S)
            n = re.search(br'content-length: (\d+)', d, re.I)
            if m and n and len(d) >= m.end() + int(n[1]):
                return d
            if m and re.search(br'\r\n0\r\n(.+\r\n)*\r\n$', d):
                return d
            got = s.recv(65536)
            if not got:
                return d
            d += got
    except OSError as e:
        return d or b'error %s' % type(e).__name__.encode()


def ask(data, host='www.example.test', **kw):
    with connect(host, **kw) as s:
        s.sendall(data)
        return read(s)


def case(name, ok, got=b''):
    global done, failed
    done += 1
    if not ok:
        failed += 1
        print('wrong: %s: %.150r' % (name, got))


def gives(name, want, data, **kw):
    try:
        got = ask(data, **kw)
    except OSError as e:
        got = b'error ' + type(e).__name__.encode()
    case(name, re.match(want, got, re.S), got)


def head(line=b'GET /ok/a', host=b'www.example.test', more=b''):
    return line + b' HTTP/1.1\r\nHost: ' + host + b'\r\n' + more + b'\r\n'


R400, R403, R421 = br'HTTP/1.1 400 ', br'HTTP/1.1 403 ', br'HTTP/1.1 421 '
OK = br'HTTP/1.1 200 .*'
CHUNKED = b'Transfer-Encoding: chunked\r\n'


def rules():
    for tls in (True, False):
        k = {'tls': tls}
        gives('allowed', OK + b'ok a', head(), **k)
        gives('other path', R403 + b'.*cloche: refused.*--http-allow',
              head(b'GET /no'), **k)
        gives('other method', R403, head(b'DELETE /ok/a'), **k)
        gives('dots', R403, head(b'GET /ok/../no'), **k)
        gives('encoded dots', R403, head(b'GET /ok/%2e%2e/no'), **k)
        gives('dots inside', OK + b'ok a', head(b'GET /ok/x/../a'), **k)
        for p in (b'/ok/%252e%252e/no', b'/ok/%2fno', b'/ok/a%5cb', b'/ok/\\a',
                  b'/ok/%00', b'/ok/..;/no', b'/ok/%c0%ae', b'/ok/%', b'*',
                  b'ftp://www.example.test/ok/a', b'/ok/a#b'):
            gives(p.decode(), R400, head(b'GET ' + p), **k)
        gives('other host', R421, head(host=b'api.example.test'), **k)
        gives('other port', R421, head(host=b'www.example.test:81'), **k)
        gives('no host', R400, b'GET /ok/a HTTP/1.1\r\n\r\n', **k)
        gives('host with NUL', R400, head(host=b'www.example.test\0.x'), **k)
        gives('host in dots', OK, head(host=b'WWW.Example.Test.'), **k)
        gives('two hosts', R400, head(more=b'Host: api.example.test\r\n'), **k)
        gives('absolute', OK, head(b'GET http%s://www.example.test/ok/a'
                                   % (b's' if tls else b'')), **k)
        gives('absolute, other', R400,
              head(b'GET http://api.example.test/ok/a'), **k)
        for m in (b'CONNECT www.example.test:443', b'CONNECT /ok/a',
                  b'TRACE /ok/a'):
            gives(m.decode(), br'HTTP/1.1 40[03] ', head(m), **k)
        for p in (b'X-HTTP-Method-Override: delete', b'X_HTTP_Method: PUT',
                  b'X-Original-URL: /no', b'x-rewrite-url: /no'):
            gives(p.decode(), R403, head(b'POST /ok/a', more=p + b'\r\n'),
                  **k)
        gives('override to an allowed method', OK, head(
            b'POST /ok/a', more=b'X-HTTP-Method-Override: GET\r\n'), **k)
        for n, more in (
                ('two lengths', b'Content-Length: 1\r\nContent-Length: 2\r\n'),
                ('both', b'Content-Length: 5\r\n' + CHUNKED),
                ('coding', b'Transfer-Encoding: gzip, chunked\r\n'),
                ('fold', b'A: b\r\n c\r\n'), ('space', b'A : b\r\n'),
                ('bare LF', b'A: b\nC: d\r\n'), ('bare CR', b'A: b\rC\r\n'),
                ('sign', b'Content-Length: +5\r\n'),
                ('disguise', b'Content_Length: 5\r\n'),
                ('no name', b': b\r\n'), ('no colon', b'abc\r\n'),
                ('expect', b'Expect: the-best\r\n')):
            gives(n, R400, head(b'POST /ok/a', more=more), **k)
        gives('version 2', R400, b'GET /ok/a HTTP/2.0\r\nHost: '
              b'www.example.test\r\n\r\n', **k)
        gives('preface of 2', R400, b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', **k)
        gives('version 0.9', R400, b'GET /ok/a\r\n\r\n', **k)
        gives('lower case', R400, b'get /no HTTP/1.1\r\nHost: '
              b'www.example.test\r\n\r\n', **k)
        gives('long head', br'HTTP/1.1 4(31|00) ',
              head(more=b'A: ' + b'x' * 70000 + b'\r\n'), **k)
        # smuggled behind a request: never a second answer
        got = ask(head() + head(b'DELETE /no'), **k)
        case('pipelined', got.count(b'HTTP/1.1 200') <= 1
             and got.count(b'deleted') == 0, got)
        got = ask(head(b'POST /ok/a', more=CHUNKED) + b'0\r\n\r\n'
                  + head(b'DELETE /no'), **k)
        case('behind chunks', got.count(b'HTTP/1.1 200') <= 1, got)
        for n, c in (('chunk size', b'0x3\r\nabc\r\n0\r\n\r\n'),
                     ('chunk end', b'3\r\nabcd\r\n0\r\n\r\n'),
                     ('chunk LF', b'3\nabc\n0\n\n'),
                     ('chunk huge', b'fffffffffffffffff\r\n')):
            got = ask(head(b'POST /ok/a', more=CHUNKED) + c, **k)
            case(n, not re.match(OK, got), got)
    # keep-alive: each request is judged
    with connect('www.example.test') as s:
        for p, want in ((b'/ok/a', OK), (b'/ok/b', OK), (b'/no', R403)):
            s.sendall(head(b'GET ' + p))
            got = read(s)
            case('kept open', re.match(want, got), got)
    # names, addresses
    case('no name', refuses(lambda: ask(head(), host='93.184.216.34')))
    try:
        plain = ssl._create_unverified_context()
        s = socket.create_connection(('www.example.test', 443), 10)
        s = plain.wrap_socket(s)
        s.sendall(head())
        got = read(s)
    except OSError:
        got = b''
    case('TLS without a name', got[:5] != b'HTTP/', got)
    case('another name', refuses(lambda: connect(
        'www.example.test', 'api.example.test')))
    with connect('pass.example.test') as s:
        case('passed through', 'cloche' not in str(s.getpeercert()))
    with connect('www.example.test') as s:
        case('opened', 'cloche' in str(s.getpeercert()['issuer']))
        case('ALPN', s.version() in ('TLSv1.2', 'TLSv1.3'))
    c2 = ssl.create_default_context()
    c2.set_alpn_protocols(['h2', 'http/1.1'])
    s = c2.wrap_socket(socket.create_connection(('www.example.test', 443)),
                       server_hostname='www.example.test')
    case('falls back', s.selected_alpn_protocol() == 'http/1.1')
    c2.set_alpn_protocols(['h2'])
    case('h2 alone', refuses(lambda: c2.wrap_socket(
        socket.create_connection(('www.example.test', 443)),
        server_hostname='www.example.test')))
    s = socket.create_connection(('www.example.test', 80), 10)
    s.sendall(b'SSH-2.0-x\r\n')
    case('not HTTP', not read(s).startswith(b'HTTP'))


def refuses(fn):
    try:
        return not fn()
    except (OSError, ValueError):
        return True


def raw(path, more=b'', line=b'GET'):
    return ask(head(line + b' ' + path, b'raw.example.test', more),
               host='raw.example.test')


def answers():
    for n in (b'two-lengths', b'both', b'bare-lf', b'fold', b'nul', b'coding',
              b'status', b'no-http', b'upgrade', b'long'):
        got = raw(b'/bad/' + n)
        case('answer ' + n.decode(), re.match(br'HTTP/1.1 502 .*cloche', got,
                                              re.S), got)
    got = raw(b'/bad/interim')
    case('many interim', b' 200 ' not in got, got)
    for n in (b'short', b'chunk', b'bad-chunk'):
        with connect('raw.example.test') as s:
            s.sendall(head(b'GET /cut/' + n, b'raw.example.test'))
            got = read(s)
            case('cut ' + n.decode(), not got.endswith(b'\r\n0\r\n\r\n'), got)
    got = raw(b'/good/close')
    case('until the end', got.endswith(b'until the end'), got)
    got = raw(b'/good/trailer')
    case('trailers', b'X-T: v\r\n\r\n' in got and b'Content-Length' not in got
         and b'x=y' not in got, got)
    for n, want in ((b'none', b'204'), (b'same', b'304')):
        with connect('raw.example.test') as s:
            for i in range(2):
                s.sendall(head(b'GET /good/' + n, b'raw.example.test'))
                got = b''
                while b'\r\n\r\n' not in got:
                    got += s.recv(1000)
                case('no body', want in got, got)
    got = raw(b'/good/hint')
    case('hint', b'103' in got and got.endswith(b'hi'), got)
    got = raw(b'/good/extra')
    case('two answers', b'evil' not in got, got)
    big = os.urandom(1 << 20)
    chunks = b''.join(b'%x\r\n%s\r\n' % (len(big[i:i + 70001]),
                                         big[i:i + 70001])
                      for i in range(0, len(big), 70001))
    got = raw(b'/x', CHUNKED + b'\r\n' + chunks + b'0\r\nX: y\r\n', b'PUT')
    case('chunks out', got.endswith(big), got[-99:])
    with connect('raw.example.test') as s:
        s.sendall(head(b'PUT /x', b'raw.example.test',
                       b'Expect: 100-continue\r\nContent-Length: 3\r\n'))
        got = s.recv(999)
        case('continue', b' 100 ' in got, got)
        s.sendall(b'abc')
        case('after it', read(s).endswith(b'abc'))
    with connect('raw.example.test') as s:
        s.sendall(head(b'GET /w', b'raw.example.test',
                       b'Connection: Upgrade\r\nUpgrade: websocket\r\n'
                       b'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
                       b'Sec-WebSocket-Version: 13\r\n'))
        got = s.recv(999)
        case('websocket', b' 101 ' in got and b's3pPLMBiTxaQ9' in got, got)
        s.sendall(b'frame')
        case('frames', s.recv(99) == b'back frame')
    got = ask(head(b'GET /w', b'raw.example.test', b'Connection: Upgrade\r\n'
                   b'Upgrade: h2c\r\nHTTP2-Settings: x\r\n'),
              host='raw.example.test')
    case('h2c is dropped', re.match(OK, got), got)
    for n in ('self', 'wrong', 'old'):
        got = ask(head(b'GET /', n.encode() + b'.example.test'),
                  host=n + '.example.test')
        case('certificate ' + n, re.match(br'HTTP/1.1 502 .*TLS', got, re.S),
             got)


def secrets():
    key = os.environ['KEY'].encode()
    hosts = (b'www.example.test', b'raw.example.test', b'api.example.test',
             b'low.raw.example.test')
    case('placeholder', key.startswith(b'cloche_'), key)
    more = b'X-Key: ' + key + b'\r\nAuthorization: mine\r\n'
    for h in hosts:
        ask(head(b'GET /s?k=' + key, h, more), host=h.decode())
        ask(head(b'GET /plain?k=' + key, h, more), host=h.decode(), tls=False)
    # what the server sends back
    got = raw(b'/echo', b'X-Say: ' + key + b'\r\n')
    case('echo', b'value-of-the-secret' not in got and b'*****' in got, got)
    case('echo in a header', b'X-Echo: *****' in got, got)
    got = raw(b'/trail', b'X-Say: ' + key + b'\r\n')
    case('echo in a trailer', b'X-T: *****' in got, got)
    for p in (b'host: raw.example.test', b'x-key: ' + key):
        ask(head(b'GET /cased', b'raw.example.test', p + b'\r\n'),
            host='raw.example.test')
    text = open('/proc/self/environ', 'rb').read()
    case('environment', b'value-of' not in text)
    case('memory', refuses(lambda: open('/proc/1/mem', 'rb').read(1)))


def tls_bytes(front, host, name):
    """An answer over TLS for a name, with bytes before the hello."""
    s = socket.create_connection((host, 443), 10)
    plain = ssl._create_unverified_context()
    a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = plain.wrap_bio(a, b, server_hostname=name)
    s.sendall(front)
    todo = [t.do_handshake, lambda: t.write(head(b'GET /no', name.encode())),
            lambda: t.read(9999)]
    got = None
    while todo:
        try:
            got = todo[0]()
            todo.pop(0)
        except ssl.SSLWantReadError:
            s.sendall(b.read())
            more = s.recv(65536)
            if not more:
                return b''
            a.write(more)
        s.sendall(b.read())
    return got


def disguises():
    # the governed names are not asked for: only others at their addresses
    for front in (b'\r\n', b'\n', b' ', b'\r\n\r\n'):
        got = ask(front + head(b'GET /no'), host='pass.example.test',
                  tls=False)
        case('plain behind %r' % front, b'400' in got and b'cloche' in got,
             got)
    for m in (b'GE-T', b'G_ET', b'X1', b'M.', b'GET\t'):
        got = ask(head(m + b' /no'), host='free.example.test', tls=False)
        case('method %r' % m, b'400' in got and b'cloche' in got, got)
    for alert in (b'', b'\x15\3\1\0\2\1\x5a', b'\x15\3\3\0\2\1\x64',
                  b'\x14\3\3\0\1\1', b'\x17\3\3\0\1\0'):
        got = b''
        try:
            got = tls_bytes(alert, 'free.example.test', 'low.raw.example.test')
        except (OSError, ValueError):
            pass
        case('TLS behind %r' % alert, b'HTTP' not in got, got)
    v2 = (b'\x80\x2e\1\3\3\0\3\0\0\0\x20\0\xc0\x2b' + bytes(32) + bytes(2))
    got = b''
    try:
        s = socket.create_connection(('pass.example.test', 443), 10)
        for i in range(5):
            s.sendall(v2[i:i + 1])
        s.sendall(v2[5:])
        got = s.recv(99)
    except OSError:
        pass
    case('hello of SSLv2', not got, got)
    with connect('free.example.test') as s:
        s.sendall(head(b'GET /x', b'free.example.test'))
        case('as it should', re.match(OK, read(s)))


{'disguises': disguises, 'rules': rules, 'answers': answers, 'secrets': secrets}[sys.argv[1]]()
print('%d cases, %d wrong' % (done, failed))
sys.exit(failed > 0)

# needs: python3
# timeout: 60
# Case 12 and a loopback server: what bare mode has not, terminals and
# internet sockets.
set -u
P=/usr/bin/python3
$P -c 'import os,pty;print(len(os.openpty()));pty.spawn(["sh","-c","tty >/dev/null && echo tty"])' </dev/null | tr -d '\r'
cat >net.py <<'X'
import asyncio
async def main():
    async def h(r, w):
        w.write((await r.readline()).upper()); await w.drain(); w.close()
    s = await asyncio.start_server(h, "127.0.0.1", 0)
    port = s.sockets[0].getsockname()[1]
    async def one(i):
        r, w = await asyncio.open_connection("127.0.0.1", port)
        w.write(b"msg %d\n" % i); x = await r.readline(); w.close(); return x
    print(await asyncio.gather(*[one(i) for i in range(20)]))
    p = await asyncio.create_subprocess_exec("echo", "async", stdout=-1)
    print(await p.communicate()); s.close()
asyncio.run(main())
X
$P net.py
port=$((20000 + $$ % 10000)) # natively another user may run this
$P -m http.server --bind 127.0.0.1 $port >/dev/null 2>&1 & s=$!
for i in $(seq 100); do
	$P -c "import socket; socket.create_connection(('127.0.0.1', $port))" \
		2>/dev/null && break
	sleep 0.1
done
$P - <<X
import urllib.request
r = urllib.request.urlopen("http://127.0.0.1:$port/net.py")
print(r.status, len(r.read()) > 100)
X
kill $s; wait $s; echo $?

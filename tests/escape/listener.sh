#!/bin/bash
# host-side
# needs: /usr/bin/python3
# timeout: 120
# A listener outside, on the host's own loopback and on all its addresses,
# sees nothing of what guests send (laws 3 and 11).
. "$(dirname "$0")/lib.inc"

mkfifo stop
"$TESTBIN/host/listen" <stop >heard &
pid=$!
exec 8>stop
within 20 grep -q ready heard || { echo "no listener"; exit 77; }
read -r _ tcp udp <heard
addr=$(ip -4 -o addr show scope global 2>/dev/null |
	awk '{sub("/.*","",$4); print $4; exit}')

cat >try.py <<'PY'
import socket, sys
ip, tcp, udp = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def attempt(f):
    try:
        f()
    except OSError:
        pass
for fam, host in ((socket.AF_INET, ip), (socket.AF_INET6, "::ffff:" + ip)):
    try:
        s = socket.socket(fam)
    except OSError:
        continue # bare mode has no internet sockets
    s.settimeout(2)
    attempt(lambda: s.connect((host, tcp)))
    u = socket.socket(fam, socket.SOCK_DGRAM)
    attempt(lambda: u.sendto(b"x", (host, udp)))
    attempt(lambda: u.sendmsg([b"x"], [], 0, (host, udp)))
    attempt(lambda: u.connect((host, udp)))
    attempt(lambda: u.send(b"x"))
    f = socket.socket(fam)
    attempt(lambda: f.sendto(b"x", 0x20000000, (host, tcp)))
a = socket.socket(socket.AF_UNIX)
attempt(lambda: a.connect("\0cloche-escape-abstract"))
print("tried")
PY
for ip in 127.0.0.1 127.0.0.2 0.0.0.0 $addr; do
	check "program-at-$ip-ran" "$CLOCHE" run --quiet -- \
		/usr/bin/python3 try.py "$ip" "$tcp" "$udp"
done
check bare-program-ran "$CLOCHE" run --quiet --insecure-no-userns -- \
	/usr/bin/python3 try.py 127.0.0.1 "$tcp" "$udp"
exec 8>&-
wait $pid
if [ "$(grep -vc ready heard)" = 0 ]; then
	ok nothing-was-heard
else
	not_ok nothing-was-heard "$(tr '\n' ' ' <heard)"
fi
finish

#!/bin/bash
# host-side
# timeout: 300
# What the network gateway lets through and what it does not. Servers are in a
# network namespace of this test's own; nothing is sent anywhere else.
. "$(dirname "$0")/lib.inc"

if [ -z "${IN_NETNS:-}" ]; then
	command -v ip curl python3 openssl unshare setpriv >/dev/null || {
		echo "skip gateway # ip, curl, python3, openssl or unshare is missing"
		exit 0
	}
	export IN_NETNS=1
	if [ "$(id -u)" = 0 ]; then
		exec unshare -n bash "$0"
	fi
	unshare -c -n true 2>/dev/null || {
		echo "skip gateway # no user namespaces"
		exit 0
	}
	exec unshare -c --keep-caps -n bash "$0"
fi
ip link set lo up
ip addr add 93.184.216.34/32 dev lo
ip addr add 93.184.216.53/32 dev lo
ip -6 addr add 2606:2800::34/128 dev lo nodad 2>/dev/null && six=1

srv=$PWD/../srv
mkdir "$srv"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=test \
	-addext "subjectAltName=DNS:www.example.test,DNS:other.test" \
	-keyout "$srv/key.pem" -out "$srv/cert.pem" 2>/dev/null
python3 "$(dirname "$0")/netserver.py" "$srv" &
pid=$!
trap 'kill $pid' EXIT
within 10 [ -e "$srv/ready" ] || not_ok servers "they do not start"
cp "$srv/cert.pem" ca.pem

if [ "$(id -u)" != 0 ]; then # the rights of this namespace are not a user's
	drop="setpriv --ambient-caps -all --inh-caps -all"
fi
extra=()
# run RULES... -- COMMAND: inside, with an audit stream
run()
{
	local rules=()
	while [ "$1" != -- ]; do
		rules+=(--net-allow "$1")
		shift
	done
	${drop:-} "$CLOCHE" run --quiet --audit audit.jsonl \
		--dns 93.184.216.53 "${extra[@]}" "${rules[@]}" "$@"
}
get() { run "$1" -- curl -sS -m 10 "${@:2}"; }
gives() { [ "$("${@:2}" 2>&1)" = "$1" ]; }
# python RULES... -- TEXT
python()
{
	local rules=()
	while [ "$1" != -- ]; do
		rules+=("$1")
		shift
	done
	run "${rules[@]}" -- python3 -c "import socket,sys,os,time,struct,select
H='93.184.216.34'
def tcp(p=80,h=H):
    s=socket.socket(); s.settimeout(10); s.connect((h,p)); return s
def fails(e,fn,*a):
    import errno
    try: fn(*a)
    except OSError as x: assert x.errno==getattr(errno,e),x; return
    assert 0,'no error'
$2"
}
recorded() { grep -q "\"call\":\"$1\".*$2" audit.jsonl; }
not_asked() { ! grep -q "$1" "$srv/asked"; }

# ---- what works ----
check host-internal gives "hello /a" get host.internal:8000 \
	http://host.internal:8000/a
check by-name gives "hello /b" get www.example.test:80 \
	http://www.example.test/b
check open-is-recorded recorded net.open \
	'"host":"www.example.test","addr":"93.184.216.34","port":80'
check close-has-bytes recorded net.close '"received":[1-9]'
check dns-is-recorded recorded dns '"host":"www.example.test"'
check by-alias gives "hello /c" get alias.example.test \
	http://alias.example.test/c
check below-a-name gives "hello /d" get '*.example.test' \
	http://www.example.test/d
check by-address gives "hello /e" get 93.184.216.34:80 http://93.184.216.34/e
check by-network gives "hello /f" get 93.184.0.0/16 http://93.184.216.34/f
[ -z "${six:-}" ] || check version-6 gives "hello /g" get six.example.test:80 \
	http://six.example.test/g
check long-answer-by-tcp python many.example.test -- "
a=socket.getaddrinfo('many.example.test',80,socket.AF_INET,socket.SOCK_STREAM)
assert len(a)>=60,len(a)"
check private-ones-are-left-out python mixed.example.test -- "
a=socket.getaddrinfo('mixed.example.test',80,type=socket.SOCK_STREAM)
assert [x[4][0] for x in a]==[H],a"
check tls-by-name gives "hello /h" get www.example.test:443 --cacert ca.pem \
	https://www.example.test/h
check big-download gives 67108864 get 93.184.216.34 -o /dev/null \
	-w '%{size_download}' http://93.184.216.34/big
check half-close python 93.184.216.34:7000 -- "
s=tcp(7000); s.sendall(b'y'*3000000); s.shutdown(1)
assert s.recv(100,socket.MSG_WAITALL)[:8]==b'3000000:'
while s.recv(65536): pass"
check reset-is-a-reset python 93.184.216.34:7001 -- "
s=tcp(7001); s.send(b'x'); fails('ECONNRESET',s.recv,1)"
check server-speaks-first python www.example.test:7002 -- "
s=tcp(7002,'www.example.test'); assert s.recv(20)==b'220 welcome\r\n'"
check names-of-the-socket python 93.184.216.34 -- "
s=tcp(); assert s.getpeername()==(H,80); assert s.getsockname()[0]=='10.0.2.100'
assert s.getsockopt(socket.SOL_SOCKET,socket.SO_ERROR)==0
s.connect_ex((H,80)); fails('EISCONN',s.connect,(H,80))"
check non-blocking python 93.184.216.34 -- "
s=socket.socket(); s.setblocking(0); p=select.epoll(); p.register(s,4)
r=s.connect_ex((H,80)); assert r in (0,115),r
assert p.poll(5) and s.getsockopt(1,4)==0; s.send(b'GET /n X\r\n\r\n')
select.select([s],[],[]); assert b'hello /n' in s.recv(999)"
check slow-outside-does-not-block python 93.184.216.34 -- "
def begin(p):
    s=socket.socket(); s.setblocking(0); t=time.time()
    assert s.connect_ex((H,p))==115; assert time.time()-t<5
    assert s.connect_ex((H,p))==114; return s
import signal,threading
a=begin(7003); b=begin(7004); n=[]
signal.signal(signal.SIGALRM,lambda *x: n.append(1)); signal.siginterrupt(signal.SIGALRM,True)
def later(): time.sleep(1.5); tcp(7005).recv(2)
threading.Thread(target=later).start()
i=socket.socket(); signal.setitimer(signal.ITIMER_REAL,0.5); i.connect((H,7006))
assert n; assert i.getpeername()==(H,7006)
assert select.select([],[b],[],30)[1]; assert b.getsockopt(1,4)==111
assert select.select([],[a],[],30)[1]; assert a.getsockopt(1,4)==0
assert a.getpeername()==(H,7003); a.setblocking(1); assert a.recv(9)==b'at last'
assert i.recv(9)==b'at last'"
check nothing-listens python 93.184.216.34 -- "
fails('ECONNREFUSED',tcp,81)
s=socket.socket(); s.setblocking(0); r=s.connect_ex((H,82))
if r==115: select.select([],[s],[]); r=s.getsockopt(1,4)
assert r==111,r"
check by-fork-and-dup python 93.184.216.34 -- "
s=socket.socket(); d=s.dup()
if os.fork()==0: d.connect((H,80)); os._exit(0)
os.wait(); s.send(b'GET /k X\r\n\r\n'); assert b'hello /k' in s.recv(999)"
check datagrams python udp://93.184.216.34:7 -- "
u=socket.socket(type=2); u.settimeout(5); u.sendto(b'a',(H,7))
assert u.recvfrom(9)==(b'echo a',(H,7)); u.connect((H,7)); u.send(b'b')
assert u.recv(9)==b'echo b'; assert u.getpeername()==(H,7)"
check datagrams-by-sendmsg python udp://93.184.216.34:7 -- "
u=socket.socket(type=2); u.settimeout(5); u.sendmsg([b'c'],[],0,(H,7))
assert u.recvfrom(9)==(b'echo c',(H,7))
fails('ENETUNREACH',u.sendmsg,[b'd'],[],0,(H,8))
a,b=socket.socketpair(); socket.send_fds(a,[b'x'],[1]); m=socket.recv_fds(b,9,1)
assert m[0]==b'x' and len(m[1])==1
b.sendmsg([b'y']); assert a.recv(9)==b'y'"
check datagrams-refused python udp://93.184.216.34 -- "
u=socket.socket(type=2); u.settimeout(9); u.connect((H,9)); u.send(b'a')
fails('ECONNREFUSED',u.recv,9); u.send(b'a'); fails('ECONNREFUSED',u.recv,9)
v=socket.socket(type=2); v.settimeout(9); v.connect((H,7)); v.send(b'b')
assert v.recv(9)==b'echo b'"
[ -z "${six:-}" ] || check datagrams-refused-6 python 'udp://[2606:2800::34]' -- "
u=socket.socket(10,2); u.settimeout(9); u.connect(('2606:2800::34',9)); u.send(b'a')
fails('ECONNREFUSED',u.recv,9)"
check datagrams-are-recorded recorded net.open '"proto":"udp"'
check many-at-once python 93.184.216.34 -- "
import threading
def f(i):
    for j in range(5):
        s=tcp(); s.sendall(b'GET /%d X\r\n\r\n'%i); assert b'/%d'%i in s.recv(999); s.close()
t=[threading.Thread(target=f,args=(i,)) for i in range(40)]
[x.start() for x in t]; [x.join() for x in t]"
check servers-inside python 93.184.216.34 -- "
l=socket.socket(); l.bind(('',80)) if os.geteuid()==0 else l.bind(('',8080))
l.listen(); a=('10.0.2.100',l.getsockname()[1]); c=tcp(a[1],a[0]); l.accept()
c=tcp(a[1],'127.0.0.1'); l.accept(); tcp()"

# ---- what does not ----
refused() { "$@" >out 2>&1 && return 1; return 0; }
check other-name refused get www.example.test http://other.test/
check other-name-is-not-asked not_asked other.test
check other-name-is-recorded recorded dns '"host":"other.test".*"deny"'
check other-port refused get www.example.test:443 http://www.example.test/
check other-port-is-recorded recorded connect '93.184.216.34:80.*"deny"'
check address-without-rule refused get www.example.test http://93.184.216.34/
check name-as-channel python www.example.test -- "
try: socket.getaddrinfo('secret-data.www.example.test',80); assert 0
except socket.gaierror: pass"
check channel-is-not-asked not_asked secret-data
for n in evil local meta gw; do
	check private-by-name-$n refused get '*.example.test' \
		http://$n.example.test:8000/
done
check rebinding-is-recorded recorded net.refused 'private'
check loopback-of-the-host refused get 127.0.0.1:8000 http://127.0.0.1:8000/
check loopback-by-address refused get host.internal:8000 \
	http://10.0.2.2:22/
check host-internal-port refused get host.internal:22 \
	http://host.internal:8000/
check tls-for-another-name refused get www.example.test:443 --cacert ca.pem \
	--connect-to other.test:443:www.example.test:443 https://other.test/
check sni-is-recorded recorded net.refused 'name that is not allowed'
check tls-without-a-name refused get www.example.test:443 -k \
	--connect-to 93.184.216.34:443:www.example.test:443 \
	https://93.184.216.34/
check tls-without-a-name-by-address gives "hello /i" get \
	93.184.216.34:443 -k https://93.184.216.34/i
check udp-is-not-tcp python 93.184.216.34 -- "
u=socket.socket(type=2); fails('ENETUNREACH',u.sendto,b'x',(H,7))
fails('ENETUNREACH',u.connect,(H,7))"
check other-sockets python '*' -- "
fails('EPERM',socket.socket,2,3,6) if 0 else None
for a in ((2,3,6),(2,3,1),(17,3,0),(40,1,0),(16,3,9)):
    try: socket.socket(*a); assert 0,a
    except OSError: pass"
check addresses-of-the-gateway python '*' -- "
for b in ('93.184.216.34','10.0.2.2','10.0.2.3'):
    fails('EADDRNOTAVAIL',socket.socket().bind,(b,8080))"
check rules-of-netlink python '*' -- "
n=socket.socket(16,3,0); n.bind((0,0))
n.send(struct.pack('IHHII',28,24,0x605,1,0)+struct.pack('BBBBBBBBI',2,0,0,0,254,3,0,1,0))
r=n.recv(999); assert struct.unpack('i',r[16:20])[0]==-1,r"

# Past the supervisor: sendmsg is native, and may carry a connect.
check fast-open-is-no-way python 93.184.216.34:80 -- "
tcp(); ok=0
for call in (lambda s: s.sendmsg([b'GET /x X\r\n\r\n'],[],0x20000000,(H,80)),
             lambda s: s.sendto(b'GET /x X\r\n\r\n',0x20000000,(H,80))):
    s=socket.socket(); s.settimeout(8)
    try: call(s); d=s.recv(99)
    except OSError as e: continue
    assert not d,d"
check datagrams-past-it python udp://93.184.216.34:7 -- "
u=socket.socket(type=2); u.settimeout(1)
try: u.sendmsg([b'z'],[],0,('93.184.216.35',7)); print(u.recv(9)); assert 0
except OSError: pass"

check passed-descriptor python 93.184.216.34:80 -- "
a,b=socket.socketpair()
if os.fork()==0:
    c=socket.socket(fileno=socket.recv_fds(b,1,1)[1][0])
    fails('ENETUNREACH',c.connect,('93.184.216.53',53))
    fails('ENETUNREACH',c.connect,(H,81)); c.connect((H,80)); os._exit(0)
s=socket.socket(); socket.send_fds(a,[b'x'],[s.fileno()])
assert os.wait()[1]==0; s.send(b'GET /p X\r\n\r\n'); assert b'hello /p' in s.recv(999)"
check mapped-addresses python 93.184.216.34:80 -- "
def six(a,p):
    s=socket.socket(10); s.settimeout(9); s.connect((a,p)); return s
assert six('::ffff:'+H,80).getpeername()[0]=='::ffff:'+H
for a in ('::ffff:93.184.216.53','::ffff:5db8:d835','::93.184.216.34','64:ff9b::5db8:d822'):
    fails('ENETUNREACH',six,a,80)
fails('ECONNREFUSED',six,'::ffff:127.0.0.1',8000)"
python3 -c "
import socket,time,os
a=socket.socket(1); a.bind('\0host-abstract'); a.listen()
b=socket.socket(1); b.bind('../host.sock'); b.listen()
open('../sockets-up','w'); time.sleep(60)" &
unix=$!
within 10 [ -e ../sockets-up ]
check unix-sockets-of-the-host python '*' -- "
u=socket.socket(1); fails('ECONNREFUSED',u.connect,'\0host-abstract')
d=socket.socket(1,2); fails('ECONNREFUSED',d.sendto,b'x','\0host-abstract')
fails('ECONNREFUSED',d.sendmsg,[b'x'],[],0,'\0host-abstract')
for p in ('../host.sock','/run/systemd/private','/run/dbus/system_bus_socket'):
    try: u.connect(p); assert 0,p
    except OSError: pass"
kill $unix
check gateway-is-not-seen python '*' -- "
for p in os.listdir('/proc'):
    if p.isdigit(): assert open('/proc/%s/comm'%p).read() not in ('cloche-gateway\n','cloche-sockets\n'),p
assert len(os.listdir('/proc/self/fd'))<8
tcp()
n=open('/proc/net/unix').read().count('\n'); assert n<3,n"
check multicast-and-broadcast python '*' udp://0.0.0.0/0 -- "
u=socket.socket(type=2); u.setsockopt(1,6,1)
for a in ('224.0.0.251','255.255.255.255','10.0.2.255'):
    try: u.sendto(b'x',(a,5353))
    except OSError: pass"

# An address that another thread flips while it is read.
cat >flip.c <<'C'
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static struct sockaddr_in a;
static volatile int stop;
static volatile long flips;
static void *flip(void *x)
{
	while (!stop) {
		a.sin_port = htons(81);
		a.sin_addr.s_addr = inet_addr("93.184.216.34");
		a.sin_port = htons(80);
		a.sin_addr.s_addr = inet_addr("93.184.216.53");
		flips++;
	}
	return x;
}
int main(void)
{
	pthread_t t;
	int bad = 0;
	a.sin_family = AF_INET;
	pthread_create(&t, NULL, flip, NULL);
	for (int i = 0; i < 3000 || flips < 1000000; i++) {
		struct sockaddr_in p;
		socklen_t n = sizeof(p);
		int s = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s, (void *)&a, sizeof(a)) == 0 &&
		    getpeername(s, (void *)&p, &n) == 0 &&
		    (p.sin_addr.s_addr != inet_addr("93.184.216.34") ||
		     p.sin_port != htons(80)))
			bad = 1;
		close(s);
	}
	stop = 1;
	pthread_join(t, NULL);
	return bad;
}
C
if gcc -O1 -pthread -o flip flip.c 2>/dev/null; then
	check flipped-address run 93.184.216.34:80 -- ./flip
fi

# ---- limits ----
# limited OPTION VALUE -- PYTHON
limited()
{
	local extra=("$1" "$2")
	python 93.184.216.34 -- "$4"
}
check rate limited --net-rate 4M -- "
s=tcp(); t=time.time(); s.sendall(b'GET /big X\r\n\r\n'); n=0
while n<6<<20: n+=len(s.recv(1<<16))
assert time.time()-t>1,time.time()-t"
check connections-at-once limited --net-connections 3 -- "
a=[tcp() for i in range(3)]; fails('ECONNREFUSED',tcp); a[0].close()
for i in range(100):
    try: tcp(); break
    except OSError: time.sleep(.1)
else: assert 0"
check connections-at-once-recorded recorded limit '"verdict":"limit","rule":"--net-connections"'
check connections-in-all limited --net-opens 2 -- "
tcp().close(); tcp().close(); fails('ECONNREFUSED',tcp)"
# with OPTION VALUE RULES... -- PYTHON
with() { local extra=("$1" "$2"); shift 2; python "$@"; }
check flows-in-all with --net-opens 2 udp://93.184.216.34:7 -- "
def go():
    u=socket.socket(type=2); u.settimeout(1); u.sendto(b'a',(H,7))
    return u.recv(9)
assert go()+go()==b'echo aecho a'
try: go(); assert 0
except TimeoutError: pass"
check flows-at-once with --net-connections 1 udp://93.184.216.34:7 -- "
u=[socket.socket(type=2) for i in range(2)]
u[0].sendto(b'a',(H,7)); assert u[0].recv(9)
u[1].settimeout(1)
try: u[1].sendto(b'a',(H,7)); u[1].recv(9); assert 0
except OSError: pass"
check flows-past-requests with --http-allow 'GET http://www.example.test:7/x' \
	udp://www.example.test:7 -- "
a=socket.gethostbyname('www.example.test'); u=socket.socket(type=2)
fails('ENETUNREACH',u.sendto,b'a',(a,7))
fails('ENETUNREACH',u.sendmsg,[b'a'],[],0,(a,7))
fails('ENETUNREACH',u.connect,(a,7))"
check idle-is-ended limited --net-idle 1s -- "
s=tcp(); s.settimeout(20); fails('ECONNRESET',s.recv,1)"
check idle-is-not-what-moves limited --net-idle 2s -- "
s=tcp()
for i in range(8):
    s.sendall(b'GET /%d X\r\n\r\n'%i); assert s.recv(99); time.sleep(.5)"
check time-is-over limited --net-time 1s -- "
s=tcp(); s.settimeout(20)
def f():
    for i in range(200):
        s.sendall(b'GET /%d X\r\n\r\n'%i); assert s.recv(99); time.sleep(.1)
try: f(); assert 0
except OSError: pass"

# ---- published ports ----
${drop:-} "$CLOCHE" run --quiet --publish 8088:8081 -- python3 -c "
import socket
l=socket.create_server(('',8081)); open('up','w').close()
c,a=l.accept(); c.sendall(b'inside '+c.recv(9)); c.close()" &
job=$!
answers() { [ "$(python3 -c "
import socket
s=socket.create_connection(('127.0.0.1',8088)); s.sendall(b'hi')
print(s.recv(99).decode())" 2>/dev/null)" = 'inside hi' ]; }
check published within 10 answers
wait $job

# ---- a gateway that dies ----
if [ "$(id -u)" = 0 ] && [ -z "${drop:-}" ]; then
	"$CLOCHE" run --dns 93.184.216.53 --net-allow 93.184.216.34 -- python3 -c "
import socket,os,time
def go(s): s.settimeout(5); return s.connect_ex(('93.184.216.34',80))
a=socket.socket(); assert go(a)==0; print('up',flush=True)
while not os.path.exists('stop'): time.sleep(.02)
time.sleep(.2); assert go(socket.socket())==111
b=socket.create_server(('',81)); c=socket.create_connection(('127.0.0.1',81))
try: assert a.recv(1)==b''
except ConnectionResetError: pass" >dying 2>&1 &
	job=$!
	within 10 grep -q up dying || not_ok dying "it does not start"
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = cloche-gateway ] &&
			[ "$p/ns/net" -ef /proc/self/ns/net ] &&
			kill -9 "${p#/proc/}"
	done
	: >stop
	check refused-without-gateway wait $job
	check death-is-said grep -q 'gateway has died' dying
	rm -f stop
fi

# ---- the option's own errors, the end ----
check bad-rule refused run 127.1 -- true
check bad-rule-says-where grep -q -e \
	'--net-allow 127.1: at character 1, expected a host name' out
check resolver-in-view gives 'nameserver 10.0.2.3' run a.example -- \
	grep nameserver /etc/resolv.conf
check no-change-by-it gives '' ${drop:-} "$CLOCHE" run --quiet \
	--net-allow a.example --diff -- true
check without-rules-no-eth0 gives '' ${drop:-} "$CLOCHE" run --quiet -- \
	sh -c 'grep eth0 /proc/net/dev; true'
finish

#!/bin/bash
# host-side
# timeout: 400
# Programs that people use, unmodified, through the gateway: each does natively
# and inside the same. Servers (nginx with a CA of the test's own, dnsmasq or
# unbound, sshd, git, a registry, an index, an apt repository) are in a network
# namespace of this test's own; nothing is sent anywhere else.
. "$(dirname "$0")/lib.inc"
here=$(dirname "$0")
PATH=$PATH:/usr/sbin:/usr/local/go/bin

if [ -z "${IN_NETNS:-}" ]; then
	for p in ip curl openssl nginx dnsmasq python3 unshare setpriv; do
		command -v $p >/dev/null && continue
		echo "skip gateway_real # no $p here"
		exit 0
	done
	export IN_NETNS=1
	[ "$(id -u)" = 0 ] && exec unshare -n -m bash "$0"
	unshare -c -n -m true 2>/dev/null || {
		echo "skip gateway_real # no user namespaces"
		exit 0
	}
	exec unshare -c --keep-caps -n -m bash "$0"
fi
H=93.184.216.34 D=93.184.216.53
ip link set lo up
ip addr add $H/32 dev lo
ip addr add $D/32 dev lo
[ "$(id -u)" = 0 ] || drop="setpriv --ambient-caps -all --inh-caps -all"
srv=$(realpath ..)/srv work=$PWD
mkdir -p "$srv/www" home
export HOME=$work/home
pids=()
trap 'kill "${pids[@]}" 2>/dev/null' EXIT

# The system's files as the namespace has them; only this test sees it.
printf 'nameserver %s\n' $D >"$srv/resolv.conf"
printf '127.0.0.1 localhost\n%s hosts.example.test other.test\n' $H \
	>"$srv/hosts"
mount --bind "$srv/resolv.conf" "$(realpath /etc/resolv.conf)"
mount --bind "$srv/hosts" /etc/hosts
[ "$(id -u)" = 0 ] && mount -t tmpfs tmpfs /run && mkdir /run/sshd

cert() # of the servers, by a CA that programs are told of
{
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca \
		-keyout "$srv/ca.key" -out ca.pem -addext \
		basicConstraints=critical,CA:TRUE -addext \
		keyUsage=critical,keyCertSign
	openssl req -newkey rsa:2048 -nodes -subj /CN=www.example.test \
		-keyout "$srv/key.pem" -out "$srv/req.pem"
	printf 'subjectAltName=DNS:www.example.test,DNS:hosts.example.test\n' \
		>"$srv/ext"
	openssl x509 -req -in "$srv/req.pem" -CA ca.pem -CAkey "$srv/ca.key" \
		-CAcreateserial -days 1 -extfile "$srv/ext" \
		-out "$srv/cert.pem"
}
cert 2>/dev/null
echo "me:$(openssl passwd -apr1 geheim)" >"$srv/htpasswd"

cat >"$srv/nginx.conf" <<N
pid $srv/nginx.pid; error_log $srv/error.log; daemon off;
master_process off;
events { worker_connections 4096; }
http {
	access_log off; client_body_temp_path $srv/b; proxy_temp_path $srv/p;
	fastcgi_temp_path $srv/f; uwsgi_temp_path $srv/u; scgi_temp_path $srv/s;
	default_type application/octet-stream;
	types { text/html html; }
	server {
		listen $H:80; listen $H:443 ssl http2;
		ssl_certificate $srv/cert.pem; ssl_certificate_key $srv/key.pem;
		root $srv/www;
		location /cgi-bin/ { proxy_pass http://127.0.0.1:8099; }
		location /private/ {
			auth_basic x; auth_basic_user_file $srv/htpasswd;
			proxy_pass http://127.0.0.1:8099/cgi-bin/;
		}
		location /echo { return 200 "\$request_method \$http_x_y"; }
	}
}
N
nginx -c "$srv/nginx.conf" 2>/dev/null & pids+=($!)
dnsmasq --keep-in-foreground --no-resolv --no-hosts --conf-file=/dev/null \
	--pid-file= --listen-address=$D --bind-interfaces --user= \
	--host-record=www.example.test,$H --cname=alias.example.test,www.example.test \
	--txt-record=www.example.test,secret \
	--srv-host=_x._tcp.example.test,www.example.test,80 \
	--host-record=rebind.example.test,10.9.9.9 \
	--host-record=both.example.test,$H,2606:2800::99 \
	--log-queries --log-facility="$srv/dns.log" & pids+=($!)

# ---- what the servers serve ----
echo hello >"$srv/www/index.html"
head -c 3000000 /dev/zero | tr '\0' x >"$srv/www/big"
G="git -c init.defaultBranch=main -c user.name=n -c user.email=e@example.org"
$G init -q "$srv/src" && echo text >"$srv/src/file" &&
	$G -C "$srv/src" add . && $G -C "$srv/src" commit -qm one &&
	git clone -q --bare "$srv/src" "$srv/repo.git"
mkdir -p "$srv/cgi/cgi-bin"
cat >"$srv/cgi/cgi-bin/git" <<S
#!/bin/sh
export GIT_PROJECT_ROOT=$srv GIT_HTTP_EXPORT_ALL=1 HOME=$srv
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
exec git http-backend
S
chmod 755 "$srv/cgi/cgi-bin/git"
(cd "$srv/cgi" && exec /usr/bin/python3 -m http.server --cgi --bind 127.0.0.1 \
	8099 >/dev/null 2>&1) & pids+=($!)

registry() # an npm package, a python package, a debian package
{
	mkdir -p t/package && echo 'module.exports=42' >t/package/index.js
	echo '{"name":"tiny","version":"1.0.0"}' >t/package/package.json
	tar -C t -czf "$srv/www/tiny-1.0.0.tgz" package
	local sum
	sum=$(openssl dgst -sha512 -binary "$srv/www/tiny-1.0.0.tgz" |
		base64 -w0)
	cat >"$srv/www/tiny" <<J
{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{
"name":"tiny","version":"1.0.0","dist":{"integrity":"sha512-$sum",
"tarball":"https://www.example.test/tiny-1.0.0.tgz"}}}}
J
	mkdir -p "$srv/www/simple/tinypy"
	/usr/bin/python3 - "$srv/www/simple/tinypy" <<'P'
import sys, zipfile
n = 'tinypy-1.0.dist-info/'
z = zipfile.ZipFile(sys.argv[1] + '/tinypy-1.0-py3-none-any.whl', 'w')
z.writestr('tinypy.py', 'answer = 42\n')
z.writestr(n + 'METADATA', 'Metadata-Version: 2.1\nName: tinypy\nVersion: 1.0\n')
z.writestr(n + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
z.writestr(n + 'RECORD', '')
P
	echo '<a href="tinypy-1.0-py3-none-any.whl">x</a>' \
		>"$srv/www/simple/tinypy/index.html"
	mkdir -p deb/DEBIAN "$srv/www/deb"
	printf 'Package: tinydeb\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n' >deb/DEBIAN/control
	dpkg-deb --root-owner-group -b deb "$srv/www/deb/tinydeb.deb"
	(cd "$srv/www/deb" && {
		dpkg-deb -I tinydeb.deb control
		echo "Filename: ./tinydeb.deb"
		echo "Size: $(stat -c %s tinydeb.deb)"
		echo "SHA256: $(sha256sum tinydeb.deb | cut -d' ' -f1)"
	} >Packages)
}
registry >/dev/null 2>&1

# Natively and inside: what starts slowly is tried by root alone.
# ---- the programs ----
cat >get.py <<'P'
import urllib.request, asyncio, ssl, sys
U = 'https://www.example.test/'
c = ssl.create_default_context(cafile='ca.pem')
print(urllib.request.urlopen(U, context=c).read())
print(len(urllib.request.urlopen(U + 'big', context=c).read()))
async def one(i):
    r, w = await asyncio.open_connection('www.example.test', 443, ssl=c)
    w.write(b'GET /echo HTTP/1.0\r\nX-Y: %d\r\n\r\n' % i)
    d = await r.read(); w.close()
    return d.split(b'\r\n\r\n')[1]
async def main():
    print(await asyncio.gather(*[one(i) for i in range(20)]))
asyncio.run(main())
P
cat >get.js <<'J'
const https = require('https'), http = require('http');
const get = (m, u) => new Promise((y, n) => m.get(u, r => { let s = '';
  r.on('data', d => s += d); r.on('end', () => y(r.statusCode + s)); }).on('error', n));
(async () => {
  console.log(await get(http, 'http://www.example.test/'));
  console.log(await get(https, 'https://alias.example.test/echo').catch(e => e.code));
  console.log(await get(https, 'https://www.example.test/echo'));
  if (globalThis.fetch) {
    console.log(await (await fetch('https://www.example.test/')).text());
    const all = await Promise.all([...Array(20).keys()].map(i =>
      fetch('https://www.example.test/echo', {headers: {'x-y': i}}).then(r => r.text())));
    console.log(all.join());
  }
})();
J
cat >Get.java <<'J'
import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
  var c = HttpClient.newHttpClient();
  for (var u : new String[] {"http://www.example.test/", "https://www.example.test/echo"})
    System.out.println(c.send(HttpRequest.newBuilder(URI.create(u)).build(),
      HttpResponse.BodyHandlers.ofString()).body());
  var f = new java.util.ArrayList<java.util.concurrent.CompletableFuture<HttpResponse<String>>>();
  for (int i = 0; i < 20; i++)
    f.add(c.sendAsync(HttpRequest.newBuilder(URI.create("https://www.example.test/echo"))
      .header("X-Y", "" + i).build(), HttpResponse.BodyHandlers.ofString()));
  for (var x : f) System.out.print(x.get().body());
} }
J
mkdir -p gomod && cat >gomod/get.go <<'G'
package main
import ("crypto/tls"; "crypto/x509"; "fmt"; "io"; "net/http"; "os"; "sync")
func main() {
	pem, _ := os.ReadFile("ca.pem")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	get := func(u string) string {
		r, err := c.Get(u)
		if err != nil { return err.Error() }
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	fmt.Print(get("http://www.example.test/"), len(get("https://www.example.test/big")))
	var w sync.WaitGroup
	for i := 0; i < 20; i++ {
		w.Add(1)
		go func() { defer w.Done(); if get("https://www.example.test/") != "hello\n" { fmt.Println("bad") } }()
	}
	w.Wait()
}
G

inside()
{
	${drop:-} "$CLOCHE" run --quiet --audit audit.jsonl \
		-e NODE_EXTRA_CA_CERTS -e npm_config_update_notifier "$@"
}
NODE_EXTRA_CA_CERTS=$work/ca.pem
export NODE_EXTRA_CA_CERTS npm_config_update_notifier=false
# both NAME SCRIPT: the same output and status, natively and inside. LEFT is
# removed before each.
both()
{
	local n=$1 want got
	rm -rf left
	want=$(${drop:-} sh -c "$2" 2>&1; echo "status $?")
	rm -rf left
	got=$(inside --net-allow '*.example.test' -- sh -c "$2" 2>&1
		echo "status $?")
	if [ "${want##*status }" != 0 ]; then
		not_ok "$n" "natively: $(head -c 600 <<<"$want")"
	elif [ "$want" = "$got" ]; then
		ok "$n"
	else
		not_ok "$n" "inside: $(head -c 900 <<<"$got")"
	fi
}
have() { command -v "$1" >/dev/null || { echo "skip $1 # not here"; return 1; }; }
within 10 curl -s -o /dev/null http://www.example.test/ ||
	not_ok servers "$(cat "$srv/error.log")"
within 10 curl -s -o /dev/null http://127.0.0.1:8099/

both curl 'curl -sS --cacert ca.pem https://www.example.test/ http://alias.example.test/
	curl -sS --cacert ca.pem https://www.example.test/big | cksum
	curl -sS -w "%{remote_ip} %{http_version}" --cacert ca.pem https://www.example.test/echo
	curl -sS --http1.1 -Z --parallel-immediate -H "X-Y: z" "http://www.example.test/echo?[1-30]" 2>/dev/null'
both curl-by-hosts-file 'curl -sS --cacert ca.pem https://hosts.example.test/'
# there is no way to the IPv6 one
both two-families 'curl -sS http://both.example.test/
	/usr/bin/python3 -c "import urllib.request as u; print(u.urlopen(\"http://both.example.test/\").read())"
	command -v node >/dev/null && node -e "require(\"http\").get(\"http://both.example.test/\",r=>r.on(\"data\",d=>console.log(d+\"\"))).on(\"error\",e=>console.log(e.code))"
	true'
have wget && both wget 'wget -q -O - --ca-certificate=ca.pem https://www.example.test/
	wget -q -O - http://www.example.test/big | cksum'
both git-https 'export GIT_SSL_CAINFO=$PWD/ca.pem
	git clone -q https://www.example.test/cgi-bin/git/repo.git left && cat left/file
	git ls-remote https://www.example.test/cgi-bin/git/repo.git'
both python '/usr/bin/python3 get.py'
have node && both node 'node get.js'
[ "$(id -u)" = 0 ] && have npm && both npm 'mkdir left && cd left && echo "{}" >package.json &&
	npm_config_cache=$PWD/c npm_config_cafile=$PWD/../ca.pem npm install --silent --no-audit --no-fund \
	--registry https://www.example.test tiny && node -p "require(\"tiny\")"'
[ "$(id -u)" = 0 ] && /usr/bin/python3 -m pip --version >/dev/null 2>&1 && both pip 'PIP_DISABLE_PIP_VERSION_CHECK=1 /usr/bin/python3 \
	-m pip install -q --no-cache-dir --cert ca.pem --index-url https://www.example.test/simple --target left tinypy 2>&1 |
	grep -v WARNING
	PYTHONPATH=left /usr/bin/python3 -c "import tinypy; print(tinypy.answer)"'
if have apt-get && [ "$(id -u)" = 0 ]; then
	both apt 'mkdir -p left/l/partial left/c/archives/partial left/p &&
	echo "deb [trusted=yes] http://www.example.test/deb ./" >left/s
	o="-o Dir::State::Lists=$PWD/left/l -o Dir::Cache=$PWD/left/c -o Dir::Etc::SourceList=$PWD/left/s
		-o Dir::Etc::SourceParts=$PWD/left/p -o APT::Sandbox::User=root -o Dir::Etc::Parts=/nowhere"
	apt-get $o -qq update && cd left && apt-get $o -qq download tinydeb 2>&1 &&
	dpkg-deb -f tinydeb_1_all.deb Package'
fi
if [ "$(id -u)" = 0 ] && have javac && have keytool; then
	keytool -importcert -noprompt -file ca.pem -keystore trust -storepass \
		changeit >/dev/null 2>&1
	javac -d . Get.java 2>/dev/null && both java \
		'java -Djavax.net.ssl.trustStore=trust -Djavax.net.ssl.trustStorePassword=changeit Get'
fi
# what is built once is enough
if [ "$(id -u)" = 0 ] && have go; then
	(cd gomod && GOCACHE=/var/tmp/cloche-test-go GOFLAGS=-mod=mod GO111MODULE=off \
		go build -o ../get-go get.go) && both go './get-go'
fi
if [ "$(id -u)" = 0 ] && have sshd && have ssh; then
	ssh-keygen -q -t ed25519 -N '' -f key && cat key.pub >"$srv/auth"
	ssh-keygen -q -t ed25519 -N '' -f "$srv/hostkey"
	chmod 600 "$srv/auth"
	"$(command -v sshd)" -D -f /dev/null -h "$srv/hostkey" \
		-o ListenAddress=$H:22 -o AuthorizedKeysFile="$srv/auth" \
		-o StrictModes=no -o PidFile=none -o UsePAM=no \
		-o PermitRootLogin=yes -o Subsystem="sftp internal-sftp" \
		-E "$srv/sshd.log" & pids+=($!)
	within 10 bash -c "exec 3<>/dev/tcp/$H/22"
	both git-ssh 'export GIT_SSH_COMMAND="ssh -F none -i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=kh -o LogLevel=ERROR"
	git -c safe.directory="*" clone -q root@www.example.test:'"$srv/repo.git"' left && cat left/file
	echo in | $GIT_SSH_COMMAND root@www.example.test "cat; exit 5"; echo $?
	echo "get '"$srv/www/big"' left/big" | sftp -q -F none -i key -o UserKnownHostsFile=kh -o StrictHostKeyChecking=no -b - root@www.example.test >/dev/null
	cksum left/big'
fi

if [ "$(id -u)" = 0 ] && have chromium; then
	echo '<body><script>fetch("/echo").then(r=>r.text()).then(t=>document.body.append(t))</script>' \
		>"$srv/www/dom.html"
	both chromium 'chromium --headless=new --no-sandbox --disable-gpu --user-data-dir=$PWD/left \
		--virtual-time-budget=3000 --dump-dom http://www.example.test/dom.html 2>/dev/null | grep -x "GET.*"'
fi

# ---- git's own credential, put in outside ----
private=https://www.example.test/private/git/repo.git
cat >"$HOME/.gitconfig" <<'G'
[credential]
	helper = "!f() { echo username=me; echo password=geheim; }; f"
G
git_private() # options
{
	${drop:-} "$CLOCHE" run --quiet --audit git.jsonl --net-ca ca.pem \
		"$@" -- sh -c 'export GIT_TERMINAL_PROMPT=0; rm -rf left
		git clone -q '$private' left && cat left/file; env; cat ~/.gitconfig
		git -C left config -l' 2>&1
}
git_private --git www.example.test >git.out
check git-credential grep -qx text git.out
check git-credential-is-not-inside sh -c '! grep -q geheim git.out git.jsonl'
check git-credential-needs-the-option sh -c '! grep -qx text "$0"' <(
	git_private --net-allow www.example.test)
mkdir evil && (cd evil && git init -q . && git config credential.helper \
	'!f() { touch ../ran; echo username=x; echo password=y; }; f' &&
	${drop:-} "$CLOCHE" run --quiet --git www.example.test -- true 2>/dev/null)
check git-of-the-project-is-not-asked sh -c '! [ -e ran ]'

# ---- names, with real servers ----
# py RULE TEXT
py()
{
	inside --net-allow "$1" -- /usr/bin/python3 -c "import socket,struct
def ask(name,kind):
    u=socket.socket(type=2); u.settimeout(5)
    q=b'\0\7\1\0\0\1\0\0\0\0\0\0'+b''.join(bytes([len(x)])+x.encode() for x in name.split('.'))+b'\0'+struct.pack('>HH',kind,1)
    u.sendto(q,('10.0.2.3',53)); r=u.recv(9999)
    return r[3]&15,struct.unpack('>H',r[6:8])[0]
$2"
}
dns_tests() # $1: which server
{
	check $1-cname py alias.example.test \
		"assert ask('alias.example.test',1)==(0,2)
assert socket.gethostbyname('alias.example.test')=='$H'
assert ask('www.example.test',1)==(3,0)"
	check $1-txt-is-not-given py '*.example.test' \
		"assert ask('www.example.test',16)==(0,0)"
	check $1-txt-is-not-asked sh -c '! grep -i txt "$0"' "$srv/dns.log"
	check $1-srv-is-not-given py '*.example.test' \
		"assert ask('_x._tcp.example.test',33)==(0,0)"
	check $1-rebinding py '*.example.test' \
		"assert ask('rebind.example.test',1)==(3,0)"
	check $1-missing py '*.example.test' \
		"assert ask('none.example.test',1)[1]==0"
	check $1-case py '*.Example.TEST' \
		"assert socket.gethostbyname('WWW.eXample.test')=='$H'"
}
dns_tests dnsmasq
check hosts-file-only-allowed py '*.example.test' \
	"assert socket.gethostbyname('hosts.example.test')=='$H'
assert ask('other.test',1)==(3,0)"
if have unbound; then
	cat >"$srv/unbound.conf" <<U
server:
	chroot: ""
	username: ""
	pidfile: ""
	directory: "$srv"
	logfile: "$srv/dns.log"
	log-queries: yes
	do-daemonize: no
	use-syslog: no
	interface: $D
	access-control: 0.0.0.0/0 allow
	module-config: "iterator"
	local-zone: "example.test." static
	local-data: "www.example.test. A $H"
	local-data: "www.example.test. TXT secret"
	local-data: "rebind.example.test. A 10.9.9.9"
remote-control:
	control-enable: no
U
	kill "${pids[1]}"
	: >"$srv/dns.log"
	unbound -c "$srv/unbound.conf" 2>/dev/null & pids+=($!)
	up() { curl -s -o /dev/null http://www.example.test/; }
	within 10 up
	check unbound-address py www.example.test \
		"assert socket.gethostbyname('www.example.test')=='$H'"
	check unbound-rebinding py '*.example.test' \
		"assert ask('rebind.example.test',1)==(3,0)"
	check unbound-missing py '*.example.test' \
		"assert ask('none.example.test',1)==(3,0)"
	check unbound-txt-is-not-asked sh -c \
		'! grep " TXT " "$0"' "$srv/dns.log"
fi

# ---- many ----
check thousand-at-once py www.example.test "
import select,time
s=[]; p=select.epoll()
for i in range(1000):
    c=socket.socket(); c.setblocking(0); c.connect_ex(('$H',80)) if i else c.connect_ex((socket.gethostbyname('www.example.test'),80))
    s.append(c); p.register(c,4); time.sleep(0)
left={c.fileno() for c in s}
while left:
    e=p.poll(20); assert e,len(left)
    for f,_ in e: left.discard(f); p.unregister(f)
for c in s:
    c.setblocking(1); c.settimeout(20); assert c.getpeername()==('$H',80)
    c.sendall(b'GET /echo HTTP/1.0\r\n\r\n')
for c in s: assert b'200 OK' in c.recv(4096)"
finish

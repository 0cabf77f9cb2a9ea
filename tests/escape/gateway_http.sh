#!/bin/bash
# host-side
# timeout: 200
# Rules about requests, TLS that is opened, secrets put in. nginx and a server
# that answers anything are in a network namespace of this test's own.
. "$(dirname "$0")/lib.inc"
here=$(cd "$(dirname "$0")" && pwd)

if [ -z "${IN_NETNS:-}" ]; then
	for t in ip curl python3 openssl nginx git unshare setpriv; do
		command -v $t >/dev/null || {
			echo "skip gateway_http # $t is missing"
			exit 0
		}
	done
	export IN_NETNS=1
	if [ "$(id -u)" = 0 ]; then
		exec unshare -n bash "$0"
	fi
	unshare -c -n true 2>/dev/null || {
		echo "skip gateway_http # no user namespaces"
		exit 0
	}
	exec unshare -c --keep-caps -n bash "$0"
fi
ip link set lo up
for n in 34 35 36 37 38 53; do
	ip addr add 93.184.216.$n/32 dev lo
done

# ---- certificates and servers ----
srv=$PWD/../srv
mkdir -p "$srv/www/ok" "$srv/tmp"
cert() # NAME SAN MORE...: signed by the test's authority
{
	openssl req -new -key "$srv/key.pem" -subj "/CN=$1" \
		-out "$srv/$1.csr" 2>/dev/null
	openssl x509 -req -in "$srv/$1.csr" -CA "$srv/ca.pem" \
		-CAkey "$srv/key.pem" -out "$srv/$1.pem" -days 1 \
		-extfile <(echo "subjectAltName=$2") "${@:3}" 2>/dev/null
}
openssl ecparam -genkey -name prime256v1 -noout -out "$srv/key.pem"
openssl req -x509 -new -key "$srv/key.pem" -days 1 -subj /CN=test-ca \
	-out "$srv/ca.pem" 2>/dev/null
cert good "DNS:*.example.test,DNS:low.raw.example.test"
cert wrong DNS:other.test
openssl req -x509 -new -key "$srv/key.pem" -days 1 -subj /CN=self \
	-addext subjectAltName=DNS:self.example.test -out "$srv/self.pem" \
	2>/dev/null
: >"$srv/index"
openssl ca -batch -config <(printf '%s\n' '[ca]' 'default_ca=a' '[a]' \
	"new_certs_dir=$srv" "database=$srv/index" "rand_serial=yes" \
	'default_md=sha256' 'policy=p' 'x509_extensions=x' '[p]' \
	'commonName=supplied' '[x]' 'subjectAltName=DNS:old.example.test') \
	-in "$srv/wrong.csr" -cert "$srv/ca.pem" -keyfile "$srv/key.pem" \
	-startdate 20200101000000Z -enddate 20200102000000Z \
	-out "$srv/old.pem" 2>/dev/null
printf 'ok a' >"$srv/www/ok/a"
printf 'ok b' >"$srv/www/ok/b"
head -c 8388608 /dev/zero >"$srv/www/ok/big"
(
	git init -q "$srv/one" && cd "$srv/one" && echo hi >f && git add f &&
		git -c user.name=a -c user.email=a@example.test commit -qm one
	git clone -q --bare "$srv/one" "$srv/www/ok/repo.git" &&
		git --git-dir="$srv/www/ok/repo.git" update-server-info
) >/dev/null 2>&1
cat >"$srv/nginx.conf" <<N
daemon off; pid $srv/pid; error_log $srv/error.log; worker_processes 1;
events { worker_connections 64; }
http {
	log_format k '\$scheme \$host \$request_method \$request_uri '
		'"\$http_authorization" "\$http_x_key"';
	access_log $srv/access.log k;
	client_body_temp_path $srv/tmp/a; proxy_temp_path $srv/tmp/b;
	fastcgi_temp_path $srv/tmp/c; uwsgi_temp_path $srv/tmp/d;
	scgi_temp_path $srv/tmp/e; client_max_body_size 0;
	server {
		listen 93.184.216.34:80; listen 93.184.216.34:443 ssl;
		ssl_certificate $srv/good.pem; ssl_certificate_key $srv/key.pem;
		root $srv/www;
		error_page 405 =200 \$uri;
		location = /away { return 302 https://raw.example.test/to; }
		location /s { return 200 s; }
		location /plain { return 200 p; }
	}
}
N
[ "$(id -u)" = 0 ] && echo "user root;" >>"$srv/nginx.conf"
: >"$srv/error.log"
nginx -e "$srv/error.log" -c "$srv/nginx.conf" &
pids=$!
python3 "$here/httpserver.py" "$srv" &
pids="$pids $!"
trap 'kill $pids' EXIT
up() { [ -e "$srv/ready" ] && curl -s -o /dev/null http://93.184.216.34/ok/a; }
within 10 up || not_ok servers "they do not start: $(cat "$srv/error.log")"
cp "$srv/ca.pem" "$here/httpguest.py" .

if [ "$(id -u)" != 0 ]; then # the rights of this namespace are not a user's
	drop="setpriv --ambient-caps -all --inh-caps -all"
fi
run() { ${drop:-} "$CLOCHE" run --quiet --audit audit.jsonl \
	--dns 93.184.216.53 --net-ca ca.pem "$@"; }
gives() { [ "$("${@:2}" 2>&1)" = "$1" ]; }
recorded() { grep -q "\"call\":\"$1\".*$2" audit.jsonl; }
refused() { "$@" >out 2>&1 && return 1; return 0; }
no() { ! "$@"; }

# ---- rules ----
www=(--http-allow 'GET,HEAD,POST www.example.test/ok/**')
check requests run "${www[@]}" --net-allow pass.example.test:443 -- \
	python3 httpguest.py rules
check request-is-recorded recorded http \
	'"method":"GET","path":"/ok/a"}.*"rule":"--http-allow GET,HEAD,POST'
check answer-is-recorded recorded http.done '"status":200'
check refusal-is-recorded recorded http '"path":"/no"}.*"deny"'
check shape-is-recorded recorded http.refused 'a Host unlike the server name'
check nothing-refused-came no grep -qE ' /no|DELETE|CONNECT|TRACE' \
	"$srv/access.log"
check hostile-answers run --http-allow '* *.example.test' -- \
	python3 httpguest.py answers

check disguises run --http-allow 'GET www.example.test/ok/**' \
	--net-allow pass.example.test --net-allow free.example.test -- \
	python3 httpguest.py disguises

# ---- programs, unmodified ----
w=https://www.example.test
check with-curl gives 'ok a' run "${www[@]}" -- curl -sS -m 10 $w/ok/a
check with-curl-http2 gives 'ok a' run "${www[@]}" -- curl --http2 -sS -m 10 \
	$w/ok/a
check download gives 8388608 run "${www[@]}" -- curl -sS -m 20 -o /dev/null \
	-w '%{size_download}' $w/ok/big
check with-python gives 'ok b' run "${www[@]}" -- python3 -c "
import urllib.request as u; print(u.urlopen('$w/ok/b').read().decode())"
check with-git gives hi run "${www[@]}" -- sh -c \
	"git clone -q $w/ok/repo.git r && cat r/f"
if command -v node >/dev/null; then
	check with-node gives 'ok a' run "${www[@]}" -- node -e \
		"fetch('$w/ok/a').then(r=>r.text()).then(console.log)"
fi
check with-openssl run "${www[@]}" -- sh -c "openssl s_client -CApath \
	/etc/ssl/certs -verify_return_error -connect www.example.test:443 \
	-servername www.example.test </dev/null"
keys() { run "${www[@]}" -- keytool -list -storepass changeit -keystore \
	/etc/ssl/certs/java/cacerts | grep -c '^ca.*trustedCertEntry'; }
if [ -e /etc/ssl/certs/java/cacerts ] && command -v keytool >/dev/null; then
	check java-store [ "$(keys)" -gt 100 ]
fi
check not-trusted-elsewhere gives '' run --net-allow www.example.test -- sh -c \
	'ls /run/cloche | grep ca.pem; env | grep SSL_CERT; true'
check no-change-by-it gives '' run "${www[@]}" --diff -- true

# ---- secrets ----
export TOKEN=value-of-the-secret-1
printf 'value-of-the-secret-2\n' >../file
inject=(--secret one=env:TOKEN --secret two=file:../file
	--secret three='exec:echo value-of-the-secret-${TOKEN-3}'
	--inject 'www.example.test bearer one'
	--inject 'api.example.test bearer two'
	--inject 'raw.example.test placeholder one'
	--inject 'raw.example.test x-two: <{}> two'
	--inject 'raw.example.test query:q three' --secret-env KEY=one)
hosts=(--net-allow www.example.test --net-allow '*.example.test')
: >"$srv/seen"
: >"$srv/access.log"
check secrets run "${hosts[@]}" "${inject[@]}" -- python3 httpguest.py secrets
check header-is-set grep -q \
	'^https www.example.test GET /s.*"Bearer value-of-the-secret-1"' \
	"$srv/access.log"
check swapped grep -q '^X-Key: value-of-the-secret-1' "$srv/seen"
check query-is-set grep -q 'GET /s?k=value-of-the-secret-1&q=value-of-the-secret-3 ' \
	"$srv/seen"
check from-file grep -q '^x-two: <value-of-the-secret-2>' "$srv/seen"
check never-plain no grep -qE '(/plain|^http ).*value-of' "$srv/seen" \
	"$srv/access.log"
check never-below no awk -v RS= '/Host: low/ && /value-of/ { found = 1 }
	END { exit !found }' <(tr -d '\r' <"$srv/seen")
check misuse-is-recorded recorded secret \
	'"host":"api.example.test".*"secret":"one".*"deny"'
check use-is-recorded recorded secret \
	'"host":"www.example.test".*"secret":"one".*"allow"'
check not-in-records no grep -q value-of audit.jsonl
: >"$srv/seen"
check redirect run "${hosts[@]}" --secret one=env:TOKEN \
	--inject 'www.example.test x-key: {} one' -- \
	curl -sS -m 10 -L $w/away
check redirect-carries-none no grep -q value-of "$srv/seen"
check redirect-was-followed grep -q '^GET /to' "$srv/seen"

# What the sentry and the gateway show of themselves while they run.
rm audit.jsonl
run "${hosts[@]}" "${inject[@]}" -- sh -c \
	'while [ ! -e stop ]; do sleep 0.05; done' &
job=$!
up() { [ -n "$(pgrep -P $job)" ] && grep -q '"call":"exec"' audit.jsonl; }
within 10 up || not_ok running "it does not start"
cat >scan.py <<'P'
# Is the text in the memory of the process? Exit 0 if it is.
import sys
for line in open('/proc/%s/maps' % sys.argv[1]):
    a, b = (int(x, 16) for x in line.split()[0].split('-'))
    try:
        m = open('/proc/%s/mem' % sys.argv[1], 'rb')
        m.seek(a)
        if b'value-of-the-secret-' + b'1' in m.read(b - a):
            sys.exit(0)
    except (OSError, ValueError, OverflowError):
        pass
sys.exit(1)
P
holds() { python3 scan.py "$1" 2>/dev/null; }
sentry=$(pgrep -P $job -x cloche | head -1)
check sentry-environment no grep -qa value-of-the-secret-1 \
	/proc/"$sentry"/environ
check sentry-memory no holds "$sentry"
if [ "$(id -u)" = 0 ] && [ -z "${drop:-}" ]; then
	gw=$(cd /proc && for p in [0-9]*; do
		[ "$(cat $p/comm 2>/dev/null)" = cloche-gateway ] &&
			[ $p/ns/net -ef self/ns/net ] && echo $p
	done)
	check gateway-has-it holds "$gw"
	check gateway-environment no grep -qa '[a-z]' /proc/"$gw"/environ
	check left-out-of-dumps grep -q '^VmFlags.* dd ' /proc/"$gw"/smaps
fi
: >stop
wait $job

# ---- asked without a run ----
asked() { "$CLOCHE" policy check http "$1" "$2" "${www[@]}" \
	--net-allow pass.example.test; }
check asked-allowed asked GET https://www.example.test/ok/x
check asked-refused refused asked GET https://www.example.test/no
check asked-says grep -q "rule --http-allow; to allow: --http-allow .GET https" out
check asked-host-alone asked PUT https://pass.example.test/x
check asked-ambiguous refused asked GET https://www.example.test/ok/%2fx

# ---- the options' own errors ----
says() { refused run "${@:2}" -- true && grep -qF -e "$1" out; }
check rule-without-method says 'at character 1, expected a method' \
	--http-allow 'www.example.test/x'
check rule-about-loopback says 'the host'"'"'s is host.internal' \
	--http-allow 'GET 127.0.0.1:8000/x'
check inject-to-a-pattern says "one host's name" --secret a=env:TOKEN \
	--inject '*.example.test bearer a'
check inject-to-an-address says "one host's name" --secret a=env:TOKEN \
	--inject '93.184.216.34 bearer a'
check inject-without-a-rule says 'no rule allows www.example.test at port 443' \
	--secret a=env:TOKEN --inject 'www.example.test bearer a'
check inject-without-a-secret says 'there is no --secret b' "${hosts[@]}" \
	--secret a=env:TOKEN --inject 'www.example.test bearer b'
check secret-that-is-missing says 'NOPE is not set' --secret a=env:NOPE
check secret-that-is-shown says '-e TOKEN would show a secret' -e TOKEN \
	--secret a=env:TOKEN
check secret-of-two-lines says 'control character' \
	--secret a="exec:printf 'a\\nb'"
check command-that-fails says 'the command failed (status 3)' \
	--secret a='exec:echo x; exit 3'
check authority-that-is-missing says 'nowhere.pem' --net-ca nowhere.pem
finish

#!/bin/bash
# host-side
# timeout: 60
# A tree of --root that somebody else made: none of its links shows a file of
# the host, neither by the guest's own calls nor by what the sentry reads
# itself: users, groups, authorities.
. "$(dirname "$0")/lib.inc"
d=$PWD/../tree
ca=etc/ssl/certs/ca-certificates.crt
mkdir -p "$d"/{bin,etc/ssl/certs/java,etc/pki/tls/certs,inside} || exit 77
cat=$(command -v cat)
cp "$cat" "$d/bin/cat"
for l in $(ldd "$cat" 2>/dev/null | grep -o '/[^ ]*'); do
	mkdir -p "$d${l%/*}" && cp -L "$l" "$d$l"
done
echo hostsecret:x:0:0::/:/bin/cat >secret
s=$PWD/secret
ln -s "$s" "$d/$ca"
ln -s "../../../../../../../../../../..$s" "$d/etc/pki/tls/cert.pem"
ln -s "$s" "$d/etc/pki/tls/certs/ca-bundle.crt"
ln -s "$s" "$d/etc/ssl/cert.pem"
ln -s "$s" "$d/etc/ssl/certs/java/cacerts"
ln -s "$s" "$d/etc/passwd"
ln -s "$s" "$d/etc/group"
ln -s "$s" "$d/etc/hosts"
ln -s "${s%/*}" "$d/up"
ln -s /proc/self/cwd "$d/cwd"
ln -s /inside/pem "$d/etc/ssl/ca-bundle.pem"
echo 'from the tree' >"$d/inside/pem"

run() { timeout -s KILL 20 "$CLOCHE" run -q -w / --root "$d" "$@"; }
shows() # TEXT ARGS: the output holds it
{
	local t=$1
	shift
	run "$@" >out 2>&1
	grep -q "$t" out
}
shows_not() { ! shows "$@"; }

check a-tree-runs shows 'from the tree' -- /bin/cat /inside/pem
for f in $ca etc/pki/tls/certs/ca-bundle.crt etc/ssl/cert.pem etc/passwd \
	etc/ssl/certs/java/cacerts etc/group etc/hosts up/secret cwd/secret; do
	check "plain-$f" shows_not hostsecret -- /bin/cat "/$f"
done
# TLS that is opened: authorities are put into the tree's lists of them
web=(--net-allow example.test --http-allow 'GET example.test/**')
if run "${web[@]}" -- /bin/cat /inside/pem >out 2>&1; then
	for f in $ca etc/pki/tls/certs/ca-bundle.crt etc/ssl/cert.pem \
		etc/ssl/certs/java/cacerts; do
		check "tls-$f" shows_not hostsecret "${web[@]}" -- \
			/bin/cat "/$f"
	done
	check tls-made shows 'BEGIN CERTIFICATE' "${web[@]}" -- /bin/cat /$ca
	check tls-link-inside shows 'from the tree' "${web[@]}" -- \
		/bin/cat /etc/ssl/ca-bundle.pem
fi
check user-by-a-link shows 'no user' --user hostsecret -- /bin/cat /inside/pem
finish

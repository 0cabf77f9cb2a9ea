#!/bin/bash
# host-side
# timeout: 120
# What guests write to places outside of the project is not on the host, and
# files of the host keep every attribute (laws 2 and 8). A folder beside the
# project is not seen unless it is shown; then it is read-only.
. "$(dirname "$0")/lib.inc"

state()
{
	find "$PWD/../outside" /etc/passwd /etc/hostname /tmp /var/tmp \
		-maxdepth 1 -name '*escape*' -printf '%p %m %u %s %T@ %C@\n' \
		-o -path '*outside*' -printf '%p %m %u %s %T@ %C@ %l\n' \
		-o -path '/etc/*' -printf '%p %m %u %s %T@ %C@\n' \
		2>/dev/null | LC_ALL=C sort
	cat ../outside/* 2>/dev/null | sha256sum
}

mkdir ../outside
echo secret >../outside/file
ln ../outside/file ../outside/hard
state >before
cat >try.sh <<'SH'
o=$PWD/../outside
echo z >/tmp/cloche-escape-1
echo z >/var/tmp/cloche-escape-2
echo z >>/etc/hostname
echo z >"$o/new"
echo z >>"$o/file"
rm -f "$o/hard"
chmod 777 "$o" "$o/file" /etc/passwd
mv "$o" "$o.moved"
ln -s / root
echo z >root/tmp/cloche-escape-3
mkdir -p /tmp/cloche-escape-4/d
[ -e "$o.moved" ] && o=$o.moved
touch -d 2001-01-01 "$o/file" /etc/hostname
exec 3<"$o/file"
flock -x 3
true
SH
outside=$(realpath ../outside)
check guest-ran "$CLOCHE" run --quiet --ro "$outside" -- sh try.sh
state >after
check host-unchanged cmp before after
check bare-guest-ran "$CLOCHE" run --quiet --insecure-no-userns \
	--ro "$outside" -- sh try.sh
state >after
check host-unchanged-after-bare cmp before after
check no-lock-is-left flock -n -x ../outside/file true

check not-shown-is-not-there "$CLOCHE" run --quiet -- \
	sh -c '! ls ../outside 2>/dev/null'

# While a guest holds its lock, a program of the host gets its own.
mkfifo go
"$CLOCHE" run --quiet -- sh -c 'exec 3<lower/all/file; flock -x 3;
	echo locked; read x' <go >locked 2>/dev/null &
pid=$!
exec 7>go
within 10 grep -q locked locked
check host-lock-is-free flock -n -x lower/all/file true
exec 7>&-
wait $pid
rm -rf ../outside
finish

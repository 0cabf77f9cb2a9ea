#!/bin/bash
# host-side
# timeout: 60
# --ro and --rw PATH:GUEST: secrets, and what --hide names, are kept at the
# other place as they are at their own, to read and to write.
. "$(dirname "$0")/lib.inc"
home=$PWD/../home
mkdir -p "$home"/.ssh "$home"/.aws "$home"/proj "$home"/notes
home=$(realpath "$home")
export HOME=$home
echo hostsecret >"$home/.ssh/id_rsa"
echo hostsecret >"$home/.aws/credentials"
echo hostsecret >"$home/notes/hidden"
echo config >"$home/.ssh/config"
echo note >"$home/notes/a"
cd "$home/proj" || exit 77

run() { timeout -s KILL 20 "$CLOCHE" run -q "$@"; }
# shellcheck disable=SC2016
look='find "$1" -type f -exec cat {} + 2>/dev/null; cat "$1/.ssh/id_rsa" \
	"$1/.aws/credentials" "$1/notes/hidden" 2>/dev/null
	mkdir -p "$1/.ssh"; echo evil >"$1/.ssh/authorized_keys"
	echo evil >"$1/.ssh/id_rsa"; echo evil >"$1/notes/hidden"
	mv "$1/.ssh" "$1/moved" && cat "$1/moved/id_rsa"
	ln -s "$1/.ssh" /tmp/s; cat /tmp/s/id_rsa /proc/self/root/$1/.ssh/id_rsa
	true'
for how in --ro --rw; do
	for m in "" --insecure-no-userns; do
		run $m $how "$home:/mnt/h" --hide "$home/notes/hidden" -- \
			sh -c "$look" - /mnt/h >"../out" 2>/dev/null
		check "not-read$how$m" sh -c \
			'! grep -q hostsecret ../out && grep -q note ../out'
		check "not-written$how$m" sh -c '! grep -r evil "$HOME" &&
			[ -d "$HOME/.ssh" ] && [ ! -e "$HOME/moved" ] &&
			[ "$(cat "$HOME/.ssh/id_rsa")" = hostsecret ]'
	done
done
run --ro "$home:/mnt/h" --ro "$home/.ssh/config:/mnt/h/.ssh/config" -- \
	sh -c 'cat /mnt/h/.ssh/*' >../out 2>/dev/null
check one-is-opened [ "$(cat ../out)" = config ]
run --ro "$home/.ssh:/mnt/s" -- sh -c 'cat /mnt/s/id_rsa' >../out 2>/dev/null
timeout -s KILL 20 "$CLOCHE" run --ro "$home:/mnt/h" -- \
	cat /mnt/h/.ssh/id_rsa >/dev/null 2>../err
check said-with-the-option grep -qF \
	"to allow: --ro $home/.ssh/id_rsa:/mnt/h/.ssh/id_rsa" ../err
check all-of-it-is-opened [ "$(cat ../out)" = hostsecret ]
finish

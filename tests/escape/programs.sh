#!/bin/bash
# host-side
# timeout: 120
# Programs that are kept open between execs (sentry/exec_image.c): what runs is
# what is there now, and nobody runs what policy or the tree no longer allows.
. "$(dirname "$0")/lib.inc"

command -v gcc >/dev/null || exit 77
p=$(realpath ..)/programs
mkdir "$p"
ld=$(realpath /lib64/ld-linux-x86-64.so.2)
for i in 1 2; do
	echo "int main(void) { return $i; }" >a$i.c
done
gcc -o 1 a1.c && gcc -static -o 2 a2.c || exit 77
cp "$ld" "$p/ld.so"
gcc -Wl,--dynamic-linker=/opt/p/ld.so -o own-ld a1.c || exit 77
size=$(stat -c %s 2)
truncate -s "$size" 1
cp 1 "$p/rewritten"
cp 1 "$p/replaced"
cp 1 "$p/removed"
cp own-ld "$p/own-ld"
for i in {1..100}; do
	ln -s rewritten "$p/link$i"
	cp 1 "$p/copy$i"
done
read -r -t 3.2 <> <(:) || true # a file that has just changed is not kept

mkfifo in.fifo out.fifo
"$CLOCHE" run --quiet --ro "$p:/opt/p" -- sh -c '
	while read -r x; do "/opt/p/$x" 2>/dev/null; echo $?; done' \
	<in.fifo >out.fifo 2>err &
exec 7>in.fifo 8<out.fifo

# gives NAME STATUS: what that program exits with
gives()
{
	local got
	echo "$1" >&7
	read -r -t 20 got <&8
	[ "$got" = "$2" ] || { echo "$1: $got, not $2"; return 1; }
}
twice() { gives "$@" && gives "$@"; }
rewrite() { dd if="$1" of="$2" conv=notrunc status=none; }

check runs twice rewritten 1
stamp=$(stat -c %y "$p/rewritten")
rewrite 2 "$p/rewritten"
check same-size-rewritten twice rewritten 2
rewrite 1 "$p/rewritten"
touch -d "$stamp" "$p/rewritten"
check time-set-back twice rewritten 1

check before-replacing twice replaced 1
cp 2 "$p/new" && mv "$p/new" "$p/replaced"
# The system's trees are taken as fixed: it may be found missing.
old_is_gone()
{
	gives replaced 2 || gives replaced 127
}
check replaced-programs-run-anew old_is_gone

check before-removing twice removed 1
rm "$p/removed"
check removed-is-gone gives removed 127

check own-loader twice own-ld 1
head -c "$(stat -c %s "$ld")" /dev/zero >zeros
rewrite zeros "$p/ld.so"
loader_is_bad() { ! gives own-ld 1; }
check loader-rewritten loader_is_bad
rewrite "$ld" "$p/ld.so"
check loader-again twice own-ld 1

hundred()
{
	for i in {2..100} {2..100}; do
		gives "copy$i" 1 && gives "link$i" 1 || return
	done
}
check a-hundred-programs hundred
exec 7>&- 8<&-
wait

# What a guest does to a program that runs all the time.
check changed-in-the-overlay "$CLOCHE" run --quiet --user root -- sh -c '
	/bin/true && /bin/true || exit 1
	cp /bin/false /bin/true || exit 2
	/bin/true && exit 3
	cp /bin/echo /bin/false.new && mv /bin/false.new /bin/true &&
	[ "$(/bin/true x)" = x ] || exit 4
	rm /bin/true && ! /bin/true 2>/dev/null || exit 5
	chmod 644 /bin/cat && ! /bin/cat /dev/null 2>/dev/null &&
	chmod 755 /bin/cat && /bin/cat /dev/null'
finish

#!/bin/bash
# host-side
# needs: /usr/bin/python3
# modes: bare
# Case 39: what descriptors 0 to 2 are, and what a guest can make of them.
. "$(dirname "$0")/lib.inc"
sb() { "$CLOCHE" run --quiet -- "$@"; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

check pipe-in-and-out same "$(echo abc | sb cat | cat)" abc
echo first >log
sb echo second >>log
check append same "$(cat log)" "first
second"
sb sh -c 'echo third >/dev/stdout' >>log
check dev-stdout-does-not-truncate same "$(cat log)" "first
second
third"
sb sh -c 'echo x >/proc/self/fd/1; echo y >>/dev/fd/1' >>log
check append-stays-append same "$(head -1 log)" first
echo data >in
sb sh -c 'cat; echo no >/dev/stdin' <in >out 2>/dev/null
check stdin-cannot-be-written same "$(cat in)" data
check stdin-is-read same "$(cat out)" data
sb sh -c 'cat <&0 >/dev/null; echo rw >&0' <>in 2>/dev/null
check read-write-file-takes-writes same "$(tail -1 in)" rw
check dev-null sb sh -c '[ -z "$(cat)" ]' </dev/null
check closed-stdin sb sh -c 'true' <&-
check closed-stdout sb sh -c 'true' >&-
sb sh -c 'exit 3' <&- >&- 2>&-
check closed-all-keeps-status same $? 3
mode=$(stat -c %a log)
sb sh -c 'chmod 777 /dev/stdout; true' >>log 2>/dev/null
check log-keeps-its-mode same "$(stat -c %a log)" "$mode"
check log-keeps-its-data same "$(head -1 log)" first
sb sh -c 'flock -x -n 0; sleep 1' <in >/dev/null 2>&1 &
read -r -t 0.5 <> <(:) || true
check reader-keeps-no-lock flock -n -x in true
wait
check writer-may-lock sb flock -x -n 1 true >>log
sb sh -c 'chmod 777 /dev/stdin' <in >/dev/null 2>&1
touch -a -d 2001-01-01 lower/all/data
sb /usr/bin/python3 -c '
import fcntl, os
f = os.open("lower/all/data", 0)
fcntl.fcntl(f, fcntl.F_SETFL, 0)
os.read(f, 10)' 2>/dev/null
check flags-do-not-let-a-read-leave-a-mark same \
	"$(stat -c %X lower/all/data)" "$(date -d 2001-01-01 +%s)"
check directory-ends-the-run sh -c '"$CLOCHE" run -- true <. 2>/dev/null
	[ $? = 125 ]'
check exit-status sh -c '"$CLOCHE" run --quiet -- sh -c "exit 42"
	[ $? = 42 ]'
check killed-status sh -c '"$CLOCHE" run --quiet -- sh -c "kill -9 \$\$"
	[ $? = 137 ]'
check not-found-is-127 sh -c '"$CLOCHE" run --quiet -- none-such 2>/dev/null
	[ $? = 127 ]'
check not-executable-is-126 sh -c '"$CLOCHE" run --quiet -- ./in 2>/dev/null
	[ $? = 126 ]'
check directory-is-126 sh -c '"$CLOCHE" run --quiet -- ./lower 2>/dev/null
	[ $? = 126 ]'
check bad-option-is-125 sh -c '"$CLOCHE" run --no-such -- true 2>/dev/null
	[ $? = 125 ]'
check reader-that-goes sh -c '"$CLOCHE" run --quiet -- yes | head -1'
finish

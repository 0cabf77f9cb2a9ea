# host-side
# needs: script python3
# timeout: 180
# Kept sandboxes, from outside: made, used by several commands, ended; what
# they leave; who may not reach them.
. "$(dirname "$0")/../escape/lib.inc"
export XDG_RUNTIME_DIR=$PWD/run
mkdir -m 700 run proj
cd proj || exit 1
dir=$XDG_RUNTIME_DIR/cloche
c() { timeout 30 "$CLOCHE" "$@"; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
has() { case $1 in *"$2"*) ;; *) echo "no '$2' in '$1'"; return 1 ;; esac; }
status() { "$@" >/dev/null 2>&1; echo $?; }
json() { python3 -c "import json,sys;print(json.load(sys.stdin)$1)"; }
not() { ! "$@"; }
dead() { ! kill -0 "$1" 2>/dev/null; }
trap 'for n in $(ls "$dir" 2>/dev/null); do c rm -f $n; done' EXIT

# ---- making one
check create-says-its-name same "$(c create --quiet one)" one
check socket-is-0600-in-0700 same \
	"$(stat -c %a "$dir" "$dir/one" | tr '\n' ' ')" '700 600 '
check create-of-the-same-name-is-125 same "$(status c create one)" 125
check first-one-still-runs c exec one -- true
check output-of-create-ends sh -c 'x=$(timeout 10 "$CLOCHE" create two)'
check rm-removes c rm two
check name-is-free-again c create two
c rm two
for bad in '' . .. -x a/b ../x 'a b' _a "$(printf a%.0s $(seq 65))"; do
	check "name-refused-'${bad:0:9}'" same \
		"$(status c create -- "$bad")" 125
done
check long-name c create "$(printf a%.0s $(seq 64))"
c rm "$(printf a%.0s $(seq 64))"

# ---- commands
check exit-status same "$(status c exec one -- sh -c 'exit 42')" 42
check killed-status same "$(status c exec one sh -c 'kill -9 $$')" 137
check not-found-is-127 same "$(status c exec one nosuch)" 127
check not-executable-is-126 same "$(status c exec one /etc/passwd)" 126
c exec one sh -c 'echo data >kept'
check changes-last same "$(c exec one cat kept)" data
check host-does-not-see-them test ! -e kept
check pipes same "$(echo abc | c exec one tr a-c A-C)" ABC
echo first >log
c exec one sh -c 'echo second; echo third >/dev/stdout' >>log
check file-as-stdout same "$(tr '\n' ' ' <log)" 'first second third '
check own-environment same "$(SECRET=x c exec one sh -c 'echo $SECRET')" ''
check env same "$(A=1 c exec -e A -e B=2 one sh -c 'echo $A$B')" 12
check env-overrides same "$(c exec -e HOME=/x one sh -c 'echo $HOME')" /x
check workdir same "$(c exec -w /usr one pwd)" /usr
check workdir-default same "$(c exec one pwd)" "$PWD"
check relative-workdir same \
	"$(c exec one mkdir -p s/t; c exec -w s/t one pwd)" "$PWD/s/t"
check its-socket-is-not-shown-inside same \
	"$(c exec one ls -A "$dir")" ''
check host-sockets-refuse c exec one python3 -c '
import errno, socket, sys
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])
except OSError as e:
    sys.exit(e.errno != errno.ENOENT)
sys.exit(1)' "$dir/one"
check refusals-are-said has "$(c exec one cat "$dir/one" 2>&1)" 'cloche: refused'
check refusals-are-said-once same "$(c exec one true 2>&1)" ''
check missing-workdir-is-125 same "$(status c exec -w /nosuch one true)" 125
check bytes-of-arguments same \
	"$(c exec one printf %s $'\xff\n\x01' | od -An -tx1)" ' ff 0a 01'
check many-arguments same \
	"$(c exec one sh -c 'echo $#' x $(seq 20000))" 20000
check closed-stdin c exec one true <&-
check directory-as-stdin-is-refused same \
	"$(c exec one true <. >/dev/null 2>&1; echo $?)" 125
check parallel sh -c '
	for i in $(seq 20); do
		timeout 60 "$CLOCHE" exec one sh -c "exit $i" &
		pids="$pids $!"
	done
	n=0
	for p in $pids; do n=$((n + 1)); wait $p; [ $? = $n ] || exit 1; done'
c exec one sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >pid'
check background-process-stays sh -c \
	'"$CLOCHE" exec one sh -c "kill -0 \$(cat pid)"'
check one-set-of-processes has "$(c exec one ps ax)" 'sleep 1000'
c exec one sh -c 'kill $(cat pid)'
check detach sh -c '"$CLOCHE" exec -d one sh -c "echo d >detached"'
check detached-runs within 10 sh -c \
	'"$CLOCHE" exec one test -s detached'
check socket-as-stdio python3 -c '
import os, socket, subprocess
a, b = socket.socketpair()
p = subprocess.Popen([os.environ["CLOCHE"], "exec", "one", "cat"],
		     stdin=b, stdout=b)
b.close()
a.sendall(b"x" * 100000); a.shutdown(socket.SHUT_WR)
n = 0
while True:
    d = a.recv(65536)
    if not d: break
    n += len(d)
assert n == 100000, n
assert p.wait() == 0'

# ---- signals, the death of a client
check term-is-passed-on same "$(timeout 1 "$CLOCHE" exec one \
	sh -c 'trap "echo got; exit 3" TERM; while :; do sleep 0.1; done')" got
"$CLOCHE" exec one sh -c 'echo $$ >victim; exec sleep 1000' &
client=$!
check client-runs within 10 sh -c '"$CLOCHE" exec one test -s victim'
kill -9 $client
wait $client 2>/dev/null
check death-of-client-hangs-up within 10 sh -c \
	'"$CLOCHE" exec one sh -c "! kill -0 \$(cat victim) 2>/dev/null"'

# ---- terminal
# script sends an end of file, which a raw terminal may show
tty() { script -qec "stty rows 33 cols 77; $*" /dev/null </dev/null |
	tr -d '\r' | sed 's,[\^]@,,' | tail -1; }
check terminal same "$(tty "'$CLOCHE' exec one -- \
	sh -c 'test -t 0 && test -t 1 && echo both'")" both
check terminal-size same "$(tty "'$CLOCHE' exec one -- stty size")" '33 77'
check terminal-status same "$(tty "'$CLOCHE' exec one -- \
	sh -c 'exit 5'; echo \$?")" 5
check pipe-beside-terminal same "$(tty "echo in | '$CLOCHE' exec one -- \
	sh -c 'test ! -t 0 && test -t 1 && cat'")" in
check job-control same "$(tty "'$CLOCHE' exec one -- \
	bash --norc -ic 'sleep 0.1 & wait; echo done' 2>/dev/null")" done

# ---- looking
check ls-shows-it has "$(c ls)" one
check ls-json same "$(c ls --json | json "[0]['status']")" running
check inspect-name same "$(c inspect one | json "['name']")" one
check inspect-cwd same "$(c inspect one | json "['cwd']")" "$PWD"
check inspect-option-after-name same "$(status c inspect one --nosuch)" 125
"$CLOCHE" exec one sleep 3 &
sleeper=$!
check inspect-process within 10 sh -c \
	'"$CLOCHE" inspect one | grep -q sleep'
kill $sleeper
wait $sleeper 2>/dev/null
check unknown-names-the-nearest has "$(c exec onee true 2>&1)" 'mean one?'
check unknown-is-125 same "$(status c exec nosuch true)" 125

# ---- run --keep, run --name
check keep-runs-and-stays same "$(c run --name kept --keep -- echo hi)" hi
check keep-status same "$(status c run --name kept2 --keep sh -c 'exit 9')" 9
check kept-is-there c exec kept true
check keep-needs-a-name same "$(status c run --keep true)" 125
check keep-refuses-a-second same \
	"$(status c run --name kept --keep true)" 125
check several-at-once c rm kept kept2
"$CLOCHE" run --name shown sh -c 'echo x >f; sleep 2' &
shown=$!
check a-named-run-is-reachable within 10 sh -c \
	'[ "$("$CLOCHE" exec shown cat f 2>/dev/null)" = x ]'
wait $shown
check its-name-goes-with-it test ! -e "$dir/shown"

# ---- the end
"$CLOCHE" exec one sh -c 'trap "" TERM; sleep 1000' >/dev/null 2>&1 &
busy=$!
within 10 sh -c '"$CLOCHE" inspect one | grep -q sleep'
pid=$(c inspect one | json "['pid']")
host=$(c inspect one | json "['processes'][0]['host_pid']")
check rm-refuses-a-busy-one same "$(status c rm one)" 125
check stop-kills-after-its-time has \
	"$(c stop -t 0.2 one 2>&1; echo $?)" 0
check socket-has-gone test ! -e "$dir/one"
wait $busy
check command-of-a-stopped-one-is-137 same $? 137
check its-sentry-has-gone within 5 dead "$pid"
check its-processes-have-gone within 5 dead "$host"
check stop-of-nothing-is-125 same "$(status c stop one)" 125
c create gone
kill -9 "$(c inspect gone | json "['pid']")"
check killed-one-is-not-listed not has "$(c ls)" gone
check killed-one-leaves-no-socket test ! -e "$dir/gone"
c create gone2
kill -9 "$(c inspect gone2 | json "['pid']")"
check its-name-can-be-used-again c create gone2
kill "$(c inspect gone2 | json "['pid']")"
check term-ends-a-sentry-cleanly within 5 test ! -e "$dir/gone2"
check timeout-ends-it has "$(c run --timeout 1s --name tl --keep \
	sleep 30 2>&1; echo $?)" 124

# ---- races and others
check one-of-many-creators-wins same "$(
	for i in 1 2 3 4 5 6; do
		"$CLOCHE" create race >/dev/null 2>&1 && echo won &
	done
	wait)" won
c rm -f race
chmod 755 "$dir"
check open-directory-is-refused same "$(status c create x)" 125
chmod 700 "$dir"
check policy-of-the-first-holds sh -c '
	"$CLOCHE" create --hide "*.pem" hid && touch a.pem &&
	! "$CLOCHE" exec hid ls a.pem 2>/dev/null &&
	"$CLOCHE" rm hid'
check output-limit-holds-for-each sh -c '
	"$CLOCHE" create --max-output 1000 out || exit 1
	for i in 1 2; do
		n=$("$CLOCHE" exec out sh -c "sleep 5 &
			head -c 100000 /dev/zero" 2>/dev/null | wc -c)
		[ "$n" = 1000 ] || exit 1
	done
	"$CLOCHE" rm -f out'
check audit-file-of-a-kept-one sh -c '
	"$CLOCHE" create --audit log.jsonl aud && "$CLOCHE" exec aud true &&
	"$CLOCHE" rm aud && "$CLOCHE" audit verify log.jsonl'
check many-one-after-another sh -c '
	"$CLOCHE" create many || exit 1
	for i in $(seq 100); do "$CLOCHE" exec many true || exit 1; done
	n=$(ls /proc/$("$CLOCHE" inspect many | sed -n "s/.*\"pid\": //p" |
		head -1 | tr -d ,)/fd 2>/dev/null | wc -l)
	"$CLOCHE" rm many; [ "$n" -lt 200 ]'
finish

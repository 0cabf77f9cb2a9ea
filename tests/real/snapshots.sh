# host-side
# needs: python3 flock
# timeout: 240
# Snapshots, restores and forks of kept sandboxes, from outside, in the jail
# and in bare mode.
. "$(dirname "$0")/../escape/lib.inc"
there=" $(echo /dev/shm/cloche-bare-*) " # of others, killed before
export XDG_RUNTIME_DIR=$PWD/run
mkdir -m 700 run proj
cd proj || exit 1
echo host >h
mkdir d
echo y >d/y
c() { timeout 60 "$CLOCHE" "$@"; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
has() { case $1 in *"$2"*) ;; *) echo "no '$2' in '$1'"; return 1 ;; esac; }
status() { "$@" >/dev/null 2>&1; echo $?; }
not() { ! "$@"; }
in_() { local n=$1; shift; c exec "$n" sh -c "$*"; }
pid() { c inspect "$1" | python3 -c 'import json,sys;print(json.load(sys.stdin)["pid"])'; }
trap 'for n in $(ls "$XDG_RUNTIME_DIR/cloche" 2>/dev/null); do c rm -f $n; done' EXIT

all() # $1: "" or a mode's option; $2: a prefix of the checks' names
{
	local p=$2 before diff k
	c create --quiet $1 one >/dev/null 2>&1
	in_ one 'echo a >f; ln f g; echo more >>h; mv d e; rm e/y; mkdir n
		seq 20000 >n/s; mkfifo p; ln -s f l; chmod 600 f; echo t >/tmp/t'
	before=$(c diff one)
	check $p-snapshot-says-its-label same "$(c snapshot one base)" base
	check $p-snapshot-numbers-them same "$(c snapshot one)" 1
	check $p-snapshot-changes-nothing same "$(c diff one)" "$before"
	check $p-a-label-is-used-once same "$(status c snapshot one base)" 125
	check $p-a-bad-label same "$(status c snapshot one a/b)" 125
	check $p-list has "$(c snapshot --list one)" base

	in_ one 'rm -r n l p; echo x >f; echo x >h; mv e d; echo new >d/new'
	check $p-restore c restore one base
	check $p-restored same "$(c diff one)" "$before"
	check $p-contents same "$(in_ one 'cat f g h l; wc -l <n/s; cat /tmp/t
		ls e; pwd')" "a
a
host
more
a
20000
t
$PWD"
	in_ one 'echo b >>f'
	check $p-links-are-one same "$(in_ one 'cat g')" 'a
b'
	check $p-restore-again c restore one base
	check $p-restored-again same "$(in_ one 'cat g')" a
	check $p-no-such-snapshot same "$(status c restore one nosuch)" 125

	# while a program runs
	c exec -d one sh -c 'exec 7>>log; echo ready >&7
		while sleep 0.02; do echo line >&7; done'
	for k in $(seq 100); do in_ one 'test -s log' && break; done
	check $p-snapshot-of-a-writer c snapshot one running
	k=$(in_ one 'wc -l <log')
	sleep 0.3
	check $p-its-writer-goes-on test "$(in_ one 'wc -l <log')" -gt "$k"
	check $p-restore-refuses same "$(status c restore one base)" 125
	check $p-restore-says-why has "$(c restore one base 2>&1)" --force
	check $p-restore-by-force c restore --force one running
	check $p-the-log-is-as-it-was test "$(in_ one 'wc -l <log')" -le "$k"
	check $p-nothing-runs-now same "$(in_ one 'ps -e | grep -c sleep')" 0
	c restore one base

	# forks
	check $p-fork same "$(c fork one two 2>/dev/null)" two
	check $p-fork-of-a-snapshot same "$(c fork one@running three \
		2>/dev/null)" three
	check $p-fork-has-all same "$(c diff two)" "$before"
	check $p-fork-at-the-snapshot in_ three 'test -s log'
	check $p-a-name-in-use same "$(status c fork one two)" 125
	check $p-fork-of-nothing same "$(status c fork nosuch four)" 125
	check $p-fork-of-no-snapshot same "$(status c fork one@nosuch four)" 125
	check $p-a-failed-fork-leaves-no-name not test -e "$dir/four"
	in_ two 'echo two >>f; rm n/s; chmod 644 f'
	in_ one 'echo one >>g; truncate -s 3 n/s'
	check $p-parent-is-apart same "$(in_ one 'cat f; stat -c %a f; cat n/s')" \
		"a
one
600
1
2"
	check $p-fork-is-apart same "$(in_ two 'cat g; stat -c %a g; ls n')" \
		"a
two
644"
	check $p-third-is-apart same "$(in_ three 'cat f; wc -l <n/s')" "a
20000"
	# in a shared file there is no way to write
	check $p-no-way-to-write same "$(in_ three '
		exec 3<n/s
		{ echo bad >/proc/self/fd/3; } 2>/dev/null
		python3 -c "
import os
fd = os.open(\"n/s\", os.O_RDONLY)
for f in (lambda: os.write(fd, b\"x\"), lambda: os.ftruncate(fd, 0)):
    try:
        f()
        print(\"written\")
    except OSError:
        pass
os.fchmod(fd, 0o600)
os.utime(fd, (1, 1))
"
		stat -c "%a %Y" n/s')" '600 1'
	c fork one four >/dev/null 2>&1
	c rm one
	check $p-parent-may-go same "$(in_ two 'cat f; cat h')" "a
two
host
more"
	check $p-fork-of-a-fork same "$(c fork two five 2>/dev/null; in_ five 'cat f')" \
		"five
a
two"
	c rm two three four
	check $p-last-of-them-has-all same "$(in_ five 'cat f; cat h')" "a
two
host
more"
	c rm five
}

dir=$XDG_RUNTIME_DIR/cloche
all '' jail
all --insecure-no-userns bare
# What nobody has locked is left over; a new one is locked in a moment.
left() { for k in /dev/shm/cloche-bare-*; do
	case $there in *" $k "*) continue ;; esac
	[ -O "$k" ] && flock -n "$k" true && return 0; done; return 1; }
check bare-leaves-nothing within 5 not left

# ---- a killed parent's fork lives on; a killed fork gives back what it held
c create --quiet --disk 64M one
in_ one 'head -c 20M /dev/zero >big; echo a >f'
c fork one two
kill -9 "$(pid one)"
check killed-parent same "$(in_ two 'cat f; stat -c %s big')" 'a
20971520'
c rm two
c create --quiet --disk 64M one
in_ one 'head -c 20M /dev/zero >big'
c fork one two
in_ one 'rm big'
kill -9 "$(pid two)"
stored() { c ls --json | python3 -c 'import json,sys;print(json.load(sys.stdin)[0]["stored"])'; }
freed() { for i in $(seq 100); do [ "$(stored)" -lt 10000000 ] && return; sleep 0.05; done; stored; return 1; }
check killed-fork-gives-space-back freed
c snapshot one s
in_ one 'head -c 20M /dev/zero >big'
c snapshot one t
in_ one 'rm big'
check snapshot-keeps-space test "$(stored)" -gt 20000000
c snapshot --remove one t
check removed-snapshot-gives-space-back freed
# What does not fit leaves everything as it was.
in_ one 'head -c 40M /dev/zero >open; echo a >f'
c exec -d one sh -c 'exec 7>>open; sleep 60'
for k in $(seq 100); do in_ one 'pgrep sleep >/dev/null' && break; done
check no-space-is-said has "$(c snapshot one full 2>&1)" 'no space'
check no-space-changes-nothing same "$(in_ one 'cat f; stat -c %s open')" 'a
41943040'
check no-space-no-snapshot not has "$(c snapshot --list one)" full
c rm -f one

# ---- limits and streams of its own
c create --quiet --audit one.jsonl --pids 200 one
check audited-fork-needs-a-stream same "$(status c fork one two)" 125
check says-how has "$(c fork one two 2>&1)" --audit
c snapshot one s >/dev/null
check own-stream c fork --audit two.jsonl --pids 77 one two
check own-limit same "$(c inspect two | python3 -c 'import json,sys;print(json.load(sys.stdin)["limits"]["pids"])')" 77
in_ two 'cat /etc/passwd >/dev/null'
c restore one s
in_ one 'echo new >applied'
check applies c apply one applied
c rm two
c rm one
for k in command snapshot fork restore apply stop; do
	check recorded-$k grep -q "\"call\":\"$k\"" one.jsonl
done
check fork-says-who grep -q '"call":"fork".*"name":"two"' one.jsonl
check streams-are-whole sh -c \
	'"$CLOCHE" audit verify one.jsonl && "$CLOCHE" audit verify two.jsonl'

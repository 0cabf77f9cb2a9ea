# host-side
# needs: gcc python3
# timeout: 120
# What --audit-level all and --stacks record, and that programs run under them.
. "$(dirname "$0")/../escape/lib.inc"
mkdir proj && cd proj || exit 1
c() { timeout -s KILL 60 "$CLOCHE" "$@"; }
has() { case $1 in *"$2"*) ;; *) echo "no '$2' in '$1'"; return 1 ;; esac; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
status() { "$@" >/dev/null 2>&1; echo $?; }

cat >t.c <<'END'
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) int inner(const char *p)
{
	struct stat st;
	return stat(p, &st) + 1;
}
__attribute__((noinline)) int outer(const char *p)
{
	volatile char b[64];
	b[0] = 1;
	return inner(p) + b[0];
}
int main(void)
{
	for (int i = 0; i < 3; i++)
		outer("/etc/hostname");
	if (fork() == 0)
		_exit(write(1, "child\n", 6) != 6);
	wait(NULL);
	return write(1, "parent\n", 7) != 7;
}
END
gcc -O1 -g t.c -o t || exit 1

check output-is-the-same same \
	"$(c run --audit all.jsonl --audit-level all --stacks -- ./t |
		tr '\n' ' ')" 'child parent '
check stream-is-whole c audit verify all.jsonl
check native-calls-and-stacks python3 -c '
import json
recs = [json.loads(l) for l in open("all.jsonl")]
stat = [r for r in recs if r.get("path") == "/etc/hostname"]
assert stat and sum(r.get("n", 1) for r in stat) == 3, stat
s = stat[0]["stack"]
names = [f.split("!")[-1].split("+")[0] for f in s]
assert names.index("inner") + 1 == names.index("outer"), s
assert names[names.index("outer") + 1] == "main", s
assert s[names.index("inner")].split("!")[0].endswith("/proj/t"), s
assert stat[0]["insn"]["text"] == "syscall", stat[0]
assert "/libc" in stat[0]["insn"]["at"], stat[0]
assert "observed" not in stat[0]
w = [r for r in recs if r["call"] == "write"]
assert [r["ret"] for r in w] == [6, 7], w
for r in w:
	assert r["observed"] and r["verdict"] == "pass", r
	assert r["args"]["fd"] == 1, r
	assert any(f.split("!")[-1].startswith("main") for f in r["stack"]), r
assert len({r["pid"] for r in w}) == 2
ends = [r for r in recs if r["call"] == "exit_group"]
assert len(ends) == 2, ends
for r in recs: # of nobody but the program
	if r["call"] in ("start", "chain", "end", "exit"):
		continue
	if "exe" in r:
		assert r["exe"].endswith("/proj/t"), r
	else: # what comes before the exec
		assert "observed" not in r and "stack" not in r, r
'
check show-prints-frames has "$(c audit show --call write all.jsonl)" '!main+0x'
check summary-by-site has "$(c audit summary --by site all.jsonl)" '!inner+0x'
check summary-by-site-json python3 -c '
import json, subprocess, os, sys
out = subprocess.check_output([os.environ["CLOCHE"], "audit", "summary", "--by",
	"site", "--json", "all.jsonl"])
r = json.loads(out)
assert r == sorted(r, key=lambda x: -x["ns"])
assert sum(x["n"] for x in r if x["key"].startswith("newfstatat") and
	"!inner+" in x["key"]) == 3, r
'
check summary-by-call has "$(c audit summary --by call all.jsonl)" newfstatat
check by-needs-a-word has "$(c audit summary --by nonsense all.jsonl 2>&1)" \
	'site, call or program'
check by-goes-with-summary same "$(status c audit show --by site all.jsonl)" 125
check stacks-need-a-stream has "$(c run --stacks -- true 2>&1)" 'needs --audit'

c run --audit dec.jsonl -- ./t >/dev/null
check decisions-have-no-native-calls sh -c '! grep -q observed dec.jsonl'
check sites-are-missing-without-stacks has \
	"$(c audit summary --by site dec.jsonl)" 'by --stacks'

# what stops twice a call goes on as before
obs="--audit o.jsonl --audit-level all --stacks"
check pipes-and-jobs same "$(c run $obs -- bash -c '
	for i in 1 2 3; do echo abc | cat | tr a-c A-C; done; sleep 0.1 & wait;
	trap "echo usr" USR1; kill -USR1 $$; (exit 7); echo $?' | tr '\n' ' ')" \
	'ABC ABC ABC usr 7 '
check alarm-interrupts same "$(c run $obs -- python3 -c '
import signal, time
signal.signal(signal.SIGALRM, lambda *a: print("alarm", flush=True))
signal.setitimer(signal.ITIMER_REAL, 0.02)
signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0.02)
time.sleep(0.2)
' | tr '\n' ' ')" 'alarm alarm '
check threads c run $obs -- python3 -c '
import threading
t = [threading.Thread(target=lambda: [open("/etc/hostname").read()
	for _ in range(20)]) for _ in range(4)]
[x.start() for x in t]; [x.join() for x in t]'
check stream-of-threads-is-whole c audit verify o.jsonl
check failing-exec same "$(c run $obs -- sh -c './nosuch; echo $?' 2>/dev/null)" 127
rm -f o.jsonl

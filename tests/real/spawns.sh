# needs: /usr/bin/python3
# timeout: 300
# modes: bare
# Many short programs, one after the other and at once.
n=0; for i in $(seq 500); do timeout 5 true && n=$((n + 1)); done; echo $n
seq 320 | xargs -P32 -n1 timeout 5 true && echo parallel
exec 2>/dev/null # bash names the pids of those
for s in SEGV KILL ABRT TERM; do sh -c "kill -$s \$\$"; echo $?; done
/usr/bin/python3 - <<'X'
import subprocess, threading
bad = []
def work():
    for _ in range(20):
        if subprocess.call(["/bin/true"]):
            bad.append(1)
ts = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in ts]
[t.join() for t in ts]
print(len(bad), "bad")
X

# host-side
# timeout: 90
# A guest stops each new process of its sandbox before it has begun a program:
# init goes on, and so does whoever comes later.
. "$(dirname "$0")/lib.inc"

command -v gcc >/dev/null || exit 77
export XDG_RUNTIME_DIR=$PWD/run
mkdir -m 700 run
cat >stopper.c <<'C'
#include <signal.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	time_t end = time(0) + 4;
	pid_t me = getpid();

	while (time(0) < end)
		for (pid_t p = me + 1; p < me + 12; p++)
			kill(p, SIGSTOP);
	kill(-1, SIGCONT);
	return 0;
}
C
gcc -O1 -o stopper stopper.c || exit 77
c() { timeout -s KILL 30 "$CLOCHE" "$@"; }
trap 'c rm -f held >/dev/null 2>&1' EXIT

check make-one c create held
c exec held -- ./stopper >stopper.out 2>&1 &
stopper=$!
for i in 1 2 3 4; do
	c exec held -- true >"late$i" 2>&1 &
	late[i]=$!
	read -r -t 0.3 <> <(:) || true
done
check the-stopper-ends wait "$stopper"
for i in 1 2 3 4; do
	check "who-was-stopped-goes-on-$i" wait "${late[i]}"
done
check who-comes-later-is-served c exec held -- true
check stop c stop held
finish

#!/bin/bash
# host-side
# needs: /usr/bin/python3
# Law 4, 11: a look-up of what the host has and the profile hides is refused
# with a record, a rule and an option, each time; of what nobody has, not.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
denied() { grep '"verdict":"deny"' a.jsonl | grep -F "\"path\":\"$1\"" |
	grep -q '"rule":"secrets'; }

mkdir -p ../.ssh sub
echo key >../.ssh/id_ed25519
echo TOKEN=1 >.env
echo TOKEN=2 >sub/.env
# shellcheck disable=SC2016
"$CLOCHE" run --audit a.jsonl -- sh -c 'cat ~/.ssh/id_ed25519 .env sub/.env
	cat .env; cat ~/.ssh/none .env.local none
	cat "$HOME/.ssh/id_ed25519/\$(touch x); y"
	echo own >sub/.env; cat sub/.env; rm sub/.env; cat sub/.env
	cat sub/.env; exit 0' >out 2>err
printf '#!/bin/sh\necho ran\n' >.env.sh
mkdir -p ../.ssh
cp .env.sh ../.ssh/run; chmod 755 ../.ssh/run
"$CLOCHE" run -- sh -c '~/.ssh/run; true' >/dev/null 2>exec.err
check exec-is-refused grep -q 'refused: .*\.ssh/run' exec.err
"$CLOCHE" run -- /usr/bin/python3 -c 'import os
try:
    os.execv(os.path.expanduser("~/.ssh/run"), ["x"])
except OSError: pass' 2>exec.err
check exec-call-is-refused grep -q 'refused: execve .*\.ssh/run' exec.err
check nothing-is-read same "$(cat out)" own
home=$(realpath ..)
check key-is-denied denied "$home/.ssh/id_ed25519"
check env-is-denied denied "$home/project/.env"
check env-below-is-denied denied "$home/project/sub/.env"
check said-with-the-option grep -q \
	"refused: openat $home/.ssh/id_ed25519 .*--ro $home/.ssh/id_ed25519" err
check cached-name-counts grep -q \
	"refused: openat $home/project/.env .*2 times" err
check no-host-file-no-refusal sh -c '! grep -E "refused: .*(none|local)" err'
check own-file-removed-is-no-refusal same \
	"$(grep -c "refused: openat $home/project/sub/.env .*times" err)" 0
check option-is-quoted sh -c '! grep -F "allow: --ro" err | grep -F "\$(" |
	grep -qv -- "--ro '"'"'"'

# A watch fills the directory's copy in memory: with nothing that is hidden.
cat >watch.py <<'PY'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init()
if libc.inotify_add_watch(fd, b".", 0xfff) < 0:
    raise SystemExit("no watch")
print(os.path.exists("sub"), os.path.exists(".env"), ".env" in os.listdir())
try:
    print(open(".env").read())
except FileNotFoundError:
    print("none")
PY
"$CLOCHE" run --quiet -- /usr/bin/python3 watch.py >out 2>&1
check watched-directory-keeps-hiding same "$(xargs <out)" 'True False False none'
finish

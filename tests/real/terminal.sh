# needs: script
# timeout: 90
# Case 12: terminals by script and tmux; stty sees one, jobs are controlled.
set -u
export TERM=xterm
script -qec 'stty -a | head -1 | cut -d";" -f1' /dev/null </dev/null |
	tr -d '\r'
script -qec 'tty | sed "s/[0-9].*//"' /dev/null </dev/null | tr -d '\r'
script -qec 'test -t 0 && test -t 1 && echo both' /dev/null </dev/null |
	tr -d '\r'
script -qec 'sh -c "exit 5"' /dev/null </dev/null; echo $?
script -qec 'bash --norc -ic "sleep 0.1 & jobs | wc -l; wait; echo done"' \
	/dev/null </dev/null 2>&1 | tr -d '\r' | grep -v '^\[' | tail -2
if command -v tmux >/dev/null; then
	tmux -S "$PWD/s" -f /dev/null new-session -d -x 80 -y 24 \
		'echo in tmux; echo $TERM | cut -c1-4; tty | cut -c1-9;
		read x; exit'
	for i in $(seq 100); do
		tmux -S "$PWD/s" capture-pane -p | grep -q /dev/pts && break
		sleep 0.1
	done
	tmux -S "$PWD/s" capture-pane -p | grep .
	tmux -S "$PWD/s" kill-server; sleep 0.2
fi

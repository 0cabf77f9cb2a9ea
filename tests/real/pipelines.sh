# needs: dash
# modes: bare
# timeout: 180
# Shell pipelines, many times: no close may lose an end of a pipe.
set -u
for i in $(seq 100); do
	[ "$(dash -c 'echo abc | cat | cat')" = abc ] || echo "bad $i"
done
for i in $(seq 100); do
	[ "$(bash -c 'echo abc | cat | cat | tr a-z A-Z')" = ABC ] ||
		echo "bad $i"
done
dash -c 'i=0; while [ $i -lt 100 ]; do
	x=$(echo $i | cat | cat); [ "$x" = $i ] || echo bad $i
	i=$((i+1)); done'
seq 100000 | awk '{s+=$1} END {print s}'
yes | head -1000 | wc -l
cat <(echo one) <(echo two)
echo here <<<"string"; cat <<<"string"
cat <<X
here document $((6 * 7))
X
(echo out; echo err >&2) 2>&1 | sort
{ echo a; false; } | cat; echo "${PIPESTATUS[@]}"
set -o pipefail; false | true; echo $?
coproc cat; p=$COPROC_PID; echo co >&"${COPROC[1]}"
read -r l <&"${COPROC[0]}"; echo "$l"; kill $p; wait $p 2>/dev/null
exec 5>file; echo five >&5; exec 5>&-; cat file
trap 'echo trapped' USR1; kill -USR1 $$; trap - USR1
( trap 'echo exit' EXIT; true )
sleep 0.1 & wait $!; echo $?
sh -c 'kill -TERM $$'; echo $?
timeout 0.2 sleep 5; echo $?
for i in 1 2 3 4 5 6 7 8; do (exit $i) & done; wait; echo waited
for i in 1 2 3 4; do { seq 2000 | tail -1; } & done; wait
echo x | xargs -I{} sh -c 'echo {}-{}'
seq 40 | xargs -P4 -n1 sh -c 'exit 0' && echo xargs
find /usr/bin -maxdepth 1 -name 'tr*' -exec basename {} \; | sort | head -3
umask 027; touch um; stat -c %a um
cd / && pwd && cd /tmp && pwd && readlink /proc/self/cwd

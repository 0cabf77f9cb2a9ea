#!/bin/bash
# modes: bare
# needs: /usr/bin/ps /usr/bin/top /usr/bin/lsof /usr/bin/pstree /usr/bin/fuser
# Process tools find this script's processes and say of them what they are.
me=$$
sleep 61 & p=$!
try() { local n=$1; shift; if "$@" >out 2>err; then echo "ok $n"; else echo "not ok $n"; head -c 300 err | sed 's/^/# /'; fi; }
has() { local n=$1 re=$2; shift 2; "$@" >out 2>err; if grep -qE "$re" out; then echo "ok $n"; else echo "not ok $n"; head -c 500 out err | sed 's/^/# /'; fi; }
has ps-aux "^[^ ]+ +$p .* sleep 61" ps aux
has ps-ef " +$p +$$ .* sleep 61" ps -ef
has ps-eLf " $p +$$ +$p .* sleep 61" ps -eLf
has ps-axjf "(^| )$$ +$p .* sleep 61" ps axjf
all=$(ps L | awk '$1 != "seat" && $1 != "lsession" {printf "%s%s", s, $1; s = ","}')
for f in ${all//,/ }; do ps -o "$f" -p $p >out 2>err || echo "not ok ps -o $f"; done
[ "$(ps -o comm=,nlwp=,ppid= -p $p | xargs)" = "sleep 1 $$" ] && echo ok ps-o
has top "(^| )$p .* sleep" top -b -n1 -w 200
has pgrep "^$p\$" pgrep -f '^sleep 61'
has pidof "(^| )$p( |\$)" pidof sleep
has pstree "sleep\($p\)" pstree -p $$
has lsof-txt "sleep +$p .* txt .*/sleep" lsof -p $p
has lsof-cwd "sleep +$p .* cwd .*$PWD\$" lsof -p $p
exec 7>held
has fuser-held "(^| )${me}([^0-9]|\$)" fuser held
exec 7>&-
has pmap "sleep" pmap $p
has pwdx "$p: $PWD\$" pwdx $p
has vmstat "^procs" vmstat
has vmstat-s "total memory" vmstat -s
has free "^Mem: +[0-9]+" free
has uptime "load average" uptime
has w "USER" w
has nproc "^$(nproc --all)\$" nproc --all
try df df -h
has mount " on / type " mount
has findmnt "^/ " findmnt -n /
has lscpu "^CPU\(s\): +$(nproc --all)\$" lscpu
try lsblk lsblk
try ipcs ipcs
try prlimit prlimit -p $p
has lsns " mnt +" lsns -p $p
if command -v ss >/dev/null; then try ss ss -tulpn; fi
if command -v netstat >/dev/null; then try netstat netstat -an; fi
kill -STOP $p
sleep 0.1
[ "$(ps -o state= -p $p)" = T ] && echo ok stopped
exec 2>/dev/null
pkill -KILL -P $$ -f '^sleep 61' && echo ok pkill
wait $p
[ $? = 137 ] && echo ok killed
[ -z "$(ps -o pid= -p $p)" ] && echo ok gone

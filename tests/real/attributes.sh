# needs: flock tail /usr/bin/python3
# timeout: 90
# modes: bare
# Cases 15, 30, 39 in a shell: descriptors, sparse files, locks, tail -f.
ulimit -n 2>/dev/null | grep -c .
/usr/bin/python3 -c 'import os
os.closerange(3, 1048576); print("closed")'
echo one >f; exec 3<f; rm f; cat <&3; exec 3<&-
# (a pipe: natively this truncates a file, inside it never does)
{ echo x >/dev/stdout; echo y >/dev/fd/1; echo z >/proc/self/fd/1
echo err >/dev/stderr; } 2>&1 | cat
echo in | cat /dev/stdin; echo in | cat /proc/self/fd/0
truncate -s 64G big; printf page | dd of=big bs=1 seek=1048576 conv=notrunc \
	2>/dev/null; stat -c %s big; [ "$(stat -c %b big)" -lt 100 ] && echo sparse
cp --sparse=always big big2 2>/dev/null & cp=$!; kill $cp 2>/dev/null
wait $cp 2>/dev/null; rm -f big big2
( flock -x 9; echo locked; flock -n f.lock true; echo $? ) 9>f.lock
flock -n f.lock echo free
: >log; : >seen; tail -n +1 -f log >seen & t=$!
for i in 1 2 3; do echo line $i >>log; done
for i in $(seq 50); do grep -q 'line 3' seen && break; sleep 0.1; done
kill $t; wait $t 2>/dev/null; cat seen
mkdir d; chmod 555 d; touch d/x 2>/dev/null; [ "$(id -u)" = 0 ] || ls d; chmod 755 d
ln -s loop loop; cat loop 2>&1 | sed 's/.*: //'
cat d 2>&1 | sed 's/.*: //'; echo >d 2>/dev/null || echo isdir
ls -d /none 2>&1 | sed 's/.*: //'; ./d 2>/dev/null; echo $?
nonesuch 2>/dev/null; echo $?; touch plain; ./plain 2>/dev/null; echo $?
env -i /usr/bin/env | wc -l; nice -n 3 nice; sh -c 'echo $PPID' | grep -c .
ps 2>/dev/null | grep -c sh >/dev/null; kill -0 $$ && echo alive
test -r /etc/passwd && test ! -e /etc/none && echo tests
[ -c /dev/null ] && [ -d /proc/self ] && [ -L /proc/self/exe ] && echo kinds
getconf ARG_MAX >/dev/null && nproc | grep -c .

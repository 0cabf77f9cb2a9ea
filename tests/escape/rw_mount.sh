#!/bin/bash
# host-side
# timeout: 120
# Law 8: of a directory shown by --rw the guest changes what it sees, and
# nothing else: a secret that is hidden there stays, no file gets a set-id
# bit, and a link put in the place of a new directory is not followed.
. "$(dirname "$0")/lib.inc"
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

mkdir rw
echo SECRET >rw/.env
cat >try.sh <<'SH'
cd rw || exit
cat .env
echo mine >x
mv x .env
mv -f x .env
ln -f x .env
echo z >.env
rm -f .env
echo z >set; chmod 6755 set
mkdir -m 2770 dir
SH
"$CLOCHE" run --quiet --rw rw -- sh try.sh >out 2>/dev/null
check hidden-file-is-not-shown same "$(cat out)" ""
check hidden-file-stays same "$(cat rw/.env)" SECRET
check no-set-id-on-the-host same "$(stat -c %a rw/set)" 755
check directory-keeps-its-group-bit same "$(stat -c %a rw/dir)" 2770

# Two sandboxes on one tree: one makes a directory, the other swaps it for a
# link to a directory outside.
mkdir ../victim
chmod 700 ../victim
victim=$(realpath ../victim)
cat >swap.sh <<'SH'
i=0
while [ $i -lt 300 ]; do
	[ -d rw/n ] && rmdir rw/n 2>/dev/null && ln -s "$1" rw/n
	rm -f rw/n
	i=$((i + 1))
done
SH
cat >make.sh <<'SH'
i=0
while [ $i -lt 300 ]; do
	mkdir -m 777 rw/n 2>/dev/null
	i=$((i + 1))
done
SH
"$CLOCHE" run --quiet --rw rw -- sh swap.sh "$victim" 2>/dev/null &
"$CLOCHE" run --quiet --rw rw -- sh make.sh 2>/dev/null
wait
check link-is-not-followed same "$(stat -c %a ../victim)" 700
rmdir ../victim
finish

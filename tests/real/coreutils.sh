# needs: tar find du install
# modes: bare
# coreutils on a tree of their own.
set -u
export LC_ALL=C
mkdir -p src/a/b/c src/empty
for i in 1 2 3 4 5; do
	seq $((i * 300)) >src/a/f$i
	echo "line $i" >src/a/b/g$i
done
printf 'bytes\0\1\377' >src/a/b/c/bin
chmod 750 src/a/b; chmod 600 src/a/f1; chmod 755 src/a/f2
ln -s ../f1 src/a/b/link; ln src/a/f3 src/a/b/hard; mkfifo src/a/pipe
find src -exec touch -h -d '2021-03-04 05:06:07' {} +

echo "== ls"; ls -lR --time-style=+%F_%T src | sed 's/^total .*//'
echo "== cp -a"; cp -a src dst
diff <(cd src && find . -printf '%P %y %m %s %n %T@ %l\n' | sort) \
	<(cd dst && find . -printf '%P %y %m %s %n %T@ %l\n' | sort) &&
	echo same
echo "== mv"; mv dst/a dst/moved; mv dst/moved/f1 dst/moved/f2
mv -n dst/moved/f2 dst/moved/f3; ls dst/moved
echo "== find"; find src -type f -newer src/none 2>&1 | head -3
find src -type f -size +2k -print | sort; find src -perm 600; find src -links 2 |
	sort
find src -name 'g*' -exec grep -h line {} + | sort
echo "== du"; du --apparent-size -b src/a/f5 src/a/b/g1
echo "== tar"; tar cf t.tar --sort=name src; tar tvf t.tar --utc |
	awk '{print $1, $4, $5, $6}'
mkdir x; tar xpf t.tar -C x
diff <(cd src && find . -printf '%P %y %m %s %T@ %l\n' | sort) \
	<(cd x/src && find . -printf '%P %y %m %s %T@ %l\n' | sort) &&
	echo same
echo "== mode kept by tar"
mkdir d; chmod 750 d; tar cf d.tar d; rm -r d; tar xpf d.tar; stat -c %a d
echo "== install"; install -D -m 711 src/a/f1 inst/bin/prog
stat -c '%a %s' inst/bin/prog; install -d -m 700 inst/dir; stat -c %a inst/dir
echo "== rm"; rm -r dst x inst; ls; rm -rf src/a/b; find src | sort
rm src/none 2>&1 | sed 's/.*: //'; rmdir src 2>&1 | sed 's/.*: //'
echo "== others"
seq 1000 | sort -rn | head -3; seq 20 | split -l 5 - part.; cat part.a? | wc -l
echo hello | tee t1 t2 >/dev/null; cmp t1 t2 && echo equal
dd if=/dev/zero of=dd.out bs=1k count=64 2>/dev/null; stat -c %s dd.out
truncate -s 1M sparse; stat -c '%s' sparse; shred -u t1 && ls t1 2>&1 |
	sed 's/.*: //'
ln -sfn src lnk; readlink -f lnk | sed 's/.*\///'; realpath --relative-to=. src
mktemp -d tmp.XXXXXX | cut -c1-4; touch -r dd.out ref; test ref -nt none; echo $?
stat -c '%F %a' /dev/null /tmp | head -1; id -u | grep -c .
cat /etc/passwd | head -1; wc -c <t.tar | grep -c .; df . >/dev/null && echo df
ls -lR /usr/include | grep -v '^total' | md5sum

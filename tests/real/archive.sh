# needs: tar gzip
# timeout: 180
# modes: bare
# Cases 9 and 16: trees through tar, both ways.
mkdir x
tar cf - -C /usr/share misc perl5 doc/bash 2>/dev/null | tar xf - -C x
(cd x && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) |
	sha256sum
(cd x && find . -printf '%P %y %m %s %l\n' | LC_ALL=C sort) | sha256sum
mkdir t; for i in $(seq 1000); do echo $i >t/f$i; done
tar czf t.tgz t; mkdir y; tar xzf t.tgz -C y; diff -r t y/t && echo same
tar tzf t.tgz | wc -l; rm -rf t y; ls
grep -rl include /usr/include/x86_64-linux-gnu/sys | LC_ALL=C sort | sha256sum
grep -rc define /usr/include/linux | LC_ALL=C sort | sha256sum
gzip -k t.tgz -S .g 2>/dev/null; zcat t.tgz | tar x; ls t | wc -l
printf 'a\nb\n' >p; diff -u p - <<<'a' | tail -2; printf 'x\n' | patch -p0 2>&1 |
	head -1 | grep -c .

# needs: gcc make
# timeout: 180
# modes: bare
# A generated project of 30 files, built by make -j2; cases 11 and 25 apart.
set -u
mkdir -p p/src && cd p || exit 1
for i in $(seq 30); do
	printf '#include "all.h"\nint f%d(int x) { return x * %d + LEN; }\n' \
		"$i" "$i" >src/f$i.c
done
{ echo '#include <stdio.h>'; echo '#include <string.h>'
echo '#define LEN ((int)strlen("abc"))'
for i in $(seq 30); do echo "int f$i(int);"; done; } >src/all.h
{ echo '#include "all.h"'; echo 'int main(void) { int s = 0;'
for i in $(seq 30); do echo "s += f$i($i);"; done
echo 'printf("%d\n", s); return 0; }'; } >src/main.c
cat >Makefile <<'X'
OBJS := $(patsubst src/%.c,obj/%.o,$(wildcard src/*.c))
prog: $(OBJS) ; gcc -o $@ $^
obj/%.o: src/%.c src/all.h | obj ; gcc -pipe -O1 -c -o $@ $<
obj: ; mkdir -p $@
clean: ; rm -rf obj prog
X
make -s -j2 && ./prog
touch src/f1.c; make -j2 | sort; make -j2
make -s clean; ls
echo '#include <stdio.h>
int main(void){puts("hello");return 0;}' >hello.c
gcc -pipe -O2 hello.c && ./a.out; gcc -static hello.c -o st && ./st
gcc -no-pie hello.c -o np && ./np; gcc -static-pie hello.c -o sp && ./sp
gcc -O2 -g -fsanitize=undefined hello.c -o ub 2>/dev/null && ./ub
gcc -shared -fPIC -o libx.so -x c - <<<'int x(void){return 7;}'
echo 'int x(void); int main(void){return x();}' >m.c
gcc m.c -o m -L. -lx -Wl,-rpath,"$PWD" && ./m; echo $?
ar rcs lib.a && nm lib.a; strip a.out && ./a.out; objdump -d a.out | wc -l |
	grep -c .
gcc bad.c 2>&1 | sed 's/.*error/error/' | head -1
command -v clang >/dev/null && clang hello.c -o cl && ./cl

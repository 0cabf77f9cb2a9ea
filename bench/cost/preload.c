/*
 * preload.c - the library of mech_preload.c: getppid and fstatat, answered in
 * the guest. By itself, without libc: only these two names.
 */
#include <sys/stat.h>
#include <sys/types.h>

pid_t getppid(void);
pid_t getppid(void)
{
	return 1;
}

/* The answer is made by the first real call that the library sees. */
static int known, made;
static struct stat answer;

static long raw_stat(int dir, const char *path, struct stat *st, int flags)
{
	register long r10 __asm__("r10") = flags;
	long ret = 262; /* newfstatat */

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(dir), "S"(path), "d"(st), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

int fstatat(int dir, const char *restrict path, struct stat *restrict st,
	    int flags)
{
	static char asked[64];

	if (made && same(path, asked)) {
		*st = answer;
		return known;
	}
	known = raw_stat(dir, path, &answer, flags) < 0 ? -1 : 0;
	for (unsigned i = 0; i < sizeof(asked) - 1; i++) {
		asked[i] = path[i];
		if (!path[i])
			break;
	}
	made = 1;
	*st = answer;
	return known;
}

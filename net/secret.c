/*
 * secret.c - see secret.h.
 */
#include "secret.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>

enum { REGION = SECRETS_MAX * (SECRET_VALUE_MAX + 1) };

struct kind {
	const char *word;
	void (*read)(struct secrets *s, struct secret *x, const char *arg);
	int turn; /* of secrets_read */
};

static void read_env(struct secrets *s, struct secret *x, const char *arg);
static void read_file(struct secrets *s, struct secret *x, const char *arg);
static void read_fd(struct secrets *s, struct secret *x, const char *arg);
static void read_exec(struct secrets *s, struct secret *x, const char *arg);

static const struct kind kinds[] = {
	{"env:", read_env, 0},
	{"file:", read_file, 1},
	{"fd:", read_fd, 1},
	{"exec:", read_exec, 2}, /* sees none of the others' variables */
};

bool secret_name_ok(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n && !name[n] && n < SECRET_NAME_SIZE;
}

static const struct kind *kind_of(const char *from)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(from, kinds[i].word, strlen(kinds[i].word)))
			return &kinds[i];
	return NULL;
}

static bool name_of(const char *text, char name[SECRET_NAME_SIZE])
{
	size_t n = strcspn(text, "=");

	if (!text[n] || n >= SECRET_NAME_SIZE)
		return false;
	memcpy(name, text, n);
	name[n] = '\0';
	return secret_name_ok(name);
}

const char *secret_check(const char *text)
{
	static const char *const what = "NAME=env:VAR, file:PATH, fd:N or "
					"exec:CMD";
	char name[SECRET_NAME_SIZE];
	const struct kind *k;
	const char *arg;

	if (!name_of(text, name))
		return what;
	k = kind_of(strchr(text, '=') + 1);
	if (!k)
		return what;
	arg = strchr(text, ':') + 1;
	if (!*arg)
		return what;
	if (k->read == read_fd && arg[strspn(arg, "0123456789")])
		return "the number of an open descriptor after fd:";
	return NULL;
}

/* ---- the memory ---- */

static void region_make(struct secrets *s)
{
	s->region = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->region == MAP_FAILED)
		die("no memory for secrets: %s", strerror(errno));
	if (madvise(s->region, REGION, MADV_DONTDUMP) < 0 ||
	    madvise(s->region, REGION, MADV_DONTFORK) < 0)
		die("cannot keep secrets out of dumps: %s", strerror(errno));
	/* More than the limit of locked memory: it may be swapped out. */
	if (mlock(s->region, REGION) < 0)
		log_debug("mlock: %s", strerror(errno));
}

void secrets_pass(struct secrets *s)
{
	if (s->region && madvise(s->region, REGION, MADV_DOFORK) < 0)
		die("cannot pass secrets on: %s", strerror(errno));
}

void secrets_keep(struct secrets *s)
{
	if (!s->region)
		return;
	if (madvise(s->region, REGION, MADV_DONTDUMP) < 0 ||
	    madvise(s->region, REGION, MADV_DONTFORK) < 0 ||
	    mlock(s->region, REGION) < 0)
		log_debug("keeping secrets: %s", strerror(errno));
}

void secrets_fini(struct secrets *s)
{
	if (s->region) {
		explicit_bzero(s->region, REGION);
		munmap(s->region, REGION);
	}
	memset(s, 0, sizeof(*s));
}

int secrets_find(const struct secrets *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->s[i].name, name))
			return (int)i;
	return -1;
}

/* ---- reading ---- */

/* What was put at x->value: no line's end behind it, nothing that could end a
 * header line. */
static void accept_value(struct secrets *s, struct secret *x)
{
	if (x->len && x->value[x->len - 1] == '\n')
		x->len--;
	if (x->len && x->value[x->len - 1] == '\r')
		x->len--;
	x->value[x->len] = '\0';
	if (!x->len)
		die("--secret %s: the value is empty", x->name);
	for (size_t i = 0; i < x->len; i++)
		if ((unsigned char)x->value[i] < ' ' || x->value[i] == 0x7f)
			die("--secret %s: the value has a control character "
			    "or a second line",
			    x->name);
	s->used += x->len + 1;
}

static void read_env(struct secrets *s, struct secret *x, const char *arg)
{
	char *value = getenv(arg);

	if (!value)
		die("--secret %s: %s is not set in the environment", x->name,
		    arg);
	x->len = strlen(value);
	if (x->len > SECRET_VALUE_MAX)
		die("--secret %s: longer than %d bytes", x->name,
		    SECRET_VALUE_MAX);
	memcpy(x->value, value, x->len);
	accept_value(s, x);
}

static void read_all(struct secrets *s, struct secret *x, int fd)
{
	ssize_t n;

	while ((n = read(fd, x->value + x->len,
			 SECRET_VALUE_MAX + 1 - x->len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("--secret %s: %s", x->name, strerror(errno));
		x->len += (size_t)n;
		if (x->len > SECRET_VALUE_MAX)
			die("--secret %s: longer than %d bytes", x->name,
			    SECRET_VALUE_MAX);
	}
	accept_value(s, x);
}

static void read_file(struct secrets *s, struct secret *x, const char *arg)
{
	const char *home = getenv("HOME");
	bool tilde = !strncmp(arg, "~/", 2) && home;
	AUTO_FREE char *path =
		xasprintf("%s%s", tilde ? home : "", tilde ? arg + 1 : arg);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		die("--secret %s: %s: %s", x->name, path, strerror(errno));
	read_all(s, x, fd);
}

static void read_fd(struct secrets *s, struct secret *x, const char *arg)
{
	AUTO_CLOSE int fd = atoi(arg);

	read_all(s, x, fd);
}

static void read_exec(struct secrets *s, struct secret *x, const char *arg)
{
	int p[2], status = 0;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		die("--secret %s: %s", x->name, strerror(errno));
	pid = fork();
	if (pid == 0) {
		dup2(p[1], 1);
		execl("/bin/sh", "sh", "-c", arg, (char *)NULL);
		_exit(127);
	}
	close(p[1]);
	if (pid < 0)
		die("--secret %s: %s", x->name, strerror(errno));
	read_all(s, x, p[0]);
	close(p[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("--secret %s: the command failed (status %d)", x->name,
		    WIFEXITED(status) ? WEXITSTATUS(status)
				      : 128 + WTERMSIG(status));
}

static void make_placeholder(struct secret *x)
{
	unsigned char r[16];
	size_t n;

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		die("no random numbers: %s", strerror(errno));
	n = (size_t)snprintf(x->placeholder, sizeof(x->placeholder), "cloche_");
	for (size_t i = 0; i < sizeof(r); i++)
		n += (size_t)snprintf(x->placeholder + n,
				      sizeof(x->placeholder) - n, "%02x", r[i]);
}

/* One variable may be two secrets: wiped when all are read. */
static void forget_env(char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *from = strchr(texts[i], '=') + 1;
		char *value;

		if (strncmp(from, "env:", 4))
			continue;
		value = getenv(from + 4);
		if (!value)
			continue;
		explicit_bzero(value, strlen(value));
		unsetenv(from + 4);
	}
}

void secrets_read(struct secrets *s, char *const *texts, size_t count)
{
	if (!count)
		return;
	region_make(s);
	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < count; i++) {
			const char *from = strchr(texts[i], '=') + 1;
			const struct kind *k = kind_of(from);
			struct secret *x = &s->s[s->count];
			char name[SECRET_NAME_SIZE];

			if (k->turn != turn || !name_of(texts[i], name))
				continue;
			if (secrets_find(s, name) >= 0)
				die("--secret %s is given twice", name);
			if (s->count == SECRETS_MAX)
				die("--secret: at most %d", SECRETS_MAX);
			memcpy(x->name, name, sizeof(name));
			x->value = s->region + s->used;
			s->count++;
			k->read(s, x, from + strlen(k->word));
			make_placeholder(x);
		}
		if (!turn)
			forget_env(texts, count);
	}
}

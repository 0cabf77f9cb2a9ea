/*
 * proctext.c - see proctext.h. Formats are those of Linux fs/proc/array.c,
 * task_mmu.c, fd.c and base.c.
 */
#include "proctext.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	STAT_STATE = 3,
	STAT_FIELDS = 52, /* more are copied as they are */
	MAPS_PATH_COLUMN = 73,
	LINE_MAX_LEN = PATH_LEN_MAX * 4 + 256,
};

/* The next line of [*p, end): its start, and its length without newline. */
static const char *line_next(const char **p, const char *end, size_t *len)
{
	const char *start = *p, *nl;

	if (start >= end)
		return NULL;
	nl = memchr(start, '\n', (size_t)(end - start));
	*len = nl ? (size_t)(nl - start) : (size_t)(end - start);
	*p = nl ? nl + 1 : end;
	return start;
}

static void add_line(struct strbuf *out, const char *line, size_t len)
{
	strbuf_add(out, line, len);
	strbuf_putc(out, '\n');
}

/* ---- stat ------------------------------------------------------------ */

/* comm may hold ") ": the last parenthesis ends it. */
static const char *stat_after_comm(const char *in, size_t len)
{
	const char *p = memrchr(in, ')', len);

	if (!p || (size_t)(p - in) + 2 >= len || p[1] != ' ')
		return NULL;
	return p + 2;
}

static bool stat_hidden(unsigned n)
{
	return (n >= 26 && n <= 30) || n == 35 || (n >= 45 && n <= 51);
}

static void stat_field(struct strbuf *out, unsigned n, const char *f,
		       size_t len, const struct proctext_ids *ids, bool hide)
{
	switch (n) {
	case STAT_STATE:
		/* a stop that the tracer keeps is a job-control stop */
		strbuf_putc(out, ids->running ? 'R' : *f == 't' ? 'T' : *f);
		return;
	case 4:
		strbuf_printf(out, "%d", ids->ppid);
		return;
	case 5:
		strbuf_printf(out, "%d", ids->pgrp);
		return;
	case 6:
		strbuf_printf(out, "%d", ids->sid);
		return;
	case 8:
		strbuf_printf(out, "%d", ids->tpgid);
		return;
	default:
		break;
	}
	if (hide && stat_hidden(n))
		strbuf_puts(out, n == 26 || n == 27 ? "1" : "0");
	else
		strbuf_add(out, f, len);
}

int proctext_stat(const char *in, size_t len, const struct proctext_ids *ids,
		  bool hide, struct strbuf *out)
{
	const char *end = in + len, *open = memchr(in, '(', len);
	const char *p = stat_after_comm(in, len);
	unsigned n = STAT_STATE;

	if (!p || !open || open > p)
		return -EIO;
	if (end > p && end[-1] == '\n')
		end--;
	strbuf_printf(out, "%d ", ids->pid);
	strbuf_add(out, open, (size_t)(p - open));
	while (p < end) {
		const char *sp = memchr(p, ' ', (size_t)(end - p));
		const char *stop = sp ? sp : end;

		stat_field(out, n, p, (size_t)(stop - p), ids, hide);
		if (sp)
			strbuf_putc(out, ' ');
		p = sp ? sp + 1 : end;
		n++;
	}
	strbuf_putc(out, '\n');
	return n > 8 ? 0 : -EIO;
}

long proctext_stat_field(const char *in, size_t len, unsigned n)
{
	const char *p = stat_after_comm(in, len), *end = in + len;

	for (unsigned i = STAT_STATE; p && i < n; i++) {
		p = memchr(p, ' ', (size_t)(end - p));
		if (p)
			p++;
	}
	return p && p < end ? strtol(p, NULL, 10) : -1;
}

/* ---- status ---------------------------------------------------------- */

struct status_line {
	const char *key;
	void (*print)(struct strbuf *out, const struct proctext_ids *ids,
		      const struct proctext_cred *c);
};

#define STATUS_PRINT(name, ...)                                          \
	static void status_##name(struct strbuf *out,                    \
				  const struct proctext_ids *ids UNUSED, \
				  const struct proctext_cred *c UNUSED)  \
	{                                                                \
		strbuf_printf(out, __VA_ARGS__);                         \
	}

STATUS_PRINT(pid, "%d", ids->pid)
STATUS_PRINT(tgid, "%d", ids->tgid)
STATUS_PRINT(ppid, "%d", ids->ppid)
STATUS_PRINT(pgrp, "%d", ids->pgrp)
STATUS_PRINT(sid, "%d", ids->sid)
STATUS_PRINT(zero, "0")
STATUS_PRINT(uid, "%u\t%u\t%u\t%u", c->uid[0], c->uid[1], c->uid[2], c->uid[3])
STATUS_PRINT(gid, "%u\t%u\t%u\t%u", c->gid[0], c->gid[1], c->gid[2], c->gid[3])
STATUS_PRINT(capinh, "%016" PRIx64, c->inheritable)
STATUS_PRINT(capprm, "%016" PRIx64, c->permitted)
STATUS_PRINT(capeff, "%016" PRIx64, c->effective)
STATUS_PRINT(capbnd, "%016" PRIx64, c->bounding)
STATUS_PRINT(capamb, "%016" PRIx64, c->ambient)

static void status_groups(struct strbuf *out,
			  const struct proctext_ids *ids UNUSED,
			  const struct proctext_cred *c)
{
	for (size_t i = 0; i < c->ngroups; i++)
		strbuf_printf(out, "%u ", c->groups[i]);
	if (!c->ngroups)
		strbuf_putc(out, ' ');
}

static const struct status_line status_lines[] = {
	{"Tgid", status_tgid},
	{"Pid", status_pid},
	{"PPid", status_ppid},
	{"TracerPid", status_zero},
	{"Uid", status_uid},
	{"Gid", status_gid},
	{"Groups", status_groups},
	{"NStgid", status_tgid},
	{"NSpid", status_pid},
	{"NSpgid", status_pgrp},
	{"NSsid", status_sid},
	{"CapInh", status_capinh},
	{"CapPrm", status_capprm},
	{"CapEff", status_capeff},
	{"CapBnd", status_capbnd},
	{"CapAmb", status_capamb},
	{"NoNewPrivs", status_zero},
	{"Seccomp", status_zero},
	{"Seccomp_filters", status_zero},
};

static bool key_is(const char *line, size_t len, const char *key)
{
	size_t n = strlen(key);

	return len > n && line[n] == ':' && !memcmp(line, key, n);
}

void proctext_status(const char *in, size_t len, const struct proctext_ids *ids,
		     const struct proctext_cred *cred, struct strbuf *out)
{
	const char *p = in, *line;
	size_t n;

	while ((line = line_next(&p, in + len, &n))) {
		const struct status_line *l = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(status_lines); i++)
			if (key_is(line, n, status_lines[i].key))
				l = &status_lines[i];
		if (key_is(line, n, "State") && ids->running)
			strbuf_puts(out, "State:\tR (running)\n");
		else if (key_is(line, n, "State") && n > 7 && line[7] == 't')
			strbuf_puts(out, "State:\tT (stopped)\n");
		else if (!l)
			add_line(out, line, n);
		else {
			strbuf_printf(out, "%s:\t", l->key);
			l->print(out, ids, cred);
			strbuf_putc(out, '\n');
		}
	}
}

long proctext_status_last(const char *in, size_t len, const char *key)
{
	const char *p = in, *line;
	size_t n;

	while ((line = line_next(&p, in + len, &n))) {
		const char *tab;

		if (!key_is(line, n, key))
			continue;
		tab = memrchr(line, '\t', n);
		return tab ? strtol(tab + 1, NULL, 10) : -1;
	}
	return -1;
}

/* ---- maps ------------------------------------------------------------ */

static int hex_number(const char **p, const char *end, char stop, uint64_t *v)
{
	const char *s = *p;

	*v = 0;
	while (s < end && *s != stop) {
		char c = *s++;
		unsigned d;

		if (c >= '0' && c <= '9')
			d = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			d = (unsigned)(c - 'a') + 10;
		else
			return -1;
		if (*v >> 60)
			return -1;
		*v = *v << 4 | d;
	}
	if (s >= end || s == *p)
		return -1;
	*p = s + 1;
	return 0;
}

static int dec_number(const char **p, const char *end, uint64_t *v)
{
	const char *s = *p;

	*v = 0;
	while (s < end && *s >= '0' && *s <= '9') {
		if (*v > UINT64_MAX / 10 - 1)
			return -1;
		*v = *v * 10 + (uint64_t)(*s++ - '0');
	}
	if (s == *p)
		return -1;
	*p = s;
	return 0;
}

/* "start-end perms offset maj:min ino   path"; -1 if it is no such line. */
static int map_parse(const char *line, size_t len, struct proctext_map *m,
		     const char **perms)
{
	const char *p = line, *end = line + len;
	uint64_t maj, min;
	size_t n;

	if (hex_number(&p, end, '-', &m->start) ||
	    hex_number(&p, end, ' ', &m->end) || end - p < 5 || p[4] != ' ')
		return -1;
	*perms = p;
	p += 5;
	if (hex_number(&p, end, ' ', &m->offset) ||
	    hex_number(&p, end, ':', &maj) || hex_number(&p, end, ' ', &min) ||
	    dec_number(&p, end, &m->ino))
		return -1;
	m->dev_major = (unsigned)maj;
	m->dev_minor = (unsigned)min;
	while (p < end && *p == ' ')
		p++;
	n = (size_t)(end - p);
	if (n >= sizeof(m->path))
		n = sizeof(m->path) - 1;
	memcpy(m->path, p, n);
	m->path[n] = '\0';
	return 0;
}

static void map_print(struct strbuf *out, const struct proctext_map *m,
		      const char *perms)
{
	size_t start = out->len;

	strbuf_printf(out,
		      "%08" PRIx64 "-%08" PRIx64 " %.4s %08" PRIx64
		      " %02x:%02x %" PRIu64 " ",
		      m->start, m->end, perms, m->offset, m->dev_major,
		      m->dev_minor, m->ino);
	if (m->path[0]) {
		while (out->len - start < MAPS_PATH_COLUMN && !out->truncated)
			strbuf_putc(out, ' ');
		for (const char *p = m->path; *p; p++) {
			if (*p == '\n')
				strbuf_puts(out, "\\012");
			else
				strbuf_putc(out, *p);
		}
	}
	strbuf_putc(out, '\n');
}

void proctext_maps(const char *in, size_t len, proctext_map_fn fn, void *arg,
		   struct strbuf *out)
{
	struct proctext_map *m = xcalloc(1, sizeof(*m));
	const char *p = in, *line, *perms;
	bool keep = false;
	size_t n;

	while ((line = line_next(&p, in + len, &n))) {
		if (!map_parse(line, n, m, &perms)) {
			keep = fn(arg, m) == 1;
			if (keep)
				map_print(out, m, perms);
		} else if (keep) {
			add_line(out, line, n);
		}
	}
	free(m);
}

/* ---- the rest -------------------------------------------------------- */

static void limit_value(char *buf, size_t size, uint64_t v)
{
	if (v == UINT64_MAX)
		snprintf(buf, size, "unlimited");
	else
		snprintf(buf, size, "%" PRIu64, v);
}

void proctext_limits(const char *in, size_t len,
		     const struct proctext_limit *rows, size_t count,
		     struct strbuf *out)
{
	const char *p = in, *line;
	size_t n;

	while ((line = line_next(&p, in + len, &n))) {
		const struct proctext_limit *r = NULL;
		char soft[24], hard[24];

		for (size_t i = 0; i < count; i++) {
			size_t k = strlen(rows[i].name);

			if (n > k && !memcmp(line, rows[i].name, k))
				r = &rows[i];
		}
		/* columns of 26, 21, 21 and the unit */
		if (!r || n < 68) {
			add_line(out, line, n);
			continue;
		}
		limit_value(soft, sizeof(soft), r->soft);
		limit_value(hard, sizeof(hard), r->hard);
		strbuf_printf(out, "%-25s %-20s %-20s ", r->name, soft, hard);
		add_line(out, line + 68, n - 68);
	}
}

static void fdinfo_pid(struct strbuf *out, const char *key, const char *line,
		       const struct proctext_fdinfo *f)
{
	long host = strtol(line + strlen(key) + 1, NULL, 10);
	long v = host > 0 ? f->to_virtual(f->arg, (pid_t)host) : host;

	strbuf_printf(out, "%s:\t%ld\n", key, v);
}

void proctext_fdinfo(const char *in, size_t len,
		     const struct proctext_fdinfo *f, struct strbuf *out)
{
	const char *p = in, *line;
	size_t n;

	while ((line = line_next(&p, in + len, &n))) {
		if (key_is(line, n, "mnt_id") && f->known)
			strbuf_printf(out, "mnt_id:\t%" PRIu64 "\n", f->mnt_id);
		else if (key_is(line, n, "ino") && f->known)
			strbuf_printf(out, "ino:\t%" PRIu64 "\n", f->ino);
		else if (key_is(line, n, "Pid"))
			fdinfo_pid(out, "Pid", line, f);
		else if (key_is(line, n, "NSpid"))
			fdinfo_pid(out, "NSpid", line, f);
		else if (key_is(line, n, "lock") ||
			 (n > 8 && !memcmp(line, "inotify ", 8)))
			/* LIMIT: locks and watches name objects of the host;
			 * their lines are left out of fdinfo. */
			continue;
		else
			add_line(out, line, n);
	}
}

void proctext_sched(const char *in, size_t len, pid_t pid, struct strbuf *out)
{
	const char *nl = memchr(in, '\n', len);
	size_t n = nl ? (size_t)(nl - in) : len;
	const char *at = in, *comma, *open = NULL;

	/* "comm (pid, #threads: n)": comm may hold parentheses */
	comma = memmem(in, n, ", #threads", 10);
	while (comma && (at = memmem(comma + 1, n - (size_t)(comma + 1 - in),
				     ", #threads", 10)))
		comma = at;
	if (comma)
		open = memrchr(in, '(', (size_t)(comma - in));
	if (!open)
		return;
	strbuf_add(out, in, (size_t)(open + 1 - in));
	strbuf_printf(out, "%d", pid);
	strbuf_add(out, comma, len - (size_t)(comma - in));
}

void proctext_loadavg(const char *in, size_t len, pid_t last,
		      struct strbuf *out)
{
	const char *sp = memrchr(in, ' ', len);

	if (!sp)
		return;
	strbuf_add(out, in, (size_t)(sp + 1 - in));
	strbuf_printf(out, "%d\n", last);
}

void proctext_net_unix(const char *in, size_t len, struct strbuf *out)
{
	const char *p = in, *line;
	size_t n;

	while ((line = line_next(&p, in + len, &n))) {
		/* the path is the eighth column, after one space; a path may
		 * hold newlines, so a line must begin like a row */
		const char *q = line, *end = line + n;
		int spaces = 0;

		if (n < 17 || (line[16] != ':' && memcmp(line, "Num ", 4)))
			continue;
		while (q < end && spaces < 7) {
			while (q < end && *q != ' ')
				q++;
			while (q < end && *q == ' ')
				q++;
			spaces++;
		}
		if (q < end && (*q == '@' || line[16] != ':'))
			q = end;
		while (q > line && q < end && q[-1] == ' ')
			q--;
		add_line(out, line, (size_t)(q - line));
	}
}

void proctext_mangle(struct strbuf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr(" \t\n\\", *s))
			strbuf_printf(out, "\\%03o", (unsigned char)*s);
		else
			strbuf_putc(out, *s);
	}
}

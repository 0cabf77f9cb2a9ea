/*
 * proctext.h - rewriting of the texts in the host's /proc/PID for a guest.
 *
 * Pure functions over bytes: no host call, no task. Numbers of the host (pids,
 * ids, devices) are replaced by those that the caller gives; lines that speak
 * of the sentry (TracerPid, Seccomp) are given the values that they would have
 * without it. Input is the kernel's text, whose comm field a guest chooses.
 */
#ifndef CLOCHE_PROCTEXT_H
#define CLOCHE_PROCTEXT_H

#include "../sentry/base/base.h"
#include "../sentry/base/strbuf.h"

/* A process's numbers as the guest sees them. */
struct proctext_ids {
	pid_t pid, tgid, ppid, pgrp, sid;
	pid_t tpgid; /* -1: none */
	/* It is the one that looks: running, though in truth it waits for us */
	bool running;
};

/* /proc/PID/stat. hide: no addresses, for a viewer without access.
 * -EIO if it does not look like a stat line. */
int MUST_CHECK proctext_stat(const char *in, size_t len,
			     const struct proctext_ids *ids, bool hide,
			     struct strbuf *out);

/* Field number n (3 is the state) of a stat line as a number; -1 if absent. */
long proctext_stat_field(const char *in, size_t len, unsigned n);

struct proctext_cred {
	uid_t uid[4]; /* real, effective, saved, fs */
	gid_t gid[4];
	const gid_t *groups;
	size_t ngroups;
	uint64_t inheritable, permitted, effective, bounding, ambient;
};

/* /proc/PID/status. */
void proctext_status(const char *in, size_t len, const struct proctext_ids *ids,
		     const struct proctext_cred *cred, struct strbuf *out);

/* Last number of a status line such as "NSpid"; -1 if absent. */
long proctext_status_last(const char *in, size_t len, const char *key);

/* One mapping; the callback may change path, dev and ino. */
struct proctext_map {
	uint64_t start, end, offset, ino;
	unsigned dev_major, dev_minor;
	char path[PATH_LEN_MAX + 32];
};

/* Returns 1 to keep the (changed) line, 0 to drop it and what follows it up
 * to the next mapping. */
typedef int (*proctext_map_fn)(void *arg, struct proctext_map *m);

/* maps and smaps. Lines that cannot be parsed are dropped. */
void proctext_maps(const char *in, size_t len, proctext_map_fn fn, void *arg,
		   struct strbuf *out);

/* RLIM_INFINITY as ~0. */
struct proctext_limit {
	const char *name; /* as in the first column */
	uint64_t soft, hard;
};

/* /proc/PID/limits, with the rows given replaced. */
void proctext_limits(const char *in, size_t len,
		     const struct proctext_limit *rows, size_t count,
		     struct strbuf *out);

/* /proc/PID/fdinfo/N: to_virtual turns a host pid into the guest's. */
struct proctext_fdinfo {
	bool known; /* mnt_id and ino are valid */
	uint64_t mnt_id, ino;
	pid_t (*to_virtual)(void *arg, pid_t host);
	void *arg;
};
void proctext_fdinfo(const char *in, size_t len,
		     const struct proctext_fdinfo *f, struct strbuf *out);

/* /proc/PID/sched: the pid in its first line. */
void proctext_sched(const char *in, size_t len, pid_t pid, struct strbuf *out);
/* /proc/loadavg: the last pid. */
void proctext_loadavg(const char *in, size_t len, pid_t last,
		      struct strbuf *out);
/* /proc/net/unix: paths of sockets that are not abstract are dropped, since
 * they name places of the store. */
void proctext_net_unix(const char *in, size_t len, struct strbuf *out);

/* Appends s with space, tab, newline and backslash as \ooo (mountinfo). */
void proctext_mangle(struct strbuf *out, const char *s);

#endif

/*
 * jail.h - the walls around the guests, built in the child that becomes init.
 *
 * Jailed: user, mount, pid, net, ipc and uts namespaces; an empty root that
 * holds nothing but the stub; no capability, locked securebits, Landlock,
 * no_new_privs, the seccomp filter. Bare: the same without namespaces. The
 * sentry stays outside and answers everything that names something.
 *
 * Whether user namespaces work is found out by building the whole jail: some
 * distributions grant the namespace and refuse its capabilities.
 */
#ifndef CLOCHE_JAIL_H
#define CLOCHE_JAIL_H

#include <linux/filter.h>

#include "config.h"

/* Kernel ids of guests that real root starts: above what useradd, systemd's
 * dynamic users and subordinate ranges hand out. */
#define JAIL_HIGH_ID 1879048192u

struct jail {
	const struct config *cfg;
	bool bare;
	pid_t init;	 /* host pid */
	int sock;	 /* to init; SEQPACKET */
	int store_fd;	 /* root directory of the store; taken by the VFS */
	int devpts_fd;	 /* -1: none */
	int listener;	 /* seccomp notifications */
	char *stub_path; /* the stub's path as guests' exec names it */
	dev_t stub_dev;	 /* identity of the stub, checked at every exec */
	ino_t stub_ino;
	char *bare_dir;	  /* bare: host directory of stub and store */
	int bare_lock;	  /* its lock, held for good; -1 */
	char reason[256]; /* why the jail could not be built */
	int mount_fd;	  /* of a store made by root; init lets go of it */
	bool landlock;	  /* this wall stands */
	bool fatal;	  /* reason is none for bare mode */
};

/*
 * Starts a child that builds the jail around itself, then waits for it; the
 * child is left waiting, not yet filtered. In between it works alongside.
 * 0, or -errno with jail->reason set and nothing left behind.
 */
int MUST_CHECK jail_begin(struct jail *j, const struct config *cfg, bool bare);
int MUST_CHECK jail_ready(struct jail *j);
/* Has the child load the filter, once it is traced; then waits for that and
 * sets j->listener. */
int MUST_CHECK jail_filter(struct jail *j, const struct sock_fprog *prog);
int MUST_CHECK jail_listener(struct jail *j);
/* A command for init to start; all is borrowed. */
struct jail_command {
	uint32_t id;	/* given back when it has ended */
	bool last;	/* the sandbox ends with it */
	int block;	/* what to run: command.h */
	int tty;	/* becomes its controlling terminal; -1: none */
	const int *fds; /* its descriptors 0-2; -1: closed */
};
int MUST_CHECK jail_start(struct jail *j, const struct jail_command *c);
/* Passes a signal on to a command's process group. */
void jail_signal(struct jail *j, uint32_t id, int sig);
/* Removes what lies on the host (bare mode's directory). */
void jail_fini(struct jail *j);

/* Messages of init to the sentry. */
enum jail_msg_kind {
	JAIL_READY = 1, /* built; descriptors attached */
	JAIL_FAILED,	/* value: errno, text: on what */
	JAIL_LISTENER,	/* one descriptor attached */
	JAIL_EXITED,	/* value: wait status of command `id` */
	JAIL_MAPPED,	/* to init: uid and gid maps are written; value: the
			 * store exists */
	JAIL_FILTER,	/* to init: load the filter that follows */
	JAIL_RUN,	/* to init: start a command, descriptors attached;
			 * value: the sandbox ends with it */
	JAIL_SIGNAL,	/* to init: value is a signal for command `id` */
};

struct jail_msg {
	uint32_t kind;
	int32_t value;
	uint32_t id;	 /* of a command */
	uint32_t fdmask; /* JAIL_RUN: bit n: descriptor n is attached; bit 3:
			  * the terminal. Before them: the command's block */
	uint32_t landlock;
	uint32_t fatal; /* JAIL_FAILED: bare mode would not help */
	uint64_t stub_dev, stub_ino;
	char text[200];
};

enum { JAIL_FDS = 5 };
/* Commands that run at once; more are refused by the sentry. */
enum { JAIL_COMMANDS = 256 };

int MUST_CHECK jail_send(int sock, const struct jail_msg *m, const int *fds,
			 unsigned nfds);
/* Fills fds with nfds descriptors; -1 for those not sent. */
int MUST_CHECK jail_recv(int sock, struct jail_msg *m, int *fds, unsigned nfds);

/* In the child, never returns (init.c). */
NORETURN void init_main(const struct config *cfg, int sock, int mount_fd,
			bool bare, const char *bare_dir);

/* How many files the store may hold: each costs kernel memory that its size
 * limit does not count. */
static inline uint64_t jail_store_inodes(const struct config *cfg)
{
	uint64_t n = cfg->limits.disk / 8192;

	return n < 16384 ? 16384 : n;
}

/* Landlock domain that allows executing the stub, and reading and writing the
 * message queues whose root is `queues` (or -1), alone: 1 if it stands, 0 if
 * the kernel has none, -errno. */
int landlock_restrict(const char *stub_path, int queues);

#endif

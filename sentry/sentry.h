/*
 * sentry.h - the one struct that holds a sandbox's supervisor.
 *
 * Lock order: state lock -> audit's own -> nothing. Workers and the notify
 * thread take the state lock; the tracer takes it for short sections.
 */
#ifndef CLOCHE_SENTRY_H
#define CLOCHE_SENTRY_H

#include <pthread.h>

#include "base/base.h"
#include "base/hash.h"
#include "base/list.h"
#include "config.h"
#include "../fs/vfs.h"

struct audit;
struct policy;
struct vfs;
struct call;
struct stacks;
struct affinity;

struct sentry {
	const struct config *cfg;
	char id[32];
	bool bare;		/* no user namespaces */
	_Atomic bool pids_full; /* the limit of processes was reached once */
	_Atomic bool ending;	/* all guests are being killed */
	bool every_call;	/* the tracer stops at each (observe.h) */
	bool aslr;	      /* what guests start with: addresses are random */
	pthread_mutex_t lock; /* the state lock */
	struct vfs *vfs;      /* under lock */
	struct policy *policy;		     /* immutable */
	struct audit *audit;		     /* own locking */
	struct htable tasks, tgroups_by_pid; /* under lock */
	struct list tgroups;		     /* under lock */
	struct list fd_tables; /* of tasks, last used first; under lock */
	unsigned fd_tables_open;
	uid_t kuid;   /* the guests' kernel ids, as the sentry's fstat shows */
	gid_t kgid;   /* them; set by launch */
	int listener; /* seccomp notification descriptor */
	char *stub_path; /* as guests' exec names the stub */
	dev_t stub_dev;
	ino_t stub_ino;
	pid_t init; /* host pid of the guest init */
	int init_pidfd;
	int devpts_fd; /* root of the sandbox's devpts, -1 if none */
	int tty_ptmx, tty_slave_nr; /* terminal relay; -1 if none */
	struct vref stdio[3];	    /* inherited descriptors, see launch */
	struct htable sockets;	    /* net names of Unix sockets; under lock */
	void *decode_plans;	    /* syscalls/decode.c; the notify thread's */
	void *locks;		    /* syscalls/locks.c; under lock */
	bool ofd_locks;		    /* some were asked for; under lock */
	bool memory_files, huge_files; /* guests may have some: memfiles.c */
	void *inotify;		       /* syscalls/inotify.c; under lock */
	struct list images;	       /* exec_image.c; under lock */
	unsigned images_kept;	       /* of them */
	void *trace;		       /* trace.c */
	struct affinity *affinity;     /* affinity.h */
	void *workers;		       /* workers.c */
	void *procsrc;		       /* procsrc.c; under lock */
	struct stacks *stacks;	       /* own locking; NULL: not asked for */
	void *outside;		       /* outside.c; NULL: no network */
	void *http; /* outside_http.c; NULL: no rules about requests */
	int exit_status;
	uint64_t start_ns;
};

static inline void sentry_lock(struct sentry *s)
{
	pthread_mutex_lock(&s->lock);
}

static inline void sentry_unlock(struct sentry *s)
{
	pthread_mutex_unlock(&s->lock);
}

#endif

/*
 * config.h - what `cloche run` was asked to do: the product of the option
 * tables, read by launch. Plain data; strings are owned by the config unless
 * said otherwise, and live for the whole run.
 */
#ifndef CLOCHE_CONFIG_H
#define CLOCHE_CONFIG_H

#include <sys/resource.h>

#include "base/base.h"

struct vfs;
struct audit;
struct run_service;

enum file_access { FILE_RO, FILE_RW, FILE_HIDE, FILE_TMPFS };

/* One --ro, --rw, --hide, --tmpfs, in the order given. */
struct file_rule {
	enum file_access access;
	char *path;   /* absolute host path, or a glob for FILE_HIDE */
	char *guest;  /* where it is shown; equal to path if not given */
	char *origin; /* what a person wrote: "--hide *.pem", "policy.yaml:4" */
};

/* One --net-allow or --net-deny, in the order given (net/allow.h). */
struct net_rule {
	bool allow;
	char *text;
	char *origin; /* "policy.yaml:4"; NULL: the option */
};

enum apply_mode { APPLY_NONE, APPLY_ASK };

struct limits {			       /* 0: not limited */
	uint64_t memory, disk, output; /* bytes */
	uint64_t pids;
	double cpus;
	uint64_t timeout_ms, cpu_time_ms;
	uint64_t net_rate, net_connections, net_opens, net_idle_ms, net_time_ms;
};

struct config {
	char **argv;   /* the command, NULL-terminated */
	char **envp;   /* the guest's environment, NULL-terminated */
	char *workdir; /* absolute virtual path to start in */
	char *project; /* host directory that counts as the work directory */
	char *root;    /* --root DIR or NULL */
	const char
		*profile; /* "agent" (default), "home", "strict", "observe" */
	char *name;	  /* --name or NULL */
	bool keep;	  /* --keep: stays when its command has ended */
	struct run_service *service; /* borrowed; NULL: none */
	struct file_rule *files;
	size_t nfiles;
	struct net_rule *net;
	size_t nnet;
	char **publish; /* --publish, as given */
	size_t npublish;
	char *dns; /* --dns ADDRESS or NULL */
	/* --http-allow, --secret, --inject, --secret-env, as given */
	struct config_texts {
		char **text;
		char **origin; /* each "policy.yaml:4"; NULL: the option */
		size_t count;
	} http, secrets, injects, secret_env;
	char *net_ca; /* --net-ca FILE, absolute, or NULL */
	struct limits limits;
	char *audit;		/* FILE, "fd:N", "unix:PATH", "-" or NULL */
	bool audit_all, stacks; /* --audit-level all, --stacks */
	int audit_head_fd;	/* -1: none */
	int costs_fd;		/* there the sentry's own times go; -1 */
	bool quiet;		/* no refusal lines */
	bool diff, json;	/* --diff, --json */
	bool patch, stat, by;	/* --patch, --stat, --by */
	enum apply_mode apply;
	bool insecure_no_userns; /* bare mode by force */
	bool virtual_root;	 /* --user root, or started by root */
	bool virtual_ids;	 /* --user: the ids are not the caller's */
	struct rlimit nofile;	 /* the caller's, for guests; set by launch */
	uid_t uid;		 /* the guest's ids, as it sees them */
	gid_t gid;
	gid_t *groups;
	size_t ngroups;
	char *home; /* the user's home directory */
	char *username;
	/* Called when the last guest has ended, before the file system and the
	 * audit stream are closed; NULL: nothing. */
	void (*after)(const struct config *cfg, struct vfs *vfs,
		      struct audit *audit);
	char **kept; /* strings of policy files that others borrow */
	size_t nkept;
	/* How it was asked for, so that it can be made again: the options'
	 * words, ended by NULL; borrowed. */
	char **asked, **asked_env;
	char *asked_cwd;
	/* Fills the new, empty overlays before anything starts; 0, or -errno
	 * after a message. NULL: nothing. */
	int (*seed)(const struct config *cfg, struct vfs *vfs);
	int seed_fd; /* its connection: stays open for good */
	const char *seed_name;
	int *after_status; /* there after() puts a failure of its own, as an
			    * exit status; borrowed; NULL: nobody asks */
};

#endif

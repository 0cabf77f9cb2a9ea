/*
 * config_priv.h - what the files share that read the options of a run.
 */
#ifndef CLOCHE_CONFIG_PRIV_H
#define CLOCHE_CONFIG_PRIV_H

#include "cli.h"
#include "../policy/file.h"

/* The target of the table: the config and what it is made from. */
struct run_options {
	struct config cfg; /* first: offsets of rows are those of the config */
	char **env;	   /* -e, as given */
	size_t nenv;
	char *host_workdir; /* --workdir, as given */
	const char *user;   /* --user, as given */
	char *guest_home;   /* HOME inside, where it is not the caller's */
	bool asks;	    /* policy show, check: nothing is made or run */
	const char *base;   /* relative paths begin here; NULL: where we are */
	/* of a policy file's entry; NULL: an option */
	const struct policy_option *entry;
};

/* ---- config_files.c: --ro, --rw, --hide, --tmpfs, --root ---- */
/* Owned. */
char *config_absolute(const struct run_options *o, const char *path);
int opt_ro(void *t, const char *value, struct strbuf *err);
int opt_rw(void *t, const char *value, struct strbuf *err);
int opt_tmpfs(void *t, const char *value, struct strbuf *err);
int opt_hide(void *t, const char *value, struct strbuf *err);
int opt_root(void *t, const char *value, struct strbuf *err);

/* ---- config_identity.c ---- */
/* After the options: the ids, the name and the homes. 0, or -EINVAL after a
 * message. */
int MUST_CHECK config_identity(struct run_options *o);

/* ---- config_git.c ---- */
int opt_git(void *t, const char *value, struct strbuf *err);

/* ---- config_policy.c: --policy and the user's own file ---- */
/* Reads what argv names, before the options themselves, which win. 0, or
 * -EINVAL after a message. */
int MUST_CHECK config_policies(struct run_options *o, int argc, char **argv);
/* One file named by a command; 0, or -EINVAL after a message. */
int MUST_CHECK config_policy_file(struct run_options *o, const char *path);
int opt_agent(void *t, const char *value, struct strbuf *err);
int opt_policy(void *t, const char *value, struct strbuf *err);

/* ---- config.c ---- */
int config_add_net(struct run_options *o, bool allow, const char *value,
		   struct strbuf *err);

/* ---- config_http.c: --http-allow, --secret, --inject ... ---- */
int opt_http_allow(void *t, const char *value, struct strbuf *err);
int opt_net_ca(void *t, const char *value, struct strbuf *err);
int opt_secret(void *t, const char *value, struct strbuf *err);
int opt_inject(void *t, const char *value, struct strbuf *err);
int opt_secret_env(void *t, const char *value, struct strbuf *err);
/* What the options say of each other, once all are read: 0, or -EINVAL after
 * a message. */
int MUST_CHECK config_http(const struct run_options *o);
void config_http_fini(struct config *cfg);

#endif

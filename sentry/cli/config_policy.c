/*
 * config_policy.c - policy files: which are read, and how their entries
 * become options.
 *
 * --policy FILE, or else the user's own $XDG_CONFIG_HOME/cloche/policy.yaml.
 * Never one that is found in the work directory: who wrote that may be the one
 * who is not trusted. Options of the command line come after the files, so
 * that they win. A file that cannot be read or understood ends the run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "config_priv.h"
#include "../policy/agents.h"
#include "../policy/doc.h"

enum { FILES_MAX = 16 };

/* What argv says of files, before the options are read. */
struct named {
	const char *file[FILES_MAX];
	size_t count;
	const char *agent[FILES_MAX];
	size_t nagents;
	const char *workdir;
	bool too_many;
};

static int note(void *arg, const char *name, const char *value)
{
	struct named *n = arg;

	if (strcmp(name, "workdir") == 0)
		n->workdir = value;
	if (strcmp(name, "agent") == 0) {
		n->too_many |= n->nagents == FILES_MAX;
		if (!n->too_many)
			n->agent[n->nagents++] = value;
	}
	if (strcmp(name, "policy") != 0)
		return 0;
	n->too_many |= n->count == FILES_MAX;
	if (!n->too_many)
		n->file[n->count++] = value;
	return 0;
}

/* Its files are read before (config_policies). */
int opt_policy(void *t, const char *value, struct strbuf *err)
{
	(void)t;
	if (*value)
		return 0;
	strbuf_puts(err, "--policy: a FILE, or none, was expected");
	return -EINVAL;
}

/* Read before, too. */
int opt_agent(void *t, const char *value, struct strbuf *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	(void)t;
	if (*value && !value[strspn(value, letters)])
		return 0;
	strbuf_puts(err, "--agent: a name was expected");
	return -EINVAL;
}

static int apply(void *arg, const struct policy_option *po, struct strbuf *err)
{
	struct run_options *o = arg;
	struct config *cfg = &o->cfg;
	char *value = xstrdup(po->value);
	int ret;

	cfg->kept = realloc(cfg->kept, (cfg->nkept + 1) * sizeof(*cfg->kept));
	BUG_ON(!cfg->kept);
	cfg->kept[cfg->nkept++] = value;
	o->entry = po;
	ret = opt_set(cli_run_options, o, po->name, value, err);
	o->entry = NULL;
	return ret;
}

static char *read_all(const char *path, size_t *len, bool own)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		log_info("policy file %s: %s", path, strerror(errno));
		return NULL;
	}
	if (S_ISDIR(st.st_mode)) {
		log_info("policy file %s: a directory", path);
		return NULL;
	}
	if (own && ((st.st_uid != geteuid() && st.st_uid != 0) ||
		    (st.st_mode & (S_IWGRP | S_IWOTH)))) {
		log_info("policy file %s: others may write it; `chmod go-w` "
			 "it, or say --policy none",
			 path);
		return NULL;
	}
	/* one byte more than may be, so that more is seen */
	text = xmalloc(DOC_BYTES_MAX + 2);
	*len = 0;
	while (*len <= DOC_BYTES_MAX &&
	       (n = read(fd, text + *len, DOC_BYTES_MAX + 1 - *len)) != 0) {
		if (n > 0) {
			*len += (size_t)n;
		} else if (errno != EINTR) {
			/* what has come may lack the denials */
			log_info("policy file %s: %s", path, strerror(errno));
			free(text);
			return NULL;
		}
	}
	text[*len] = '\0';
	return text;
}

static int read_text(struct run_options *o, const char *name, const char *text,
		     size_t len)
{
	struct policy_file_sink sink = {apply, o};
	struct strbuf err;
	int ret;

	strbuf_init(&err, 0);
	ret = policy_file_read(name, text, len, &sink, &err);
	if (ret)
		log_info("%s", err.data);
	strbuf_fini(&err);
	return ret;
}

static int read_file(struct run_options *o, const char *path, const char *name,
		     bool own)
{
	size_t len = 0;
	AUTO_FREE char *text = read_all(path, &len, own);

	return text ? read_text(o, name, text, len) : -EINVAL;
}

/* The path of a file in the user's configuration folder, if it is there; owned.
 */
static char *own_file(const char *name)
{
	const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path;

	if (dir && *dir == '/')
		path = xasprintf("%s/cloche/%s", dir, name);
	else if (home && *home == '/')
		path = xasprintf("%s/.config/cloche/%s", home, name);
	else
		return NULL;
	if (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return path;
	free(path);
	return NULL;
}

int config_policy_file(struct run_options *o, const char *path)
{
	const char *slash = strrchr(path, '/');

	return read_file(o, path, slash ? slash + 1 : path, false);
}

/* The user's own preset of that name, or the one that comes with cloche. */
static int read_agent(struct run_options *o, const char *name)
{
	AUTO_FREE char *label = xasprintf("agents/%s.yaml", name);
	AUTO_FREE char *own = NULL;
	const char *text = agents_find(name);
	struct strbuf err;

	strbuf_init(&err, 0);
	if (opt_agent(NULL, name, &err)) {
		log_info("%s", err.data);
		strbuf_fini(&err);
		return -EINVAL;
	}
	strbuf_fini(&err);
	own = own_file(label);
	if (own)
		return read_file(o, own, own, true);
	if (text)
		return read_text(o, label, text, strlen(text));
	strbuf_init(&err, 0);
	for (size_t i = 0; agents_name(i); i++)
		strbuf_printf(&err, " %s", agents_name(i));
	log_info("--agent %s: no such preset; there are%s, and your own in "
		 "~/.config/cloche/agents/NAME.yaml",
		 name, err.data);
	strbuf_fini(&err);
	return -EINVAL;
}

int config_policies(struct run_options *o, int argc, char **argv)
{
	AUTO_FREE char *base = NULL;
	AUTO_FREE char *own = NULL;
	struct named n = {0};
	int ret = 0;

	opt_each(cli_run_options, argc, argv, note, &n);
	if (n.too_many) {
		log_info("--policy, --agent: at most %d of each", FILES_MAX);
		return -EINVAL;
	}
	base = n.workdir ? config_absolute(o, n.workdir) : NULL;
	o->base = base;
	if (!n.count && (own = own_file("policy.yaml")))
		ret = read_file(o, own, own, true);
	for (size_t i = 0; !ret && i < n.nagents; i++)
		ret = read_agent(o, n.agent[i]);
	for (size_t i = 0; !ret && i < n.count; i++)
		if (strcmp(n.file[i], "none") != 0)
			ret = config_policy_file(o, n.file[i]);
	o->base = NULL;
	return ret;
}

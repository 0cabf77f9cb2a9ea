/*
 * cmd_diff.c - `cloche diff`, `cloche apply` and `cloche export`: what a kept
 * sandbox changed. The sandbox gives records and read-only descriptors; this
 * process, which is not confined, does the rest.
 */
#include <fcntl.h>

#include "changes.h"

#include "../../fs/apply.h"
#include "../../fs/export.h"
#include "../session/changes.h"

enum { PATHS_MAX = 4096 };

/* A sandbox's changes, and what it was started on. */
struct kept {
	struct session_changes *sc;
	struct change_source src;
};

static int kept_open(struct kept *k, const char *name)
{
	int ret = session_changes_open(name, &k->sc);

	if (!ret)
		session_changes_source(k->sc, &k->src);
	return ret;
}

/* Options stand before and after the name; what is no option goes to words. */
static int read_words(const char *command, const struct opt *table,
		      void *target, int argc, char **argv, char **words,
		      int max)
{
	int n = 0;

	for (;;) {
		int at = cli_options(command, table, target, argc, argv);

		if (at == OPT_HELP)
			return OPT_HELP;
		if (at < 0)
			return -EINVAL;
		if (at >= argc)
			return n;
		if (n == max) {
			log_info("%s: too many words", command);
			return -EINVAL;
		}
		words[n++] = argv[at];
		argv += at;
		argc -= at;
	}
}

static int no_name(const char *command)
{
	log_info("%s: which sandbox? `cloche ls` lists them", command);
	return CLI_FAILED;
}

/* ---- diff ------------------------------------------------------------ */

struct diff_options {
	struct diff_format f;
	char *root;
};

#define DIFF(field) offsetof(struct diff_options, field)

const struct opt cli_diff_options[] = {
	{"patch", 'p', NULL, OPT_FLAG, DIFF(f.patch), NULL,
	 "a patch for `git apply` and `patch -p1`"},
	{"stat", 0, NULL, OPT_FLAG, DIFF(f.stat), NULL,
	 "how many lines changed"},
	{"json", 0, NULL, OPT_FLAG, DIFF(f.json), NULL, "as JSON"},
	{"by", 0, NULL, OPT_FLAG, DIFF(f.by), NULL,
	 "grouped by the program that wrote"},
	{"root", 0, "DIR", OPT_STRING, DIFF(root), NULL,
	 "with --patch: names are relative to DIR (default: the work "
	 "directory)"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

int cli_diff_command(int argc, char **argv)
{
	struct diff_options o = {0};
	struct kept k;
	char *name;
	int n = read_words("diff", cli_diff_options, &o, argc, argv, &name, 1);

	if (n == OPT_HELP)
		return 0;
	if (n < 0)
		return CLI_FAILED;
	if (!n)
		return no_name("diff");
	if (kept_open(&k, name))
		return CLI_FAILED;
	o.f.root = o.root ? o.root : session_changes_workdir(k.sc);
	n = cli_diff(&k.src, &o.f);
	if (n < 0)
		log_host(n, "changes of %s", name);
	session_changes_close(k.sc);
	return n < 0 ? CLI_FAILED : 0;
}

/* ---- export ---------------------------------------------------------- */

struct export_options {
	char *output, *root;
};

const struct opt cli_export_options[] = {
	{"output", 'o', "FILE", OPT_STRING,
	 offsetof(struct export_options, output), NULL,
	 "write there instead of to standard output"},
	{"root", 0, "DIR", OPT_STRING, offsetof(struct export_options, root),
	 NULL, "names are relative to DIR (default: /)"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static int export_to(struct kept *k, const struct export_options *o, int fd)
{
	struct change_list list;
	size_t skipped = 0;
	int ret = changes_load(&k->src, CHANGES_IN_RENAMED | CHANGES_OPAQUE,
			       &list);

	if (ret < 0)
		return ret;
	ret = export_tar(&k->src, &list, o->root ? o->root : "/", fd, &skipped);
	if (!ret && skipped)
		log_warn("%zu changes outside of the root, or sockets, left "
			 "out",
			 skipped);
	changes_free(&k->src, &list);
	return ret;
}

int cli_export_command(int argc, char **argv)
{
	struct export_options o = {0};
	AUTO_CLOSE int fd = -1;
	struct kept k;
	char *name;
	int n = read_words("export", cli_export_options, &o, argc, argv, &name,
			   1);

	if (n == OPT_HELP)
		return 0;
	if (n < 0)
		return CLI_FAILED;
	if (!n)
		return no_name("export");
	if (o.output)
		fd = open(o.output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			  0666);
	else if (!isatty(1))
		fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
	else
		errno = EINVAL;
	if (fd < 0) {
		log_host(errno, "export to %s",
			 o.output ? o.output
				  : "a terminal: give --output FILE");
		return CLI_FAILED;
	}
	if (kept_open(&k, name))
		return CLI_FAILED;
	n = export_to(&k, &o, fd);
	if (n < 0)
		log_host(n, "export of %s", name);
	session_changes_close(k.sc);
	return n < 0 ? CLI_FAILED : 0;
}

/* ---- apply ----------------------------------------------------------- */

struct apply_options_cli {
	bool force, dry_run, outside, recover, ask;
	char *by;
};

#define APPLY(field) offsetof(struct apply_options_cli, field)

const struct opt cli_apply_options[] = {
	{"dry-run", 'n', NULL, OPT_FLAG, APPLY(dry_run), NULL,
	 "only say what would be applied, and what stands against it"},
	{"force", 'f', NULL, OPT_FLAG, APPLY(force), NULL,
	 "also over what has changed on the host"},
	{"by", 0, "PROGRAM", OPT_STRING, APPLY(by), NULL,
	 "only what that program wrote: a part of its command line, or its "
	 "pid"},
	{"outside", 0, NULL, OPT_FLAG, APPLY(outside), NULL,
	 "also outside of the work directory"},
	{"ask", 'i', NULL, OPT_FLAG, APPLY(ask), NULL, "ask on the terminal"},
	{"recover", 0, NULL, OPT_FLAG, APPLY(recover), NULL,
	 "finish what was interrupted, and no more"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static int recover(void)
{
	size_t found;
	int ret = apply_recover(NULL, &found);

	if (ret < 0)
		return CLI_FAILED;
	log_info("%zu interrupted apply%s found", found,
		 found ? ", finished," : "");
	return 0;
}

/* From where the command is given, without ".." and links: the last name
 * need not exist on the host. */
static char *host_path(const char *word)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	AUTO_FREE char *all =
		*word == '/' ? xstrdup(word)
			     : xasprintf("%s/%s", cwd ? cwd : "", word);
	char *out = xmalloc(strlen(all) + 2), *end = out;

	for (const char *p = all; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.') {
			while (end > out && *--end != '/')
				;
		} else if (len && !(len == 1 && *p == '.')) {
			*end++ = '/';
			end = mempcpy(end, p, len);
		}
		p += len + (p[len] != '\0');
	}
	if (end == out)
		*end++ = '/';
	*end = '\0';
	return out;
}

static bool any_outside(const struct apply_request *r)
{
	for (size_t i = 0; i < r->npaths; i++)
		if (!changes_below(r->paths[i], r->root))
			return true;
	return false;
}

static int announce(void *arg, const struct apply_request *r, size_t changes)
{
	return session_changes_announce(arg, r->root, r->paths, r->npaths,
					changes);
}

static int apply_named(const struct apply_options_cli *o, const char *name,
		       struct apply_request *r)
{
	struct kept k;
	int ret;

	if (kept_open(&k, name))
		return CLI_FAILED;
	r->announce = announce;
	r->arg = k.sc;
	r->root = session_changes_project(k.sc);
	if (!r->root || o->outside || any_outside(r))
		r->root = "/";
	if (o->ask)
		r->tty = fopen("/dev/tty", "r+e");
	if (o->ask && !r->tty) {
		log_info("apply --ask: no terminal to ask on");
		ret = CLI_FAILED;
	} else {
		ret = cli_apply_changes(&k.src, r);
	}
	if (r->tty)
		fclose(r->tty);
	session_changes_close(k.sc);
	return ret;
}

int cli_apply_command(int argc, char **argv)
{
	struct apply_options_cli o = {0};
	AUTO_FREE char **words = xcalloc(PATHS_MAX, sizeof(*words));
	int n = read_words("apply", cli_apply_options, &o, argc, argv, words,
			   PATHS_MAX);
	struct apply_request r;
	int ret;

	if (n == OPT_HELP)
		return 0;
	if (n < 0)
		return CLI_FAILED;
	if (o.recover)
		return recover();
	if (!n)
		return no_name("apply");
	r = (struct apply_request){.force = o.force,
				   .dry_run = o.dry_run,
				   .by = o.by,
				   .npaths = (size_t)n - 1};
	for (int i = 1; i < n; i++)
		words[i] = host_path(words[i]);
	r.paths = (const char **)words + 1;
	ret = apply_named(&o, words[0], &r);
	for (int i = 1; i < n; i++)
		free(words[i]);
	return ret;
}

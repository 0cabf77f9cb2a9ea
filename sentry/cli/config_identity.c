/*
 * config_identity.c - whom the guest's programs take themselves for: --user,
 * and the names, groups and home directory that go with it.
 *
 * Names are looked up in the system that the guest will see: the host's, or
 * the tree of --root, whose author is not trusted: its files are opened inside
 * of it, only as regular files, and read by the C library's own parser.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "config_priv.h"

enum { GROUPS_MOST = 256, LINES_MOST = 100000 };

/* /etc/passwd or /etc/group of the tree (NULL: the host); NULL: none there. */
static FILE *tree_open(const char *tree, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_CLOSE int root =
		open(tree ? tree : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	struct stat st;
	FILE *f;

	if (root < 0)
		return NULL;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	f = fdopen(fd, "r");
	if (f)
		fd = -1;
	return f;
}

/* By name, or (NULL) by number, in the tree's file. */
static struct passwd *find_in_file(const char *tree, const char *name,
				   uid_t uid)
{
	struct passwd *pw = NULL;
	FILE *f = tree_open(tree, "etc/passwd");

	for (int i = 0; f && i < LINES_MOST && (pw = fgetpwent(f)); i++)
		if (name ? !strcmp(pw->pw_name, name) : pw->pw_uid == uid)
			break;
	if (f)
		fclose(f);
	return pw && (name ? !strcmp(pw->pw_name, name) : pw->pw_uid == uid)
		       ? pw
		       : NULL;
}

/* The result is the library's, as getpwnam's. */
static struct passwd *find_user(const struct config *cfg, const char *name,
				uid_t uid)
{
	if (cfg->root)
		return find_in_file(cfg->root, name, uid);
	return name ? getpwnam(name) : getpwuid(uid);
}

/* Who we are. Mostly the file says, for less than the library asks daemons and
 * its configuration first; else there are directories of users. */
static struct passwd *find_self(void)
{
	struct passwd *pw = find_in_file(NULL, NULL, getuid());

	return pw ? pw : getpwuid(getuid());
}

static struct group *find_group(const struct config *cfg, const char *name)
{
	struct group *gr = NULL;
	FILE *f;

	if (!cfg->root)
		return getgrnam(name);
	f = tree_open(cfg->root, "etc/group");
	for (int i = 0; f && i < LINES_MOST && (gr = fgetgrent(f)); i++)
		if (!strcmp(gr->gr_name, name))
			break;
	if (f)
		fclose(f);
	return gr && !strcmp(gr->gr_name, name) ? gr : NULL;
}

static void add_group(struct config *cfg, gid_t gid)
{
	for (size_t i = 0; i < cfg->ngroups; i++)
		if (cfg->groups[i] == gid)
			return;
	if (cfg->ngroups < GROUPS_MOST)
		cfg->groups[cfg->ngroups++] = gid;
}

static bool is_member(const struct group *gr, const char *name)
{
	for (char **m = gr->gr_mem; m && *m; m++)
		if (!strcmp(*m, name))
			return true;
	return false;
}

static void groups_of(struct config *cfg, const char *name, gid_t gid)
{
	struct group *gr;
	FILE *f = tree_open(cfg->root, "etc/group");

	add_group(cfg, gid);
	for (int i = 0; f && i < LINES_MOST && (gr = fgetgrent(f)); i++)
		if (is_member(gr, name))
			add_group(cfg, gr->gr_gid);
	if (f)
		fclose(f);
}

/* A number that an id can be, or -1. */
static int64_t id_number(const char *text)
{
	uint64_t v = 0;

	if (!*text || strlen(text) > 10 || text[strspn(text, "0123456789")])
		return -1;
	for (; *text; text++)
		v = v * 10 + (uint64_t)(*text - '0');
	return v < UINT32_MAX ? (int64_t)v : -1;
}

static int unknown(const char *what, const char *name, const char *option)
{
	struct strbuf shown;

	strbuf_init(&shown, PATH_LEN_MAX);
	strbuf_visible(&shown, name, strlen(name));
	log_info("--user %s: no %s \"%s\" there; NAME, UID, or either with "
		 ":GROUP or :GID was expected",
		 option, what, shown.data ? shown.data : "");
	strbuf_fini(&shown);
	return -EINVAL;
}

/* USER is root if it names no other. */
static int virtual_user(struct run_options *o, const char *user)
{
	struct config *cfg = &o->cfg;
	int64_t uid = id_number(user);
	bool root = !strcmp(user, "root"); /* in a tree without passwd, too */
	struct passwd *pw = find_user(cfg, uid < 0 ? user : NULL, (uid_t)uid);

	if (!pw && uid < 0 && !root)
		return unknown("user", user, o->user);
	cfg->uid = pw ? pw->pw_uid : root ? 0 : (uid_t)uid;
	cfg->gid = pw ? pw->pw_gid : 0;
	free(cfg->username);
	cfg->username = pw	    ? xstrdup(pw->pw_name)
			: !cfg->uid ? xstrdup("root")
				    : xasprintf("%u", (unsigned)cfg->uid);
	free(o->guest_home);
	o->guest_home =
		xstrdup(pw && pw->pw_dir && *pw->pw_dir == '/' ? pw->pw_dir
			: cfg->uid			       ? "/"
							       : "/root");
	return 0;
}

static int virtual_group(struct run_options *o, const char *group)
{
	int64_t gid = id_number(group);
	struct group *gr = gid < 0 ? find_group(&o->cfg, group) : NULL;

	if (gid < 0 && !gr)
		return unknown("group", group, o->user);
	o->cfg.gid = gr ? gr->gr_gid : (gid_t)gid;
	return 0;
}

static int virtual_ids(struct run_options *o)
{
	struct config *cfg = &o->cfg;
	AUTO_FREE char *user = xstrdup(o->user);
	char *group = strchr(user, ':');
	int ret;

	if (group)
		*group++ = '\0';
	cfg->virtual_ids = true;
	ret = virtual_user(o, user);
	if (!ret && group)
		ret = virtual_group(o, group);
	if (ret)
		return ret;
	free(cfg->groups);
	cfg->groups = xcalloc(GROUPS_MOST, sizeof(gid_t));
	cfg->ngroups = 0;
	if (group)
		add_group(cfg, cfg->gid);
	else
		groups_of(cfg, cfg->username, cfg->gid);
	cfg->virtual_root = cfg->uid == 0;
	/* The caller's own home is in the tree, and the caller's still. */
	if (!cfg->root && getuid() != 0) {
		free(o->guest_home);
		o->guest_home = NULL;
	}
	return 0;
}

static void own_ids(struct config *cfg)
{
	const struct passwd *pw = find_self();
	const char *home = getenv("HOME");
	int n = getgroups(0, NULL);

	cfg->uid = getuid();
	cfg->gid = getgid();
	cfg->groups = xcalloc(n > 0 ? (size_t)n : 1, sizeof(gid_t));
	n = n > 0 ? getgroups(n, cfg->groups) : 0;
	cfg->ngroups = n > 0 ? (size_t)n : 0;
	if (!home || *home != '/')
		home = pw && pw->pw_dir && *pw->pw_dir == '/' ? pw->pw_dir
							      : "/";
	cfg->home = xstrdup(home);
	cfg->username =
		pw ? xstrdup(pw->pw_name) : xasprintf("%u", (unsigned)cfg->uid);
	cfg->virtual_root = cfg->uid == 0;
}

int config_identity(struct run_options *o)
{
	struct config *cfg = &o->cfg;
	const struct passwd *pw;

	own_ids(cfg);
	if (o->user)
		return virtual_ids(o);
	if (!cfg->root)
		return 0;
	/* Another system: the home directory is what it says of us. */
	pw = find_user(cfg, NULL, cfg->uid);
	o->guest_home = xstrdup(pw && *pw->pw_dir == '/' ? pw->pw_dir : "/");
	return 0;
}

/*
 * changes.c - see changes.h. Asks over one connection: the list the sandbox
 * holds belongs to it, and records are named by their place in that list.
 */
#include "changes.h"

#include <sys/stat.h>

#include "session.h"

#define LIST_MAX ((off_t)256 << 20)

struct session_changes {
	int fd;
	char *name, *workdir, *project;
};

static int open_one(struct session_changes *sc, const struct change *c,
		    bool old, int *fd)
{
	/* priv is the place in the sandbox's list, plus one; this process may
	 * have filtered its own. */
	json_t *req =
		json_pack("{s:I,s:b}", "index",
			  (json_int_t)((uintptr_t)c->priv - 1), "old", old);
	struct control_msg m;
	int ret = session_ask(sc->fd, sc->name, "open_change", req, &m);

	if (ret)
		return ret < 0 ? ret : -EIO;
	*fd = control_take_fd(&m, 0);
	control_msg_fini(&m);
	return *fd < 0 ? -EPROTO : 0;
}

static int source_old(struct change_source *src, const struct change *c,
		      int *fd)
{
	return open_one(src->arg, c, true, fd);
}

static int source_new(struct change_source *src, const struct change *c,
		      int *fd)
{
	return open_one(src->arg, c, false, fd);
}

static int read_all(int fd, char **data, size_t *len)
{
	struct stat st;
	size_t done = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > LIST_MAX)
		return -EMSGSIZE;
	*len = (size_t)st.st_size;
	*data = malloc(*len + 1);
	if (!*data)
		return -ENOMEM;
	while (done < *len) {
		ssize_t n = pread(fd, *data + done, *len - done, (off_t)done);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static int source_load(struct change_source *src, unsigned flags,
		       struct change_list *out)
{
	struct session_changes *sc = src->arg;
	AUTO_FREE char *data = NULL;
	AUTO_CLOSE int fd = -1;
	struct control_msg m;
	size_t len = 0;
	int ret = session_ask(sc->fd, sc->name, "list_changes",
			      json_pack("{s:i}", "flags", (int)flags), &m);

	if (ret)
		return ret < 0 ? ret : -EIO;
	fd = control_take_fd(&m, 0);
	control_msg_fini(&m);
	ret = fd < 0 ? -EPROTO : read_all(fd, &data, &len);
	if (ret < 0)
		return ret;
	ret = changes_decode(data, len, out);
	for (size_t i = 0; i < out->count; i++)
		out->all[i].priv = (void *)(uintptr_t)(i + 1);
	return ret;
}

void session_changes_source(struct session_changes *sc,
			    struct change_source *src)
{
	*src = (struct change_source){
		.load = source_load,
		.open_old = source_old,
		.open_new = source_new,
		.arg = sc,
	};
}

int session_changes_open(const char *name, struct session_changes **out)
{
	struct session_changes *sc = xcalloc(1, sizeof(*sc));
	struct control_msg m;
	const char *project;
	int ret = session_connect(name, &sc->fd);

	if (ret) {
		free(sc);
		return ret < 0 ? ret : -ENOENT;
	}
	sc->name = xstrdup(name);
	ret = session_ask(sc->fd, name, "inspect", NULL, &m);
	if (ret) {
		session_changes_close(sc);
		return ret < 0 ? ret : -EIO;
	}
	project = control_text(m.root, "project", NULL);
	sc->workdir = xstrdup(control_text(m.root, "cwd", "/"));
	sc->project = project ? xstrdup(project) : NULL;
	control_msg_fini(&m);
	*out = sc;
	return 0;
}

void session_changes_close(struct session_changes *sc)
{
	auto_close_fd(&sc->fd);
	free(sc->name);
	free(sc->workdir);
	free(sc->project);
	free(sc);
}

const char *session_changes_workdir(const struct session_changes *sc)
{
	return sc->workdir;
}

const char *session_changes_project(const struct session_changes *sc)
{
	return sc->project;
}

int session_changes_announce(struct session_changes *sc, const char *root,
			     const char *const *paths, size_t npaths,
			     size_t changes)
{
	enum { SHOWN = 100 }; /* a request has a size */
	json_t *list = json_array(), *req;
	struct control_msg m;
	int ret;

	for (size_t i = 0; i < npaths && i < SHOWN; i++)
		json_array_append_new(list, control_string(paths[i]));
	req = json_pack("{s:o,s:o,s:I}", "root", control_string(root), "paths",
			list, "changes", (json_int_t)changes);
	ret = session_ask(sc->fd, sc->name, "applying", req, &m);
	if (!ret)
		control_msg_fini(&m);
	return ret;
}

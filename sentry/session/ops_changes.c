/*
 * ops_changes.c - what a kept sandbox says of its changes: a list, and the
 * contents behind each record as read-only descriptors.
 *
 * "list_changes" {flags}: the answer has a memfd of what changes_encode
 *   makes. The list stays with the connection until the next one.
 * "open_change" {index, old}: a descriptor of that record's contents.
 *
 * The sandbox never writes to the host; the client does.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "../../fs/changes.h"
#include "server.h"

enum { LIST_MAX = 256 << 20 };

struct held_changes {
	struct change_source src;
	struct change_list list;
};

void held_changes_free(struct control_conn *c)
{
	struct held_changes *h = c->changes;

	if (!h)
		return;
	c->changes = NULL;
	sentry_lock(c->server->s);
	changes_free(&h->src, &h->list);
	sentry_unlock(c->server->s);
	free(h);
}

static int to_memfd(const struct strbuf *b, int *out)
{
	AUTO_CLOSE int fd = memfd_create("changes", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < b->len) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	*out = fd_take(&fd);
	return 0;
}

int op_list_changes(struct control_conn *c, struct control_msg *m,
		    struct strbuf *why)
{
	unsigned flags = (unsigned)control_number(m->root, "flags", 0);
	struct held_changes *h;
	AUTO_CLOSE int fd = -1;
	struct strbuf b;
	int ret;

	held_changes_free(c);
	h = xcalloc(1, sizeof(*h));
	strbuf_init(&b, LIST_MAX);
	sentry_lock(c->server->s);
	changes_from_vfs(&h->src, c->server->s->vfs);
	ret = changes_load(&h->src, flags, &h->list);
	sentry_unlock(c->server->s);
	if (ret < 0) {
		free(h);
		strbuf_fini(&b);
		return ret;
	}
	c->changes = h;
	changes_encode(&h->list, &b);
	if (b.truncated) {
		strbuf_puts(why, "too many changes for one list");
		ret = -EFBIG;
	} else {
		ret = to_memfd(&b, &fd);
	}
	strbuf_fini(&b);
	if (ret < 0)
		return ret;
	conn_answer_fds(c, json_pack("{s:b}", "ok", 1), &fd, 1);
	return 0;
}

int op_open_change(struct control_conn *c, struct control_msg *m,
		   struct strbuf *why)
{
	int64_t index = control_number(m->root, "index", -1);
	struct held_changes *h = c->changes;
	AUTO_CLOSE int fd = -1;
	int ret;

	if (!h || index < 0 || (uint64_t)index >= h->list.count) {
		strbuf_puts(why, "no such record in the last list");
		return -EINVAL;
	}
	sentry_lock(c->server->s);
	if (control_flag(m->root, "old"))
		ret = h->src.open_old(&h->src, &h->list.all[index], &fd);
	else
		ret = h->src.open_new(&h->src, &h->list.all[index], &fd);
	sentry_unlock(c->server->s);
	if (ret < 0)
		return ret;
	conn_answer_fds(c, json_pack("{s:b}", "ok", 1), &fd, 1);
	return 0;
}

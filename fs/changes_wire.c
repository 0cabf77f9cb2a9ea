/*
 * changes_wire.c - a list of changes as bytes, for another process.
 *
 * What is read may come from a sandbox that has been taken over: paths are
 * refused unless they are absolute, without empty, "." or ".." components.
 */
#include "changes.h"
#include "netstr.h"

enum { XATTRS_MAX = 4096 };
#define RECORDS_MAX ((uint64_t)4 << 20)

static void put_opt(struct strbuf *b, const char *s)
{
	netstr_put_num(b, s != NULL);
	if (s)
		netstr_put_str(b, s);
}

static char *get_opt(struct netstr *r)
{
	return netstr_get_num(r) ? netstr_get_str(r) : NULL;
}

static char *get_path(struct netstr *r)
{
	char *s = get_opt(r);

	for (const char *p = s; p && *p;) {
		size_t len;

		if (*p++ != '/')
			r->bad = true;
		len = strcspn(p, "/");
		if (r->bad || !len || len > NAME_LEN_MAX ||
		    (*p == '.' && (len == 1 || (len == 2 && p[1] == '.')))) {
			r->bad = true;
			break;
		}
		p += len;
	}
	if (s && !*s)
		r->bad = true;
	return s;
}

static void put_time(struct strbuf *b, struct timespec t)
{
	netstr_put_num(b, (uint64_t)t.tv_sec);
	netstr_put_num(b, (uint64_t)t.tv_nsec);
}

static struct timespec get_time(struct netstr *r)
{
	struct timespec t;

	t.tv_sec = (time_t)netstr_get_num(r);
	t.tv_nsec = (long)netstr_get_num(r);
	return t;
}

static void put_meta(struct strbuf *b, const struct change_meta *m)
{
	netstr_put_num(b, m->mode);
	if (!m->mode)
		return;
	netstr_put_num(b, m->uid);
	netstr_put_num(b, m->gid);
	netstr_put_num(b, m->rdev);
	netstr_put_num(b, m->size);
	put_time(b, m->atime);
	put_time(b, m->mtime);
	put_opt(b, m->target);
	netstr_put_num(b, m->nxattrs);
	for (size_t i = 0; i < m->nxattrs; i++) {
		netstr_put_str(b, m->xattrs[i].name);
		netstr_put(b, m->xattrs[i].value, m->xattrs[i].size);
	}
}

static void get_meta(struct netstr *r, struct change_meta *m)
{
	uint64_t n;

	m->mode = (mode_t)netstr_get_num(r);
	if (!m->mode)
		return;
	m->uid = (uid_t)netstr_get_num(r);
	m->gid = (gid_t)netstr_get_num(r);
	m->rdev = netstr_get_num(r);
	m->size = netstr_get_num(r);
	m->atime = get_time(r);
	m->mtime = get_time(r);
	m->target = get_opt(r);
	if (S_ISLNK(m->mode) != (m->target != NULL))
		r->bad = true;
	n = netstr_get_num(r);
	if (n > XATTRS_MAX)
		r->bad = true;
	if (r->bad || !n)
		return;
	m->xattrs = xcalloc(n, sizeof(*m->xattrs));
	for (; m->nxattrs < n; m->nxattrs++) {
		struct change_xattr *x = &m->xattrs[m->nxattrs];

		x->name = netstr_get_str(r);
		x->value = netstr_get(r, &x->size);
	}
}

static void put_ident(struct strbuf *b, const struct change_ident *id)
{
	netstr_put_num(b, id->dev);
	netstr_put_num(b, id->ino);
	netstr_put_num(b, id->mode);
	netstr_put_num(b, id->size);
	put_time(b, id->mtime);
	put_time(b, id->ctime);
	netstr_put_num(b, id->hash);
	netstr_put_num(b, id->hashed);
}

static void get_ident(struct netstr *r, struct change_ident *id)
{
	id->dev = netstr_get_num(r);
	id->ino = netstr_get_num(r);
	id->mode = (mode_t)netstr_get_num(r);
	id->size = netstr_get_num(r);
	id->mtime = get_time(r);
	id->ctime = get_time(r);
	id->hash = netstr_get_num(r);
	id->hashed = netstr_get_num(r) != 0;
}

enum { F_CONTENT = 1, F_ATTR = 2, F_INSIDE = 4, F_OPAQUE = 8 };

static void put_change(struct strbuf *b, const struct change *c)
{
	netstr_put_num(b, (uint64_t)c->kind);
	put_opt(b, c->path);
	put_opt(b, c->lower);
	put_opt(b, c->host);
	put_opt(b, c->lower_host);
	put_opt(b, c->linked);
	put_opt(b, c->by);
	netstr_put_num(b, (uint64_t)c->by_pid);
	netstr_put_num(b, (c->content ? F_CONTENT : 0) |
				  (c->attr ? F_ATTR : 0) |
				  (c->inside ? F_INSIDE : 0) |
				  (c->opaque ? F_OPAQUE : 0));
	netstr_put_num(b, c->group);
	netstr_put_num(b, c->has_base);
	if (c->has_base == CHANGE_SEEN)
		put_ident(b, &c->base);
	put_meta(b, &c->old);
	put_meta(b, &c->new);
}

static void get_change(struct netstr *r, struct change *c)
{
	uint64_t flags;

	c->kind = (enum vfs_change_kind)netstr_get_num(r);
	c->path = get_path(r);
	c->lower = get_path(r);
	c->host = get_path(r);
	c->lower_host = get_path(r);
	c->linked = get_path(r);
	c->by = get_opt(r);
	c->by_pid = (pid_t)netstr_get_num(r);
	flags = netstr_get_num(r);
	c->content = flags & F_CONTENT;
	c->attr = flags & F_ATTR;
	c->inside = flags & F_INSIDE;
	c->opaque = flags & F_OPAQUE;
	c->group = netstr_get_num(r);
	c->has_base = (enum change_base)netstr_get_num(r);
	if (c->has_base == CHANGE_SEEN)
		get_ident(r, &c->base);
	get_meta(r, &c->old);
	get_meta(r, &c->new);
	if (!c->path || !c->host || !c->kind ||
	    !strchr("AMDRTP", (char)c->kind) || !c->lower != !c->lower_host ||
	    (strchr("MDRT", (char)c->kind) && !c->lower) ||
	    (c->kind != VFS_DELETED && !c->new.mode))
		r->bad = true;
}

void changes_encode(const struct change_list *list, struct strbuf *out)
{
	netstr_put_num(out, list->count);
	for (size_t i = 0; i < list->count; i++)
		put_change(out, &list->all[i]);
}

int changes_decode(const char *data, size_t len, struct change_list *out)
{
	struct netstr r = {data, data + len, false};
	uint64_t n = netstr_get_num(&r);

	for (uint64_t i = 0; i < n && n < RECORDS_MAX && !r.bad; i++) {
		struct change *c = changes_add(out);

		get_change(&r, c);
		c->index = i;
	}
	return r.bad || n >= RECORDS_MAX ? -EBADMSG : 0;
}

/*
 * file.c - see file.h. Sections and keys are rows of tables.
 *
 * Trust: the file is the operator's. Order within a section is kept, since
 * the last rule that matches wins.
 */
#include "file.h"

#include <stdio.h>

#include "doc.h"

struct reader {
	const char *name; /* of the file */
	const struct policy_file_sink *sink;
	struct strbuf *err;
};

struct section {
	const char *name; /* NULL ends the table */
	int (*fn)(struct reader *r, const struct doc_node *n);
	const char *missing; /* known, not in this version: what it is */
};

/* ---- mistakes -------------------------------------------------------- */

static void at(struct reader *r, const struct doc_node *n)
{
	strbuf_visible(r->err, r->name, strlen(r->name));
	strbuf_printf(r->err, ":%u:%u: ", n->line, n->column);
}

static int expected(struct reader *r, const struct doc_node *n,
		    const char *what)
{
	at(r, n);
	strbuf_printf(r->err, "%s was expected", what);
	if (n->kind == DOC_SCALAR) {
		strbuf_puts(r->err, ", not \"");
		strbuf_visible(r->err, n->text, strlen(n->text));
		strbuf_puts(r->err, "\"");
	} else {
		strbuf_printf(r->err, ", not a %s",
			      n->kind == DOC_SEQUENCE ? "list" : "mapping");
	}
	return -EINVAL;
}

static int missing(struct reader *r, const struct doc_node *n, const char *key)
{
	at(r, n);
	strbuf_printf(r->err, "\"%s\" is missing here", key);
	return -EINVAL;
}

/* keys: the words that may stand here, with a blank between two. */
static bool is_word(const char *keys, const char *word)
{
	size_t len = strlen(word);

	for (const char *k = keys; *k; k += strspn(k, " ")) {
		size_t n = strcspn(k, " ");

		if (n == len && memcmp(k, word, n) == 0)
			return true;
		k += n;
	}
	return false;
}

static int check_map(struct reader *r, const struct doc_node *n,
		     const char *keys)
{
	if (n->kind != DOC_MAPPING) {
		AUTO_FREE char *what = xasprintf("a mapping of %s", keys);

		return expected(r, n, what);
	}
	for (size_t i = 0; i < n->count; i += 2) {
		AUTO_FREE char *what = NULL;

		if (is_word(keys, n->child[i]->text))
			continue;
		what = xasprintf("one of %s", keys);
		return expected(r, n->child[i], what);
	}
	return 0;
}

/* The scalar below a key: "" is none. *out is borrowed, NULL where the key is
 * not there and need not be. */
static int get_text(struct reader *r, const struct doc_node *map,
		    const char *key, bool must, const char **out)
{
	const struct doc_node *n = doc_get(map, key);

	*out = NULL;
	if (!n)
		return must ? missing(r, map, key) : 0;
	if (n->kind != DOC_SCALAR || !*n->text) {
		AUTO_FREE char *what = xasprintf("a value for \"%s\"", key);

		return expected(r, n, what);
	}
	*out = n->text;
	return 0;
}

/* The number of a word of words (NULL-terminated), 0 where there is no key. */
static int get_word(struct reader *r, const struct doc_node *map,
		    const char *key, const char *const *words, int *out)
{
	const char *text;
	struct strbuf b;
	int ret = get_text(r, map, key, false, &text);

	*out = 0;
	if (ret || !text)
		return ret;
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return 0;
		}
	}
	strbuf_init(&b, 0);
	strbuf_puts(&b, "one of");
	for (int i = 0; words[i]; i++)
		strbuf_printf(&b, " %s", words[i]);
	ret = expected(r, doc_get(map, key), b.data);
	strbuf_fini(&b);
	return ret;
}

/* ---- options --------------------------------------------------------- */

static int give(struct reader *r, const struct doc_node *n,
		struct policy_option *o)
{
	AUTO_FREE char *origin = xasprintf("%s:%u", r->name, n->line);
	struct strbuf err;
	size_t skip = 0, len = strlen(o->name);
	int ret;

	o->origin = origin;
	strbuf_init(&err, 0);
	ret = r->sink->option(r->sink->arg, o, &err);
	if (ret) {
		/* an option's message on its value names the option first */
		if (err.len > len + 2 && memcmp(err.data, "--", 2) == 0 &&
		    memcmp(err.data + 2, o->name, len) == 0 &&
		    strncmp(err.data + 2 + len, " is ", 4) != 0)
			skip = len + 2;
		while (skip && skip < err.len &&
		       (err.data[skip] == ':' || err.data[skip] == ' '))
			skip++;
		at(r, n);
		strbuf_add(r->err, err.data + skip, err.len - skip);
	}
	strbuf_fini(&err);
	return ret;
}

static int option(struct reader *r, const struct doc_node *n, const char *name,
		  const char *value)
{
	struct policy_option o = {.name = name, .value = value};

	return give(r, n, &o);
}

static int each(struct reader *r, const struct doc_node *n, const char *what,
		int (*fn)(struct reader *r, const struct doc_node *item))
{
	int ret = 0;

	if (n->kind == DOC_SCALAR && n->plain && !*n->text)
		return 0; /* the section's name alone */
	if (n->kind != DOC_SEQUENCE)
		return expected(r, n, what);
	for (size_t i = 0; !ret && i < n->count; i++)
		ret = fn(r, n->child[i]);
	return ret;
}

/* ---- sections -------------------------------------------------------- */

static int read_profile(struct reader *r, const struct doc_node *n)
{
	if (n->kind != DOC_SCALAR)
		return expected(r, n, "the name of a profile");
	return option(r, n, "profile", n->text);
}

static int check_as(struct reader *r, const struct doc_node *n, bool shown)
{
	const struct doc_node *as = doc_get(n, "as");

	if (as && !shown)
		return expected(r, as, "no \"as\" but with ro and rw");
	if (as && (as->kind != DOC_SCALAR || *as->text != '/'))
		return expected(r, as, "an absolute path");
	return 0;
}

static int read_file(struct reader *r, const struct doc_node *n)
{
	static const char *const words[] = {"ro", "rw", "hide", "tmpfs", NULL};
	static const char *const absent[] = {
		[MISSING_FAILS] = "fail",
		[MISSING_SKIPPED] = "skip",
		[MISSING_MADE] = "make",
		NULL,
	};
	const char *path = NULL, *as = NULL;
	struct policy_option o = {0};
	AUTO_FREE char *value = NULL;
	int access = 0, how = 0,
	    ret = check_map(r, n, "path access as missing");

	if (!ret)
		ret = get_text(r, n, "path", true, &path);
	if (!ret && !doc_get(n, "access"))
		ret = missing(r, n, "access");
	if (!ret)
		ret = get_word(r, n, "access", words, &access);
	if (!ret)
		ret = check_as(r, n, access < 2);
	if (!ret)
		ret = get_text(r, n, "as", false, &as);
	if (!ret)
		ret = get_word(r, n, "missing", absent, &how);
	if (ret)
		return ret;
	value = as ? xasprintf("%s:%s", path, as) : xstrdup(path);
	o.name = words[access];
	o.value = value;
	o.missing = (enum policy_missing)how;
	return give(r, n, &o);
}

static int read_files(struct reader *r, const struct doc_node *n)
{
	return each(r, n, "a list of files like {path: ~/x, access: hide}",
		    read_file);
}

/* "443,8000" or "GET,HEAD" from a value or a list; owned, NULL: none. */
static int join(struct reader *r, const struct doc_node *n, const char *what,
		char **out)
{
	struct strbuf b;
	int ret = 0;

	*out = NULL;
	if (!n)
		return 0;
	if (n->kind == DOC_SCALAR && *n->text) {
		*out = xstrdup(n->text);
		return 0;
	}
	if (n->kind != DOC_SEQUENCE || !n->count)
		return expected(r, n, what);
	strbuf_init(&b, 0);
	for (size_t i = 0; !ret && i < n->count; i++) {
		const struct doc_node *p = n->child[i];

		if (p->kind != DOC_SCALAR || !*p->text || strchr(p->text, ','))
			ret = expected(r, p, "one value in each place");
		else
			strbuf_printf(&b, "%s%s", i ? "," : "", p->text);
	}
	if (!ret)
		*out = xstrdup(b.data);
	strbuf_fini(&b);
	return ret;
}

/* The host as options write it: IPv6 in brackets. Owned. */
static char *host_text(const char *host)
{
	const char *slash = strchr(host, '/');
	size_t len = slash ? (size_t)(slash - host) : strlen(host);

	if (*host == '[' || !memchr(host, ':', len))
		return xstrdup(host);
	return xasprintf("[%.*s]%s", (int)len, host, slash ? slash : "");
}

static int read_http(struct reader *r, const struct doc_node *n,
		     const char *host, const char *ports)
{
	AUTO_FREE char *methods = NULL;
	AUTO_FREE char *value = NULL;
	const char *path = NULL;
	int ret = check_map(r, n, "method path");

	if (!ret && !doc_get(n, "method"))
		ret = missing(r, n, "method");
	if (!ret)
		ret = join(r, doc_get(n, "method"), "a method, or a list of it",
			   &methods);
	if (!ret)
		ret = get_text(r, n, "path", true, &path);
	if (ret)
		return ret;
	if (*path != '/')
		return expected(r, doc_get(n, "path"),
				"a path that begins with /");
	value = xasprintf("%s %s%s%s%s", methods, host, ports ? ":" : "",
			  ports ? ports : "", path);
	return option(r, n, "http-allow", value);
}

static int read_https(struct reader *r, const struct doc_node *n,
		      const char *host, const char *ports)
{
	int ret = 0;

	if (n->kind != DOC_SEQUENCE || !n->count)
		return expected(r, n, "a list like [{method: GET, path: /x}]");
	for (size_t i = 0; !ret && i < n->count; i++)
		ret = read_http(r, n->child[i], host, ports);
	return ret;
}

static int read_host(struct reader *r, const struct doc_node *n)
{
	static const char *const protos[] = {"tcp", "udp", NULL};
	static const char *const actions[] = {"allow", "deny", NULL};
	const struct doc_node *http;
	const char *host = NULL;
	int proto = 0, action = 0;
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *ports = NULL;
	AUTO_FREE char *value = NULL;
	int ret = check_map(r, n, "host ports proto action http");

	if (!ret)
		ret = get_text(r, n, "host", true, &host);
	if (!ret && strstr(host, "://"))
		ret = expected(r, doc_get(n, "host"),
			       "a host without a scheme (proto says it)");
	if (!ret)
		ret = get_word(r, n, "proto", protos, &proto);
	if (!ret)
		ret = get_word(r, n, "action", actions, &action);
	if (!ret)
		ret = join(r, doc_get(n, "ports"),
			   "a list of ports like [443, 8000-8099]", &ports);
	if (ret)
		return ret;
	text = host_text(host);
	http = doc_get(n, "http");
	if (http && (action || proto))
		return expected(r, http, "no \"http\" with deny or udp");
	if (http)
		return read_https(r, http, text, ports);
	/* a denial without a scheme is about both */
	value = xasprintf("%s%s%s%s%s",
			  doc_get(n, "proto") ? protos[proto] : "",
			  doc_get(n, "proto") ? "://" : "", text,
			  ports ? ":" : "", ports ? ports : "");
	return option(r, n, action ? "net-deny" : "net-allow", value);
}

static int read_network(struct reader *r, const struct doc_node *n)
{
	return each(r, n,
		    "a list of hosts like {host: example.org, ports: [443]}",
		    read_host);
}

/* Where the secret goes, as --inject says it; owned, NULL: nowhere. */
static char *inject_where(const struct doc_node *n)
{
	static const char *const keys[] = {"header", "bearer", "basic", "query",
					   "placeholder"};
	const struct doc_node *v = NULL;
	size_t i, count = 0, which = 0;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!doc_get(n, keys[i]))
			continue;
		v = doc_get(n, keys[i]);
		which = i;
		count++;
	}
	if (count != 1 || v->kind != DOC_SCALAR)
		return NULL;
	if (which == 0)
		return xstrdup(v->text);
	if (strcmp(v->text, "true") == 0 && which != 3)
		return xstrdup(keys[which]);
	if (which == 2 || which == 3)
		return xasprintf("%s:%s", keys[which], v->text);
	return NULL;
}

static int read_inject(struct reader *r, const struct doc_node *n,
		       const char *secret)
{
	const char *host = NULL, *port = NULL;
	AUTO_FREE char *where = NULL;
	AUTO_FREE char *value = NULL;
	int ret = check_map(r, n,
			    "host port header bearer basic query placeholder");

	if (!ret)
		ret = get_text(r, n, "host", true, &host);
	if (!ret)
		ret = get_text(r, n, "port", false, &port);
	if (ret)
		return ret;
	where = inject_where(n);
	if (!where)
		return expected(
			r, n,
			"one of header: 'NAME: text {}', bearer: true, "
			"basic: USER, query: NAME or placeholder: true");
	value = xasprintf("%s%s%s %s %s", host, port ? ":" : "",
			  port ? port : "", where, secret);
	return option(r, n, "inject", value);
}

static int read_injects(struct reader *r, const struct doc_node *n,
			const char *secret)
{
	int ret = 0;

	if (!n)
		return 0;
	if (n->kind != DOC_SEQUENCE)
		return read_inject(r, n, secret);
	for (size_t i = 0; !ret && i < n->count; i++)
		ret = read_inject(r, n->child[i], secret);
	return ret;
}

/* Is what a secret comes from there? Commands and descriptors are. */
static bool is_there(const char *from)
{
	if (strncmp(from, "env:", 4) == 0)
		return getenv(from + 4) && *getenv(from + 4);
	return strncmp(from, "file:", 5) != 0 || access(from + 5, F_OK) == 0;
}

static int read_secret(struct reader *r, const struct doc_node *name,
		       const struct doc_node *n)
{
	AUTO_FREE char *value = NULL;
	AUTO_FREE char *variable = NULL;
	static const char *const absent[] = {"fail", "skip", NULL};
	const char *from = NULL, *env = NULL;
	int skip = 0, ret = check_map(r, n, "from env missing inject");

	if (!ret)
		ret = get_text(r, n, "from", true, &from);
	if (!ret)
		ret = get_text(r, n, "env", false, &env);
	if (!ret)
		ret = get_word(r, n, "missing", absent, &skip);
	if (ret || (skip && !is_there(from)))
		return ret;
	value = xasprintf("%s=%s", name->text, from);
	ret = option(r, n, "secret", value);
	if (!ret && env) {
		variable = xasprintf("%s=%s", env, name->text);
		ret = option(r, doc_get(n, "env"), "secret-env", variable);
	}
	return ret ? ret : read_injects(r, doc_get(n, "inject"), name->text);
}

static int read_secrets(struct reader *r, const struct doc_node *n)
{
	int ret = 0;

	if (n->kind != DOC_MAPPING)
		return expected(r, n, "secrets by their names");
	for (size_t i = 0; !ret && i < n->count; i += 2)
		ret = read_secret(r, n->child[i], n->child[i + 1]);
	return ret;
}

static int read_limits(struct reader *r, const struct doc_node *n)
{
	static const struct {
		const char *key, *option;
	} limits[] = {
		{"memory", "memory"},
		{"cpus", "cpus"},
		{"pids", "pids"},
		{"disk", "disk"},
		{"timeout", "timeout"},
		{"cpu-time", "cpu-time"},
		{"output", "max-output"},
		{"net-rate", "net-rate"},
		{"net-connections", "net-connections"},
		{"net-opens", "net-opens"},
		{"net-idle", "net-idle"},
		{"net-time", "net-time"},
	};
	static const char keys[] =
		"memory cpus pids disk timeout cpu-time output net-rate "
		"net-connections net-opens net-idle net-time";
	int ret = check_map(r, n, keys);

	for (size_t i = 0; !ret && i < n->count; i += 2)
		for (size_t k = 0; !ret && k < ARRAY_SIZE(limits); k++) {
			const struct doc_node *v = n->child[i + 1];

			if (strcmp(limits[k].key, n->child[i]->text))
				continue;
			ret = v->kind == DOC_SCALAR && *v->text
				      ? option(r, v, limits[k].option, v->text)
				      : expected(r, v, "a limit");
		}
	return ret;
}

static int read_variable(struct reader *r, const struct doc_node *n)
{
	if (n->kind != DOC_SCALAR)
		return expected(r, n, "NAME or NAME=VALUE");
	return option(r, n, "env", n->text);
}

static int read_env(struct reader *r, const struct doc_node *n)
{
	return each(r, n, "a list of NAME or NAME=VALUE", read_variable);
}

static int read_version(struct reader *r, const struct doc_node *n)
{
	if (n->kind != DOC_SCALAR || strcmp(n->text, "1") != 0)
		return expected(r, n, "version 1");
	return 0;
}

static const struct section sections[] = {
	{"version", read_version, NULL},
	{"profile", read_profile, NULL},
	{"files", read_files, NULL},
	{"network", read_network, NULL},
	{"secrets", read_secrets, NULL},
	{"env", read_env, NULL},
	{"limits", read_limits, NULL},
	{"exec", NULL, "rules about programs"},
	{"rules", NULL, "rules about what happened before"},
	{NULL, NULL, NULL},
};

static int read_section(struct reader *r, const struct doc_node *key,
			const struct doc_node *n)
{
	for (const struct section *s = sections; s->name; s++) {
		if (strcmp(s->name, key->text) != 0)
			continue;
		if (s->fn)
			return s->fn(r, n);
		at(r, key);
		strbuf_printf(r->err,
			      "\"%s\" is not supported by this version: %s",
			      s->name, s->missing);
		return -EINVAL;
	}
	return expected(r, key,
			"one of version profile files network secrets env "
			"limits exec rules");
}

static int read_sections(struct reader *r, const struct doc_node *root)
{
	int ret = 0;

	if (root->kind != DOC_MAPPING)
		return expected(r, root, "\"version: 1\" and sections");
	if (!doc_get(root, "version"))
		return missing(r, root, "version: 1");
	for (size_t i = 0; !ret && i < root->count; i += 2)
		ret = read_section(r, root->child[i], root->child[i + 1]);
	return ret;
}

int policy_file_read(const char *name, const char *text, size_t len,
		     const struct policy_file_sink *sink, struct strbuf *err)
{
	struct reader r = {name, sink, err};
	struct doc_node *root = NULL;
	struct doc_error bad;
	int ret = doc_parse(text, len, &root, &bad);

	if (ret == -EINVAL) {
		strbuf_visible(err, name, strlen(name));
		strbuf_printf(err, ":%u:%u: %s", bad.line, bad.column,
			      bad.what);
	} else if (ret) {
		strbuf_visible(err, name, strlen(name));
		strbuf_puts(err, ": cannot be read without libyaml");
	} else {
		ret = read_sections(&r, root);
	}
	doc_free(root);
	return ret ? -EINVAL : 0;
}

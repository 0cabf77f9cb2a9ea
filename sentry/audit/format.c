/*
 * format.c - see format.h.
 */
#include "format.h"

static void put_json(struct strbuf *out, const char *s)
{
	strbuf_json_string(out, s, strlen(s));
}

void format_init(struct format *f, const char *id)
{
	memset(f, 0, sizeof(*f));
	strbuf_init(&f->id, 0);
	strbuf_lit(&f->id, ",\"id\":");
	put_json(&f->id, id);
	for (size_t i = 0; i < FORMAT_WHOS; i++) {
		strbuf_init(&f->who[i].text, 0);
		strbuf_puts(&f->who[i].text, "");
	}
}

void format_fini(struct format *f)
{
	strbuf_fini(&f->id);
	for (size_t i = 0; i < FORMAT_WHOS; i++) {
		strbuf_fini(&f->who[i].text);
		free(f->who[i].exe);
	}
}

static const char *verdict_name(unsigned v)
{
	static const char *const names[] = {
		[AUDIT_ALLOW] = "allow",     [AUDIT_DENY] = "deny",
		[AUDIT_EMULATE] = "emulate", [AUDIT_PASS] = "pass",
		[AUDIT_ASK] = "ask",	     [AUDIT_LIMIT] = "limit",
	};

	return v < ARRAY_SIZE(names) ? names[v] : "deny";
}

static void who_set(struct format_who *w, const struct record *r,
		    const char *exe)
{
	struct strbuf *b = &w->text;

	free(w->exe);
	w->exe = exe ? xstrdup(exe) : NULL;
	w->pid = r->pid;
	w->tid = r->tid;
	w->ppid = r->ppid;
	strbuf_reset(b);
	if (r->pid > 0 || r->tid > 0) {
		strbuf_lit(b, ",\"pid\":");
		strbuf_udec(b, (uint64_t)r->pid);
		strbuf_lit(b, ",\"tid\":");
		strbuf_udec(b, (uint64_t)r->tid);
		strbuf_lit(b, ",\"ppid\":");
		strbuf_udec(b, (uint64_t)r->ppid);
	}
	if (exe) {
		strbuf_lit(b, ",\"exe\":");
		put_json(b, exe);
	}
}

static void put_who(struct format *f, const struct record *r, const char *exe,
		    struct strbuf *out)
{
	struct format_who *w = &f->who[(unsigned)r->tid % FORMAT_WHOS];

	if (w->pid != r->pid || w->tid != r->tid || w->ppid != r->ppid ||
	    !w->exe != !exe || (exe && strcmp(w->exe, exe) != 0))
		who_set(w, r, exe);
	strbuf_add(out, w->text.data, w->text.len);
}

/* Arguments and path; the latter's text is mostly among the former. */
static void put_args(const struct batch *b, const struct record *r,
		     struct strbuf *out)
{
	struct audit_span path = {0, 0};

	if (r->args_len) {
		strbuf_lit(out, ",\"args\":");
		if (r->render)
			r->render(
				&(struct audit_packed){
					.data = b->text + r->args,
					.len = r->args_len,
					.path_at = r->path_at,
				},
				out, &path);
		else
			strbuf_add(out, b->text + r->args, r->args_len);
	}
	if (!r->path)
		return;
	strbuf_lit(out, ",\"path\":");
	if (path.len)
		strbuf_again(out, path.at, path.len);
	else
		put_json(out, b->text + r->path);
}

static void put_result(struct strbuf *out, int64_t ret)
{
	const char *name;

	if (ret >= 0) {
		strbuf_lit(out, ",\"ret\":");
		strbuf_udec(out, (uint64_t)ret);
		return;
	}
	if (ret <= -4096) { /* an address in the upper half, an offset */
		strbuf_lit(out, ",\"ret\":");
		strbuf_dec(out, ret);
		return;
	}
	name = strerrorname_np((int)-ret);
	strbuf_lit(out, ",\"errno\":");
	if (name)
		put_json(out, name);
	else
		strbuf_printf(out, "\"E%d\"", (int)-ret);
}

void format_record(struct format *f, const struct batch *b,
		   const struct record *r, uint64_t seq, struct strbuf *out)
{
	const char *call = b->text + r->call;

	strbuf_lit(out, "{\"seq\":");
	strbuf_udec(out, seq);
	strbuf_lit(out, ",\"t\":");
	strbuf_udec(out, r->t);
	strbuf_add(out, f->id.data, f->id.len);
	if (strcmp(call, "start") == 0)
		strbuf_lit(out, ",\"schema\":1");
	put_who(f, r, batch_text(b, r->exe), out);
	strbuf_lit(out, ",\"call\":");
	put_json(out, call);
	put_args(b, r, out);
	strbuf_lit(out, ",\"verdict\":\"");
	strbuf_puts(out, verdict_name(r->verdict));
	strbuf_putc(out, '"');
	if (r->rule) {
		strbuf_lit(out, ",\"rule\":");
		put_json(out, b->text + r->rule);
	}
	put_result(out, r->ret);
	strbuf_lit(out, ",\"ns\":");
	strbuf_udec(out, r->ns);
	if (r->n > 1) {
		strbuf_lit(out, ",\"n\":");
		strbuf_udec(out, r->n);
	}
	if (r->observed)
		strbuf_lit(out, ",\"observed\":true");
	if (r->more_len)
		strbuf_add(out, b->text + r->more, r->more_len);
	strbuf_lit(out, "}\n");
}

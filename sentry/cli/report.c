/*
 * report.c - what is said when a program has ended: refusals, changes, and
 * the offer to keep them.
 */
#include <stdio.h>

#include "../audit/audit.h"
#include "changes.h"

void cli_print_denials(const struct strbuf *text)
{
	for (const char *p = text->data; p && *p;) {
		size_t len = strcspn(p, "\n");

		fprintf(stderr, "cloche: %.*s\n", (int)len, p);
		p += len + (p[len] != '\0');
	}
}

static int print_changes(const struct config *cfg, struct vfs *vfs)
{
	struct diff_format list = {.json = cfg->json, .by = cfg->by};
	struct diff_format stat = {.stat = true};
	struct diff_format patch = {.patch = true, .root = cfg->workdir};
	struct change_source src;
	int err = 0;

	changes_from_vfs(&src, vfs);
	if (cfg->diff)
		err = cli_diff(&src, &list);
	if (cfg->stat && !err)
		err = cli_diff(&src, &stat);
	if (cfg->patch && !err)
		err = cli_diff(&src, &patch);
	return err;
}

void cli_after(const struct config *cfg, struct vfs *vfs, struct audit *audit)
{
	struct strbuf text;
	int err = 0;

	strbuf_init(&text, 0);
	if (!cfg->quiet && audit) {
		audit_denials(audit, &text);
		cli_print_denials(&text);
	}
	strbuf_fini(&text);
	if (vfs)
		err = print_changes(cfg, vfs);
	if (err)
		log_host(err, "list of changes");
	if (cfg->apply == APPLY_ASK && vfs && cfg->after_status)
		*cfg->after_status = cli_apply_ask(cfg, vfs, audit);
}

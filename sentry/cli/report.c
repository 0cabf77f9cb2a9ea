/*
 * report.c - what is said when a program has ended: refusals, changes, and
 * the offer to keep them.
 */
#include <stdio.h>

#include "../audit/audit.h"
#include "cli.h"

void cli_print_denials(const struct strbuf *text)
{
	for (const char *p = text->data; p && *p;) {
		size_t len = strcspn(p, "\n");

		fprintf(stderr, "cloche: %.*s\n", (int)len, p);
		p += len + (p[len] != '\0');
	}
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
	if (cfg->diff && vfs)
		err = cli_print_diff(vfs, cfg->json);
	if (err)
		log_host(err, "list of changes");
	if (cfg->apply == APPLY_ASK && vfs)
		err = cli_apply_ask(cfg, vfs);
}

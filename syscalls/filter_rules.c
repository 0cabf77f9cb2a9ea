/*
 * filter_rules.c - the argument rules as libseccomp takes them.
 *
 * Apart from filter_args.c, since only the programs that compile the filter
 * (sentry/filtergen.c, tests) need libseccomp: a sandbox loads the bytes.
 */
#include <seccomp.h>

#include "filter_args.h"
#include "table.h"

static int rule_add(scmp_filter_ctx ctx, const struct argrule *r)
{
	struct scmp_arg_cmp cmp[FILTER_CMP_MAX];
	unsigned n = 0;

	for (size_t i = 0; i < FILTER_CMP_MAX && r->cmp[i].mask; i++) {
		const struct argcmp *c = &r->cmp[i];

		if (c->mask == ~0ull)
			cmp[n++] = SCMP_CMP64(c->arg, SCMP_CMP_EQ, c->value, 0);
		else
			cmp[n++] = SCMP_CMP64(c->arg, SCMP_CMP_MASKED_EQ,
					      c->mask, c->value);
	}
	return seccomp_rule_add_exact_array(ctx, SCMP_ACT_ALLOW, r->nr, n, cmp);
}

int filter_add_args(void *scmp, int nr, bool bare)
{
	size_t count;
	const struct argrule *rules = filter_args_rules(&count);

	for (size_t i = 0; i < count; i++) {
		const struct argrule *r = &rules[i];
		int err;

		if (r->nr != nr ||
		    !(r->columns & (bare ? FILTER_BARE : FILTER_JAIL)))
			continue;
		err = rule_add(scmp, r);
		if (err)
			return err;
	}
	return 0;
}

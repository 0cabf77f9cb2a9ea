/*
 * mech_filter.c - nothing at all, and a filter that decides by itself.
 */
#include "mech.h"

#include <linux/seccomp.h>

static int allow(struct cost_cell *c UNUSED)
{
	return cost_filter_load(SECCOMP_RET_ALLOW, 0);
}

static int refuse(struct cost_cell *c UNUSED)
{
	return cost_filter_load(SECCOMP_RET_ERRNO | EPERM, 0);
}

const struct cost_mech cost_native = {
	.name = "native",
	.what = "the call itself",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_BIT(COST_OPEN) |
	       COST_LIFE,
	.many = true,
};

const struct cost_mech cost_filter_allow = {
	.name = "filter-allow",
	.what = "a seccomp filter that lets it pass",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_BIT(COST_OPEN) |
	       COST_LIFE,
	.many = true,
	.intercept = allow,
};

const struct cost_mech cost_filter_errno = {
	.name = "filter-errno",
	.what = "a seccomp filter that refuses it",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_BIT(COST_OPEN),
	.many = true,
	.intercept = refuse,
};

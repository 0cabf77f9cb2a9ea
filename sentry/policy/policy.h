/*
 * policy.h - what the guest may see and do, compiled from options, the
 * curated lists and (later) policy files into immutable tables.
 *
 * Asked by the VFS through policy_mask, once per dentry. Immutable after
 * policy_new; may be read from any thread.
 */
#ifndef CLOCHE_POLICY_H
#define CLOCHE_POLICY_H

#include "../base/base.h"
#include "../base/strbuf.h"
#include "../config.h"

struct policy;

/* Fails with a message on stderr (die) on bad rules: before the first guest
 * instruction only. */
int MUST_CHECK policy_new(const struct config *cfg, struct policy **out);
void policy_free(struct policy *p);

/* A vfs_mask_fn (fs/vfs.h) with arg = struct policy *: the VFS_MASK_* bits of
 * an absolute virtual path. */
unsigned policy_mask(void *policy, const char *path, unsigned inherited,
		     uint32_t *rule);

/*
 * What makes most of these questions needless: in a directory that is alike
 * (absolute path) all names get one answer, given the same inherited mask, but
 * those that are told: their verdict may be another one.
 */
bool policy_dir_alike(void *policy, const char *dir);
bool policy_name_told(void *policy, const char *name, size_t len);

/* What a person wrote or the curated list's name for rule number `rule`, and
 * the option that would allow it (NULL if none). */
const char *policy_rule_name(const struct policy *p, uint32_t rule);
const char *policy_rule_hint(const struct policy *p, uint32_t rule,
			     const char *path, char *buf, size_t size);

/* `cloche policy show`: the whole view, as text. */
void policy_show(const struct policy *p, struct strbuf *out);

#endif

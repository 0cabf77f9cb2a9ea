/*
 * table.c - the table of system calls as an array, made from table.def.
 */
#include "table.h"

#include "handlers.h"

#define NATIVE(nr_, name_, spec_, intr_, why_) \
	[nr_] = {.name = #name_,               \
		 .spec = spec_,                \
		 .jailed = SYS_NATIVE,         \
		 .bare = SYS_NATIVE,           \
		 .intr = INTR_##intr_,         \
		 .support = SUP_NATIVE,        \
		 .note = why_},
#define JAILED(nr_, name_, spec_, intr_, errno_, why_) \
	[nr_] = {.name = #name_,                       \
		 .spec = spec_,                        \
		 .jailed = SYS_NATIVE,                 \
		 .bare = SYS_REFUSE,                   \
		 .intr = INTR_##intr_,                 \
		 .support = SUP_NATIVE,                \
		 .refusal = errno_,                    \
		 .note = why_},
#define REFUSE(nr_, name_, spec_, errno_, note_) \
	[nr_] = {.name = #name_,                 \
		 .spec = spec_,                  \
		 .jailed = SYS_REFUSE,           \
		 .bare = SYS_REFUSE,             \
		 .intr = INTR_NEVER,             \
		 .support = SUP_REFUSED,         \
		 .refusal = errno_,              \
		 .note = note_},
#define ROW(nr_, name_, spec_, jailed_, bare_, flags_, intr_, support_, \
	    handler_, note_)                                            \
	[nr_] = {.name = #name_,                                        \
		 .spec = spec_,                                         \
		 .jailed = SYS_##jailed_,                               \
		 .bare = SYS_##bare_,                                   \
		 .flags = flags_,                                       \
		 .intr = INTR_##intr_,                                  \
		 .support = SUP_##support_,                             \
		 .handler = handler_,                                   \
		 .note = note_},

const struct sysrow systable[SYSNR_MAX] = {
#include "table.def"
};

const struct sysrow *sysrow_find(int nr)
{
	if (nr < 0 || nr >= SYSNR_MAX || !systable[nr].name)
		return NULL;
	return &systable[nr];
}

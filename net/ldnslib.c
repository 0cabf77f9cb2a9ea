/*
 * ldnslib.c - see ldnslib.h.
 */
#define LDNSLIB_NO_NAMES
#include "ldnslib.h"

#include "../sentry/base/extlib.h"

struct ldnslib ldnslib;

int ldnslib_load(void)
{
	static const struct extlib_symbol symbols[] = {
#define LDNS_SYMBOL(f) {#f, (void **)&ldnslib.f},
		LDNS_FUNCTIONS(LDNS_SYMBOL)
#undef LDNS_SYMBOL
	};
	static bool loaded;
	int ret;

	if (loaded)
		return 0;
	ret = extlib_load("libldns.so.3", symbols, ARRAY_SIZE(symbols));
	loaded = ret == 0;
	return ret;
}

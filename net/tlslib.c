/*
 * tlslib.c - see tlslib.h.
 */
#define TLSLIB_NO_NAMES
#include "tlslib.h"

#include "../sentry/base/extlib.h"

struct tlslib tlslib;

int tlslib_load(void)
{
#define TLSLIB_SYMBOL(f) {#f, (void **)&tlslib.f},
	static const struct extlib_symbol crypto[] = {
		TLSLIB_CRYPTO(TLSLIB_SYMBOL)};
	static const struct extlib_symbol ssl[] = {TLSLIB_SSL(TLSLIB_SYMBOL)};
#undef TLSLIB_SYMBOL
	static bool loaded;
	int ret;

	if (loaded)
		return 0;
	ret = extlib_load("libcrypto.so.3", crypto, ARRAY_SIZE(crypto));
	if (!ret)
		ret = extlib_load("libssl.so.3", ssl, ARRAY_SIZE(ssl));
	loaded = ret == 0;
	return ret;
}

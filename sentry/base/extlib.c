/*
 * extlib.c - see extlib.h.
 */
#include "extlib.h"

#include <dlfcn.h>

int extlib_load(const char *soname, const struct extlib_symbol *symbols,
		size_t count)
{
	void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		log_warn("%s cannot be loaded (%s): install it", soname,
			 dlerror());
		return -ENOSYS;
	}
	for (size_t i = 0; i < count; i++) {
		*symbols[i].at = dlsym(lib, symbols[i].name);
		if (!*symbols[i].at) {
			log_warn("%s has no %s", soname, symbols[i].name);
			return -ENOSYS;
		}
	}
	return 0; /* stays loaded */
}

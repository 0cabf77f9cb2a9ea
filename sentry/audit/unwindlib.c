#include "unwindlib.h"

#include "../base/extlib.h"

int unwindlib_load(struct unwindlib *lib)
{
	const struct extlib_symbol unwind[] = {
		{"_Ux86_64_create_addr_space", (void **)&lib->create},
		{"_Ux86_64_destroy_addr_space", (void **)&lib->destroy},
		{"_Ux86_64_init_remote", (void **)&lib->init},
		{"_Ux86_64_step", (void **)&lib->step},
		{"_Ux86_64_get_reg", (void **)&lib->get_reg},
		{"_Ux86_64_is_signal_frame", (void **)&lib->is_signal_frame},
		{"_Ux86_64_dwarf_search_unwind_table", (void **)&lib->search},
	};
	const struct extlib_symbol capstone[] = {
		{"cs_open", (void **)&lib->cs_open},
		{"cs_disasm", (void **)&lib->cs_disasm},
		{"cs_free", (void **)&lib->cs_free},
		{"cs_close", (void **)&lib->cs_close},
	};
	int ret = extlib_load("libunwind-x86_64.so.8", unwind,
			      ARRAY_SIZE(unwind));

	return ret ? ret
		   : extlib_load("libcapstone.so.4", capstone,
				 ARRAY_SIZE(capstone));
}

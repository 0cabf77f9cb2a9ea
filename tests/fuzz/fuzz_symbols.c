/* Symbol tables of hostile ELF files. */
#include "sentry/audit/symbols.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct symbols *s = NULL;
	uint64_t offset;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 ||
	    pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	if (symbols_read(fd, &s))
		return 0;
	for (uint64_t at = 0; at < 1 << 16; at += 97) {
		const char *name = symbols_find(s, at, &offset);

		if (name && (strlen(name) > symbols_size(s) || offset > at))
			__builtin_trap();
	}
	symbols_free(s);
	return 0;
}

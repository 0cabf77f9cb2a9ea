# The loader stub: its own flags, then embedded as bytes (stub_image).
STUB_CFLAGS := -std=gnu17 -Os -ffreestanding -fno-builtin -fpie -mno-red-zone \
	-mgeneral-regs-only -fno-stack-protector -fcf-protection=none \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer \
	-fvisibility=hidden -Wall -Wextra -Wvla -Wshadow -Wmissing-prototypes \
	-Wstrict-prototypes -Wconversion -Wno-sign-conversion -Werror
STUB_LDFLAGS := -nostdlib -static-pie -Wl,-T,loader/stub.ld \
	-Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,max-page-size=4096 \
	-Wl,--no-dynamic-linker -Wl,-z,norelro -s

$(B)/loader/stub.elf: loader/stub.c loader/stub.S loader/stub.h loader/plan.h \
		loader/stub.ld loader/stub.mk
	@mkdir -p $(@D)
	$(CC) $(STUB_CFLAGS) $(STUB_LDFLAGS) -o $@ loader/stub.c loader/stub.S

$(B)/loader/stubimage.o: loader/stubimage.S $(B)/loader/stub.elf
	@mkdir -p $(@D)
	$(CC) -DSTUB_FILE='"$(B)/loader/stub.elf"' -c -o $@ loader/stubimage.S

OBJS += $(B)/loader/stubimage.o

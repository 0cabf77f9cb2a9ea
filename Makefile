# One non-recursive Makefile; objects go to build/, by variant.
CC ?= gcc
VARIANT ?= release
B := build/obj-$(VARIANT)-$(notdir $(CC))
PKGS := libseccomp libunwind libunwind-ptrace capstone libxxhash jansson libcrypto libcap-ng
CSTD := -std=gnu17 -D_GNU_SOURCE
WARN := -Wall -Wextra -Wvla -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-Wconversion -Wno-sign-conversion -Werror
HARD := -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=3 -fPIE
ifeq ($(VARIANT),asan)
HARD := -O1 -g -fPIE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SANLD := -fsanitize=address,undefined
endif
CFLAGS += $(CSTD) $(WARN) $(HARD) $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDFLAGS += -pie -Wl,-z,relro,-z,now $(SANLD)
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lpthread

SRCS := $(filter-out loader/stub%.c sentry/cli/main.c,$(wildcard sentry/base/*.c loader/*.c fs/*.c net/*.c \
	sentry/*.c sentry/policy/*.c sentry/audit/*.c syscalls/*.c sentry/session/*.c sentry/cli/*.c))
OBJS := $(SRCS:%.c=$(B)/%.o)
DEPS := $(OBJS:.o=.d) $(B)/sentry/cli/main.d

all: build/cloche

# Adds the embedded loader stub to OBJS.
include loader/stub.mk

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

build/cloche: $(OBJS) $(B)/sentry/cli/main.o
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(DEPS)
.PHONY: all

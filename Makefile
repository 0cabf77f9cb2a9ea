# One non-recursive Makefile. Objects go to build/, by variant and compiler.
#
#   make            build/cloche
#   make demo       install what is missing, build, and show what it does
#   make test       install what is missing, build, and run all the tests
#   make bench      native against inside: calls, start, memory, workloads
#   make deps       install the Debian packages that all this needs
#   make install    PREFIX=/usr/local, DESTDIR=
#   make docs       what is generated: docs/syscalls.md, the table in README.md
#   make clean
# The tests' own targets (check-fast, check-unit, asan, fuzz, lint ...) are in
# tests/tests.mk.
#
# CC=clang, VARIANT=asan and changed flags need no clean: every object depends
# on the flags that it was made with.

ifeq ($(origin CC),default)
CC := gcc
endif
VARIANT ?= release
B := build/obj-$(VARIANT)-$(notdir $(CC))
# A private B= leaves build/ alone.
ifeq ($(origin B),command line)
BIN := $(B)/cloche
else
BIN := build/cloche$(if $(filter-out release,$(VARIANT)),-$(VARIANT))
endif
PREFIX ?= /usr/local

# As many jobs as there are processors, unless the caller says otherwise.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver-auth=%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

# Only what is used is linked. Asked when first needed, so that `make deps`
# may install pkg-config and the libraries in the same run.
PKGS := libseccomp libxxhash jansson nettle libcap-ng
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags \
	$(PKGS) 2>/dev/null))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $$(foreach l,$$(shell pkg-config --libs \
	$(PKGS) 2>/dev/null),$$(call linked_in,$$l)))$(PKG_LIBS)
# Each shared library costs every start 0.1 ms: these become part of cloche.
LINKED_IN := $(addprefix -l,xxhash jansson nettle cap-ng)
archive = lib$(1:-l%=%).a
linked_in = $(if $(filter $(LINKED_IN),$1),$(if $(wildcard \
	$(shell $(CC) -print-file-name=$(archive))),-l:$(archive),$1),$1)

CSTD := -std=gnu17 -D_GNU_SOURCE
WARN := -Wall -Wextra -Wvla -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-Wconversion -Wno-sign-conversion -Werror
# libseccomp's macros leave out a field; gcc forgives that to a system header.
CLANG_WARN := -Wno-missing-field-initializers
ifneq ($(findstring clang,$(CC)),)
WARN += $(CLANG_WARN)
endif
ifeq ($(VARIANT),asan)
SAN := -fsanitize=address,undefined
HARD := -O1 -g -fPIE $(SAN) -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer
else
HARD := -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=3 -fPIE
endif
override CFLAGS += $(CSTD) $(WARN) $(HARD) $(PKG_CFLAGS)
override LDFLAGS += -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(SAN)
LDLIBS = $(PKG_LIBS) -lpthread

SRCS := $(filter-out loader/stub%.c sentry/cli/main.c sentry/filtergen.c \
	bench/cost/preload.c,$(wildcard bench/cost/*.c \
	sentry/base/*.c loader/*.c fs/*.c net/*.c sentry/*.c \
	sentry/policy/*.c sentry/audit/*.c syscalls/*.c sentry/session/*.c \
	sentry/cli/*.c))
OBJS := $(SRCS:%.c=$(B)/%.o)
MAIN := $(B)/sentry/cli/main.o

# The seccomp filters are compiled by libseccomp when cloche is built, by a
# program that is all of cloche but its own product; cloche loads the bytes.
FILTERDATA := $(B)/gen/filterdata.o
COMPILES_FILTERS := $(addprefix $(B)/,sentry/filter.o sentry/filter_self.o \
	sentry/filter_net.o syscalls/filter_rules.o)
OBJS += $(FILTERDATA)

all: $(BIN)

# Embedded as they are.
AGENTS := $(wildcard sentry/policy/agents/*.yaml)
$(B)/sentry/policy/agents.o build/obj-fuzz/sentry/policy/agents.o: $(AGENTS)

# Adds the embedded loader stub to OBJS.
include loader/stub.mk
include tests/tests.mk
FUZZ_FLAGS += $(CLANG_WARN)
EMBEDDED := $(FILTERDATA) $(B)/loader/stubimage.o $(B)/bench/cost/sites.o \
	$(B)/bench/cost/preloadimage.o
$(FUZZ_BINS): $(EMBEDDED)
$(FUZZ_BINS): private LDLIBS = $(EMBEDDED) $(PKG_LIBS) -lpthread
include bench/bench.mk
include bench/cost/cost.mk

# V=1 shows the commands.
V ?= 0
ifneq ($(V),1)
Q := @
SAY = @echo "  $(1) $@"
endif

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/cloche: $(OBJS) $(MAIN) $(B)/flags
	$(call SAY,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter-out $(COMPILES_FILTERS),$(OBJS)) \
		$(MAIN) $(LDLIBS)

$(B)/filtergen: $(B)/sentry/filtergen.o $(filter-out $(FILTERDATA),$(OBJS))
	$(call SAY,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/gen/filterdata.c: $(B)/filtergen
	$(call SAY,GEN)
	@mkdir -p $(@D)
	$(Q)$(B)/filtergen >$@.new && mv $@.new $@

$(FILTERDATA): $(B)/gen/filterdata.c
	$(call SAY,CC)
	$(Q)$(CC) $(CFLAGS) -I. -MMD -MP -c -o $@ $<

# The latest variant asked for, as one name. A new file each time: a running
# one is never written to.
build/cloche build/cloche-asan: $(B)/cloche FORCE
	@mkdir -p $(@D)
	@cmp -s $< $@ || { rm -f $@; cp -p $< $@; echo "$@ is $<"; }

$(B)/loader/stub.elf: $(B)/flags

# Written only when what objects are made with has changed.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(CFLAGS) $(LDFLAGS) $(STUB_CFLAGS) \
		$(STUB_LDFLAGS)' >$@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

-include $(OBJS:.o=.d) $(MAIN:.o=.d) $(B)/sentry/filtergen.d

# Before anything is compiled: install what is missing, or say what to do.
MADE := $(OBJS) $(MAIN) $(B)/sentry/filtergen.o $(FUZZ_OBJS) $(UNIT_BINS) $(GUEST_BINS) \
	$(ESCAPE_BINS) $(HOST_BINS) $(BENCH_BINS) $(B)/loader/stub.elf
ifneq ($(filter demo test bench bench-docs asan,$(MAKECMDGOALS)),)
$(MADE): | deps-auto
$(B)/flags: | deps-auto
else
$(MADE): | libs
endif

deps:
	@.ci/deps

deps-auto:
	@.ci/deps --auto

libs:
	@command -v $(CC) pkg-config >/dev/null || { \
		echo "cloche: $(CC) or pkg-config is not installed: as root," \
		"run make deps" >&2; exit 1; }
	@pkg-config --print-errors --exists $(PKGS) || { \
		echo "cloche: a library is not installed: as root," \
		"run make deps" >&2; exit 1; }

demo: $(BIN)
	docs/demo/run $(BIN)

# ---- documents -----------------------------------------------------------

SYSDOC := awk -f syscalls/docs.awk syscalls/table.def

docs:
	$(SYSDOC) >docs/syscalls.md
	awk -f docs/summary.awk docs/syscalls.md | \
		docs/splice README.md support

# Fails if what is committed is not what the table says.
docs-check:
	$(SYSDOC) | cmp - docs/syscalls.md
	awk -f docs/summary.awk docs/syscalls.md | \
		docs/splice --check README.md support
	bench/run --goals | docs/splice --check docs/performance.md goals

# ---- installing ----------------------------------------------------------

install: $(BIN)
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/cloche
	install -D -m 644 docs/cloche.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/cloche.1

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/cloche \
		$(DESTDIR)$(PREFIX)/share/man/man1/cloche.1

clean:
	rm -rf build

FORCE:

.PHONY: all demo deps deps-auto libs docs docs-check install uninstall clean \
	FORCE
.DELETE_ON_ERROR:

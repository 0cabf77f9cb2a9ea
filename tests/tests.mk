# Targets of the tests; included by the Makefile, which sets OBJS and CFLAGS.
#
#   make check-unit     Criterion tests of the parts
#   make check-guest    guest programs, natively and inside, as all users
#   make check-escape   hostile programs and the audit records of refusals
#   make check-real     real programs, natively and inside
#   make check-fast     unit and guest tests as the invoking user
#   make test           all of it, and the fuzzers for FUZZ_SECONDS each
#   make asan           unit and guest tests, all of it made with the address and
#                       undefined-behaviour sanitizers
#   make fuzz           each fuzzer for FUZZ_SECONDS
#   make lint           layers, doors, sizes, format
# RUN= passes options and names to the runner: make check-guest RUN=rename

T := build/tests
FUZZ_SECONDS ?= 30
RUN ?=
TEST_CFLAGS := -std=gnu17 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wvla -Werror \
	-Wl,--no-warn-execstack

GUEST_BINS := $(patsubst tests/guest/%.c,$(T)/guest/%,\
	$(wildcard tests/guest/*.c))
ESCAPE_BINS := $(patsubst tests/escape/%.c,$(T)/escape/%,\
	$(wildcard tests/escape/*.c))
HOST_BINS := $(patsubst tests/escape/host/%.c,$(T)/host/%,\
	$(wildcard tests/escape/host/*.c))
UNIT_BINS := $(patsubst tests/unit/%.c,$(B)/unit/%,\
	$(wildcard tests/unit/*_test.c))
FUZZ_BINS := $(patsubst tests/fuzz/fuzz_%.c,$(T)/fuzz/%,\
	$(wildcard tests/fuzz/fuzz_*.c))

$(T)/guest/%: tests/guest/%.c tests/guest/guest.h
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)gcc $(TEST_CFLAGS) -o $@ $< -pthread

$(T)/escape/%: tests/escape/%.c tests/escape/escape.h tests/guest/guest.h
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)gcc $(TEST_CFLAGS) -Itests/guest -o $@ $< -pthread

$(T)/host/%: tests/escape/host/%.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)gcc $(TEST_CFLAGS) -o $@ $< -pthread

# Conversions are not checked in tests, and Criterion's macros shadow.
$(B)/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) $(OBJS)
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(CFLAGS) -Wno-conversion -Wno-shadow -Wno-missing-prototypes \
		-I. $(LDFLAGS) -o $@ $< $(OBJS) $(LDLIBS) -lcriterion

# Fuzzers compile all sources again, with clang's instrumentation.
FUZZ_OBJS := $(SRCS:%.c=build/obj-fuzz/%.o)
FUZZ_FLAGS := -g -O1 -fsanitize=fuzzer-no-link,address -fPIE

build/obj-fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)clang $(CSTD) $(WARN) $(FUZZ_FLAGS) \
		$(shell pkg-config --cflags $(PKGS) 2>/dev/null) \
		-MMD -MP -c -o $@ $<

$(T)/fuzz/%: tests/fuzz/fuzz_%.c $(FUZZ_OBJS)
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)clang $(CSTD) -g -O1 -fsanitize=fuzzer,address -I. -o $@ $< \
		$(FUZZ_OBJS) $(LDLIBS)

-include $(FUZZ_OBJS:.o=.d)

check-unit: $(UNIT_BINS)
	tests/unit.sh $^

check-guest: build/cloche $(GUEST_BINS)
	tests/run --suite guest $(RUN)

check-escape: build/cloche $(ESCAPE_BINS) $(HOST_BINS)
	tests/run --suite escape $(RUN)

check-real: build/cloche
	tests/run --suite real $(RUN)

check-fast: build/cloche $(UNIT_BINS) $(GUEST_BINS)
	UNIT_BINS="$(UNIT_BINS)" tests/all.sh unit guest-self

fuzz: $(FUZZ_BINS)
	tests/fuzz.sh $(FUZZ_SECONDS) $^

test: build/cloche $(UNIT_BINS) $(GUEST_BINS) $(ESCAPE_BINS) $(HOST_BINS) \
	$(FUZZ_BINS)
	FUZZ_SECONDS=$(FUZZ_SECONDS) UNIT_BINS="$(UNIT_BINS)" \
		tests/all.sh lint unit guest escape real fuzz

asan: $(GUEST_BINS)
	$(MAKE) VARIANT=asan check-unit build/cloche-asan
	CLOCHE=$(CURDIR)/build/cloche-asan ASAN_OPTIONS=detect_leaks=0 \
		tests/run --self --inside

lint:
	tests/lint/run

.PHONY: check-unit check-guest check-escape check-real check-fast fuzz test \
	asan lint

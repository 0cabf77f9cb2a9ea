# Included by the Makefile: make bench, with BENCH= for options of bench/run.

BENCH ?=
BENCH_BINS := $(patsubst bench/%.c,build/bench/%,$(wildcard bench/*.c))

build/bench/%: bench/%.c bench/bench.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) -O2 -o $@ $< -pthread

bench: $(BIN) $(BENCH_BINS)
	bench/run $(BENCH)

.PHONY: bench

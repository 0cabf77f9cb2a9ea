# Included by the Makefile: make bench, with BENCH= for options of bench/run.
# bench-docs puts the figures into docs/performance.md and keeps them as
# bench/baseline.json, with which later runs compare: on a quiet machine.

BENCH ?=
BENCH_BINS := $(patsubst bench/%.c,build/bench/%,$(wildcard bench/*.c))

build/bench/%: bench/%.c bench/bench.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) -O2 -o $@ $< -pthread

bench: $(BIN) $(BENCH_BINS)
	bench/run --cloche $(BIN) $(BENCH)

bench-docs: $(BIN) $(BENCH_BINS)
	bench/run --cloche $(BIN) --markdown --json bench/baseline.json $(BENCH) \
		>build/bench/figures
	docs/splice docs/performance.md figures <build/bench/figures
	bench/run --goals | docs/splice docs/performance.md goals

# Cost per call from 10^2 to 10^5 files.
bench-scale: $(BIN)
	bench/scale.py --cloche $(BIN) $(BENCH)

bench-net: $(BIN) $(BENCH_BINS)
	bench/net.py $(BENCH)

.PHONY: bench-net bench bench-docs bench-scale

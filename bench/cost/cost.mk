# The mechanisms of `cloche bench`, linked into cloche (their C among SRCS); the
# library that LD_PRELOAD loads is embedded as bytes.
OBJS += $(B)/bench/cost/sites.o $(B)/bench/cost/preloadimage.o

$(B)/bench/cost/sites.o: bench/cost/sites.S
	@mkdir -p $(@D)
	$(call SAY,AS)
	$(Q)$(CC) -c -o $@ $<

$(B)/bench/cost/preload.so: bench/cost/preload.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra -Werror -O2 -fPIC -shared \
		-nostdlib -fno-stack-protector -s -o $@ $<

$(B)/bench/cost/preloadimage.o: bench/cost/preload.S $(B)/bench/cost/preload.so
	@mkdir -p $(@D)
	$(Q)$(CC) -DPRELOAD_FILE='"$(B)/bench/cost/preload.so"' -c -o $@ $<

/*
 * gateway_limit.c - how much, how many and how long: --net-rate,
 * --net-connections, --net-opens, --net-idle, --net-time.
 *
 * The rate is a bucket of a tenth of a second that both directions and all
 * connections drink from. A stream waits for it; a datagram that finds it
 * empty is lost, as on a full line, and may take it into debt.
 */
#include "gateway_priv.h"

enum { BUCKET_MS = 100 };

static void refill(struct gw *gw)
{
	uint64_t rate = gw->cfg->limits.rate, ms = gw->ms - gw->tokens_ms;
	uint64_t add;
	int64_t most;

	if (ms > 10000)
		ms = 10000;
	if (rate > UINT32_MAX)
		rate = UINT32_MAX; /* 4 GB/s */
	add = rate * ms / 1000;
	most = (int64_t)(rate * BUCKET_MS / 1000);
	if (!add && ms < 10000)
		return;
	gw->tokens_ms = gw->ms;
	gw->tokens += (int64_t)add;
	if (gw->tokens > (most ? most : 1))
		gw->tokens = most ? most : 1;
}

size_t rate_left(struct gw *gw, size_t want)
{
	if (!gw->cfg->limits.rate)
		return want;
	refill(gw);
	if (gw->tokens <= 0)
		return 0;
	return want < (size_t)gw->tokens ? want : (size_t)gw->tokens;
}

void rate_moved(struct gw *gw, size_t count)
{
	if (gw->cfg->limits.rate)
		gw->tokens -= (int64_t)count;
}

const char *limit_open(const struct gw *gw, unsigned pending)
{
	const struct gateway_limits *l = &gw->cfg->limits;

	if (l->opens && gw->opened + pending >= l->opens)
		return "--net-opens";
	if (l->connections &&
	    gw->nconns + gw->nflows + pending >= l->connections)
		return "--net-connections";
	return NULL;
}

const char *limit_of_conn(const struct gw *gw, uint64_t start_ms,
			  uint64_t used_ms)
{
	const struct gateway_limits *l = &gw->cfg->limits;

	if (l->time_ms && gw->ms - start_ms >= l->time_ms)
		return "--net-time";
	if (l->idle_ms && gw->ms - used_ms >= l->idle_ms)
		return "--net-idle";
	return NULL;
}

/*
 * snapshot_bytes.c - the reader's hand in a snapshot's bytes: what is not there
 * is zero or empty, and `bad` is set for good.
 */
#include "snapshot_priv.h"

void snap_take(struct snap_in *in, void *out, size_t len)
{
	if (in->bad || (size_t)(in->end - in->p) < len) {
		in->bad = true;
		memset(out, 0, len);
		return;
	}
	memcpy(out, in->p, len);
	in->p += len;
}

const char *snap_take_bytes(struct snap_in *in, size_t max, size_t *len)
{
	uint32_t n;
	const char *got;

	snap_take(in, &n, sizeof(n));
	*len = 0;
	if (in->bad || n > max || (size_t)(in->end - in->p) < n) {
		in->bad = true;
		return "";
	}
	got = in->p;
	in->p += n;
	*len = n;
	return got;
}

char *snap_take_text(struct snap_in *in, size_t max)
{
	size_t len;
	const char *got = snap_take_bytes(in, max, &len);
	char *s = xmalloc(len + 1);

	if (memchr(got, '\0', len))
		in->bad = true;
	memcpy(s, got, len);
	s[len] = '\0';
	return s;
}

char *snap_take_name(struct snap_in *in)
{
	char *s = snap_take_text(in, NAME_LEN_MAX);

	if (!*s || strchr(s, '/') || !strcmp(s, ".") || !strcmp(s, ".."))
		in->bad = true;
	return s;
}

bool snap_fits(struct snap_in *in, uint32_t count, size_t size)
{
	if (count > (size_t)(in->end - in->p) / size)
		in->bad = true;
	return !in->bad;
}

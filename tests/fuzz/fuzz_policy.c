/*
 * fuzz_policy.c - policy files of any bytes: read, or refused with a place.
 */
#include "../../sentry/policy/file.h"

static int take(void *arg, const struct policy_option *o, struct strbuf *err)
{
	(void)arg;
	(void)err;
	BUG_ON(!*o->name || !o->value || !strchr(o->origin, ':'));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_file_sink sink = {take, NULL};
	char *text = xmalloc(size + 1);
	struct strbuf err;
	int ret;

	memcpy(text, data, size);
	text[size] = '\0';
	strbuf_init(&err, 0);
	ret = policy_file_read("p", text, size, &sink, &err);
	BUG_ON(ret && strncmp(err.data, "p:", 2) != 0);
	BUG_ON(!ret && err.len);
	strbuf_fini(&err);
	free(text);
	return 0;
}

/*
 * fuzz_control.c - feeds the readers of the control socket with arbitrary
 * bytes: the messages, and the blocks that commands come in. What is accepted
 * must keep what its users rely on.
 */
#include "../../sentry/command.h"
#include "../../sentry/session/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const char *data, size_t size)
{
	json_t *o;

	if (control_parse(data, size, &o))
		return;
	BUG_ON(!json_is_object(o));
	BUG_ON(control_number(o, "v", 0) != CONTROL_VERSION);
	BUG_ON(!control_text(o, "op", ""));
	(void)control_number(o, "signal", 0);
	(void)control_flag(o, "detach");
	json_decref(o);
}

static void check_command(const void *data, size_t size)
{
	struct command c;
	size_t total = 0;

	if (command_parse(data, size, &c))
		return;
	BUG_ON(!c.argc || !c.argv[0] || c.argv[c.argc] || c.envp[c.envc]);
	total += strlen(c.cwd) + 1;
	for (size_t i = 0; i < c.argc; i++)
		total += strlen(c.argv[i]) + 1;
	for (size_t i = 0; i < c.envc; i++)
		total += strlen(c.envp[i]) + 1;
	BUG_ON(total + 16 != size);
	command_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct {
		uint32_t magic, argc, envc, len;
		uint8_t rest[4096];
	} block = {.magic = 0x646d6363};

	check_message((const char *)data, size);
	check_command(data, size);
	/* the same bytes behind a good head */
	if (size < 2 || size - 2 > sizeof(block.rest))
		return 0;
	block.argc = data[0];
	block.envc = data[1];
	block.len = (uint32_t)(size - 2);
	memcpy(block.rest, data + 2, size - 2);
	check_command(&block, 16 + size - 2);
	return 0;
}

/*
 * agents.c - see agents.h. The files are embedded as they are.
 */
#include "agents.h"

#define EMBED(name)                                                 \
	__asm__(".pushsection .rodata\n"                            \
		"agent_" #name ":\n"                                \
		".incbin \"sentry/policy/agents/" #name ".yaml\"\n" \
		".byte 0\n"                                         \
		".popsection\n");                                   \
	extern const char agent_##name[] __attribute__((visibility("hidden")))

EMBED(claude);
EMBED(codex);
EMBED(gemini);

static const struct {
	const char *name, *text;
} agents[] = {
	{"claude", agent_claude},
	{"codex", agent_codex},
	{"gemini", agent_gemini},
};

const char *agents_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		if (strcmp(agents[i].name, name) == 0)
			return agents[i].text;
	return NULL;
}

const char *agents_name(size_t i)
{
	return i < ARRAY_SIZE(agents) ? agents[i].name : NULL;
}

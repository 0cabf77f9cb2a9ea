/*
 * asked.c - the words by which a sandbox was asked for, kept so that a fork
 * can be made by the same (cmd_fork.c).
 *
 * What belongs to one sandbox alone is left out: its name, its streams, its
 * descriptors and its ports of the host.
 */
#include "cli.h"

extern char **environ;

static bool is_its_own(const struct opt *row)
{
	static const char *const names[] = {"name", "keep", "audit",
					    "audit-head", "publish"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(row->name, names[i]))
			return true;
	return row->type == OPT_FD;
}

/* *own_word: its value, if it has one, is the next word. */
static const struct opt *row_of(const char *word, bool *own_word)
{
	size_t len = strcspn(word + 2 * (word[1] == '-'), "=");
	const struct opt *row = cli_run_options;

	for (; row->name; row++) {
		if (word[1] != '-' && row->letter == word[1]) {
			*own_word = row->arg && !word[2];
			return row;
		}
		if (word[1] == '-' && strlen(row->name) == len &&
		    !strncmp(word + 2, row->name, len)) {
			*own_word = row->arg && word[2 + len] != '=';
			return row;
		}
	}
	return NULL;
}

void cli_config_asked(struct config *cfg, char **argv, int first)
{
	char **words = xcalloc((size_t)first + 2, sizeof(*words));
	static char command[] = "fork"; /* the words are argv of that */
	size_t n = 0;

	words[n++] = command;

	for (int i = 1; i < first; i++) {
		bool own_word = false;
		const struct opt *row =
			argv[i][0] == '-' ? row_of(argv[i], &own_word) : NULL;
		int count = own_word && i + 1 < first ? 2 : 1;

		for (int k = 0; row && !is_its_own(row) && k < count; k++)
			words[n++] = argv[i + k];
		i += count - 1;
	}
	cfg->asked = words;
	cfg->asked_env = environ;
	cfg->asked_cwd = getcwd(NULL, 0);
}

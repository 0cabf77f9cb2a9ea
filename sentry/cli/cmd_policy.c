/*
 * cmd_policy.c - `cloche policy show` and `policy check`: what options and
 * policy files would let a program see and reach, asked without running one.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../../fs/vfs.h"
#include "../policy/policy.h"
#include "cmd_policy.h"

static void show_network(const struct config *cfg)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_puts(&b, "network: ");
	if (cfg->nnet)
		strbuf_puts(&b, "the last rule that matches wins, all else is "
				"refused:\n");
	else
		strbuf_puts(&b, "nothing but the sandbox's own loopback\n");
	for (size_t i = 0; i < cfg->nnet; i++) {
		const struct net_rule *r = &cfg->net[i];

		strbuf_puts(&b, r->allow ? "  allow " : "  deny  ");
		strbuf_visible(&b, r->text, strlen(r->text));
		if (r->origin) {
			strbuf_puts(&b, "  (");
			strbuf_visible(&b, r->origin, strlen(r->origin));
			strbuf_puts(&b, ")");
		}
		strbuf_putc(&b, '\n');
	}
	for (size_t i = 0; i < cfg->npublish; i++)
		strbuf_printf(&b, "  publish %s\n", cfg->publish[i]);
	fwrite(b.data, 1, b.len, stdout);
	strbuf_fini(&b);
}

static void show_limit(const char *name, uint64_t value)
{
	if (value)
		printf("  %s %llu\n", name, (unsigned long long)value);
}

/* As --memory and its like take it. */
static void show_size(const char *name, uint64_t value, const char *unit)
{
	static const char units[] = "KMGT";
	size_t u = 0;

	if (!value)
		return;
	while (u < sizeof(units) - 1 && value % 1024 == 0) {
		value /= 1024;
		u++;
	}
	printf("  %s %llu%.*s%s\n", name, (unsigned long long)value, u > 0,
	       &units[u ? u - 1 : 0], unit);
}

/* As --timeout and its like take it. */
static void show_time(const char *name, uint64_t ms)
{
	uint64_t s = ms / 1000;

	if (!ms)
		return;
	if (ms % 1000)
		printf("  %s %llums\n", name, (unsigned long long)ms);
	else if (s % 60)
		printf("  %s %llus\n", name, (unsigned long long)s);
	else if (s % 3600)
		printf("  %s %llum\n", name, (unsigned long long)s / 60);
	else
		printf("  %s %lluh\n", name, (unsigned long long)s / 3600);
}

static void show_limits(const struct config *cfg)
{
	const struct limits *l = &cfg->limits;

	if (l->memory || l->disk || l->pids || l->timeout_ms ||
	    l->cpu_time_ms || l->output || l->cpus > 0 || l->net_rate ||
	    l->net_connections || l->net_opens || l->net_idle_ms ||
	    l->net_time_ms)
		printf("limits:\n");
	show_size("memory", l->memory, "");
	show_size("disk", l->disk, "");
	show_limit("pids", l->pids);
	show_time("timeout", l->timeout_ms);
	show_time("cpu-time", l->cpu_time_ms);
	show_size("output", l->output, "");
	show_size("net-rate", l->net_rate, " a second");
	show_limit("net-connections", l->net_connections);
	show_limit("net-opens", l->net_opens);
	show_time("net-idle", l->net_idle_ms);
	show_time("net-time", l->net_time_ms);
	if (l->cpus > 0)
		printf("  cpus %g\n", l->cpus);
}

static int policy_print(const struct config *cfg)
{
	struct policy *p;
	struct strbuf b;
	int err = policy_new(cfg, &p);

	if (err)
		return CLI_FAILED;
	strbuf_init(&b, 0);
	policy_show(p, &b);
	fwrite(b.data, 1, b.len, stdout);
	strbuf_fini(&b);
	policy_free(p);
	show_network(cfg);
	show_limits(cfg);
	return 0;
}

/* The mask of a path as a walk from the root would find it. */
static unsigned walk_mask(struct policy *p, const char *path, uint32_t *rule)
{
	char prefix[PATH_LEN_MAX];
	unsigned mask = 0;
	size_t len = strlen(path);

	for (size_t i = 1; i <= len; i++) {
		uint32_t own = 0;
		unsigned answer;

		if (i < len && path[i] != '/')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		answer = policy_mask(p, prefix, mask, &own);
		mask = answer & VFS_MASK_RESET ? answer & ~VFS_MASK_RESET
					       : mask | answer;
		if (own || (answer & VFS_MASK_RESET))
			*rule = own;
	}
	return mask;
}

/* Absolute and resolved as far as it exists; its last name need not. */
static char *check_resolve(const char *path)
{
	char *real = realpath(path, NULL);
	AUTO_FREE char *dir = NULL;
	AUTO_FREE char *real_dir = NULL;
	AUTO_FREE char *cwd = NULL;
	const char *slash = strrchr(path, '/');

	if (real)
		return real;
	dir = slash ? strndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	real_dir = realpath(dir, NULL);
	if (real_dir)
		return xasprintf("%s/%s", strcmp(real_dir, "/") ? real_dir : "",
				 slash ? slash + 1 : path);
	cwd = getcwd(NULL, 0);
	return *path == '/' ? xstrdup(path)
			    : xasprintf("%s/%s", cwd ? cwd : "", path);
}

static bool is_own(const char *path)
{
	static const char *const own[] = {"/dev", "/proc", "/sys", "/run"};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		size_t len = strlen(own[i]);

		if (strncmp(path, own[i], len) == 0 &&
		    (path[len] == '/' || !path[len]))
			return true;
	}
	return false;
}

/* What else may stand against it, though no rule does; "" is nothing. */
static const char *check_host(const struct config *cfg, const char *what,
			      const char *path)
{
	struct stat st;

	if (is_own(path))
		return " (in the sandbox's own file system, not the host's)";
	if (cfg->root)
		return ""; /* another tree */
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? " (does not exist)"
			       : " (cannot be reached)";
	if (strcmp(what, "exec") == 0 && S_ISDIR(st.st_mode))
		return " (a directory)";
	if (strcmp(what, "exec") == 0 && access(path, X_OK) < 0)
		return " (not executable)";
	if (strcmp(what, "read") == 0 && access(path, R_OK) < 0)
		return " (not readable for you)";
	if (strcmp(what, "write") == 0 && access(path, W_OK) < 0)
		return " (not writable for you)";
	return "";
}

static int check_path(const struct config *cfg, const char *what,
		      const char *path)
{
	AUTO_FREE char *whole = check_resolve(path);
	char buf[PATH_LEN_MAX + 64];
	struct policy *p;
	const char *verdict = "allow", *hint = NULL, *note = "";
	uint32_t rule = 0;
	unsigned mask, bad = VFS_MASK_HIDE;

	if (strlen(whole) >= PATH_LEN_MAX || policy_new(cfg, &p)) {
		log_info("policy check: %s: %s", path, strerror(ENAMETOOLONG));
		return CLI_FAILED;
	}
	if (strcmp(what, "write") == 0)
		bad |= VFS_MASK_RO | VFS_MASK_NOWRITE;
	else
		bad |= VFS_MASK_NOLOWER | VFS_MASK_NOREAD;
	if (strcmp(what, "exec") == 0)
		bad |= VFS_MASK_NOEXEC;
	mask = walk_mask(p, whole, &rule);
	if (mask & bad) {
		verdict = mask & VFS_MASK_HIDE	    ? "hidden"
			  : mask & VFS_MASK_NOLOWER ? "not shown"
						    : "refused";
		hint = policy_rule_hint(p, rule, whole, buf, sizeof(buf));
	} else {
		note = mask & VFS_MASK_NOLOWER
			       ? " (in memory only; the host's is not shown)"
			       : check_host(cfg, what, whole);
	}
	printf("%s%s: %s %s, rule %s%s%s\n", verdict, note, what, whole,
	       policy_rule_name(p, rule), hint ? "; to allow: " : "",
	       hint ? hint : "");
	policy_free(p);
	return mask & bad ? 1 : 0;
}

/* ---- the command ----------------------------------------------------- */

static bool is_access(const char *word)
{
	return strcmp(word, "read") == 0 || strcmp(word, "write") == 0 ||
	       strcmp(word, "exec") == 0;
}

static bool is_what(const char *word)
{
	return is_access(word) || strcmp(word, "net") == 0 ||
	       strcmp(word, "http") == 0;
}

static int check_words(const struct config *cfg, char **word, int n)
{
	const char *what = n ? word[0] : "";

	if (is_access(what) && n == 2)
		return check_path(cfg, what, word[1]);
	if (strcmp(what, "net") == 0 && n == 2)
		return policy_check_net(cfg, word[1]);
	if (strcmp(what, "http") == 0 && n == 3)
		return policy_check_http(cfg, word[1], word[2]);
	if (is_what(what))
		log_info("policy check: %s: %s was expected", what,
			 *what == 'n'	? "one HOST:PORT"
			 : *what == 'h' ? "METHOD URL"
					: "one PATH");
	else
		log_info("policy check: [FILE] read, write or exec PATH, net "
			 "HOST:PORT, or http METHOD URL was expected%s%s%s",
			 *what ? ", not \"" : "", what, *what ? "\"" : "");
	return CLI_FAILED;
}

/* Options may stand before, between and behind the words; a first word that
 * is none of ours is a policy file. */
static int policy_check(int argc, char **argv)
{
	char **args = xcalloc((size_t)argc + 2, sizeof(*args));
	AUTO_FREE char *file = NULL;
	struct config cfg;
	int rest, status, n = 0;
	int words = opt_permute(cli_run_options, argc, argv);
	char **word = argv + argc - words;

	args[n++] = argv[0];
	if (words > 1 && !is_what(word[0]) && !is_what(word[1])) {
		bool has_file = access(word[0], F_OK) == 0;

		/* says what was expected */
		status = check_words(NULL, word + has_file, words - has_file);
		free(args);
		return status;
	}
	if (words && !is_what(word[0])) {
		file = xasprintf("--policy=%s", word[0]);
		args[n++] = file;
		word++;
		words--;
	}
	for (char **w = argv + 1; w < argv + argc; w++)
		if (!file || w != word - 1)
			args[n++] = *w;
	status = cli_config(&cfg, "policy", n, args, &rest);
	if (!status) {
		status = check_words(&cfg, word, words);
		cli_config_fini(&cfg);
	} else {
		status = status == OPT_HELP ? 0 : CLI_FAILED;
	}
	free(args);
	return status;
}

static int policy_show_command(int argc, char **argv)
{
	struct config cfg;
	int rest, status = cli_config(&cfg, "policy", argc, argv, &rest);

	if (status)
		return status == OPT_HELP ? 0 : CLI_FAILED;
	status = CLI_FAILED;
	if (rest < argc)
		log_info("policy show: unexpected \"%s\"", argv[rest]);
	else
		status = policy_print(&cfg);
	cli_config_fini(&cfg);
	return status;
}

int cli_policy(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
		return cli_print_help("policy");
	if (strcmp(verb, "show") == 0)
		return policy_show_command(argc - 1, argv + 1);
	if (strcmp(verb, "check") == 0)
		return policy_check(argc - 1, argv + 1);
	log_info("policy: show or check was expected");
	return CLI_FAILED;
}

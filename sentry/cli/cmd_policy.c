/*
 * cmd_policy.c - `cloche policy show` and `policy check`: what the options of
 * a run would let a program see, asked without running one.
 */
#include <limits.h>
#include <stdio.h>

#include "../../fs/vfs.h"
#include "../policy/policy.h"
#include "cli.h"

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
		unsigned answer, before = mask;

		if (i < len && path[i] != '/')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		answer = policy_mask(p, prefix, mask, &own);
		mask = answer & VFS_MASK_RESET ? answer & ~VFS_MASK_RESET
					       : mask | answer;
		if (mask != before || (own && answer))
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

static int check_path(const struct config *cfg, const char *what,
		      const char *path)
{
	AUTO_FREE char *whole = check_resolve(path);
	char buf[PATH_LEN_MAX + 64];
	struct policy *p;
	const char *verdict = "allow", *hint = NULL;
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
	}
	printf("%s: %s %s, rule %s%s%s\n", verdict, what, whole,
	       policy_rule_name(p, rule), hint ? "; to allow: " : "",
	       hint ? hint : "");
	policy_free(p);
	return mask & bad ? 1 : 0;
}

int cli_policy(int argc, char **argv)
{
	bool show = argc > 1 && strcmp(argv[1], "show") == 0;
	bool check = argc > 1 && strcmp(argv[1], "check") == 0;
	struct config cfg;
	int rest, status;

	if (argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return cli_print_help("policy");
	if (!show && !check) {
		log_info("policy: show or check was expected");
		return CLI_FAILED;
	}
	status = cli_config(&cfg, "policy", argc - 1, argv + 1, &rest);
	if (status)
		return status == OPT_HELP ? 0 : CLI_FAILED;
	argv += rest + 1;
	argc -= rest + 1;
	status = CLI_FAILED;
	if (show && argc)
		log_info("policy show: unexpected \"%s\"", argv[0]);
	else if (show)
		status = policy_print(&cfg);
	else if (argc != 2)
		log_info("policy check: read, write or exec, and a PATH were "
			 "expected");
	else if (strcmp(argv[0], "read") != 0 &&
		 strcmp(argv[0], "write") != 0 && strcmp(argv[0], "exec") != 0)
		log_info("policy check: read, write or exec was expected, not "
			 "\"%s\"",
			 argv[0]);
	else
		status = check_path(&cfg, argv[0], argv[1]);
	cli_config_fini(&cfg);
	return status;
}

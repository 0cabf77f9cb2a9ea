/*
 * policy_test.c - patterns, and the verdict on paths under each profile.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../fs/vfs.h"
#include "../../sentry/policy/glob.h"
#include "../../sentry/policy/rules.h"
#include "../../sentry/policy/worktree.h"

Test(glob, table)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} rows[] = {
		{"/a/b", "/a/b", true},
		{"/a/b", "/a/bc", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/b/c", false},
		{"/a/*", "/a", false},
		{"/*", "/.hidden", true},
		{"/a/**", "/a/b/c", true},
		{"/a/**", "/a", false},
		{"/**", "/a", true},
		{"/**/x", "/x", true},
		{"/**/x", "/a/b/x", true},
		{"/**/x", "/a/bx", false},
		{"/a/**/b", "/a/b", true},
		{"/a/**/b", "/a/x/y/b", true},
		{"/a/**/b", "/a/x/y/c", false},
		{"/a/**/b/**/c", "/a/b/b/x/c", true},
		{"/a/**/b*c/d", "/a/bxc/q/bc/d", true},
		{"/**/*.pem", "/etc/x.pem", true},
		{"/**/*.pem", "/etc/x.pem/y", false},
		{"/a?c", "/abc", true},
		{"/a?c", "/a/c", false},
		{"/[a-c]x", "/bx", true},
		{"/[!a-c]x", "/bx", false},
		{"/[]]x", "/]x", true},
		{"/[a", "/[a", true},
		{"/a\\*", "/a*", true},
		{"/a\\*", "/ab", false},
		{"/*a*b*c", "/xxaxxbxxc", true},
		{"/*a*b*c", "/xxaxxc", false},
		{"/**/a/**", "/x/a/y/z", true},
		{"/a//b", "/a/b", true},
		{"/**/**/x", "/x", true},
		{"/.env.*", "/.env.local", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(glob_match(rows[i].pattern, rows[i].path),
			     rows[i].match, "%s %s", rows[i].pattern,
			     rows[i].path);
}

Test(glob, hostile_paths_take_bounded_time, .timeout = 5)
{
	char path[4096];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? 'a' : '/';
	path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		cr_assert_not(glob_match("/**/a/**/a/**/a/**/b", path));
	memset(path + 1, 'a', sizeof(path) - 2);
	for (int i = 0; i < 100; i++)
		cr_assert_not(glob_match("/*a*a*a*a*a*a*a*b", path));
}

Test(glob, bad_patterns)
{
	cr_assert(glob_check(""));
	cr_assert(glob_check("/a["));
	cr_assert(glob_check("/a\\"));
	cr_assert_null(glob_check("/**/[a-z]*"));
}

static struct config config;
static struct policy *policy;

static void build(const char *profile, const char *home, const char *project,
		  bool root)
{
	policy_free(policy);
	config.profile = profile;
	config.home = (char *)home;
	config.project = (char *)project;
	policy = policy_build(&config, root);
}

static struct file_rule rules[8];

static void rule(enum file_access access, const char *path)
{
	rules[config.nfiles] = (struct file_rule){.access = access,
						  .path = (char *)path,
						  .guest = (char *)path,
						  .origin = (char *)path};
	config.files = rules;
	config.nfiles++;
}

/* As a walk from the root asks, one dentry after the other. */
static unsigned mask(const char *path)
{
	char prefix[4096];
	unsigned m = 0;

	for (size_t i = 1; i <= strlen(path); i++) {
		uint32_t number;
		unsigned answer;

		if (path[i] && path[i] != '/')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		answer = policy_mask(policy, prefix, m, &number);
		m = answer & VFS_MASK_RESET ? answer & ~VFS_MASK_RESET
					    : m | answer;
	}
	return m;
}

#define H "/nowhere/home/u"

static void expect(unsigned want, const char *path)
{
	cr_expect_eq(mask(path), want, "%s: %x, not %x", path, mask(path),
		     want);
}

Test(policy, agent_shows_the_work_directory_of_home)
{
	build("agent", H, H "/src/proj", false);
	expect(0, "/");
	expect(0, "/usr/bin/ls");
	expect(0, "/etc/shadow"); /* the user may not read it anyway */
	expect(0, H);
	expect(0, H "/src");
	expect(0, H "/src/proj");
	expect(0, H "/src/proj/a/b.c");
	expect(VFS_MASK_NOLOWER, H "/src/other");
	expect(VFS_MASK_NOLOWER, H "/src/project");
	expect(VFS_MASK_NOLOWER, H "/Documents/x");
	expect(VFS_MASK_NOLOWER, H "/.ssh/id_rsa");
	expect(VFS_MASK_NOLOWER, H "/.bashrc");
	expect(VFS_MASK_NOLOWER, H "/.gitconfig");
	expect(0, H "/.cargo");
	expect(0, H "/.cargo/bin/cargo");
	expect(VFS_MASK_NOLOWER, H "/.cargo/credentials.toml");
	expect(0, H "/.local/share/pnpm/x");
	expect(VFS_MASK_NOLOWER, H "/.local/share/keyrings");
	expect(0, "/nowhere/home/u2/x");
}

static void make_path(const char *dir, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);

	cr_assert_eq(mkdir(path, 0755), 0, "%s", path);
}

/* Where a link of the user's own leads, in a home with few names and one with
 * many. */
Test(policy, toolchains_behind_links_are_shown)
{
	static const char *const own[] = {"home", "dots", "dots/cargo",
					  "dots/cargo/bin", "dots/go"};
	char dir[] = "/tmp/cloche-policy-XXXXXX", name[64];

	cr_assert_neq(mkdtemp(dir), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		make_path(dir, own[i]);
	for (int many = 0; many < 2; many++) {
		AUTO_FREE char *home = xasprintf("%s/home", dir);
		AUTO_FREE char *cargo = xasprintf("%s/.cargo", home);
		AUTO_FREE char *go = xasprintf("%s/go", home);
		AUTO_FREE char *bin = xasprintf("%s/dots/cargo/bin/x", dir);
		AUTO_FREE char *gox = xasprintf("%s/dots/go/x", dir);
		AUTO_FREE char *closed = xasprintf("%s/dots/cargo/x", dir);
		struct config cfg = {
			.profile = "agent", .home = dir, .project = home};
		struct policy *p;

		for (int i = 0; many && i < 2000; i++) {
			snprintf(name, sizeof(name), "home/name%d", i);
			make_path(dir, name);
		}
		if (!many) {
			cr_assert_eq(symlink("../dots/cargo", cargo), 0);
			cr_assert_eq(symlink("../dots/go", go), 0);
		}
		cfg.home = home;
		p = policy_build(&cfg, false);
		for (size_t i = 0, hits = 0; i <= p->nplaces; i++) {
			if (i == p->nplaces)
				cr_expect_eq(hits, 2, "many %d", many);
			else if (p->places[i].kind == PLACE_SHOWN)
				hits += path_covers(p->places[i].path,
						    p->places[i].len, bin) ||
					path_covers(p->places[i].path,
						    p->places[i].len, gox);
			if (i < p->nplaces)
				cr_expect_not(path_covers(p->places[i].path,
							  p->places[i].len,
							  closed));
		}
		policy_free(p);
	}
	AUTO_FREE char *rm = xasprintf("rm -rf %s", dir);
	cr_assert_eq(system(rm), 0);
}

Test(policy, environment_files_are_secret_everywhere)
{
	build("agent", H, "/srv/p", false);
	expect(VFS_MASK_NOLOWER, "/srv/p/.env");
	expect(VFS_MASK_NOLOWER, "/srv/p/a/.env.local");
	expect(0, "/srv/p/.env.example");
	expect(0, "/srv/p/.environment");
	expect(0, "/srv/p/x.env");
}

Test(policy, home_profile_shows_all_but_secrets)
{
	build("home", H, H "/p", false);
	expect(0, H "/Documents/x");
	expect(VFS_MASK_NOLOWER, H "/.ssh/id_rsa");
	expect(VFS_MASK_NOLOWER, H "/.aws/credentials");
	expect(VFS_MASK_NOLOWER, H "/.config/gcloud/x/y");
	expect(VFS_MASK_NOLOWER, H "/.bash_history");
	expect(VFS_MASK_NOLOWER, H "/.mozilla/firefox/p");
	expect(VFS_MASK_NOLOWER, H "/.docker/config.json");
	expect(0, H "/.config/other");
}

Test(policy, strict_shows_system_and_work_directory)
{
	build("strict", H, H "/p", false);
	expect(0, "/usr/lib/x");
	expect(0, "/tmp/x");
	expect(0, H);
	expect(0, H "/p/x");
	expect(VFS_MASK_NOLOWER, H "/.cargo/bin/x");
	expect(VFS_MASK_NOLOWER, "/srv/x");
	expect(VFS_MASK_NOLOWER, "/home/x");
}

Test(policy, observe_hides_nothing_but_what_is_asked)
{
	rule(FILE_HIDE, "/etc/x");
	build("observe", H, H "/p", true);
	expect(0, H "/.ssh/id_rsa");
	expect(0, "/etc/shadow");
	expect(VFS_MASK_HIDE, "/etc/x");
}

Test(policy, root_does_not_lend_its_eyes)
{
	build("agent", H, "/srv/p", true);
	expect(VFS_MASK_NOLOWER, "/etc/shadow");
	expect(VFS_MASK_NOLOWER, "/etc/shadow-");
	expect(VFS_MASK_NOLOWER, "/etc/gshadow");
	expect(VFS_MASK_NOLOWER, "/etc/ssh/ssh_host_rsa_key");
	expect(0, "/etc/ssh/ssh_host_rsa_key.pub");
	expect(VFS_MASK_NOLOWER, "/etc/ssl/private/x.key");
	expect(VFS_MASK_NOLOWER, "/etc/sudoers.d/x");
	expect(VFS_MASK_NOLOWER, "/home/bob/x");
	expect(VFS_MASK_NOLOWER, "/root/x");
	expect(0, "/root");
	expect(0, "/home");
	expect(0, "/srv/p");
	build("agent", H, "/home/bob/proj", true);
	expect(0, "/home/bob");
	expect(0, "/home/bob/proj/x");
	expect(VFS_MASK_NOLOWER, "/home/bob/other");
}

Test(policy, last_rule_wins_and_hide_beats_an_ancestor)
{
	rule(FILE_RO, "/work");
	rule(FILE_RW, "/work/out");
	rule(FILE_HIDE, "/work/out/secret");
	rule(FILE_HIDE, "/**/*.pem");
	rule(FILE_RW, "/work/out/ok.pem");
	build("agent", H, "/work", false);
	expect(VFS_MASK_RO, "/work/x");
	expect(0, "/work/out/x");
	expect(VFS_MASK_HIDE, "/work/out/secret");
	expect(VFS_MASK_HIDE, "/work/out/secret/x");
	expect(VFS_MASK_HIDE, "/work/out/a.pem");
	expect(0, "/work/out/ok.pem");
}

Test(policy, later_ro_on_the_ancestor_wins)
{
	rule(FILE_RW, "/work/out");
	rule(FILE_RO, "/work");
	build("agent", H, "/work", false);
	expect(VFS_MASK_RO, "/work/out");
	expect(VFS_MASK_RO, "/work/out/x");
}

Test(policy, explicit_rule_opens_one_secret_only)
{
	rule(FILE_RO, H "/.ssh/config");
	rule(FILE_RO, H "/notes");
	build("agent", H, "/work", false);
	expect(VFS_MASK_RO, H "/.ssh/config");
	expect(0, H "/.ssh");
	expect(VFS_MASK_NOLOWER, H "/.ssh/id_rsa");
	expect(VFS_MASK_RO, H "/notes/x");
	expect(VFS_MASK_RO | VFS_MASK_NOLOWER, H "/notes/.env");
}

static void rule_at(enum file_access access, const char *path,
		    const char *guest)
{
	rule(access, path);
	rules[config.nfiles - 1].guest = (char *)guest;
}

/* What a name on the host keeps, another place does not show. */
Test(policy, secrets_are_kept_at_another_place)
{
	rule_at(FILE_RW, H, "/mnt/h");
	rule_at(FILE_RO, H "/.ssh/config", "/mnt/h/.ssh/config");
	rule_at(FILE_RO, H "/.aws", "/mnt/aws");
	rule(FILE_HIDE, H "/proj/x*");
	rule(FILE_TMPFS, "/mnt/h/tmp");
	build("agent", H, "/work", false);
	expect(0, "/mnt/h");
	expect(0, "/mnt/h/proj/file");
	expect(VFS_MASK_HIDE, "/mnt/h/proj/xy");
	expect(VFS_MASK_NOLOWER, "/mnt/h/.gnupg/secring.gpg");
	expect(VFS_MASK_NOLOWER, "/mnt/h/.cargo/credentials.toml");
	expect(0, "/mnt/h/.ssh");
	expect(VFS_MASK_NOLOWER, "/mnt/h/.ssh/id_rsa");
	expect(VFS_MASK_RO, "/mnt/h/.ssh/config");
	expect(VFS_MASK_RO, "/mnt/aws");
	expect(VFS_MASK_RO, "/mnt/aws/config");
	expect(0, "/mnt/h/tmp/.ssh");
	expect(0, "/other/.ssh");
}

Test(policy, closed_places_are_kept_at_another_place)
{
	rule_at(FILE_RO, "/nowhere", "/mnt/n");
	rule_at(FILE_RO, "/etc", "/mnt/etc");
	build("agent", H, H "/proj", true);
	expect(VFS_MASK_RO, "/mnt/n/home");
	expect(VFS_MASK_RO | VFS_MASK_NOLOWER, "/mnt/n/home/u/notes");
	expect(VFS_MASK_RO, "/mnt/n/home/u/proj/a");
	expect(VFS_MASK_RO | VFS_MASK_NOLOWER, "/mnt/etc/shadow");
	expect(VFS_MASK_RO, "/mnt/etc/passwd");
}

/* With --root names are the tree's, but for what --ro takes from outside. */
Test(policy, a_tree_and_the_hosts_secrets)
{
	setenv("HOME", H, true);
	config.root = (char *)"/tree";
	rule(FILE_RO, H);
	rule_at(FILE_RO, "/etc", "/mnt/etc");
	build("agent", NULL, NULL, true);
	expect(VFS_MASK_RO, H "/notes");
	expect(VFS_MASK_RO | VFS_MASK_NOLOWER, H "/.ssh/id_rsa");
	expect(VFS_MASK_RO | VFS_MASK_NOLOWER, "/mnt/etc/shadow");
	expect(0, "/etc/shadow");
	expect(0, "/root/.ssh");
	config.root = NULL;
}

Test(policy, work_directory_may_be_home_or_above)
{
	build("agent", H, H, false);
	expect(0, H "/x");
	expect(VFS_MASK_NOLOWER, H "/.ssh");
	build("agent", H, "/", false);
	expect(VFS_MASK_NOLOWER, H "/x");
	expect(0, "/srv/x");
}

Test(policy, names_and_hints)
{
	char buf[256];
	uint32_t number;

	rule(FILE_HIDE, "/etc/x");
	build("agent", H, "/work", false);
	policy_mask(policy, "/etc/x", 0, &number);
	cr_assert_str_eq(policy_rule_name(policy, number), "/etc/x");
	policy_mask(policy, H "/Documents", 0, &number);
	cr_assert_str_eq(policy_rule_name(policy, number),
			 "profile agent: home directory");
	cr_assert_str_eq(policy_rule_hint(policy, number, H "/Documents", buf,
					  sizeof(buf)),
			 "--ro " H "/Documents");
	policy_mask(policy, H "/.ssh", 0, &number);
	cr_assert_str_eq(policy_rule_name(policy, number), "secrets: SSH keys");
	/* what is below keeps that name */
	cr_assert_eq(
		policy_mask(policy, H "/.ssh/id", VFS_MASK_NOLOWER, &number),
		VFS_MASK_NOLOWER);
	cr_assert_eq(number, 0u);
	cr_assert_str_eq(policy_rule_name(policy, 0), "default");
	cr_assert_null(policy_rule_hint(policy, 0, "/", buf, sizeof(buf)));
}

/* Components that the curated lists and the rules below speak of, and others.
 */
static const char *const parts[] = {
	"etc",	  "nowhere", "home", "u",    ".ssh", ".config",	  "op",
	".env",	  ".env.ci", "work", "out",  "x",    "y.pem",	  "mnt",
	"h",	  "shadow",  "var",  "mail", "a*b",  "Bitwarden", "notes",
	".local", "share",   "p",    "root", "deep", "f0001.txt",
};

static size_t some_path(char *buf, unsigned *seed)
{
	size_t n = rand_r(seed) % 6, len = 0;

	for (size_t i = 0; i < n; i++) {
		const char *s = parts[rand_r(seed) % ARRAY_SIZE(parts)];

		len += (size_t)sprintf(buf + len, "/%s", s);
	}
	buf[len] = '\0';
	return len;
}

/* What each plain name of a directory gets, whatever it inherits. */
static size_t expect_alike(const char *dir, size_t len, unsigned inherited)
{
	char path[512];
	uint32_t rule = 0, number;
	unsigned want = 0, got;
	size_t asked = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (policy_name_told(policy, parts[i], strlen(parts[i])))
			continue;
		sprintf(path, "%.*s/%s", (int)len, dir, parts[i]);
		got = policy_mask(policy, path, inherited, &number);
		if (!asked++) {
			want = got;
			rule = number;
		}
		cr_assert_eq(got, want, "%s: %x, not %x", path, got, want);
		cr_assert_eq(number, rule, "%s: %u, not %u", path, number,
			     rule);
	}
	return asked;
}

static void alike_rules(unsigned *seed)
{
	static const char *const globs[] = {
		"/**/*.pem",	    "/work/**",	    "/work/out/*",
		"/**/deep/**/x",    "/mnt/h/**/n*", "/nowhere/home/u/x?",
		"/work/[a-f]*/\\p",
	};
	static char paths[8][2][256];

	config.nfiles = 0;
	for (size_t i = 0; i < 8; i++) {
		if (rand_r(seed) % 2)
			continue;
		if (rand_r(seed) % 2) {
			rule(FILE_HIDE,
			     globs[rand_r(seed) % ARRAY_SIZE(globs)]);
			continue;
		}
		if (!some_path(paths[i][0], seed))
			continue;
		rule(rand_r(seed) % 3 ? FILE_RO : FILE_TMPFS, paths[i][0]);
		if (rand_r(seed) % 2 && some_path(paths[i][1], seed))
			rules[config.nfiles - 1].guest = paths[i][1];
	}
}

Test(policy, names_alike_get_one_answer)
{
	static const char *const profiles[] = {"agent", "home", "strict",
					       "observe"};
	unsigned seed = 1;
	size_t alike = 0;

	for (int round = 0; round < 300; round++) {
		alike_rules(&seed);
		build(profiles[round % 4], H, "/srv/p", round % 3 == 0);
		for (int i = 0; i < 60; i++) {
			char dir[256];
			size_t len = some_path(dir, &seed);

			if (!policy_dir_alike(policy, len ? dir : "/"))
				continue;
			alike++;
			cr_assert_gt(expect_alike(dir, len, 0), 3u);
			expect_alike(dir, len, VFS_MASK_NOLOWER);
		}
	}
	cr_assert_gt(alike, 1000u, "%zu", alike);
}

Test(policy, most_names_are_alike)
{
	build("agent", H, "/srv/p", true);
	cr_assert(policy_dir_alike(policy, "/srv/p"));
	cr_assert(policy_dir_alike(policy, "/usr/share/doc"));
	cr_assert_not(policy_dir_alike(policy, "/"));
	cr_assert_not(policy_dir_alike(policy, H));
	cr_assert_not(policy_dir_alike(policy, "/var/mail"));
	cr_assert_not(policy_name_told(policy, "main.c", 6));
	cr_assert(policy_name_told(policy, ".env.local", 10));
	cr_assert(policy_name_told(policy, ".ssh", 4));
}

/* The host's name of a directory counts as well as the one shown. */
Test(policy, directories_with_rules_below_are_not_alike)
{
	rule(FILE_HIDE, "/work/**");
	rule(FILE_HIDE, "/src/*");
	rule_at(FILE_RO, "/nowhere", "/mnt/n");
	rule_at(FILE_RO, "/var", "/mnt/v");
	build("agent", H, "/srv/p", true);
	cr_expect_not(policy_dir_alike(policy, "/work"));
	cr_expect_not(policy_dir_alike(policy, "/work/x/y"));
	cr_expect(policy_dir_alike(policy, "/works"));
	cr_expect_not(policy_dir_alike(policy, "/src"));
	cr_expect_not(policy_dir_alike(policy, "/mnt"));
	cr_expect_not(policy_dir_alike(policy, "/mnt/n"));
	cr_expect_not(policy_dir_alike(policy, "/mnt/n/home"));
	cr_expect_not(policy_dir_alike(policy, "/mnt/n/home/u"));
	cr_expect(policy_dir_alike(policy, "/mnt/n/home/v"));
	cr_expect_not(policy_dir_alike(policy, "/mnt/v/mail"));
	cr_expect(policy_dir_alike(policy, "/mnt/v/lib/x"));
}

Test(worktree, is_believed_only_if_it_points_back)
{
	char dir[] = "/tmp/cloche-wt-XXXXXX", cmd[1024], path[256];
	char *repo;

	cr_assert(mkdtemp(dir));
	snprintf(cmd, sizeof(cmd),
		 "cd %s && mkdir -p r/.git/objects r/.git/refs "
		 "r/.git/worktrees/w w evil && echo x > r/.git/HEAD && "
		 "echo gitdir: %s/r/.git/worktrees/w > w/.git && "
		 "echo %s/w/.git > r/.git/worktrees/w/gitdir && "
		 "cp w/.git evil/.git",
		 dir, dir, dir);
	cr_assert_eq(system(cmd), 0);
	snprintf(path, sizeof(path), "%s/w", dir);
	repo = worktree_repository(path);
	snprintf(path, sizeof(path), "%s/r/.git", dir);
	cr_assert(repo);
	cr_assert_str_eq(repo, path);
	free(repo);
	snprintf(path, sizeof(path), "%s/evil", dir);
	cr_assert_null(worktree_repository(path));
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	cr_assert_eq(system(cmd), 0);
}

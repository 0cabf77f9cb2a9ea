/*
 * apply_guard.c - what the host would execute or obey later without being
 * asked: git's hooks and configuration, editors, shells, CI, package managers,
 * set-id programs. Such a record is applied only when it is named.
 *
 * Build files (Makefile, package.json, setup.py ...) are ordinary work: one
 * runs them on purpose. Names are compared as the most lenient file system
 * does (apply_fold.c).
 *
 * LIMIT: a bare repository under another name than ".git" is not recognised.
 */
#include "apply_priv.h"

#include <strings.h>

struct guard {
	const char *path; /* components that must follow each other */
	const char *why;
};

static const struct guard guards[] = {
	{".gitattributes", "git runs filters by it"},
	{".gitmodules", "git fetches by it"},
	{".gitconfig", "git's configuration"},
	{"git~1", "a git repository by its short name"},
	{".hgrc", "Mercurial's hooks and configuration"},
	{".jj", "Jujutsu's configuration"},
	{".bzr", "Bazaar's configuration"},
	{".p4config", "Perforce's configuration"},
	{".hg", "Mercurial's hooks and configuration"},
	{".svn", "Subversion's configuration"},
	{".husky", "git hooks"},
	{".githooks", "git hooks"},
	{".pre-commit-config.yaml", "git hooks"},
	{".overcommit.yml", "git hooks"},
	{".lefthook.yml", "git hooks"},
	{".jj", "Jujutsu's configuration"},
	{"lefthook.yml", "git hooks"},
	{".envrc", "direnv runs it"},
	{".env", "programs are started with it"},
	{".mise.toml", "the shell obeys it"},
	{"mise.toml", "the shell obeys it"},
	{".mise", "the shell obeys it"},
	{".autoenv", "the shell obeys it"},
	{".direnv", "direnv runs it"},
	{".mise.local.toml", "the shell obeys it"},
	{".mise", "the shell obeys it"},
	{"mise.toml", "the shell obeys it"},
	{"mise.local.toml", "the shell obeys it"},
	{".direnvrc", "direnv runs it"},
	{".tool-versions", "the shell obeys it"},
	{".vscode", "an editor obeys it"},
	{".idea", "an editor obeys it"},
	{".fleet", "an editor obeys it"},
	{".devcontainer", "an editor obeys it"},
	{".devcontainer.json", "an editor obeys it"},
	{".zed", "an editor obeys it"},
	{".helix", "an editor obeys it"},
	{".kakrc", "an editor obeys it"},
	{".kakrc.local", "an editor obeys it"},
	{".vim", "an editor obeys it"},
	{".nvim", "an editor obeys it"},
	{".lvimrc", "an editor obeys it"},
	{".ycm_extra_conf.py", "an editor runs it"},
	{".devcontainer.json", "an editor obeys it"},
	{".zed", "an editor obeys it"},
	{".helix", "an editor obeys it"},
	{".vim", "an editor obeys it"},
	{".lvimrc", "an editor obeys it"},
	{".vimrc", "an editor obeys it"},
	{".exrc", "an editor obeys it"},
	{".nvimrc", "an editor obeys it"},
	{".nvim.lua", "an editor obeys it"},
	{".emacs", "an editor obeys it"},
	{".emacs.d", "an editor obeys it"},
	{".dir-locals.el", "an editor obeys it"},
	{".dir-locals-2.el", "an editor obeys it"},
	{".projectile", "an editor obeys it"},
	{".gdbinit", "a debugger runs it"},
	{".lldbinit", "a debugger runs it"},
	{".pdbrc", "a debugger runs it"},
	{".pythonrc", "an interpreter runs it"},
	{".Rprofile", "an interpreter runs it"},
	{".irbrc", "an interpreter runs it"},
	{".pryrc", "an interpreter runs it"},
	{".ghci", "an interpreter runs it"},
	{".psqlrc", "a client runs it"},
	{".sqliterc", "a client runs it"},
	{".gdbearlyinit", "a debugger runs it"},
	{".pdbrc", "a debugger runs it"},
	{".Rprofile", "R runs it"},
	{".Renviron", "R obeys it"},
	{".ghci", "an interpreter runs it"},
	{".irbrc", "an interpreter runs it"},
	{".pryrc", "an interpreter runs it"},
	{".iex.exs", "an interpreter runs it"},
	{".ocamlinit", "an interpreter runs it"},
	{".sqliterc", "an interpreter runs it"},
	{".psqlrc", "an interpreter runs it"},
	{".claude", "an agent obeys it"},
	{".cursor", "an agent obeys it"},
	{".mcp.json", "an agent runs it"},
	{".codex", "an agent obeys it"},
	{".gemini", "an agent obeys it"},
	{".cursorrules", "an agent obeys it"},
	{".windsurfrules", "an agent obeys it"},
	{".aider.conf.yml", "an agent obeys it"},
	{".github/workflows", "CI runs it"},
	{".github/actions", "CI runs it"},
	{".gitlab-ci.yml", "CI runs it"},
	{".circleci", "CI runs it"},
	{".travis.yml", "CI runs it"},
	{".buildkite", "CI runs it"},
	{".drone.yml", "CI runs it"},
	{".gitea/workflows", "CI runs it"},
	{".forgejo/workflows", "CI runs it"},
	{".woodpecker", "CI runs it"},
	{".woodpecker.yml", "CI runs it"},
	{".woodpecker.yaml", "CI runs it"},
	{".cirrus.yml", "CI runs it"},
	{".appveyor.yml", "CI runs it"},
	{"appveyor.yml", "CI runs it"},
	{".semaphore", "CI runs it"},
	{".tekton", "CI runs it"},
	{".build.yml", "CI runs it"},
	{".builds", "CI runs it"},
	{"buildspec.yml", "CI runs it"},
	{"cloudbuild.yaml", "CI runs it"},
	{"azure-pipelines.yml", "CI runs it"},
	{"bitbucket-pipelines.yml", "CI runs it"},
	{"Jenkinsfile", "CI runs it"},
	{".gitea/workflows", "CI runs it"},
	{".forgejo/workflows", "CI runs it"},
	{".woodpecker", "CI runs it"},
	{".woodpecker.yml", "CI runs it"},
	{".woodpecker.yaml", "CI runs it"},
	{".appveyor.yml", "CI runs it"},
	{"appveyor.yml", "CI runs it"},
	{".semaphore", "CI runs it"},
	{".tekton", "CI runs it"},
	{".npmrc", "npm obeys it"},
	{".yarnrc", "yarn obeys it"},
	{".yarnrc.yml", "yarn obeys it"},
	{".yarn", "yarn runs it"},
	{".pnp.cjs", "yarn runs it"},
	{".pnpmfile.cjs", "pnpm runs it"},
	{".bundle", "bundler obeys it"},
	{".gemrc", "gem obeys it"},
	{".mvn", "Maven obeys it"},
	{".bazelrc", "Bazel obeys it"},
	{".netrc", "programs send passwords by it"},
	{".curlrc", "curl obeys it"},
	{".wgetrc", "wget obeys it"},
	{".screenrc", "screen runs it"},
	{".tmux.conf", "tmux runs it"},
	{".pam_environment", "a session obeys it"},
	{".cargo", "cargo obeys it"},
	{".bashrc", "a shell runs it"},
	{".bash_profile", "a shell runs it"},
	{".bash_login", "a shell runs it"},
	{".bash_logout", "a shell runs it"},
	{".bash_aliases", "a shell runs it"},
	{".profile", "a shell runs it"},
	{".zshrc", "a shell runs it"},
	{".zshenv", "a shell runs it"},
	{".zprofile", "a shell runs it"},
	{".zlogin", "a shell runs it"},
	{".zlogout", "a shell runs it"},
	{".login", "a shell runs it"},
	{".logout", "a shell runs it"},
	{".cshrc", "a shell runs it"},
	{".tcshrc", "a shell runs it"},
	{".kshrc", "a shell runs it"},
	{".mkshrc", "a shell runs it"},
	{".shrc", "a shell runs it"},
	{".bash_completion", "a shell runs it"},
	{".zsh", "a shell runs it"},
	{".oh-my-zsh", "a shell runs it"},
	{".pam_environment", "a session obeys it"},
	{".xinputrc", "a session runs it"},
	{".Xresources", "a session obeys it"},
	{".tmux.conf", "a terminal obeys it"},
	{".screenrc", "a terminal obeys it"},
	{".forward", "mail is given to it"},
	{".netrc", "programs log in by it"},
	{".curlrc", "curl obeys it"},
	{".wgetrc", "wget obeys it"},
	{".pypirc", "programs log in by it"},
	{".inputrc", "a shell obeys it"},
	{".xinitrc", "a session runs it"},
	{".xprofile", "a session runs it"},
	{".xsession", "a session runs it"},
	{".xsessionrc", "a session runs it"},
	{".ssh", "ssh obeys it"},
	{".gnupg", "gpg obeys it"},
	{".config", "programs obey it"},
	{".local", "programs run from it"},
	{"autostart", "a session runs it"},
};

/* What git itself only reads as data. */
static const char *const git_data[] = {
	"objects",	"refs",		  "logs",
	"index",	"HEAD",		  "ORIG_HEAD",
	"packed-refs",	"COMMIT_EDITMSG", "FETCH_HEAD",
	"MERGE_HEAD",	"MERGE_MSG",	  "MERGE_MODE",
	"AUTO_MERGE",	"REVERT_HEAD",	  "CHERRY_PICK_HEAD",
	"description",	"branches",	  "gc.log",
	"info/exclude", "info/refs",	  "info/sparse-checkout",
};

/* One component, or the short name that FAT makes of it. */
static bool same_name(const char *p, size_t len, const char *want, size_t wlen)
{
	size_t stem = 0;

	if (len == wlen && strncasecmp(p, want, len) == 0)
		return true;
	if (len < 4 || p[len - 2] != '~' || p[len - 1] < '1' ||
	    p[len - 1] > '9')
		return false;
	while (wlen && *want == '.') {
		want++;
		wlen--;
	}
	while (stem < wlen && stem < 6 && want[stem] != '.')
		stem++;
	return len - 2 == stem && strncasecmp(p, want, stem) == 0;
}

/* How much of the pattern is matched where p begins: -1 nothing, 0 only its
 * first part (p ends), 1 all of it. */
static int match_at(const char *p, const char *pattern)
{
	for (;;) {
		size_t a = strcspn(p, "/"), b = strcspn(pattern, "/");

		if (!same_name(p, a, pattern, b))
			return -1;
		if (!pattern[b])
			return 1;
		if (!p[a])
			return 0;
		p += a + 1;
		pattern += b + 1;
	}
}

/* A directory that is made holds nothing yet; its files have records. */
static bool plain_directory(const struct change *c)
{
	return S_ISDIR(c->new.mode) && c->kind != VFS_RENAMED;
}

static const char *git_why(const char *below, const struct change *c)
{
	if (!*below)
		return plain_directory(c) ? NULL : "a git repository";
	for (size_t i = 0; i < ARRAY_SIZE(git_data); i++)
		if (match_at(below, git_data[i]) == 1)
			return NULL;
	if (match_at(below, "hooks") == 1)
		return plain_directory(c) ? NULL : "git runs it";
	return plain_directory(c) ? NULL : "git's configuration";
}

static const char *path_why(const char *path, const struct change *c)
{
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");

		if (len >= 8 && strncmp(p, ".cloche-", 8) == 0)
			return "a name that apply itself uses";
		if (same_name(p, len, ".git", 4)) {
			const char *why = git_why(p + len + (p[len] != 0), c);

			if (why)
				return why;
		}
		for (size_t i = 0; i < ARRAY_SIZE(guards); i++) {
			int m = match_at(p, guards[i].path);

			if (m == 1 || (m == 0 && !plain_directory(c)))
				return guards[i].why;
		}
		p += len + (p[len] != '\0');
	}
	return NULL;
}

static bool gains_rights(const struct change *c)
{
	if (S_ISREG(c->new.mode) && (c->new.mode & 06000) &&
	    (c->content || (c->new.mode & 06000 & ~c->old.mode)))
		return true;
	for (size_t i = 0; i < c->new.nxattrs; i++)
		if (!strcmp(c->new.xattrs[i].name, "security.capability") &&
		    (c->content || c->attr))
			return true;
	return false;
}

const char *apply_delicate(const char *path, const struct change *c)
{
	AUTO_FREE char *plain = apply_fold(path);

	if (gains_rights(c))
		return "a program with set-id bits or capabilities";
	if (S_ISCHR(c->new.mode) || S_ISBLK(c->new.mode))
		return "a device";
	return path_why(plain, c);
}

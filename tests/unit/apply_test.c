/*
 * apply_test.c - changes come to the host, all or nothing.
 */
#include <limits.h>

#include "changes_fixture.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "../../fs/apply.h"

static struct fixture f;
static char state[64];
static struct change_source src;
static struct change_list list;

static void setup(void)
{
	fixture_init(&f, 0);
	cx_host_tree(&f);
	snprintf(state, sizeof(state), "/tmp/ovstateXXXXXX");
	cr_assert(mkdtemp(state));
	setenv("XDG_STATE_HOME", state, 1);
}

static void teardown(void)
{
	f.hash = fx_hash(f.host);
	fixture_fini(&f);
	nftw(state, fx_rm_one, 16, FTW_PHYS | FTW_DEPTH);
}

TestSuite(apply, .init = setup, .fini = teardown);

static struct apply *plan(const char *const *paths, size_t count, bool force)
{
	struct apply_options o = {.root = f.host,
				  .paths = paths,
				  .npaths = count,
				  .force = force,
				  .owner = geteuid() == 0};
	struct apply *a;

	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	cr_assert_eq(apply_new(&o, &src, &list, &a), 0);
	return a;
}

static void done(struct apply *a)
{
	apply_free(a);
	changes_free(&src, &list);
}

static const char *problem(struct apply *a)
{
	const struct apply_problem *p;

	return apply_problems(a, &p) ? p->path + strlen(f.host) + 1 : "";
}

static bool has_problem(struct apply *a, const char *path)
{
	const struct apply_problem *p;
	size_t n = apply_problems(a, &p);

	while (n-- > 0)
		if (!strcmp(p[n].path + strlen(f.host) + 1, path))
			return true;
	return false;
}

static int commit(struct apply *a)
{
	char *path = NULL;
	bool half;
	int ret = apply_commit(a, &half, &path);

	cr_expect(!half);
	if (ret < 0)
		cr_log_info("%s: %s", path ? path : "?", strerror(-ret));
	free(path);
	return ret;
}

static void apply_now(void)
{
	struct apply *a = plan(NULL, 0, false);

	cr_assert_str_eq(problem(a), "");
	cr_assert_eq(commit(a), 0);
	done(a);
}

Test(apply, the_host_becomes_what_the_guest_sees)
{
	AUTO_FREE char *want = NULL;
	AUTO_FREE char *got = NULL;

	cx_changes(&f);
	want = cx_guest(&f);
	apply_now();
	got = cx_host(f.host);
	cr_assert_str_eq(got, want);
}

Test(apply, nothing_is_left_behind)
{
	AUTO_FREE char *journals = xasprintf("%s/cloche/apply", state);
	AUTO_FREE char *tree = NULL;
	AUTO_FREE char *left = NULL;

	cx_changes(&f);
	apply_now();
	tree = cx_host(f.host);
	cr_assert_null(strstr(tree, ".cloche-"));
	left = cx_host(journals);
	cr_assert_str_eq(left, "");
}

static const struct {
	uint32_t version;
	struct {
		uint16_t tag, perm;
		uint32_t id;
	} e[5];
} acl = {2,
	 {{1, 6, ~0U}, {2, 4, 1234}, {4, 4, ~0U}, {16, 4, ~0U}, {32, 0, ~0U}}};

Test(apply, access_lists_are_kept)
{
	static const char *const names[] = {"new", "a"};
	char value[64];
	struct vref ref;

	fx_write(&f, "/w/new", "x");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *path = xasprintf("/w/%s", names[i]);

		ref = fx_ref(&f, path);
		cr_assert_eq(vfs_setxattr(&f.ctx, &ref,
					  "system.posix_acl_access", &acl,
					  sizeof(acl), 0),
			     0);
		vref_put(&ref);
	}
	apply_now();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", f.host, names[i]);

		cr_assert_eq(getxattr(path, "system.posix_acl_access", value,
				      sizeof(value)),
			     sizeof(acl));
		cr_assert_eq(memcmp(value, &acl, sizeof(acl)), 0);
	}
}

Test(apply, times_and_xattrs_are_kept)
{
	struct vfs_attr t = {.valid = VFS_ATTR_MTIME,
			     .mtime = {1234567890, 123456789}};
	AUTO_FREE char *path = xasprintf("%s/new", f.host);
	struct vref ref;
	struct stat st;
	char value[8] = "";

	fx_write(&f, "/w/new", "x");
	ref = fx_ref(&f, "/w/new");
	cr_assert_eq(vfs_setxattr(&f.ctx, &ref, "user.k", "v", 1, 0), 0);
	cr_assert_eq(vfs_setattr(&f.ctx, &ref, &t), 0);
	vref_put(&ref);
	apply_now();
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mtim.tv_sec, 1234567890);
	cr_assert_eq(st.st_mtim.tv_nsec, 123456789);
	cr_assert_eq(getxattr(path, "user.k", value, sizeof(value)), 1);
	cr_assert_str_eq(value, "v");
}

/* A sandbox lives on after its changes were applied. */
Test(apply, what_was_applied_can_be_changed_and_applied_again)
{
	AUTO_FREE char *want = NULL;
	AUTO_FREE char *got = NULL;

	cx_changes(&f);
	apply_now();
	cr_assert_str_eq(fx_diff(&f), "");
	cr_assert_str_eq(fx_read(&f, "/w/nd/moved/kept"), "kept\n");
	cr_assert_str_eq(fx_read(&f, "/w/over"), "renamed over another\n");
	cr_assert_str_eq(fx_read(&f, "/w/s1"), "second\n");
	fx_append(&f, "/w/a", "again\n");
	fx_append(&f, "/w/new file", "again\n");
	fx_append(&f, "/w/nd/moved/kept", "again\n");
	fx_append(&f, "/w/nd/sub/f", "again\n");
	cr_assert_eq(fx_rename(&f, "/w/over", "/w/under", 0), 0);
	cr_assert_eq(fx_unlink(&f, "/w/s1"), 0);
	cr_assert_eq(fx_rename(&f, "/w/nd/moved", "/w/moved", 0), 0);
	cr_assert_eq(fx_rename(&f, "/w/nd/sub", "/w/sub", 0), 0);
	cr_assert_eq(fx_rename(&f, "/w/nd", "/w/nd2", 0), 0);
	cr_assert(strstr(fx_diff(&f), "R /w/nd>/w/nd2|"));
	want = cx_guest(&f);
	apply_now();
	got = cx_host(f.host);
	cr_assert_str_eq(got, want);
	cr_assert_str_eq(fx_diff(&f), "");
}

Test(apply, a_changed_host_file_is_refused_and_named)
{
	struct apply *a;

	fx_append(&f, "/w/a", "guest\n");
	fx_host_file(&f, "a", "another text of the host\n");
	a = plan(NULL, 0, false);
	cr_assert_str_eq(problem(a), "a");
	cr_assert_eq(commit(a), -EBUSY);
	done(a);
	a = plan(NULL, 0, true);
	cr_assert_str_eq(problem(a), "");
	cr_assert_eq(commit(a), 0);
	done(a);
	fx_host_file(&f, "b", "");
}

/* The question takes its time. */
Test(apply, a_host_change_after_the_plan_is_seen)
{
	struct apply *a;

	fx_append(&f, "/w/a", "guest\n");
	a = plan(NULL, 0, false);
	cr_assert_str_eq(problem(a), "");
	fx_host_file(&f, "a", "another text of the host\n");
	cr_assert_eq(commit(a), -EBUSY);
	cr_assert_str_eq(problem(a), "a");
	done(a);
}

static void change_once(void *arg, size_t done_steps, size_t total,
			const char *path)
{
	bool *changed = arg;

	(void)done_steps;
	(void)total;
	(void)path;
	if (!*changed)
		fx_host_file(&f, "a", "another text of the host\n");
	*changed = true;
}

Test(apply, a_host_change_while_staging_is_seen)
{
	bool changed = false;
	struct apply_options o = {
		.root = f.host, .step = change_once, .arg = &changed};
	struct apply *a;

	fx_append(&f, "/w/a", "guest\n");
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	cr_assert_eq(apply_new(&o, &src, &list, &a), 0);
	cr_assert_eq(commit(a), -EBUSY);
	cr_assert(changed);
	cr_assert_str_eq(problem(a), "a");
	done(a);
}

Test(apply, a_change_known_of_is_overwritten_and_no_other)
{
	AUTO_FREE char *path = xasprintf("%s/a", f.host);
	const char *forced[] = {path};
	struct apply_options o = {
		.root = f.host, .forced = forced, .nforced = 1};
	struct apply *a;

	fx_append(&f, "/w/a", "guest\n");
	fx_append(&f, "/w/over", "guest\n");
	fx_host_file(&f, "a", "another text of the host\n");
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	cr_assert_eq(apply_new(&o, &src, &list, &a), 0);
	cr_assert_str_eq(problem(a), "");
	fx_host_file(&f, "over", "and here too\n");
	cr_assert_eq(commit(a), -EBUSY);
	cr_assert_str_eq(problem(a), "over");
	done(a);
}

Test(apply, a_touched_host_file_with_the_same_contents_is_not_changed)
{
	fx_append(&f, "/w/a", "guest\n");
	usleep(10000);
	fx_host_file(&f, "a", "alpha\n");
	apply_now();
}

Test(apply, a_file_that_both_have_made_is_refused)
{
	struct apply *a;

	fx_write(&f, "/w/new", "guest");
	fx_host_file(&f, "new", "host!");
	a = plan(NULL, 0, false);
	cr_assert_str_eq(problem(a), "new");
	done(a);
}

Test(apply, a_host_file_in_a_removed_directory_is_refused)
{
	struct apply *a;

	cx_changes(&f);
	fx_host_file(&f, "gone/three", "unseen");
	a = plan(NULL, 0, false);
	cr_assert_str_eq(problem(a), "gone/three");
	done(a);
}

Test(apply, what_the_host_would_run_must_be_named)
{
	static const char *const names[] = {
		".git/hooks/pre-commit",
		".git/config",
		".gitattributes",
		".GITMODULES",
		".husky/x",
		".envrc",
		".vscode/tasks.json",
		".github/workflows/ci.yml",
		".gitlab-ci.yml",
		"sub/.npmrc",
		".bashrc",
		"Jenkinsfile",
		".git/info/attributes",
		".git/modules/m/config",
		".pre-commit-config.yaml",
		".g\u200cit/config",
		".git./config",
		"GIT~1/config",
		".hu\u017f\u212ay/x",
		".con\ufb01g/x",
		".\u00dfh/authorized_keys",
		"a/.GIT\ufeff/hooks/x",
		".Rprofile",
		".devcontainer.json",
	};
	static const char *const fine[] = {
		".git/objects/ab/cd", ".git/index", ".github/CODEOWNERS",
		"Makefile",	      ".gitignore", "hooks/x",
		"package.json",	      "\u00fcber",  "\xff\xe2\x80",
	};
	struct change c = {.kind = VFS_ADDED, .content = true};

	c.new.mode = S_IFREG | 0644;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		cr_expect(apply_delicate(names[i], &c), "%s", names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		cr_expect_null(apply_delicate(fine[i], &c), "%s", fine[i]);
	c.new.mode = S_IFLNK | 0777; /* a link may lead anywhere */
	cr_expect(apply_delicate(".github", &c));
	c.new.mode = S_IFREG | 04755;
	cr_expect(apply_delicate("plain", &c));
}

/* Ways to a guarded place other than by writing there. */
Test(apply, guarded_places_are_reached_by_no_other_way)
{
	struct apply *a;

	/* a directory of the host's, and then one of the guest's own */
	cr_assert_eq(fx_rename(&f, "/w/moved", "/w/.git", 0), 0);
	a = plan(NULL, 0, true);
	cr_assert_str_eq(problem(a), ".git");
	done(a);
	cr_assert_eq(fx_rename(&f, "/w/.git", "/w/moved", 0), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/x", 0755), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/x/hooks", 0755), 0);
	fx_write(&f, "/w/x/hooks/pre-commit", "#!/bin/sh\n");
	cr_assert_eq(fx_rename(&f, "/w/x", "/w/.GIT", 0), 0);
	a = plan(NULL, 0, true);
	cr_assert_str_eq(problem(a), ".GIT/hooks/pre-commit");
	done(a);
	cr_assert_eq(fx_rename(&f, "/w/.GIT", "/w/x", 0), 0);
	a = plan(NULL, 0, true);
	cr_assert_str_eq(problem(a), "");
	done(a);
	/* a symlink in its place; through one */
	cx_symlink(&f, "x", "/w/.husky");
	a = plan(NULL, 0, true);
	cr_assert_str_eq(problem(a), ".husky");
	done(a);
	cr_assert_eq(fx_unlink(&f, "/w/.husky"), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/.vscode", 0755), 0);
	cx_symlink(&f, ".vscode", "/w/through");
	fx_write(&f, "/w/through/tasks.json", "{}");
	a = plan(NULL, 0, true);
	cr_assert(has_problem(a, ".vscode/tasks.json"));
	done(a);
	/* one more name of an ordinary file */
	cr_assert_eq(fx_unlink(&f, "/w/.vscode/tasks.json"), 0);
	cr_assert_eq(fx_link(&f, "/w/a", "/w/.vscode/tasks.json"), 0);
	a = plan(NULL, 0, true);
	cr_assert(has_problem(a, ".vscode/tasks.json"));
	done(a);
}

Test(apply, a_named_path_is_allowed)
{
	AUTO_FREE char *path = xasprintf("%s/.envrc", f.host);
	const char *const paths[] = {path};
	const char *const above[] = {f.host};
	struct apply *a;

	fx_write(&f, "/w/.envrc", "echo\n");
	fx_write(&f, "/w/other", "not selected\n");
	a = plan(above, 1, true);
	cr_assert_str_eq(problem(a), ".envrc");
	done(a);
	a = plan(paths, 1, false);
	cr_assert_str_eq(problem(a), "");
	cr_assert_eq(apply_count(a), 1);
	cr_assert_eq(commit(a), 0);
	cr_assert_eq(access(path, F_OK), 0);
	done(a);
}

Test(apply, set_id_bits_must_be_named)
{
	struct apply *a;

	fx_write(&f, "/w/suid", "x");
	cr_assert_eq(fx_chmod(&f, "/w/suid", 04755), 0);
	a = plan(NULL, 0, true);
	cr_assert_str_eq(problem(a), "suid");
	done(a);
}

Test(apply, a_selected_file_brings_its_directory)
{
	AUTO_FREE char *path = xasprintf("%s/nd/sub/f", f.host);
	const char *const paths[] = {path};
	struct apply *a;

	cx_changes(&f);
	a = plan(paths, 1, false);
	cr_assert_eq(apply_count(a), 3);
	cr_assert_eq(commit(a), 0);
	cr_assert_eq(access(path, F_OK), 0);
	done(a);
}

/* A directory of the host became a link to outside after the plan. */
Test(apply, links_lead_nowhere)
{
	AUTO_FREE char *dir = xasprintf("%s/d", f.host);
	AUTO_FREE char *aside = xasprintf("%s/d.real", f.host);
	AUTO_FREE char *trap = xasprintf("%s/trap", state);
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;
	struct apply *a;

	fx_append(&f, "/w/d/y", "guest\n");
	fx_write(&f, "/w/d/e/new", "guest\n");
	fx_write(&f, "/w/d/new", "guest\n");
	a = plan(NULL, 0, true);
	cr_assert_eq(rename(dir, aside), 0);
	cr_assert_eq(mkdir(trap, 0755), 0);
	cr_assert_eq(symlink(trap, dir), 0);
	before = cx_host(state);
	cr_assert_lt(commit(a), 0);
	done(a);
	after = cx_host(trap);
	cr_assert_str_eq(after, "");
	(void)before;
}

Test(apply, a_guests_link_is_made_and_not_followed)
{
	AUTO_FREE char *trap = xasprintf("%s/trap", state);
	AUTO_FREE char *after = NULL;

	cr_assert_eq(mkdir(trap, 0755), 0);
	cr_assert_eq(fx_unlink(&f, "/w/d/e/x"), 0);
	cr_assert_eq(fx_rmdir(&f, "/w/d/e"), 0);
	cx_symlink(&f, trap, "/w/d/e");
	fx_write(&f, "/w/d/f", "x");
	apply_now();
	after = cx_host(trap);
	cr_assert_str_eq(after, "");
}

/* ---- crashes --------------------------------------------------------- */

/* Does the call leave the host as it is? All others count as steps, so that
 * a new kind of step cannot be forgotten here. */
static bool only_looks(const struct user_regs_struct *r)
{
	static const long calls[] = {
		SYS_read,	   SYS_pread64,	     SYS_lseek,
		SYS_close,	   SYS_stat,	     SYS_fstat,
		SYS_newfstatat,	   SYS_statx,	     SYS_access,
		SYS_faccessat,	   SYS_faccessat2,   SYS_readlink,
		SYS_mmap,	   SYS_munmap,	     SYS_mprotect,
		SYS_brk,	   SYS_getxattr,     SYS_fgetxattr,
		SYS_listxattr,	   SYS_openat2,	     SYS_fcntl,
		SYS_flock,	   SYS_geteuid,	     SYS_getpid,
		SYS_getrandom,	   SYS_rt_sigaction, SYS_rt_sigprocmask,
		SYS_mremap,	   SYS_madvise,	     SYS_getdents64,
		SYS_readlinkat,	   SYS_fsync,	     SYS_fdatasync,
		SYS_syncfs,	   SYS_fstatfs,	     SYS_dup,
		SYS_clock_gettime, SYS_futex,	     SYS_gettid,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if ((long)r->orig_rax == calls[i])
			return true;
	return (r->orig_rax == SYS_openat && !(r->rdx & O_CREAT)) ||
	       (r->orig_rax == SYS_open && !(r->rsi & O_CREAT));
}

static void commit_traced(void)
{
	struct apply_options o = {.root = f.host, .owner = geteuid() == 0};
	struct apply *a;
	char *path;
	bool half;

	changes_from_vfs(&src, f.vfs);
	if (changes_load(&src, 0, &list) || apply_new(&o, &src, &list, &a) ||
	    ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(9);
	raise(SIGSTOP);
	_exit(apply_commit(a, &half, &path) ? 8 : 0);
}

/* Killed before its step number kill_at: false. */
static bool apply_in_child(size_t kill_at)
{
	struct user_regs_struct r;
	bool entry = true, skipped = false;
	size_t step = 0;
	pid_t pid = fork();
	int status;

	if (!pid)
		commit_traced();
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, 0,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	for (;; entry = !entry) {
		cr_assert_eq(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			break;
		cr_assert_eq(WSTOPSIG(status), SIGTRAP | 0x80);
		if (!entry && skipped) { /* as if it had been done */
			r.rax = 0;
			cr_assert_eq(ptrace(PTRACE_SETREGS, pid, 0, &r), 0);
			skipped = false;
		}
		if (!entry)
			continue;
		cr_assert_eq(ptrace(PTRACE_GETREGS, pid, 0, &r), 0);
		if (r.orig_rax == SYS_fsync || r.orig_rax == SYS_syncfs) {
			/* Slow, and a kill loses nothing that is not synced. */
			struct user_regs_struct none = r;

			none.orig_rax = (unsigned long long)-1;
			skipped = true;
			cr_assert_eq(ptrace(PTRACE_SETREGS, pid, 0, &none), 0);
		}
		if (r.orig_rax == SYS_exit_group || only_looks(&r) ||
		    step++ < kill_at)
			continue;
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		return false;
	}
	cr_assert_eq(WEXITSTATUS(status), 0);
	return true;
}

Test(apply, a_kill_at_any_step_leaves_one_side_whole, .timeout = 300)
{
	size_t old_sides = 0, new_sides = 0;
	bool finished = false;

	for (size_t kill_at = 0; !finished; kill_at++) {
		AUTO_FREE char *old = NULL;
		AUTO_FREE char *new = NULL;
		AUTO_FREE char *got = NULL;
		size_t found;

		cr_assert(kill_at < 2000);
		if (kill_at) {
			teardown();
			setup();
		}
		cx_changes(&f);
		old = cx_host(f.host);
		new = cx_guest(&f);
		finished = apply_in_child(kill_at);
		cr_assert_eq(apply_recover(f.host, &found), 0);
		got = cx_host(f.host);
		if (!strcmp(got, old))
			old_sides++;
		else if (!strcmp(got, new))
			new_sides++;
		else
			cr_assert_fail("step %zu: neither side:\n%s", kill_at,
				       got);
		cr_assert(!finished || (!strcmp(got, new) && !found));
	}
	cr_assert(old_sides > 20 && new_sides > 20);
	printf("killed before each of %zu steps\n", old_sides + new_sides - 1);
}

/* Something appears in the way in the middle: all goes back. */
static void obstruct_step(void *arg, size_t n, size_t total, const char *path)
{
	(void)n;
	(void)total;
	if (path && !strcmp(path, "nd") && ++*(int *)arg == 2) {
		AUTO_FREE char *p = xasprintf("%s/nd", f.host);

		cr_assert_eq(mkdir(p, 0755), 0);
	}
}

Test(apply, a_failure_in_the_middle_goes_back)
{
	AUTO_FREE char *dir = xasprintf("%s/nd", f.host);
	AUTO_FREE char *old = NULL;
	AUTO_FREE char *got = NULL;
	int times = 0;
	struct apply_options o = {.root = f.host,
				  .owner = geteuid() == 0,
				  .step = obstruct_step,
				  .arg = &times};
	struct apply *a;

	cx_changes(&f);
	old = cx_host(f.host);
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	cr_assert_eq(apply_new(&o, &src, &list, &a), 0);
	cr_assert_eq(commit(a), -EEXIST);
	done(a);
	cr_assert_eq(rmdir(dir), 0);
	got = cx_host(f.host);
	cr_assert_str_eq(got, old);
}

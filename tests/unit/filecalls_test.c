/*
 * filecalls_test.c - decoding, and the file calls from dispatch to errno.
 *
 * The test process is its own guest: calls are dispatched as if it had made
 * them, on its own memory and descriptors. There is no listener, so calls
 * that write results back or inject a descriptor are left to guest tests.
 */
#include <criterion/criterion.h>
#include <linux/audit.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../syscalls/argtext.h"
#include "../../syscalls/decode.h"
#include "../../syscalls/dispatch.h"
#include "onetask.h"

static int64_t call6(int nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		     uint64_t e)
{
	struct call *call = call_new(&sentry);
	int64_t ret;

	call->task = &task;
	task.refs++;
	call->tid = task.tid;
	call->nr = nr;
	call->arch = AUDIT_ARCH_X86_64;
	memcpy(call->args, (uint64_t[]){a, b, c, d, e, 0}, sizeof(call->args));
	ret = dispatch_call(call);
	call_free(call);
	return ret;
}

#define CALL(nr, a, b, c, d, e)                                      \
	call6(SYS_##nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), \
	      (uint64_t)(d), (uint64_t)(e))

TestSuite(filecalls, .init = start, .fini = stop);
TestSuite(decode, .init = start, .fini = stop);

Test(filecalls, names_are_made_and_removed)
{
	cr_expect_eq(CALL(mkdir, "/tmp/d", 0755, 0, 0, 0), 0);
	cr_expect_eq(CALL(mkdir, "/tmp/d", 0755, 0, 0, 0), -EEXIST);
	cr_expect_eq(CALL(access, "/tmp/d", X_OK, 0, 0, 0), 0);
	cr_expect_eq(CALL(chdir, "/tmp/d", 0, 0, 0, 0), 0);
	cr_expect_eq(CALL(mknod, "f", S_IFREG | 0644, 0, 0, 0), 0);
	cr_expect_eq(CALL(symlink, "f", "s", 0, 0, 0), 0);
	cr_expect_eq(CALL(link, "f", "g", 0, 0, 0), 0);
	cr_expect_eq(CALL(rename, "g", "/tmp/h", 0, 0, 0), 0);
	cr_expect_eq(CALL(access, "g", 0, 0, 0, 0), -ENOENT);
	cr_expect_eq(CALL(access, "/tmp/h", W_OK, 0, 0, 0), 0);
	cr_expect_eq(CALL(rmdir, "/tmp/d", 0, 0, 0, 0), -ENOTEMPTY);
	cr_expect_eq(CALL(unlink, "s", 0, 0, 0, 0), 0);
	cr_expect_eq(CALL(unlink, "f", 0, 0, 0, 0), 0);
	cr_expect_eq(CALL(unlink, "/tmp/d", 0, 0, 0, 0), -EISDIR);
	cr_expect_eq(CALL(rmdir, "/tmp/d", 0, 0, 0, 0), 0);
}

Test(filecalls, errors_come_in_the_kernels_order)
{
	char longpath[PATH_LEN_MAX + 8];

	memset(longpath, 'x', sizeof(longpath));
	cr_expect_eq(CALL(mkdir, NULL, 0, 0, 0, 0), -EFAULT);
	cr_expect_eq(CALL(mkdir, "", 0, 0, 0, 0), -ENOENT);
	cr_expect_eq(CALL(mkdir, longpath, 0, 0, 0, 0), -ENAMETOOLONG);
	cr_expect_eq(CALL(mkdirat, 999, "x", 0, 0, 0), -EBADF);
	cr_expect_eq(CALL(mkdirat, 999, "", 0, 0, 0), -ENOENT);
	cr_expect_eq(CALL(mkdirat, 999, NULL, 0, 0, 0), -EFAULT);
	cr_expect_eq(CALL(mkdirat, 999, "/tmp/abs", 0, 0, 0), 0);
	cr_expect_eq(CALL(unlinkat, 999, NULL, 1, 0, 0), -EINVAL);
	cr_expect_eq(CALL(faccessat2, 999, NULL, 8, 0, 0), -EINVAL);
	cr_expect_eq(CALL(renameat2, 999, NULL, 999, NULL, 3), -EINVAL);
	cr_expect_eq(CALL(renameat2, 999, "a", 999, NULL, 0), -EBADF);
	cr_expect_eq(CALL(statx, AT_FDCWD, NULL, 0x8000, 0, 0), -EINVAL);
	cr_expect_eq(CALL(readlink, NULL, 0, 0, 0, 0), -EINVAL);
	cr_expect_eq(CALL(truncate, NULL, -1, 0, 0, 0), -EINVAL);
	cr_expect_eq(CALL(mknod, NULL, S_IFDIR, 0, 0, 0), -EPERM);
	cr_expect_eq(CALL(mknod, NULL, S_IFLNK, 0, 0, 0), -EINVAL);
	cr_expect_eq(CALL(symlink, NULL, NULL, 0, 0, 0), -EFAULT);
	cr_expect_eq(CALL(symlink, "", "/tmp/s", 0, 0, 0), -ENOENT);
	cr_expect_eq(CALL(fchmod, 999, 0, 0, 0, 0), -EBADF);
	cr_expect_eq(CALL(getxattr, NULL, "", 0, 0, 0), -ERANGE);
	cr_expect_eq(CALL(setxattr, NULL, NULL, 0, 0, 4), -EINVAL);
	cr_expect_eq(CALL(setxattr, NULL, "user.a", 0, 70000, 0), -E2BIG);
}

Test(filecalls, open_flags_are_judged_first)
{
	struct {
		uint64_t flags, mode, resolve, more;
	} how = {0};

	cr_expect_eq(CALL(open, NULL, O_CREAT | O_DIRECTORY, 0, 0, 0), -EINVAL);
	cr_expect_eq(CALL(open, NULL, O_TMPFILE, 0, 0, 0), -EINVAL);
	cr_expect_eq(CALL(open, NULL, O_RDONLY, 0, 0, 0), -EFAULT);
	cr_expect_eq(CALL(openat2, AT_FDCWD, "/tmp", &how, 8, 0), -EINVAL);
	cr_expect_eq(CALL(openat2, AT_FDCWD, "/tmp", &how, 5000, 0), -E2BIG);
	how.more = 1;
	cr_expect_eq(CALL(openat2, AT_FDCWD, "/tmp", &how, 32, 0), -E2BIG);
	how.mode = 1;
	cr_expect_eq(CALL(openat2, AT_FDCWD, NULL, &how, 24, 0), -EINVAL);
	how.mode = 0;
	how.resolve = 0x18;
	cr_expect_eq(CALL(openat2, AT_FDCWD, NULL, &how, 24, 0), -EINVAL);
	how.resolve = 8;
	cr_expect_eq(CALL(openat2, AT_FDCWD, "/tmp", &how, 24, 0), -EXDEV);
	how.resolve = 1 << 10;
	cr_expect_eq(CALL(openat2, AT_FDCWD, "/tmp", &how, 24, 0), -EINVAL);
}

Test(filecalls, descriptors_that_are_not_ours_are_not_changed)
{
	int fd = memfd_create("m", 0);
	int pipes[2];

	cr_assert_eq(pipe(pipes), 0);
	/* a memfd is a guest's own; a pipe may be the host's */
	cr_expect_eq(CALL(fchmod, fd, 0600, 0, 0, 0), 0);
	cr_expect_eq(CALL(fchmod, pipes[0], 0600, 0, 0, 0), -EPERM);
	cr_expect_eq(CALL(fchdir, fd, 0, 0, 0, 0), -ENOTDIR);
	cr_expect_eq(CALL(mkdirat, pipes[0], "x", 0, 0, 0), -ENOTDIR);
	cr_expect_eq(CALL(getdents64, pipes[0], 0, 100, 0, 0), -ENOTDIR);
	cr_expect_eq(CALL(linkat, fd, "", AT_FDCWD, "/tmp/l", AT_EMPTY_PATH),
		     -EXDEV);
	cr_expect_eq(CALL(utimensat, fd, NULL, NULL, 0, 0), -EPERM);
}

Test(filecalls, umask_and_working_directory_are_virtual)
{
	cr_expect_eq(CALL(umask, 077, 0, 0, 0, 0), 022);
	cr_expect_eq(CALL(umask, 01777, 0, 0, 0, 0), 077);
	cr_expect_eq(CALL(umask, 0, 0, 0, 0, 0), 0777);
	cr_expect_eq(CALL(chdir, "/tmp", 0, 0, 0, 0), 0);
	cr_expect_eq(CALL(getcwd, 0, 4, 0, 0, 0), -ERANGE);
	cr_expect_eq(CALL(chroot, "/tmp", 0, 0, 0, 0), -EPERM);
	cr_expect_eq(CALL(mkdir, "gone", 0700, 0, 0, 0), 0);
	cr_expect_eq(CALL(chdir, "gone", 0, 0, 0, 0), 0);
	cr_expect_eq(CALL(rmdir, "/tmp/gone", 0, 0, 0, 0), 0);
	cr_expect_eq(CALL(getcwd, 0, 100, 0, 0, 0), -ENOENT);
}

Test(filecalls, refused_and_unknown_calls_are_recorded)
{
	struct strbuf out;

	strbuf_init(&out, 0);
	uint64_t before = audit_count(sentry.audit);

	cr_expect_eq(CALL(mount, 0, 0, 0, 0, 0), -EPERM);
	cr_expect_eq(CALL(io_uring_setup, 8, 0, 0, 0, 0), -ENOSYS);
	cr_expect_eq(call6(400, 0, 0, 0, 0, 0), -ENOSYS);
	cr_expect_eq(call6(0x40000000, 0, 0, 0, 0, 0), -ENOSYS);
	cr_assert_eq(audit_flush(sentry.audit), 0);
	cr_expect_eq(audit_count(sentry.audit), before + 4);
	/* for a person: what was refused, not what was looked for in vain */
	audit_denials(sentry.audit, &out);
	cr_expect(strstr(out.data, "mount"), "%s", out.data);
	cr_expect(!strstr(out.data, "io_uring_setup"), "%s", out.data);
	cr_expect(!strstr(out.data, "syscall_400"), "%s", out.data);
}

/* ---- decoding -------------------------------------------------------- */

static struct call *decoded(int nr, uint64_t a, uint64_t b, uint64_t c,
			    uint64_t d)
{
	struct call *call = call_new(&sentry);

	call->tid = gettid();
	call->row = sysrow_find(nr);
	memcpy(call->args, (uint64_t[]){a, b, c, d, 0, 0}, sizeof(call->args));
	decode_args(call);
	return call;
}

Test(decode, copies_strings_once)
{
	char path[] = "/tmp/x";
	struct call *c = decoded(SYS_openat, -100, (uint64_t)path, 0, 0);

	path[5] = 'y';
	cr_expect_str_eq(c->str[1], "/tmp/x");
	cr_expect_eq(c->str_len[1], 6);
	cr_expect_eq(c->arg_err[1], 0);
}

Test(decode, keeps_the_errno_of_what_cannot_be_copied)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct call *c;

	cr_assert_eq(munmap(page + 4096, 4096), 0);
	memcpy(page + 4094, "ab", 2);
	c = decoded(SYS_rename, (uint64_t)(page + 4094), 0, 0, 0);
	cr_expect_null(c->str[0]);
	cr_expect_eq(c->arg_err[0], -EFAULT);
	cr_expect_eq(c->arg_err[1], -EFAULT);
	page[4095] = 0;
	c = decoded(SYS_rename, (uint64_t)(page + 4094), 0, 0, 0);
	cr_expect_str_eq(c->str[0], "a");
}

/* A page with nothing behind it. */
static char *lone_page(void)
{
	char *page = mmap(NULL, 12288, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(page, MAP_FAILED);
	cr_assert_eq(munmap(page + 8192, 4096), 0);
	return page + 4096;
}

Test(decode, one_that_cannot_be_copied_leaves_the_others)
{
	char *page = lone_page(), *bad = page + 4096;
	struct timespec times[2] = {{1, 2}, {3, 4}};
	struct call *c;

	c = decoded(SYS_rename, (uint64_t)bad, (uint64_t) "new", 0, 0);
	cr_expect_null(c->str[0]);
	cr_expect_eq(c->arg_err[0], -EFAULT);
	cr_expect_str_eq(c->str[1], "new");
	c = decoded(SYS_rename, (uint64_t) "old", (uint64_t)bad, 0, 0);
	cr_expect_str_eq(c->str[0], "old");
	cr_expect_eq(c->arg_err[1], -EFAULT);
	c = decoded(SYS_utimensat, 3, (uint64_t) "x", (uint64_t)bad, 0);
	cr_expect_str_eq(c->str[1], "x");
	cr_expect_null(c->mem[2]);
	cr_expect_eq(c->arg_err[2], -EFAULT);
	/* a structure's beginning alone is none */
	c = decoded(SYS_utimensat, 3, (uint64_t) "x", (uint64_t)(bad - 8), 0);
	cr_expect_null(c->mem[2]);
	cr_expect_eq(c->arg_err[2], -EFAULT);
	c = decoded(SYS_utimensat, 3, (uint64_t)bad, (uint64_t)times, 0);
	cr_expect_eq(c->arg_err[1], -EFAULT);
	cr_expect_eq(memcmp(c->mem[2], times, sizeof(times)), 0);
	c = decoded(SYS_utimensat, 3, 0, 0, 0);
	cr_expect_eq(c->arg_err[1], -EFAULT);
	cr_expect_eq(c->arg_err[2], 0);
}

/* Of any length up to the bound, wherever a page ends. */
Test(decode, copies_long_strings_whole)
{
	static const size_t lens[] = {255, 256, 257, 4000, 4094, 4095, 4096};
	char *page = lone_page();

	memset(page - 4096, 'a', 8192);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		char *s = page + 4096 - lens[i] - 1;
		struct call *c;

		page[4095] = '\0';
		c = decoded(SYS_rename, (uint64_t)s, (uint64_t)s, 0, 0);
		for (int k = 0; k < 2; k++) {
			if (lens[i] == 4096) {
				cr_expect_eq(c->arg_err[k], -ENAMETOOLONG);
				continue;
			}
			cr_assert_not_null(c->str[k]);
			cr_expect_eq(c->str_len[k], lens[i]);
			cr_expect_str_eq(c->str[k], s);
		}
		page[4095] = 'a';
		c = decoded(SYS_rename, (uint64_t)s, (uint64_t) "b", 0, 0);
		cr_expect_eq(c->arg_err[0],
			     lens[i] < 4095 ? -EFAULT : -ENAMETOOLONG);
		cr_expect_str_eq(c->str[1], "b");
	}
}

Test(decode, renders_flags_by_name_and_no_output_addresses)
{
	struct call *c =
		decoded(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t) "a\"\x01",
			O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct strbuf out;

	strbuf_init(&out, 0);
	argtext_json(c, &out);
	cr_expect_str_eq(out.data,
			 "{\"dirfd\":\"AT_FDCWD\",\"path\":\"a\\\"\\u0001\","
			 "\"oflags\":\"O_WRONLY|O_CREAT|O_CLOEXEC\","
			 "\"mode\":\"0644\"}");
	strbuf_reset(&out);
	c = decoded(SYS_access, (uint64_t) "/", 0, 0, 0);
	argtext_json(c, &out);
	cr_expect_str_eq(out.data, "{\"path\":\"/\",\"amode\":\"F_OK\"}");
	strbuf_reset(&out);
	c = decoded(SYS_read, 3, 0xdead, 10, 0);
	argtext_json(c, &out);
	cr_expect_str_eq(out.data, "{\"fd\":3,\"count\":10}");
	strbuf_reset(&out);
	c = decoded(SYS_unlinkat, 5, (uint64_t) "x", 0x4201, 0);
	argtext_json(c, &out);
	cr_expect(strstr(out.data, "AT_REMOVEDIR|0x4001"), "%s", out.data);
}

Test(decode, bounds_a_socket_address_by_its_length)
{
	struct sockaddr_storage ss = {.ss_family = AF_UNIX};
	struct call *c;

	c = decoded(SYS_connect, 3, (uint64_t)&ss, sizeof(ss) + 1, 0);
	cr_expect_null(c->mem[1]);
	cr_expect_eq(c->arg_err[1], -EINVAL);
	c = decoded(SYS_connect, 3, (uint64_t)&ss, (uint64_t)-1, 0);
	cr_expect_eq(c->arg_err[1], -EINVAL);
	c = decoded(SYS_connect, 3, 0, 16, 0);
	cr_expect_eq(c->arg_err[1], -EFAULT);
	c = decoded(SYS_connect, 3, (uint64_t)&ss, 2, 0);
	cr_expect_eq(c->mem_len[1], 2);
}

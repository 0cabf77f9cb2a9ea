/*
 * filter.c - the seccomp program of a sandbox; see filter.h.
 *
 * LAWS
 * 1. The default and the answer to a foreign architecture are NOTIFY; the
 *    program never returns ERRNO (law 4 of the design), so every refusal is
 *    the sentry's and is recorded. Tested by tests/unit/filter_test.c.
 * 2. Every comparison covers 64 bits (filter_args.c).
 * 3. What is ALLOWed is what the table says and nothing else; the simulator
 *    in tests/unit compares each verdict with the table.
 *
 * libseccomp makes the program (a balanced tree) and exports it to a memfd;
 * building takes 1-9 ms, so filtergen.c does it when cloche is built.
 */
#include "filter.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../syscalls/table.h"

#define FILTER_TRACE_DATA 1 /* exec decides on registers, never on this */
#define FILTER_TREE	  2 /* CTL_OPTIMIZE: binary tree */

enum filter_kind { JAILED, BARE, DATAGRAMS };

static int filter_row(scmp_filter_ctx ctx, int nr, enum filter_kind kind)
{
	const struct sysrow *row = sysrow_find(nr);
	bool bare = kind == BARE;

	if (!row)
		return 0;
	if (kind == DATAGRAMS &&
	    (nr == SCMP_SYS(sendmsg) || nr == SCMP_SYS(sendmmsg)))
		return 0; /* the default */
	switch (bare ? row->bare : row->jailed) {
	case SYS_NATIVE:
		return seccomp_rule_add_exact(ctx, SCMP_ACT_ALLOW, nr, 0);
	case SYS_TRACE:
		return seccomp_rule_add_exact(
			ctx, SCMP_ACT_TRACE(FILTER_TRACE_DATA), nr, 0);
	case SYS_ARGS:
		return filter_add_args(ctx, nr, bare);
	case SYS_NOTIFY:
	case SYS_PASS:
	case SYS_REFUSE:
		return 0; /* the default */
	}
	return -EINVAL;
}

static int filter_rows(scmp_filter_ctx ctx, enum filter_kind kind)
{
	for (int nr = 0; nr < SYSNR_MAX; nr++) {
		int err = filter_row(ctx, nr, kind);

		if (err) {
			log_host(-err, "filter rule of call %d", nr);
			return err;
		}
	}
	return 0;
}

static int filter_setup(scmp_filter_ctx ctx)
{
	int err =
		seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);

	if (!err)
		err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE,
				       FILTER_TREE);
	if (!err)
		err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0);
	if (err)
		log_host(-err, "seccomp_attr_set");
	return err;
}

int filter_export(void *ctx, struct sock_fprog *out)
{
	AUTO_CLOSE int fd = memfd_create("filter", MFD_CLOEXEC);
	AUTO_FREE void *text = NULL;
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	err = seccomp_export_bpf(ctx, fd);
	if (err)
		return err;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || st.st_size % (off_t)sizeof(struct sock_filter) ||
	    st.st_size / (off_t)sizeof(struct sock_filter) > BPF_MAXINSNS)
		return -E2BIG;
	text = xmalloc((size_t)st.st_size);
	if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	out->len = (unsigned short)((size_t)st.st_size /
				    sizeof(struct sock_filter));
	out->filter = text;
	text = NULL;
	return 0;
}

static int build(enum filter_kind kind, struct sock_fprog *out)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_NOTIFY);
	int err;

	if (!ctx)
		return -ENOMEM;
	err = filter_setup(ctx);
	if (!err)
		err = filter_rows(ctx, kind);
	if (!err)
		err = filter_export(ctx, out);
	seccomp_release(ctx);
	if (err)
		log_host(-err, "building the filter");
	return err;
}

int filter_build(bool bare, struct sock_fprog *out)
{
	return build(bare ? BARE : JAILED, out);
}

int filter_build_datagrams(struct sock_fprog *out)
{
	return build(DATAGRAMS, out);
}

void filter_free(struct sock_fprog *prog)
{
	free(prog->filter);
	*prog = (struct sock_fprog){0};
}

/*
 * table_test.c - the table of system calls keeps its own promises.
 */
#include <criterion/criterion.h>
#include <sys/syscall.h>

#include "../../syscalls/decode.h"
#include "../../syscalls/filter_args.h"
#include "../../syscalls/flagnames.h"
#include "../../syscalls/table.h"

#define EACH_ROW(nr, row)                                             \
	for (int nr = 0; nr < SYSNR_MAX; nr++)                        \
		for (const struct sysrow *row = sysrow_find(nr); row; \
		     row = NULL)

/* How often each number stands in table.def: an array would hide a second. */
static const int numbers[] = {
#define NATIVE(nr, name, spec, intr, why)      nr,
#define JAILED(nr, name, spec, intr, err, why) nr,
#define REFUSE(nr, name, spec, err, note)      nr,
#define ROW(nr, name, spec, jailed, bare, flags, intr, support, handler, note) \
	nr,
#include "../../syscalls/table.def"
};

Test(table, holds_every_number_once)
{
	int count[SYSNR_MAX] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		count[numbers[i]]++;
	for (int nr = 0; nr < SYSNR_MAX; nr++)
		cr_expect_leq(count[nr], 1, "number %d", nr);
	for (int nr = 0; nr <= 336; nr++)
		cr_expect_eq(count[nr], 1, "number %d", nr);
	for (int nr = 424; nr <= 469; nr++)
		cr_expect_eq(count[nr], 1, "number %d", nr);
}

Test(table, names_are_those_of_the_headers)
{
	cr_expect_str_eq(sysrow_find(SYS_openat)->name, "openat");
	cr_expect_str_eq(sysrow_find(SYS_newfstatat)->name, "newfstatat");
	cr_expect_str_eq(sysrow_find(SYS_umount2)->name, "umount2");
	cr_expect_str_eq(sysrow_find(SYS_prlimit64)->name, "prlimit64");
	cr_expect_str_eq(sysrow_find(SYS_faccessat2)->name, "faccessat2");
	cr_expect_str_eq(sysrow_find(SYS_futex_waitv)->name, "futex_waitv");
}

Test(table, unknown_numbers_have_no_row)
{
	cr_expect_null(sysrow_find(-1));
	cr_expect_null(sysrow_find(337));
	cr_expect_null(sysrow_find(423));
	cr_expect_null(sysrow_find(SYSNR_MAX - 1));
	cr_expect_null(sysrow_find(SYSNR_MAX));
	cr_expect_null(sysrow_find(0x40000000));
}

Test(table, native_rows_say_why_and_refused_rows_with_what)
{
	EACH_ROW(nr, row)
	{
		bool native =
			row->jailed == SYS_NATIVE || row->bare == SYS_NATIVE;
		bool refuse =
			row->jailed == SYS_REFUSE || row->bare == SYS_REFUSE;

		if (native || refuse)
			cr_expect(row->note && *row->note, "%s", row->name);
		cr_expect_eq(refuse, row->refusal > 0, "%s", row->name);
	}
}

Test(table, what_is_not_native_or_refused_has_a_handler)
{
	EACH_ROW(nr, row)
	{
		bool handled =
			(row->jailed != SYS_NATIVE &&
			 row->jailed != SYS_REFUSE) ||
			(row->bare != SYS_NATIVE && row->bare != SYS_REFUSE);

		cr_expect_eq(handled, row->handler != NULL, "%s", row->name);
	}
}

Test(table, specs_parse_and_flag_words_have_decoders)
{
	EACH_ROW(nr, row)
	{
		const char *spec = row->spec;
		struct argspec a;
		int n = 0, ret;

		while ((ret = argspec_next(&spec, &a)) > 0) {
			n++;
			if (a.type == 'w')
				cr_expect(flagnames_known(a.name, a.name_len),
					  "%s: %.*s", row->name,
					  (int)a.name_len, a.name);
		}
		cr_expect_eq(ret, 0, "%s: %s", row->name, row->spec);
		cr_expect_leq(n, 6, "%s", row->name);
	}
}

Test(table, argument_rows_have_argument_rules)
{
	EACH_ROW(nr, row)
	{
		if (row->jailed == SYS_ARGS || row->bare == SYS_ARGS)
			cr_expect(filter_args_known(nr, false) ||
					  filter_args_known(nr, true),
				  "%s", row->name);
	}
}

/* Bare mode: no namespace stands between the guest and other processes. */
Test(table, bare_column_lets_nothing_name_a_process)
{
	static const int pids[] = {
		SYS_kill,
		SYS_tkill,
		SYS_tgkill,
		SYS_rt_sigqueueinfo,
		SYS_rt_tgsigqueueinfo,
		SYS_pidfd_open,
		SYS_pidfd_send_signal,
		SYS_prlimit64,
		SYS_setpriority,
		SYS_setpgid,
		SYS_sched_setaffinity,
		SYS_sched_setscheduler,
		SYS_sched_setparam,
		SYS_sched_setattr,
		SYS_ioprio_set,
		SYS_get_robust_list,
		SYS_move_pages,
		SYS_migrate_pages,
		SYS_shmget,
		SYS_semget,
		SYS_msgget,
		SYS_mq_open,
		SYS_ptrace,
		SYS_process_vm_readv,
		SYS_process_vm_writev,
		SYS_kcmp,
		SYS_pidfd_getfd,
		SYS_process_madvise,
	};

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		const struct sysrow *row = sysrow_find(pids[i]);

		cr_assert_not_null(row);
		cr_expect_neq(row->bare, SYS_NATIVE, "%s", row->name);
		cr_expect_neq(row->bare, SYS_ARGS, "%s", row->name);
	}
}

/* Law 7: what natively never gives EINTR must not be notified. */
Test(table, close_dup_and_fork_are_native)
{
	static const int calls[] = {SYS_close,	    SYS_close_range, SYS_dup,
				    SYS_dup2,	    SYS_dup3,	     SYS_fork,
				    SYS_vfork,	    SYS_read,	     SYS_write,
				    SYS_exit_group, SYS_futex,	     SYS_mmap,
				    SYS_munmap};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct sysrow *row = sysrow_find(calls[i]);

		cr_expect_eq(row->jailed, SYS_NATIVE, "%s", row->name);
		cr_expect_eq(row->bare, SYS_NATIVE, "%s", row->name);
	}
}

Test(argspec, refuses_malformed_ones)
{
	static const char *bad[] = {
		"q:x", "p", "p:", "m:x", "p:x=4", "m:x=4096"};
	struct argspec a;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *spec = bad[i];

		cr_expect_eq(argspec_next(&spec, &a), -EINVAL, "%s", bad[i]);
	}
}

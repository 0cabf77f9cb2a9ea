/*
 * locks_test.c - record locks as ranges: merging, splitting, conflicts,
 * deadlock detection; and a random sweep against an array of bytes.
 */
#include <criterion/criterion.h>
#include <fcntl.h>

#include "../../syscalls/locks.h"

#define OWNERS 3
#define BYTES  64

static struct locktable *t;
static struct list owner[OWNERS];

static void setup(void)
{
	t = locktable_new(NULL, NULL);
	for (int i = 0; i < OWNERS; i++)
		list_init(&owner[i]);
}

static void teardown(void)
{
	for (int i = 0; i < OWNERS; i++)
		locktable_drop(t, &owner[i], NULL);
	cr_assert_eq(locktable_count(t), 0);
	locktable_free(t);
}

TestSuite(locks, .init = setup, .fini = teardown);

static struct lockreq req(int who, short type, int64_t start, int64_t end)
{
	return (struct lockreq){.key = {.dev = 1, .ino = 2},
				.owner = &owner[who],
				.type = type,
				.start = start,
				.end = end};
}

static int set(int who, short type, int64_t start, int64_t end)
{
	struct lockreq r = req(who, type, start, end);

	return locktable_set(t, &r);
}

static struct plock *in_way(int who, short type, int64_t start, int64_t end)
{
	struct lockreq r = req(who, type, start, end);

	return locktable_conflict(t, &r);
}

Test(locks, neighbours_of_one_type_merge)
{
	cr_assert_eq(set(0, F_WRLCK, 0, 9), 0);
	cr_assert_eq(set(0, F_WRLCK, 20, 29), 0);
	cr_assert_eq(locktable_count(t), 2);
	cr_assert_eq(set(0, F_WRLCK, 10, 19), 0);
	cr_assert_eq(locktable_count(t), 1);
	struct plock *l = in_way(1, F_RDLCK, 15, 15);
	cr_assert_not_null(l);
	cr_assert_eq(l->start, 0);
	cr_assert_eq(l->end, 29);
}

Test(locks, unlock_in_the_middle_splits)
{
	cr_assert_eq(set(0, F_WRLCK, 0, LOCK_OFFSET_MAX), 0);
	cr_assert_eq(set(0, F_UNLCK, 10, 19), 0);
	cr_assert_eq(locktable_count(t), 2);
	cr_assert_null(in_way(1, F_WRLCK, 10, 19));
	cr_assert_not_null(in_way(1, F_WRLCK, 9, 9));
	cr_assert_not_null(
		in_way(1, F_RDLCK, LOCK_OFFSET_MAX, LOCK_OFFSET_MAX));
}

Test(locks, a_new_type_replaces_what_it_covers)
{
	cr_assert_eq(set(0, F_WRLCK, 0, 29), 0);
	cr_assert_eq(set(0, F_RDLCK, 10, 19), 0);
	cr_assert_eq(locktable_count(t), 3);
	cr_assert_eq(set(1, F_RDLCK, 10, 19), 0);
	cr_assert_eq(set(1, F_RDLCK, 9, 19), -EAGAIN);
	cr_assert_eq(set(0, F_WRLCK, 10, 19), -EAGAIN);
}

Test(locks, readers_share_and_writers_exclude)
{
	cr_assert_eq(set(0, F_RDLCK, 0, 5), 0);
	cr_assert_eq(set(1, F_RDLCK, 3, 9), 0);
	cr_assert_eq(set(2, F_WRLCK, 5, 5), -EAGAIN);
	cr_assert_eq(set(2, F_WRLCK, 10, 10), 0);
}

Test(locks, files_are_told_apart_by_inode_or_number)
{
	int a, b;
	struct lockreq r = req(0, F_WRLCK, 0, 1);

	r.key.inode = &a;
	cr_assert_eq(locktable_set(t, &r), 0);
	r.owner = &owner[1];
	cr_assert_eq(locktable_set(t, &r), -EAGAIN);
	r.key.inode = &b;
	cr_assert_eq(locktable_set(t, &r), 0);
	r.key = (struct lockkey){.dev = 1, .ino = 3};
	cr_assert_eq(locktable_set(t, &r), 0);
	cr_assert_eq(set(1, F_WRLCK, 0, 1), 0);
}

Test(locks, drop_of_one_file_keeps_the_others)
{
	struct lockreq r = req(0, F_WRLCK, 0, 1);

	r.key.ino = 77;
	cr_assert_eq(locktable_set(t, &r), 0);
	cr_assert_eq(set(0, F_WRLCK, 0, 1), 0);
	locktable_drop(t, &owner[0], in_way(1, F_WRLCK, 0, 1)->file);
	cr_assert_null(in_way(1, F_WRLCK, 0, 1));
	r.owner = &owner[1];
	cr_assert_not_null(locktable_conflict(t, &r));
}

Test(locks, a_circle_of_waiters_is_a_deadlock)
{
	struct lockwait w[2];

	cr_assert_eq(locktable_wait_begin(t, &w[0], &owner[0], &owner[1]), 0);
	cr_assert_eq(locktable_wait_begin(t, &w[1], &owner[1], &owner[2]), 0);
	struct lockwait last;
	cr_assert_eq(locktable_wait_begin(t, &last, &owner[2], &owner[0]),
		     -EDEADLK);
	locktable_wait_end(&w[1]);
	cr_assert_eq(locktable_wait_begin(t, &last, &owner[2], &owner[0]), 0);
	locktable_wait_end(&last);
	locktable_wait_end(&w[0]);
}

Test(locks, the_generation_tells_of_an_unlock)
{
	cr_assert_eq(set(0, F_WRLCK, 0, 9), 0);
	uint64_t g = locktable_generation(t);
	cr_assert_eq(set(0, F_UNLCK, 0, 9), 0);
	cr_assert_neq(locktable_generation(t), g);
	locktable_wait(t, g, 60000); /* returns at once */
}

/* The model: for each owner, one type per byte. */
static short model[OWNERS][BYTES];

static int model_set(int who, short type, int start, int end)
{
	for (int o = 0; o < OWNERS; o++)
		for (int i = start; i <= end && type != F_UNLCK; i++)
			if (o != who && model[o][i] != F_UNLCK &&
			    (type == F_WRLCK || model[o][i] == F_WRLCK))
				return -EAGAIN;
	for (int i = start; i <= end; i++)
		model[who][i] = type;
	return 0;
}

static size_t model_runs(void)
{
	size_t n = 0;

	for (int o = 0; o < OWNERS; o++)
		for (int i = 0; i < BYTES; i++)
			if (model[o][i] != F_UNLCK &&
			    (i == 0 || model[o][i - 1] != model[o][i]))
				n++;
	return n;
}

Test(locks, random_requests_agree_with_a_map_of_bytes)
{
	const short types[] = {F_RDLCK, F_WRLCK, F_UNLCK};
	unsigned seed = 12345;

	for (int o = 0; o < OWNERS; o++)
		for (int i = 0; i < BYTES; i++)
			model[o][i] = F_UNLCK;
	for (int step = 0; step < 20000; step++) {
		int who = rand_r(&seed) % OWNERS;
		short type = types[rand_r(&seed) % 3];
		int start = rand_r(&seed) % BYTES;
		int end = start + rand_r(&seed) % (BYTES - start);

		cr_assert_eq(set(who, type, start, end),
			     model_set(who, type, start, end), "step %d", step);
		cr_assert_eq(locktable_count(t), model_runs(), "step %d", step);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/gate.h"

#include <stdatomic.h>

#include "base/util.h"
#include "tests/tap.h"

enum { MEMBERS = 4, ROUNDS = 500 };

static struct meeting meeting;
static struct gate gate;
static atomic_uint inside;
static atomic_uint wrong;

static void *member(void *arg)
{
	uint64_t me = (uint64_t)(uintptr_t)arg, most, round = 0;

	gate_arrive(&gate);
	for (;; round++) {
		bool stop;

		atomic_fetch_add(&inside, 1);
		/* One after another says the largest value; the third says stop in the last round. */
		stop = meeting_join(&meeting, me == 2 && round == ROUNDS, round % MEMBERS == me ? 100 + round : me,
				    &most);
		/* All of them came to this round before any left it. */
		if (atomic_load(&inside) < MEMBERS * (round + 1) || most != 100 + round)
			atomic_fetch_add(&wrong, 1);
		if (stop)
			break;
	}
	if (round != ROUNDS)
		atomic_fetch_add(&wrong, 1);
	return NULL;
}

int main(void)
{
	pthread_t threads[MEMBERS];
	uint64_t most = 0;

	meeting_init(&meeting, MEMBERS);
	gate_init(&gate);
	for (uintptr_t i = 0; i < MEMBERS; i++)
		pthread_create(&threads[i], NULL, member, (void *)i);
	gate_wait(&gate, MEMBERS);
	is_u64(atomic_load(&inside), 0, "nobody goes through a gate that is shut");
	gate_open(&gate);
	for (int i = 0; i < MEMBERS; i++)
		pthread_join(threads[i], NULL);
	is_u64(atomic_load(&wrong), 0, "all meet in every round, hear the same, and stop in the same one");
	gate_deinit(&gate);
	meeting_deinit(&meeting);

	meeting_init(&meeting, 1);
	ok(!meeting_join(&meeting, false, 7, &most) && most == 7, "one alone meets itself");
	ok(meeting_join(&meeting, true, 3, &most) && most == 3, "and hears nothing of the round before");
	meeting_deinit(&meeting);
	return tap_done();
}

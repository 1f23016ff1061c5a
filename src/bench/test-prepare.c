/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a wait was, by examples. That batches pass through is test-train.c's. */
#include "bench/prepare.h"

#include "base/util.h"
#include "tests/tap.h"

static struct pst_batch batch(uint64_t network, uint64_t media, uint64_t wakeup)
{
	struct pst_batch b = { .wait_ns = network + media + wakeup };

	b.stall = (struct pst_timing){ .total = b.wait_ns, .network = network, .media = media, .wakeup = wakeup };
	return b;
}

static bool sums(const struct pst_timing *t)
{
	return t->total == t->client_queue + t->network + t->target_queue + t->qos + t->media + t->staging +
				   t->remote + t->wakeup;
}

int main(void)
{
	struct pst_batch b = batch(100, 300, 0);

	/* Waits from 1000 to 1500; the batch came at 1400, after 400. */
	is_u64(prepare_split(&b, 1400, 1000, 1500), 100, "from its arrival on it is prepared");
	ok(b.wait_ns == 400 && b.stall.total == 400 && b.stall.network == 100 && b.stall.media == 300,
	   "and before that it is waited for, by its parts");

	b = batch(100, 300, 0);
	is_u64(prepare_split(&b, 900, 1000, 1500), 500, "one that was there is prepared all the while");
	ok(b.wait_ns == 0 && b.stall.total == 0 && b.stall.media == 0, "and storage is not to blame");

	/* The thread waited 400, of which the accelerator waited for the last 200. */
	b = batch(100, 300, 0);
	is_u64(prepare_split(&b, 1200, 1000, 1500), 300, "of a wait that began in the middle");
	ok(b.wait_ns == 200 && b.stall.network == 50 && b.stall.media == 150, "the parts are in proportion");

	b = batch(10, 10, 10);
	(void)prepare_split(&b, 1010, 1000, 1500);
	ok(b.wait_ns == 10 && sums(&b.stall), "fractions are nobody's loss");

	b = batch(1, 1, 1);
	is_u64(prepare_split(&b, 1100, 1000, 1500), 400, "a thread that was late to look");
	ok(b.wait_ns == 100 && b.stall.wakeup == 98 && sums(&b.stall), "is wake-up");

	b = batch(0, 0, 0);
	is_u64(prepare_split(&b, 1000, 1000, 1000), 0, "no wait at all");
	ok(b.wait_ns == 0 && sums(&b.stall), "is nothing");
	return tap_done();
}

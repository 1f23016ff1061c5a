/* SPDX-License-Identifier: Apache-2.0 */
/* Waits, split by the chain of requests that they were for. */
#include "feed/stall.h"
#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

static uint64_t parts(const struct pst_timing *t)
{
	return t->client_queue + t->network + t->target_queue + t->qos + t->media + t->staging + t->wakeup +
	       t->remote;
}

static struct pst_timing life(uint64_t queue, uint64_t network, uint64_t media)
{
	return (struct pst_timing){
		.total = queue + network + media, .client_queue = queue, .network = network, .media = media
	};
}

static void one_request(void)
{
	struct pst_timing t = { 36, 1, 2, 3, 4, 5, 6, 7, 8 }, s;

	s = stall_split(&t, 36, 0);
	ok(parts(&s) == 36 && s.client_queue == 1 && s.remote == 8, "a wait as long as the request: its parts");
	s = stall_split(&t, 100, 0);
	ok(parts(&s) == 100 && s.client_queue == 65, "a longer one: nothing was under way before");
	s = stall_split(&t, 7 + 6 + 3, 0);
	ok(s.wakeup == 7 && s.staging == 6 && s.remote == 3 && parts(&s) == 16, "a shorter one: its end");
	s = stall_split(&t, 36, 10);
	ok(s.wakeup == 17 && s.staging == 6 && parts(&s) == 36, "what came after the arrival is wake-up");
	s = stall_split(&t, 5, 10);
	ok(s.wakeup == 5 && parts(&s) == 5, "all of it, if nothing came before");
	ok(s.total == 5, "the total is the wait");
}

/* One after the other: the last request was submitted when the first arrived. */
static void chain(void)
{
	struct pst_timing a = life(0, 100, 50), b = life(10, 20, 70), s;
	struct stall_chain none = { .number = 0 }, next;
	struct stall w = { .waiting = false };

	next = stall_arrived(&w, &none, &a, 900);
	is_u64(next.number, 0, "without a wait nothing is carried on");
	stall_begin(&w, 1000);
	stall_begin(&w, 1010);
	is_u64(w.begin_ns, 1000, "a wait begins once");
	/* a lived from 900 to 1050, of which 50 in the wait. */
	next = stall_arrived(&w, &none, &a, 1050);
	ok(next.sum.total == 50 && next.sum.network == 50, "of a request in flight the end counts");
	next = stall_arrived(&w, &next, &b, 1150);
	s = stall_split(&next.sum, 150, 0);
	ok(s.network == 70 && s.media == 70 && s.client_queue == 10 && parts(&s) == 150,
	   "of one that followed on it all");
	stall_end(&w);
	stall_begin(&w, 1200);
	next = stall_arrived(&w, &next, &b, 1250);
	ok(next.sum.total == 50, "what was carried on in one wait is not in the next");
}

/* A window of requests over a pipe: however long the wait, it is the pipe's, and sums exactly. */
static void window(void)
{
	enum { N = 8, COUNT = 1000 };
	struct stall_chain carried[N] = { { .number = 0 } }, last = { .number = 0 };
	uint64_t submitted[N] = { 0 }, now = 0, begin = 3333;
	struct stall w = { .waiting = false };
	struct pst_timing s;
	struct rng rng;

	rng_init(&rng, 5);
	for (int i = 0; i < COUNT; i++) {
		struct pst_timing t;
		uint64_t total;

		now += rng_between(&rng, 5, 20);
		if (now >= begin)
			stall_begin(&w, begin);
		total = now - submitted[i % N];
		t = life(total / 50, total - total / 50, 0);
		last = stall_arrived(&w, &carried[i % N], &t, now);
		carried[i % N] = last;
		submitted[i % N] = now;
	}
	s = stall_split(&last.sum, now - begin, 0);
	is_u64(parts(&s), now - begin, "a thousand requests: the parts sum to the wait");
	is_u64(last.sum.total, now - begin, "and the chain reaches back to its begin");
	ok(s.network > s.total / 100 * 95 && s.client_queue < s.total / 100 * 4, "it is the network's");
}

int main(void)
{
	one_request();
	chain();
	window();
	return tap_done();
}

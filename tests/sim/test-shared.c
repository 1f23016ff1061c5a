/* SPDX-License-Identifier: Apache-2.0 */
/* That shared.c blames the guilty, and only them. */
#include <stdlib.h>

#include "shared.h"
#include "tests/tap.h"

#define BLOCK 512

static struct shared s;
static uint64_t block[BLOCK / 8];

static void begin(void)
{
	shared_deinit(&s);
	shared_init(&s, BLOCK);
}

static uint64_t replace(uint64_t from, enum shared_outcome outcome)
{
	uint64_t n = shared_lock_begin(&s, 0, from);

	shared_lock_end(&s, 0, n, outcome);
	return n;
}

static void read_value(uint64_t number, uint64_t start)
{
	uint64_t got;

	shared_fill(&s, number, block);
	shared_lock_read(&s, 0, start, block, &got);
}

static void right(const char *what)
{
	ok(!s.wrong[0], "right: %s %s", what, s.wrong);
	begin();
}

static void blamed(const char *what)
{
	ok(s.wrong[0], "wrong: %s (%s)", what, s.wrong);
	begin();
}

static void locks(void)
{
	uint64_t a, b, c, start;

	a = replace(0, SHARED_DONE);
	b = replace(a, SHARED_DONE);
	read_value(b, shared_now(&s));
	right("a chain");

	start = shared_now(&s);
	a = replace(0, SHARED_DONE);
	read_value(0, start);
	right("the old value, by a read that began before");

	a = replace(0, SHARED_DONE);
	read_value(0, shared_now(&s));
	blamed("the old value, by one that began after");

	a = replace(0, SHARED_DONE);
	replace(0, SHARED_DONE);
	blamed("one value replaced twice");

	a = replace(0, SHARED_UNKNOWN);
	b = replace(0, SHARED_DONE);
	right("one perhaps, the other certainly");

	a = replace(0, SHARED_UNKNOWN);
	b = replace(0, SHARED_DONE);
	read_value(a, shared_now(&s));
	blamed("both after all");

	a = replace(0, SHARED_UNKNOWN);
	b = replace(a, SHARED_DONE);
	c = replace(0, SHARED_UNKNOWN);
	read_value(c, shared_now(&s));
	blamed("what was built on was there, so another was not");

	a = replace(0, SHARED_REFUSED);
	read_value(a, shared_now(&s));
	blamed("what was refused is there");

	read_value(7, shared_now(&s));
	blamed("garbage");

	a = replace(0, SHARED_DONE);
	shared_fill(&s, a, block);
	block[9] = 0;
	shared_lock_read(&s, 0, shared_now(&s), block, &c);
	blamed("torn");
}

static void power(void)
{
	uint64_t a, b;

	a = replace(0, SHARED_UNKNOWN);
	read_value(a, shared_now(&s));
	shared_target_gone(&s, true);
	b = replace(0, SHARED_DONE);
	read_value(b, shared_now(&s));
	right("seen, not acknowledged, and gone with the power");

	a = replace(0, SHARED_UNKNOWN);
	read_value(a, shared_now(&s));
	shared_target_gone(&s, false);
	replace(0, SHARED_DONE);
	blamed("the same, and there was no power cut");

	a = replace(0, SHARED_DONE);
	shared_target_gone(&s, true);
	read_value(0, shared_now(&s));
	blamed("acknowledged, and gone with the power");

	a = replace(0, SHARED_UNKNOWN);
	shared_fill(&s, a, block);
	block[9] = 0;
	shared_lock_read(&s, 0, shared_now(&s), block, &b);
	right("torn by what failed");
}

static void reservations(void)
{
	uint64_t start = shared_now(&s);

	shared_acquired(&s, 0, 0);
	shared_ended(&s, 1, start, true, true, false);
	right("a write that began before the reservation");

	shared_acquired(&s, 0, 0);
	shared_ended(&s, 1, shared_now(&s), true, true, false);
	blamed("one that began after it");

	shared_acquired(&s, 0, 0);
	shared_ended(&s, 1, shared_now(&s), true, false, true);
	shared_ended(&s, 0, shared_now(&s), true, true, false);
	shared_ended(&s, 1, shared_now(&s), false, true, false);
	right("others are refused, the holder writes, everybody reads");

	shared_acquired(&s, 0, 0);
	shared_ended(&s, 0, shared_now(&s), true, false, true);
	blamed("the holder is refused");

	shared_acquired(&s, 0, 0);
	shared_ended(&s, 1, shared_now(&s), false, false, true);
	blamed("a read is refused");

	shared_acquired(&s, 0, 0);
	shared_acquired(&s, 1, 0);
	blamed("two hold it");

	shared_acquired(&s, 0, 0);
	shared_releases(&s, 0);
	shared_ended(&s, 1, shared_now(&s), true, true, false);
	shared_acquired(&s, 1, 0);
	right("released, and another's");

	shared_target_gone(&s, false);
	shared_acquired(&s, 0, 0);
	shared_ended(&s, 1, shared_now(&s), true, true, false);
	right("an answer of a target that is no more");
}

int main(void)
{
	shared_init(&s, BLOCK);
	locks();
	power();
	reservations();
	shared_deinit(&s);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge judged: short histories by hand, then a model of a disk that is correct by construction
 * and must never be blamed, and the same with one fault at a time, which must be found.
 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

#define BLOCK  1024
#define BLOCKS 8

/* What the histories by hand are made of. */
static uint8_t zero[BLOCK], a[BLOCK], b[BLOCK], c[BLOCK], torn[BLOCK], elsewhere[BLOCK];
static struct oracle *o;
static struct oracle_op op, op2;

static void begin(struct oracle_op *what, enum oracle_kind kind, uint64_t slba, bool fua)
{
	*what = (struct oracle_op){ .kind = kind, .slba = slba, .nlb = 1, .durable = fua };
	oracle_begin(o, what);
}

/* A whole operation; what it writes is left in @data. */
static void act(enum oracle_kind kind, uint64_t slba, bool fua, void *data)
{
	struct oracle_op whole;

	begin(&whole, kind, slba, fua);
	if (kind == ORACLE_WRITE)
		oracle_fill(o, &whole, data);
	oracle_end(o, &whole, ORACLE_OK, data);
}

/* Whether block 0 may hold that. */
static bool reads(const void *data)
{
	uint8_t copy[BLOCK];

	memcpy(copy, data, BLOCK);
	act(ORACLE_READ, 0, false, copy);
	return !oracle_wrong(o);
}

/* A history begins: block 0 holds b, and held a before. */
static void fresh(bool cache)
{
	o = oracle_new(&(struct oracle_disk){
		.seed = 1, .blocks = BLOCKS, .block = BLOCK, .sector = 512, .cache = cache });
	act(ORACLE_WRITE, 0, false, a);
	act(ORACLE_WRITE, 0, false, b);
	memcpy(torn, a, 512);
	memcpy(torn + 512, b + 512, 512);
}

/* And ends with somebody reading this from block 0. */
static void check(bool right, const void *data, const char *what)
{
	ok(reads(data) == right, "%s", what);
	o = oracle_free(o);
}

static void test_last(void)
{
	fresh(true);
	check(true, b, "what was written last is read");
	fresh(true);
	check(false, a, "not what was before");
	fresh(true);
	check(false, zero, "nor zeroes");
	fresh(true);
	act(ORACLE_WRITE, 1, false, elsewhere);
	check(false, elsewhere, "nor another block");
	fresh(true);
	check(false, torn, "nor half of each");
	fresh(true);
	memcpy(c, b, BLOCK);
	c[700] ^= 1;
	check(false, c, "nor a bit that flipped");
	fresh(true);
	act(ORACLE_ZERO, 0, false, NULL);
	check(true, zero, "zeroes that were written");
	fresh(true);
	act(ORACLE_ZERO, 0, false, NULL);
	check(false, b, "and nothing else then");
	fresh(true);
	act(ORACLE_TRIM, 0, false, NULL);
	ok(reads(b), "a deallocate that promises nothing may leave the old");
	check(false, zero, "but not zero it later");
	fresh(true);
	act(ORACLE_TRIM, 0, false, NULL);
	reads(zero);
	check(false, b, "but not bring it back");
}

static void test_in_flight(void)
{
	fresh(true);
	begin(&op, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op, c);
	ok(reads(b), "a write in flight may not have happened");
	ok(reads(c), "or it has");
	check(false, b, "but it does not unhappen");
	fresh(true);
	begin(&op, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op, c);
	oracle_end(o, &op, ORACLE_FAILED, NULL);
	ok(reads(b), "a failed write may not have happened");
	act(ORACLE_WRITE, 0, false, a);
	check(false, c, "and does not happen after another was acknowledged");
	fresh(true);
	begin(&op, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op, c);
	oracle_end(o, &op, ORACLE_UNKNOWN, NULL);
	act(ORACLE_WRITE, 0, false, a);
	check(true, c, "one that was given up may happen later");
	fresh(true);
	begin(&op, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op, c);
	oracle_end(o, &op, ORACLE_UNKNOWN, NULL);
	oracle_settle(o, 0);
	act(ORACLE_WRITE, 0, false, a);
	check(false, c, "unless it is settled");
}

static void test_at_once(void)
{
	fresh(true);
	begin(&op, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op, c);
	begin(&op2, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op2, a);
	oracle_end(o, &op, ORACLE_OK, NULL);
	oracle_end(o, &op2, ORACLE_OK, NULL);
	ok(reads(c), "of two at once either may be last");
	check(false, a, "but that is decided once");
	fresh(true);
	begin(&op, ORACLE_WRITE, 0, false);
	op.again = true;
	oracle_fill(o, &op, c);
	begin(&op2, ORACLE_WRITE, 0, false);
	oracle_fill(o, &op2, a);
	ok(reads(c) && reads(a) && reads(c), "one that is sent again may come back");
	oracle_end(o, &op2, ORACLE_OK, NULL);
	oracle_end(o, &op, ORACLE_OK, NULL);
	act(ORACLE_WRITE, 0, false, b);
	check(false, c, "but not after it was acknowledged");
}

static void test_after_power_cut(void)
{
	fresh(true);
	oracle_power_cut(o);
	ok(reads(a), "a power cut may lose what was not flushed");
	check(false, b, "once");
	fresh(true);
	oracle_power_cut(o);
	check(true, zero, "or all of it");
	fresh(true);
	act(ORACLE_FLUSH, 0, false, NULL);
	oracle_power_cut(o);
	check(false, a, "but not what was flushed");
	fresh(true);
	act(ORACLE_FLUSH, 0, false, NULL);
	oracle_power_cut(o);
	oracle_power_cut(o);
	check(true, b, "which is there");
	fresh(true);
	act(ORACLE_WRITE, 0, true, c);
	oracle_power_cut(o);
	check(false, b, "nor what was written with FUA");
	fresh(false);
	oracle_power_cut(o);
	check(false, a, "nor anything where there is no cache");
	fresh(true);
	oracle_power_cut(o);
	check(true, torn, "a block may be torn by a power cut");
	fresh(true);
	oracle_power_cut(o);
	act(ORACLE_WRITE, 0, false, a);
	check(false, torn, "until it is written again");
	fresh(true);
	oracle_power_cut(o);
	reads(a);
	act(ORACLE_FLUSH, 0, false, NULL);
	oracle_power_cut(o);
	check(false, b, "what a power cut has left is all there is");
}

/* ---- a disk ---------------------------------------------------------------------------------- */

enum planted {
	PLANT_NONE,
	PLANT_STALE,     /* a write happens again after it was acknowledged */
	PLANT_FLUSH,     /* a flush does nothing */
	PLANT_FUA,       /* FUA does nothing */
	PLANT_TEAR,      /* a write happens in two steps */
	PLANT_MISDIRECT, /* a write goes to the next block */
	PLANT_LOST,      /* a write is acknowledged and not done */
	PLANT_OLD_READ,  /* a read gives what was there when another began */
	PLANT_COUNT
};

#define SLOTS 6

struct slot {
	struct oracle_op op;
	bool busy;
	bool done; /* had its effect at least once */
	unsigned int tries;
	uint8_t data[2 * BLOCK];
};

struct model {
	struct oracle *o;
	struct rng rng;
	enum planted planted;
	uint8_t now[BLOCKS * BLOCK];
	uint8_t durable[BLOCKS * BLOCK];
	uint8_t old[BLOCKS * BLOCK];
	bool dirty[BLOCKS * BLOCK / 512];
	struct slot slot[SLOTS];
};

static void apply(struct model *m, struct slot *s)
{
	uint64_t at = s->op.slba * BLOCK;
	size_t n = s->op.nlb * BLOCK;
	bool fua = s->op.durable && m->planted != PLANT_FUA;
	bool hit = rng_below(&m->rng, 20) == 0;

	if (m->planted == PLANT_MISDIRECT && hit)
		at = (s->op.slba + 1) % (BLOCKS - s->op.nlb + 1) * BLOCK;
	if (m->planted == PLANT_LOST && hit)
		return;
	if (m->planted == PLANT_TEAR && hit && s->op.kind == ORACLE_WRITE)
		n -= 512;
	if (s->op.kind == ORACLE_FLUSH) {
		if (m->planted == PLANT_FLUSH)
			return;
		memcpy(m->durable, m->now, sizeof(m->now));
		memset(m->dirty, 0, sizeof(m->dirty));
	} else if (s->op.kind == ORACLE_READ) {
		memcpy(s->data, (m->planted == PLANT_OLD_READ && hit ? m->old : m->now) + at, n);
	} else {
		if (s->op.kind == ORACLE_WRITE)
			memcpy(m->now + at, s->data, n);
		else if (s->op.kind == ORACLE_ZERO || rng_below(&m->rng, 2))
			memset(m->now + at, 0, n);
		for (size_t i = at / 512; i < (at + n) / 512; i++)
			m->dirty[i] = !fua;
		if (fua)
			memcpy(m->durable + at, m->now + at, n);
	}
}

static void slot_begin(struct model *m, struct slot *s)
{
	static const enum oracle_kind kinds[] = { ORACLE_READ,  ORACLE_READ,  ORACLE_READ,
						  ORACLE_WRITE, ORACLE_WRITE, ORACLE_ZERO,
						  ORACLE_TRIM,  ORACLE_FLUSH };
	uint32_t nlb = 1 + (uint32_t)rng_below(&m->rng, 2);

	memset(s, 0, sizeof(*s));
	s->busy = true;
	s->op.kind = kinds[rng_below(&m->rng, ARRAY_SIZE(kinds))];
	s->op.nlb = nlb;
	s->op.slba = rng_below(&m->rng, BLOCKS - nlb + 1);
	s->op.durable = rng_below(&m->rng, 4) == 0;
	oracle_begin(m->o, &s->op);
	if (s->op.kind == ORACLE_WRITE)
		oracle_fill(m->o, &s->op, s->data);
	if (rng_below(&m->rng, 8) == 0)
		memcpy(m->old, m->now, sizeof(m->now));
}

static void slot_end(struct model *m, struct slot *s)
{
	bool ok = rng_below(&m->rng, 10) != 0;

	if (ok && !s->done) {
		s->tries++;
		apply(m, s);
	}
	s->op.again = s->tries > 1;
	oracle_end(m->o, &s->op, ok ? ORACLE_OK : ORACLE_FAILED, s->data);
	s->busy = false;
	if (m->planted == PLANT_STALE && s->op.kind == ORACLE_WRITE && rng_below(&m->rng, 4) == 0) {
		struct slot late = *s;

		slot_begin(m, s);
		slot_end(m, s);
		apply(m, &late);
	}
}

/* Those in flight will be done again by whoever asked. */
static void model_power_cut(struct model *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->dirty); i++) {
		if (m->dirty[i] && rng_below(&m->rng, 2))
			memcpy(m->now + i * 512, m->durable + i * 512, 512);
		m->dirty[i] = false;
	}
	memcpy(m->durable, m->now, sizeof(m->now));
	for (int i = 0; i < SLOTS; i++)
		m->slot[i].done = false;
	oracle_power_cut(m->o);
}

/* Whether the oracle found something wrong with a disk that has that fault. */
static bool blamed(enum planted planted, uint64_t seed, char *text, size_t size)
{
	static struct model m;
	bool found;

	memset(&m, 0, sizeof(m));
	m.planted = planted;
	m.o = oracle_new(&(struct oracle_disk){
		.seed = seed, .blocks = BLOCKS, .block = BLOCK, .sector = 512, .cache = true });
	rng_init(&m.rng, seed);
	for (int i = 0; i < 400 && !oracle_wrong(m.o); i++) {
		struct slot *s = &m.slot[rng_below(&m.rng, SLOTS)];

		if (rng_below(&m.rng, 100) == 0)
			model_power_cut(&m);
		if (!s->busy) {
			slot_begin(&m, s);
		} else if (rng_below(&m.rng, 2)) {
			s->tries++;
			s->done = true;
			apply(&m, s);
		} else {
			slot_end(&m, s);
		}
	}
	found = oracle_wrong(m.o) != NULL;
	if (found)
		snprintf(text, size, "%s", oracle_wrong(m.o));
	oracle_free(m.o);
	return found;
}

static void test_model(void)
{
	static const char *const names[PLANT_COUNT] = { "nothing",
							"a write that happens again",
							"a flush that does nothing",
							"FUA that does nothing",
							"a torn write",
							"a misdirected write",
							"a lost write",
							"a stale read" };
	static char text[4096];

	for (int planted = 0; planted < PLANT_COUNT; planted++) {
		unsigned int found = 0;
		char *line, *rest = text;

		for (uint64_t seed = 0; seed < 600; seed++)
			found += blamed((enum planted)planted, seed, text, sizeof(text));
		if (planted == PLANT_NONE)
			is_u64(found, 0, "a correct disk is not blamed in 600 histories");
		else
			ok(found > 10, "%s is found in %u of 600 histories", names[planted], found);
		while (planted == PLANT_NONE && found && (line = strsep(&rest, "\n")))
			diag("%s", line);
	}
}

int main(void)
{
	test_last();
	test_in_flight();
	test_at_once();
	test_after_power_cut();
	test_model();
	return tap_done();
}

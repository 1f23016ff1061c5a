/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a disk may answer; oracle.h says by what rule. */
#include "oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"

#define NEVER     UINT64_MAX
#define UNIT      512 /* contents name their write once in this many bytes */
#define WORDS     (UNIT / sizeof(uint64_t))
#define HOSTS_MAX 8

/* A write, remembered. Its number is in its contents. */
struct oracle_rec {
	enum oracle_kind kind;
	uint64_t number;
	uint64_t slba;
	uint32_t nlb;
	unsigned int host;
	uint64_t start;
	uint64_t end;    /* NEVER: in flight, or unknown */
	bool unknown;    /* it will not be told of any more, but may still happen */
	bool across_cut; /* in flight at a power cut */
};

/* A value that a block may have. Its zone is made of its write and the reads that saw it. */
struct cand {
	struct oracle_rec *rec;   /* NULL: the zeroes of a new disk */
	uint64_t start;           /* of the write; 0: the history may have begun with it */
	uint64_t end;             /* of the write; NEVER: it may still happen */
	uint64_t read_first_end;  /* of the reads that have seen it; NEVER: none */
	uint64_t read_last_start; /* 0: none */
	bool certain;             /* it did happen, seen or not */
	bool again;               /* and perhaps more than once */
	bool durable;
	bool doubtful; /* no flush makes it durable */
};

struct block {
	struct cand *cand;
	size_t count, cap;
	uint64_t torn_since; /* when that was last possible; 0: never */
};

struct oracle {
	uint64_t seed;
	uint64_t clock;
	uint64_t cuts;
	uint64_t blocks;
	uint32_t block;
	uint32_t sector;
	bool cache;
	bool tries_tear;
	struct block *at;
	struct oracle_rec **recs;
	size_t rec_count, rec_cap;
	size_t unknown; /* of them */
	char wrong[4096];
};

static void *must(void *p)
{
	INVARIANT(p != NULL);
	return p;
}

/* ---- reporting ------------------------------------------------------------------------------ */

static size_t say(struct oracle *o, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static size_t say(struct oracle *o, size_t at, const char *fmt, ...)
{
	va_list args;
	int n;

	if (at >= sizeof(o->wrong))
		return at;
	va_start(args, fmt);
	n = vsnprintf(o->wrong + at, sizeof(o->wrong) - at, fmt, args);
	va_end(args);
	return n > 0 ? at + (size_t)n : at;
}

static void wrong(struct oracle *o, uint64_t lba, const struct oracle_op *op, const char *what,
		  uint64_t got)
{
	static const char *const kinds[] = { "read", "write", "zero", "trim", "flush" };
	const struct block *b = &o->at[lba];
	size_t n;

	if (o->wrong[0])
		return;
	n = say(o, 0,
		"block %" PRIu64 ": %s: %s of host %u, from %" PRIu64 " to %" PRIu64
		", value %" PRIu64,
		lba, what, kinds[op->kind], op->host, op->start, o->clock, got);
	for (size_t i = 0; i < b->count; i++) {
		const struct cand *c = &b->cand[i];

		n = say(o, n, "\n  %s %" PRIu64 " host %d from %" PRIu64 " to %" PRId64,
			c->rec ? kinds[c->rec->kind] : "new", c->rec ? c->rec->number : 0,
			c->rec ? (int)c->rec->host : -1, c->start, (int64_t)c->end);
		n = say(o, n, "%s%s%s%s%s", c->certain ? " certain" : "",
			c->read_last_start ? " seen" : "", c->durable ? " durable" : "",
			c->again ? " again" : "", c->rec && c->rec->unknown ? " unknown" : "");
	}
}

const char *oracle_wrong(const struct oracle *o)
{
	return o->wrong[0] ? o->wrong : NULL;
}

/* ---- contents -------------------------------------------------------------------------------- */

static uint64_t word(const struct oracle *o, uint64_t number, uint64_t lba, size_t unit, size_t i)
{
	uint64_t base = o->seed ^ number * UINT64_C(0x9e3779b97f4a7c15) ^ lba << 20 ^ unit << 12;

	return (base + i) * UINT64_C(0xd6e8feb86659fd93);
}

/*
 * The first word is the number of the write, so that a reader knows what to expect of the others.
 */
static void fill_unit(const struct oracle *o, uint64_t number, uint64_t lba, size_t unit,
		      uint64_t *to)
{
	to[0] = number;
	for (size_t i = 1; i < WORDS; i++)
		to[i] = word(o, number, lba, unit, i);
}

void oracle_fill(const struct oracle *o, const struct oracle_op *op, void *data)
{
	size_t units = o->block / UNIT;
	uint64_t *to = data;

	for (uint64_t i = 0; i < op->nlb; i++)
		for (size_t u = 0; u < units; u++, to += WORDS)
			fill_unit(o, op->rec->number, op->slba + i, u, to);
}

/* The number of the write that a unit is of; 0: zeroes. False: it is of none. */
static bool read_unit(const struct oracle *o, uint64_t lba, size_t unit, const uint64_t *from,
		      uint64_t *ret_number)
{
	uint64_t number = from[0];

	if (number > o->rec_count)
		return false;
	for (size_t i = 1; i < WORDS; i++)
		if (from[i] != (number ? word(o, number, lba, unit, i) : 0))
			return false;
	*ret_number = number;
	return true;
}

/* ---- zones ----------------------------------------------------------------------------------- */

static bool present(const struct cand *c)
{
	return c->certain || c->read_last_start;
}

/* It happened once, and all of its operations are known. */
static bool exact(const struct cand *c)
{
	return c->end != NEVER && !c->again;
}

static uint64_t zone_first_end(const struct cand *c)
{
	return MIN(c->end, c->read_first_end);
}

static uint64_t zone_last_start(const struct cand *c)
{
	return MAX(c->start, c->read_last_start);
}

/*
 * Gibbons and Korach: forward zones may not overlap, nor a backward one lie within a forward one.
 */
static bool zones_conflict(const struct cand *a, const struct cand *b)
{
	uint64_t a_end = zone_first_end(a), a_start = zone_last_start(a);
	uint64_t b_end = zone_first_end(b), b_start = zone_last_start(b);

	if (a_end < a_start && b_end < b_start)
		return MAX(a_end, b_end) < MIN(a_start, b_start);
	return (a_end < a_start || b_end < b_start) && a_end < b_start && b_end < a_start;
}

/* Whether @c, as it would be with a read that began at @start, contradicts what else is known. */
static bool contradicts(const struct block *b, const struct cand *c, const struct cand *self,
			uint64_t start)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct cand *other = &b->cand[i];

		if (other == self || !present(other))
			continue;
		if (exact(c) && exact(other) && zones_conflict(c, other))
			return true;
		/* Overwritten, by something that was there before the read began. */
		if (other->start > c->end && zone_first_end(other) < start)
			return true;
	}
	return false;
}

static struct cand with_read(const struct cand *c, uint64_t start, uint64_t end)
{
	struct cand r = *c;

	r.read_first_end = MIN(r.read_first_end, end);
	r.read_last_start = MAX(r.read_last_start, start);
	return r;
}

static bool is_zero(const struct cand *c)
{
	return !c->rec || c->rec->kind != ORACLE_WRITE;
}

/* Whether the block was ever, or may ever have been, written by that write. */
static bool ever(const struct oracle *o, uint64_t lba, uint64_t number)
{
	const struct oracle_rec *rec;

	if (number == 0)
		return true;
	rec = o->recs[number - 1];
	return rec->kind == ORACLE_WRITE && lba >= rec->slba && lba - rec->slba < rec->nlb;
}

static void check_value(struct oracle *o, const struct oracle_op *op, uint64_t lba, uint64_t number)
{
	struct block *b = &o->at[lba];
	struct cand *only = NULL;
	size_t possible = 0, known = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct cand *c = &b->cand[i], r;

		if (number ? !c->rec || c->rec->number != number : !is_zero(c))
			continue;
		known++;
		r = with_read(c, op->start, o->clock);
		if (contradicts(b, &r, c, op->start))
			continue;
		possible++;
		only = c;
	}
	if (possible == 1)
		*only = with_read(only, op->start, o->clock);
	else if (possible == 0)
		wrong(o, lba, op,
		      known ? "a value that was overwritten"
			    : "a value that was lost, or of elsewhere",
		      number);
}

/* Torn once, and not known to be written again before @start; or perhaps being torn meanwhile. */
static bool may_be_torn(const struct oracle *o, const struct block *b, uint64_t start)
{
	for (size_t i = 0; i < b->count; i++)
		if (o->tries_tear && b->cand[i].rec && b->cand[i].end > start)
			return true;
	for (size_t i = 0; i < b->count; i++)
		if (b->cand[i].certain && b->cand[i].start > b->torn_since &&
		    b->cand[i].end < start)
			return false;
	return b->torn_since != 0;
}

/* One block of a read. */
static void check_block(struct oracle *o, const struct oracle_op *op, uint64_t lba,
			const uint64_t *data)
{
	struct block *b = &o->at[lba];
	uint64_t number = 0, first = 0, before = 0;
	bool torn = false;

	for (size_t u = 0; u < o->block / UNIT; u++, data += WORDS) {
		if (!read_unit(o, lba, u, data, &number) || !ever(o, lba, number)) {
			wrong(o, lba, op, "garbage", data[0]);
			return;
		}
		if (u == 0)
			first = before = number;
		if (number != before && u * UNIT % o->sector != 0) {
			wrong(o, lba, op, "torn within a sector", number);
			return;
		}
		torn |= number != before;
		before = number;
	}
	if (torn) {
		if (o->sector >= o->block || !may_be_torn(o, b, op->start))
			wrong(o, lba, op, "torn", number);
		return;
	}
	if (op->cuts == o->cuts)
		check_value(o, op, lba, first);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static void cand_add(struct block *b, struct cand c)
{
	if (b->count == b->cap) {
		b->cap = MAX(b->cap * 2, (size_t)4);
		b->cand = must(reallocarray(b->cand, b->cap, sizeof(*b->cand)));
	}
	b->cand[b->count++] = c;
}

static struct cand *cand_of(struct block *b, const struct oracle_rec *rec)
{
	for (size_t i = b->count; i-- > 0;)
		if (b->cand[i].rec == rec)
			return &b->cand[i];
	return NULL;
}

static void write_begin(struct oracle *o, struct oracle_op *op)
{
	struct oracle_rec *rec = must(calloc(1, sizeof(*rec)));

	if (o->rec_count == o->rec_cap) {
		o->rec_cap = MAX(o->rec_cap * 2, (size_t)64);
		o->recs = must(reallocarray(o->recs, o->rec_cap, sizeof(struct oracle_rec *)));
	}
	o->recs[o->rec_count++] = rec;
	*rec = (struct oracle_rec){ .kind = op->kind,
				    .number = o->rec_count,
				    .slba = op->slba,
				    .nlb = op->nlb,
				    .host = op->host,
				    .start = op->start,
				    .end = NEVER };
	op->rec = rec;
	for (uint32_t i = 0; i < op->nlb; i++)
		cand_add(&o->at[op->slba + i], (struct cand){ .rec = rec,
							      .start = op->start,
							      .end = NEVER,
							      .read_first_end = NEVER });
}

static void write_end(struct oracle *o, const struct oracle_op *op, enum oracle_outcome outcome)
{
	struct oracle_rec *rec = op->rec;
	/* Acknowledged after a power cut, it may have been done before, and lost with it. */
	bool lost = rec->across_cut && o->cache && !op->durable;
	bool certain = outcome == ORACLE_OK && op->kind != ORACLE_TRIM && !lost;

	if (outcome == ORACLE_UNKNOWN) {
		rec->unknown = true;
		o->unknown++;
	} else {
		rec->end = o->clock;
	}
	for (uint32_t i = 0; i < op->nlb; i++) {
		struct block *b = &o->at[op->slba + i];
		struct cand *c = cand_of(b, rec);

		if (outcome != ORACLE_OK || lost)
			b->torn_since = o->clock;
		if (outcome == ORACLE_UNKNOWN)
			continue;
		c->end = o->clock;
		c->certain = certain;
		c->again = op->again;
		c->durable = certain && (!o->cache || op->durable);
		if (present(c) && contradicts(b, c, c, 0))
			wrong(o, op->slba + i, op, "it came back after it was overwritten",
			      rec->number);
	}
}

/* What was acknowledged before the flush began is durable. */
static void flush_end(struct oracle *o, const struct oracle_op *op)
{
	if (op->cuts != o->cuts)
		return;
	for (uint64_t lba = 0; lba < o->blocks; lba++) {
		struct block *b = &o->at[lba];

		for (size_t i = 0; i < b->count; i++)
			if (b->cand[i].certain && !b->cand[i].doubtful &&
			    b->cand[i].end < op->start)
				b->cand[i].durable = true;
	}
}

/* ---- the calls ------------------------------------------------------------------------------- */

void oracle_begin(struct oracle *o, struct oracle_op *op)
{
	INVARIANT(op->host < HOSTS_MAX);
	INVARIANT(op->kind == ORACLE_FLUSH ||
		  (op->slba < o->blocks && op->nlb > 0 && op->nlb <= o->blocks - op->slba));
	op->start = ++o->clock;
	op->cuts = o->cuts;
	op->rec = NULL;
	if (op->kind != ORACLE_READ && op->kind != ORACLE_FLUSH)
		write_begin(o, op);
}

void oracle_end(struct oracle *o, struct oracle_op *op, enum oracle_outcome outcome,
		const void *data)
{
	const uint64_t *from = data;

	o->clock++;
	if (op->rec) {
		write_end(o, op, outcome);
	} else if (outcome == ORACLE_OK && op->kind == ORACLE_FLUSH) {
		flush_end(o, op);
	} else if (outcome == ORACLE_OK) {
		for (uint32_t i = 0; i < op->nlb; i++, from += o->block / sizeof(*from))
			check_block(o, op, op->slba + i, from);
	}
}

void oracle_settle(struct oracle *o, unsigned int host)
{
	for (size_t i = 0; o->unknown > 0 && i < o->rec_count; i++) {
		struct oracle_rec *rec = o->recs[i];

		if (!rec->unknown || rec->host != host)
			continue;
		rec->unknown = false;
		rec->end = ++o->clock;
		o->unknown--;
		for (uint32_t j = 0; j < rec->nlb; j++) {
			struct cand *c = cand_of(&o->at[rec->slba + j], rec);

			if (c && c->end == NEVER) {
				c->end = o->clock;
				c->again = true;
			}
		}
	}
}

void oracle_doubt(struct oracle *o)
{
	for (uint64_t lba = 0; lba < o->blocks; lba++)
		for (size_t i = 0; i < o->at[lba].count; i++)
			o->at[lba].cand[i].doubtful |= o->at[lba].cand[i].end != NEVER;
}

/* Whether a durable write is known to have come after @c. */
static bool outlived(const struct block *b, const struct cand *c)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->cand[i].certain && b->cand[i].durable && b->cand[i].start > c->end)
			return true;
	return false;
}

/* One of what a history may have begun with was seen, so it was that one. */
static bool beginning_known(const struct block *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->cand[i].start == 0 && b->cand[i].read_last_start)
			return true;
	return false;
}

static void block_power_cut(struct oracle *o, struct block *b)
{
	bool known = beginning_known(b);
	struct cand *left = must(calloc(MAX(b->count, (size_t)1), sizeof(*left)));
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct cand *c = &b->cand[i];

		if (!c->durable)
			b->torn_since = o->clock;
		if (c->end == NEVER) {
			/* It may have happened; whoever asked for it may ask again. */
			left[n] = *c;
			left[n].read_first_end = NEVER;
			left[n++].read_last_start = 0;
			c->rec->across_cut = true;
		} else if (!outlived(b, c) && !(known && c->start == 0 && !c->read_last_start)) {
			left[n++] = (struct cand){ .rec = c->rec,
						   .end = o->clock,
						   .read_first_end = NEVER,
						   .durable = true };
		}
	}
	free(b->cand);
	b->cand = left;
	b->count = n;
	b->cap = MAX(b->count, (size_t)1);
}

void oracle_power_cut(struct oracle *o)
{
	for (unsigned int host = 0; host < HOSTS_MAX; host++)
		oracle_settle(o, host);
	o->clock++;
	for (uint64_t lba = 0; lba < o->blocks; lba++)
		block_power_cut(o, &o->at[lba]);
	o->cuts++;
}

struct oracle *oracle_new(const struct oracle_disk *disk)
{
	struct oracle *o = must(calloc(1, sizeof(*o)));
	uint64_t blocks = disk->blocks;

	INVARIANT(disk->block % UNIT == 0 && disk->sector % UNIT == 0);
	o->seed = hash_u64(HASH_INIT, disk->seed);
	o->blocks = blocks;
	o->block = disk->block;
	o->sector = disk->sector;
	o->cache = disk->cache;
	o->tries_tear = disk->tries_tear;
	o->at = must(calloc(blocks, sizeof(*o->at)));
	for (uint64_t i = 0; i < blocks; i++)
		cand_add(
			&o->at[i],
			(struct cand){ .certain = true, .durable = true, .read_first_end = NEVER });
	return o;
}

struct oracle *oracle_free(struct oracle *o)
{
	if (!o)
		return NULL;
	for (uint64_t i = 0; i < o->blocks; i++)
		free(o->at[i].cand);
	for (size_t i = 0; i < o->rec_count; i++)
		free(o->recs[i]);
	free(o->recs);
	free(o->at);
	free(o);
	return NULL;
}

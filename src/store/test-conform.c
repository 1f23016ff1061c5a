/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every store must do, run over every kind of store and filter on every implementation of the
 * seam: random operations against a model, the same in flight together, and what read-only means.
 */
#include "store/test-rig.h"

#define SIZE (2u << 20)
#define MAX_LENGTH (160u << 10) /* more than a bounce piece, across words of the lock's table */

/* ---- one after another, against a model ---------------------------------------------------- */

struct model {
	const struct rig *rig;
	struct store *store;
	struct rng rng;
	uint8_t *bytes;  /* what should be there */
	uint8_t *buf;    /* twice MAX_LENGTH, and a page to be unaligned in */
	bool keeps;      /* not the null store */
	unsigned int wrong;
};

/* Cuts @n bytes at @at into up to eight vectors, at odd places if @odd. */
static int cut_iov(struct rng *rng, uint8_t *at, uint64_t n, bool odd, struct iovec iov[8])
{
	uint64_t step = odd ? 1 : 4096, done = 0;
	int niov = 0;

	while (done < n) {
		uint64_t part = niov == 7 ? n - done : MIN(n - done, step * rng_below(rng, n / step + 2));

		iov[niov++] = (struct iovec){ at + done, part };
		done += part;
	}
	return niov;
}

static void complain(struct model *m, const char *what, const struct store_op *op, int got,
		     int want)
{
	if (m->wrong++ < 5)
		diag("%s at %llu + %llu: %d, not %d", what, (unsigned long long)op->offset,
		     (unsigned long long)op->length, got, want);
}

static int model_run(struct model *m, struct store_op *op, uint8_t *at, uint64_t bytes)
{
	struct iovec iov[8];
	int niov = at ? cut_iov(&m->rng, at, bytes, rng_below(&m->rng, 2), iov) : 0;

	return run_iov(m->rig, m->store, op->kind, op->flags, op->offset, op->length, iov, niov);
}

static void expect(struct model *m, const char *what, struct store_op *op, uint8_t *at,
		   uint64_t bytes, int want)
{
	int got = model_run(m, op, at, bytes);

	if (got != want)
		complain(m, what, op, got, want);
}

static void model_read(struct model *m, struct store_op *op, uint8_t *at)
{
	memset(at, 0xee, op->length);
	expect(m, "read", op, at, op->length, 0);
	if (memcmp(at, m->bytes + op->offset, op->length) != 0)
		complain(m, "data", op, 0, 0);
}

static void model_write(struct model *m, struct store_op *op, uint8_t *at)
{
	rng_fill(&m->rng, at, op->length);
	op->flags = rng_below(&m->rng, 4) ? 0 : STORE_FUA;
	expect(m, "write", op, at, op->length, 0);
	if (m->keeps)
		memcpy(m->bytes + op->offset, at, op->length);
}

/* What is expected is in the first half of @at, wrong in one byte at times. */
static int expected(struct model *m, struct store_op *op, uint8_t *at)
{
	memcpy(at, m->bytes + op->offset, op->length);
	if (rng_below(&m->rng, 2))
		return 0;
	at[rng_below(&m->rng, op->length)] ^= 0x10;
	return -EILSEQ;
}

static void model_compare(struct model *m, struct store_op *op, uint8_t *at)
{
	int want = expected(m, op, at);

	expect(m, "compare", op, at, op->length, want);
}

static void model_compare_write(struct model *m, struct store_op *op, uint8_t *at)
{
	int want = expected(m, op, at);

	rng_fill(&m->rng, at + op->length, op->length);
	op->flags = rng_below(&m->rng, 4) ? 0 : STORE_FUA;
	expect(m, "compare and write", op, at, 2 * op->length, want);
	if (want == 0 && m->keeps)
		memcpy(m->bytes + op->offset, at + op->length, op->length);
}

static void model_zero(struct model *m, struct store_op *op)
{
	if (op->kind == STORE_ZERO)
		op->flags = (unsigned int)rng_below(&m->rng, 4); /* STORE_FUA, STORE_KEEP, both */
	if (op->kind == STORE_DISCARD && !store_info(m->store)->can_discard) {
		expect(m, "discard", op, NULL, 0, -EOPNOTSUPP);
		return;
	}
	expect(m, "zero", op, NULL, 0, 0);
	memset(m->bytes + op->offset, 0, op->length);
}

static void model_step(struct model *m)
{
	uint32_t block = store_info(m->store)->block;
	uint64_t max = rng_below(&m->rng, 8) ? MAX_LENGTH / 8 : MAX_LENGTH;
	struct store_op op = { .length = block * (1 + rng_below(&m->rng, max / block)) };
	uint8_t *at = m->buf + (rng_below(&m->rng, 2) ? 0 : 1 + rng_below(&m->rng, 4095));

	op.offset = block * rng_below(&m->rng, (SIZE - op.length) / block + 1);
	op.kind = (enum store_kind)rng_below(&m->rng, STORE_COMPARE_WRITE + 1);
	switch (op.kind) {
	case STORE_READ:
		model_read(m, &op, at);
		break;
	case STORE_WRITE:
		model_write(m, &op, at);
		break;
	case STORE_COMPARE:
		model_compare(m, &op, at);
		break;
	case STORE_COMPARE_WRITE:
		model_compare_write(m, &op, at);
		break;
	case STORE_DISCARD:
	case STORE_ZERO:
		model_zero(m, &op);
		break;
	case STORE_FLUSH:
		op.offset = op.length = 0;
		expect(m, "flush", &op, NULL, 0, 0);
		break;
	case STORE_VERIFY:
		expect(m, "verify", &op, NULL, 0, 0);
		break;
	}
}

static void test_model(const struct rig *rig, struct store *s, const char *what)
{
	struct model m = {
		.rig = rig,
		.store = s,
		.bytes = pages(SIZE),
		.buf = pages(2 * MAX_LENGTH + 4096),
		.keeps = strcmp(store_info(s)->kind, "null") != 0,
	};
	struct store_op all = { .kind = STORE_READ, .length = SIZE };
	uint8_t *read = pages(SIZE);

	/* A simulated disk still has the file of the store before. */
	INVARIANT(run(rig, s, STORE_ZERO, 0, 0, SIZE, NULL) == 0);
	rng_init(&m.rng, 42);
	/* A flush of a real disk takes milliseconds; the simulated one is where the time goes far. */
	for (unsigned int i = 0; i < (rig->sim ? 1500 : 150); i++)
		model_step(&m);
	model_read(&m, &all, read);
	is_u64(m.wrong, 0, "%s %s: does what a model does", rig->name, what);
	mem_free(read);
	mem_free(m.bytes);
	mem_free(m.buf);
}

/* ---- many in flight: each block is whole --------------------------------------------------- */

#define FLIGHT 24
#define HOT (96u << 10) /* all of them meet here */

struct flyer {
	struct call call;
	uint8_t *buf;
	struct iovec iov;
};

/* A block is one 64-bit stamp over and over, or zeroes. */
static void stamp(uint8_t *at, uint64_t n, uint64_t value)
{
	for (uint64_t i = 0; i < n; i += sizeof(value))
		memcpy(at + i, &value, sizeof(value));
}

static unsigned int torn_blocks(const uint8_t *at, uint64_t n, uint32_t block)
{
	unsigned int torn = 0;

	for (uint64_t i = 0; i < n; i += block)
		torn += memcmp(at + i, at + i + 8, block - 8) != 0;
	return torn;
}

static void fly(const struct rig *rig, struct store *s, struct flyer *f, struct rng *rng)
{
	uint32_t block = store_info(s)->block;
	uint64_t length = block * (1 + rng_below(rng, (64u << 10) / block));
	uint64_t offset = block * rng_below(rng, (HOT - length) / block + 1);
	enum store_kind kind = rng_below(rng, 2) ? STORE_READ : STORE_WRITE;

	if (rng_below(rng, 12) == 0)
		kind = STORE_ZERO;
	stamp(f->buf, length, rng_u64(rng));
	f->iov = (struct iovec){ f->buf, length };
	call_start(&f->call, rig, s, kind, 0, offset, length, &f->iov, kind == STORE_ZERO ? 0 : 1);
}

static void test_flight(const struct rig *rig, struct store *s, const char *what)
{
	static struct flyer f[FLIGHT];
	unsigned int torn = 0, failed = 0, over = 0, rounds = rig->sim ? 3000 : 1000;
	struct rng rng;

	rng_init(&rng, 7);
	INVARIANT(run(rig, s, STORE_ZERO, 0, 0, HOT, NULL) == 0);
	for (unsigned int i = 0; i < FLIGHT; i++) {
		f[i].buf = pages(64u << 10);
		fly(rig, s, &f[i], &rng);
	}
	for (unsigned int i = 0; over < FLIGHT; i = (i + 1) % FLIGHT) {
		if (!f[i].buf)
			continue;
		failed += call_wait(&f[i].call, rig) != 0;
		if (f[i].call.op.kind == STORE_READ)
			torn += torn_blocks(f[i].buf, f[i].call.op.length, store_info(s)->block);
		if (rounds > 0) {
			rounds--;
			fly(rig, s, &f[i], &rng);
		} else {
			f[i].buf = mem_free(f[i].buf);
			over++;
		}
	}
	is_u64(failed, 0, "%s %s: operations in flight together all succeed", rig->name, what);
	is_u64(torn, 0, "%s %s: and no block is ever seen half written", rig->name, what);
}

/* Compare and write as a lock would use it: of those in flight together exactly one may win. */
static void test_compare_write(const struct rig *rig, struct store *s, const char *what)
{
	uint32_t block = store_info(s)->block;
	struct flyer f[8];
	unsigned int won = 0, lost = 0;

	INVARIANT(run(rig, s, STORE_ZERO, 0, 0, 2 * block, NULL) == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(f); i++) {
		f[i].buf = pages(4 * block);
		stamp(f[i].buf + 2 * block, 2 * block, i + 1);
		f[i].iov = (struct iovec){ f[i].buf, 4 * block };
		call_start(&f[i].call, rig, s, STORE_COMPARE_WRITE, 0, 0, 2 * block, &f[i].iov, 1);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(f); i++) {
		int r = call_wait(&f[i].call, rig);

		won += r == 0;
		lost += r == -EILSEQ;
		mem_free(f[i].buf);
	}
	if (strcmp(store_info(s)->kind, "null") == 0)
		is_u64(won, ARRAY_SIZE(f), "%s %s: nothing can be locked in it", rig->name, what);
	else
		ok(won == 1 && lost == ARRAY_SIZE(f) - 1, "%s %s: one compare and write wins",
		   rig->name, what);
	is_i64(run(rig, s, STORE_COMPARE_WRITE, 0, 0, STORE_FUSED_MAX + block, NULL), -EOPNOTSUPP,
	       "%s %s: there is a limit to it", rig->name, what);
}

/* ---- read-only ----------------------------------------------------------------------------- */

static void test_read_only(const struct rig *rig, const char *spec, const char *what)
{
	char text[520];
	uint8_t *buf = pages(2 * 4096);
	struct store *s;

	snprintf(text, sizeof(text), "%s,ro", spec);
	s = rig_open(rig, text);
	ok(store_info(s)->read_only, "%s %s,ro: says so", rig->name, what);
	is_i64(run(rig, s, STORE_WRITE, 0, 0, 4096, buf), -EROFS, "it refuses write");
	is_i64(run(rig, s, STORE_ZERO, 0, 0, 4096, NULL), -EROFS, "and zero");
	is_i64(run(rig, s, STORE_DISCARD, 0, 0, 4096, NULL), -EROFS, "and discard");
	is_i64(run(rig, s, STORE_COMPARE_WRITE, 0, 0, 4096, buf), -EROFS, "and compare and write");
	is_i64(run(rig, s, STORE_FLUSH, 0, 0, 0, NULL), 0, "flush has nothing to do");
	is_i64(run(rig, s, STORE_READ, 0, 0, 4096, buf), 0, "read works");
	store_free(s);
	mem_free(buf);
}

/* ---- all of it, over all of them ----------------------------------------------------------- */

static const struct {
	const char *format; /* %s: a path */
	const char *what;
} stores[] = {
	{ "memory:2M", "memory" },
	{ "memory:2M,block=4096,huge=off", "memory, blocks of 4096" },
	{ "null:2M", "null" },
	{ "file:%s,size=2M,direct=auto,block=512", "file, direct, blocks of 512" },
	{ "file:%s,size=2M,direct=auto,block=4096", "file, direct, blocks of 4096" },
	{ "file:%s,size=2M,direct=off,block=512", "file, cached, blocks of 512" },
	{ "file:%s,size=2M,direct=off,block=4096", "file, cached, blocks of 4096" },
	{ "memory:2M,filter=delay:10us:jitter=20us:seed=1", "memory behind delay" },
	{ "file:%s,size=2M,filter=delay:10us:read", "file behind delay" },
	{ "memory:2M,filter=error:any:EIO:range=2M+1M:seed=1", "memory behind an error elsewhere" },
	{ "file:%s,size=2M,filter=torn:0.0001%%:seed=1", "file behind a torn that never strikes" },
	{ "memory:2M,filter=delay:1us,filter=error:read:EIO:range=2M+1M,filter=delay:1us:write",
	  "memory behind three filters" },
};

static void test_store(const struct rig *rig, const char *format, const char *what)
{
	char spec[512];
	struct store *s;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(spec, sizeof(spec), format, rig_path(rig, "a.img"));
#pragma GCC diagnostic pop
	s = rig_open(rig, spec);
	is_u64(store_info(s)->size, SIZE, "%s %s: has its size", rig->name, what);
	test_model(rig, s, what);
	test_flight(rig, s, what);
	test_compare_write(rig, s, what);
	is_i64(s->ops->refresh(s), 0, "%s %s: its size has not changed", rig->name, what);
	store_free(s);
	test_read_only(rig, spec, what);
	rig_unlink(rig, "a.img");
}

/* Weather in which an implementation that relies on luck tears blocks. */
static void rough(struct sim_config *c)
{
	sim_config_calm(c);
	c->ppm[SIM_FILE_SPLIT] = 400000;
	c->ppm[SIM_FILE_SHORT] = 100000;
	c->ppm[SIM_FILE_SLOW] = 20000;
	c->slow_max_ns = 1000000;
	c->sector = 512;
}

int main(void)
{
	struct sim_config config;
	struct rig rig;

	rough(&config);
	for (int kind = 0; kind < RIG_COUNT; kind++) {
		if (!rig_init(&rig, (enum rig_kind)kind, &config))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
			test_store(&rig, stores[i].format, stores[i].what);
		rig_deinit(&rig);
	}
	return tap_done();
}

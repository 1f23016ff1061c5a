/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user does: a small machine that thinks, reads, writes, reads again, each step begun when
 * the last move of the one before is done.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "bench/kv-impl.h"

#define MS UINT64_C(1000000)

const struct kv_template kv_templates[KV_TEMPLATES] = {
	{ "chatbot", { 256, 1024 }, { 50, 150 }, { 100, 500 } },
	{ "coding", { 1024, 4096 }, { 100, 500 }, { 200, 1000 } },
	{ "document", { 2048, 8192 }, { 200, 800 }, { 300, 1500 } },
};

const struct kv_target kv_targets[KV_CLASSES] = {
	{ "interactive", 50 * MS, 100 * MS, 15 },
	{ "responsive", 100 * MS, 200 * MS, 35 },
	{ "batch", 1000 * MS, 5000 * MS, 50 },
};

static uint64_t now_of(const struct kv_user *u)
{
	return u->t->kv->o->target.clock->now();
}

static uint32_t draw(struct rng *r, const uint32_t range[2])
{
	return (uint32_t)rng_between(r, range[0], range[1]);
}

static bool chance(struct rng *r, unsigned int percent)
{
	return rng_below(r, 100) < percent;
}

static enum kv_class_id draw_class(struct kv_thread *t)
{
	uint64_t at = rng_below(&t->rng, 100);
	int c = 0;

	while (c < KV_CLASSES - 1 && at >= t->kv->o->percent[c])
		at -= t->kv->o->percent[c++];
	return (enum kv_class_id)c;
}

/* ---- moves --------------------------------------------------------------------------------- */

void kv_move(struct kv_thread *t, struct move *m, uint32_t page, bool write)
{
	const struct kv_page *p = &t->pages.of[page];
	uint64_t key = hash_u64(hash_u64(HASH_INIT, t->kv->run), t->index);

	*m = (struct move){
		.offset = t->base + page * t->kv->page_bytes,
		.length = ALIGN_UP(p->tokens * t->kv->token_bytes, (uint64_t)KV_ALIGN),
		.object = hash_u64(hash_u64(key, page), p->version),
		.write = write,
	};
}

static void next_step(struct kv_user *u);

static void moved(struct move *m)
{
	struct kv_user *u = m->user;

	u->failed = u->failed || m->error != 0;
	if (--u->open_moves == 0)
		next_step(u);
}

/* All of it at once; the mover lets as many through as may be in flight. */
static void submit(struct kv_user *u, const uint32_t *pages, uint32_t n, bool write)
{
	for (uint32_t i = 0; i < n; i++) {
		struct move *m = &u->moves[u->open_moves++];

		kv_move(u->t, m, pages[i], write);
		m->class = u->class;
		m->done = moved;
		m->user = u;
		u->bytes[write] += m->length;
		u->turn_tokens[write] += u->t->pages.of[pages[i]].tokens;
		mover_submit(&u->t->mover, m);
	}
}

/* ---- pages --------------------------------------------------------------------------------- */

static void release(struct kv_user *u)
{
	for (uint32_t i = 0; i < u->page_count; i++)
		kv_pages_give(&u->t->pages, u->pages[i]);
	u->page_count = 0;
}

/* Of the conversations that nobody is using, the one that was used longest ago. */
static bool drop_one(struct kv_thread *t)
{
	struct kv_user *oldest = NULL;

	for (unsigned int i = 0; i < t->user_count; i++) {
		struct kv_user *u = &t->users[i];

		if (u->state == KV_THINKING && u->page_count > 0 && (!oldest || u->used_ns < oldest->used_ns))
			oldest = u;
	}
	if (!oldest)
		return false;
	release(oldest);
	oldest->dropped = true;
	t->counts.dropped += t->measuring;
	return true;
}

/* Pages for @tokens more. False: there is no room, even with all others' idle conversations gone. */
static bool take_pages(struct kv_user *u, uint32_t tokens)
{
	struct kv_pages *p = &u->t->pages;
	uint32_t n = DIV_ROUND_UP(tokens, (uint32_t)KV_PAGE_TOKENS);

	while (p->free_count < n) {
		if (!drop_one(u->t))
			return false;
	}
	INVARIANT(u->page_count + n <= KV_CONVERSATION_PAGES);
	for (; tokens > 0; tokens -= MIN(tokens, (uint32_t)KV_PAGE_TOKENS))
		u->pages[u->page_count++] = kv_pages_take(p, MIN(tokens, (uint32_t)KV_PAGE_TOKENS));
	return true;
}

/* ---- a turn -------------------------------------------------------------------------------- */

/* A conversation that is over, or would grow too long, is followed by a new one. */
static void begin_conversation(struct kv_user *u)
{
	struct kv_thread *t = u->t;

	release(u);
	u->turns = 0;
	u->tokens = 0;
	u->dropped = false;
	u->prefix = chance(&t->rng, t->kv->o->prefix_percent) ? (int)rng_below(&t->rng, KV_PREFIXES) : -1;
	t->counts.conversations += t->measuring;
	t->counts.prefixes += t->measuring && u->prefix >= 0;
}

void kv_user_begin(struct kv_user *u, uint64_t now)
{
	struct kv_thread *t = u->t;

	u->fresh = draw(&t->rng, u->template->context) + draw(&t->rng, u->template->generation);
	u->class = draw_class(t);
	if (u->turns == 0 || u->turns == KV_TURNS_MAX || u->tokens + u->fresh > KV_CONTEXT_TOKENS)
		begin_conversation(u);
	else if (t->measuring)
		u->dropped ? t->counts.misses++ : t->counts.hits++;
	memset(u->bytes, 0, sizeof(u->bytes));
	memset(u->turn_tokens, 0, sizeof(u->turn_tokens));
	u->failed = false;
	u->old_pages = u->page_count;
	u->decodes_left = t->kv->o->decode_reads;
	u->state = KV_READING;
	/* What was due earlier has been waiting: for the thread, which counts. */
	u->phase_ns = u->due_ns;
	u->open_moves = 0;
	if (u->prefix >= 0)
		submit(u, t->prefix[u->prefix], KV_PREFIX_PAGES, false);
	submit(u, u->pages, u->page_count, false);
	if (u->open_moves == 0) {
		u->phase_ns = now;
		next_step(u);
	}
}

static void record(struct kv_user *u, bool write, uint64_t now)
{
	struct kv_thread *t = u->t;
	uint64_t ns = now - u->phase_ns;

	if (t->measuring && !u->failed && now < t->kv->end_ns)
		hist_add(&t->class[u->class].move[write], ns);
}

static void begin_writing(struct kv_user *u, uint64_t now)
{
	/* Of a conversation that was dropped everything is computed anew. */
	uint32_t tokens = u->fresh + (u->dropped ? u->tokens : 0), first = u->page_count;

	u->state = KV_WRITING;
	u->phase_ns = now;
	u->tokens += u->fresh;
	u->turns++;
	if (!take_pages(u, tokens)) {
		u->t->counts.refused += u->t->measuring;
		u->dropped = true;
		release(u);
	} else {
		u->dropped = false;
		submit(u, u->pages + first, u->page_count - first, true);
	}
	if (u->open_moves == 0)
		next_step(u);
}

static void begin_decoding(struct kv_user *u, uint64_t now)
{
	u->state = KV_DECODING;
	u->phase_ns = now;
	u->decodes_left--;
	submit(u, u->pages, u->page_count, false);
	if (u->open_moves == 0)
		next_step(u);
}

static void end_turn(struct kv_user *u, uint64_t now)
{
	struct kv_thread *t = u->t;
	struct kv_class *c = &t->class[u->class];
	uint64_t think = rng_between(&t->rng, u->template->think_ms[0], u->template->think_ms[1]) * MS;
	uint64_t turn_ns = now - u->due_ns;

	u->state = KV_THINKING;
	u->used_ns = now;
	u->due_ns = now + think / 1000000 * t->kv->o->think_ppm;
	t->next_due_ns = MIN(t->next_due_ns, u->due_ns);
	if (u->failed || chance(&t->rng, t->kv->o->end_percent)) {
		release(u);
		u->turns = 0;
	}
	atomic_fetch_add_explicit(&t->live_turns, 1, memory_order_relaxed);
	if (!t->measuring || u->failed || now >= t->kv->end_ns)
		return;
	c->turns++;
	atomic_fetch_add_explicit(&t->kv->turns, 1, memory_order_relaxed);
	hist_add(&c->turn, turn_ns);
	for (int i = 0; i < 2; i++) {
		c->bytes[i] += u->bytes[i];
		t->counts.tokens[i] += u->turn_tokens[i];
	}
}

/* The last move of a step is done. */
static void next_step(struct kv_user *u)
{
	uint64_t now = now_of(u);
	bool moved_some = u->bytes[u->state == KV_WRITING] > 0;

	if (moved_some)
		record(u, u->state == KV_WRITING, now);
	if (u->failed || u->t->mover.stopped) {
		u->failed = true;
		end_turn(u, now);
	} else if (u->state == KV_READING) {
		begin_writing(u, now);
	} else if (u->decodes_left > 0 && u->page_count > 0) {
		begin_decoding(u, now);
	} else {
		end_turn(u, now);
	}
}

void kv_users_init(struct kv_thread *t, uint64_t now)
{
	const struct kv_template *kinds[KV_TEMPLATES];
	unsigned int n = 0;

	for (int i = 0; i < KV_TEMPLATES; i++) {
		if (t->kv->o->templates[i])
			kinds[n++] = &kv_templates[i];
	}
	for (unsigned int i = 0; i < t->user_count; i++) {
		struct kv_user *u = &t->users[i];

		u->t = t;
		u->template = kinds[i % n];
		u->prefix = -1;
		/* Not all at once. */
		u->due_ns = now + rng_below(&t->rng, u->template->think_ms[1]) * t->kv->o->think_ppm;
	}
	t->next_due_ns = now;
}

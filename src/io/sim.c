/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world: events in order, time, and the trace. The heap orders by (time, sequence), so equal
 * times happen in the order in which they were decided and a seed gives one history only.
 *
 * Loops are not in the heap: there are few of them and what they wait for (a timer, a message, a
 * finished operation) changes all the time, so each step asks them all when they are due. A loop
 * therefore needs no hook in timers and messages, which are the same code as in production.
 */
#include "io/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "io/sim-impl.h"

#define EVENTS_PER_SLAB 256
/* A program that does this much without time moving is in a loop of its own making. */
#define SAME_TIME_MAX 1000000
/*
 * What "just look" costs when no sim_run_until() moves time: a poll of a real loop takes time too.
 */
#define LOOK_NS 1000

/* Not 0, which code under test might take for "never". */
#define BEGIN_NS 1000000000

struct sim_slab {
	struct list link;
	struct sim_event events[EVENTS_PER_SLAB];
};

static const char *const what_names[SIM_DID_COUNT] = {
	[SIM_DID_TURN] = "turn",       [SIM_DID_SEND] = "send",   [SIM_DID_RECV] = "recv",
	[SIM_DID_ARRIVE] = "arrive",   [SIM_DID_DROP] = "drop",   [SIM_DID_FIN] = "fin",
	[SIM_DID_BREAK] = "break",     [SIM_DID_SYN] = "syn",     [SIM_DID_CONNECT] = "connect",
	[SIM_DID_ACCEPT] = "accept",   [SIM_DID_CLOSE] = "close", [SIM_DID_CANCEL] = "cancel",
	[SIM_DID_READ] = "read",       [SIM_DID_WRITE] = "write", [SIM_DID_SYNC] = "sync",
	[SIM_DID_DISCARD] = "discard", [SIM_DID_ZERO] = "zero",   [SIM_DID_OPEN] = "open",
	[SIM_DID_FAULT] = "FAULT",     [SIM_DID_CRASH] = "CRASH", [SIM_DID_RESTART] = "RESTART",
	[SIM_DID_PAUSE] = "PAUSE",     [SIM_DID_CLOCK] = "CLOCK", [SIM_DID_LINK] = "LINK",
	[SIM_DID_HEAL] = "HEAL",       [SIM_DID_NOTE] = "note",
};

void *sim_xalloc(size_t n)
{
	void *p = calloc(1, n);

	INVARIANT(p != NULL);
	return p;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct sim_event *event_get(struct sim *sim)
{
	struct sim_event *ev;

	if (!sim->free_events) {
		struct sim_slab *slab = sim_xalloc(sizeof(*slab));

		list_add_tail(&sim->slabs, &slab->link);
		for (size_t i = 0; i < EVENTS_PER_SLAB; i++) {
			slab->events[i].next_free = sim->free_events;
			sim->free_events = &slab->events[i];
		}
	}
	ev = sim->free_events;
	sim->free_events = ev->next_free;
	return ev;
}

static bool slot_before(const struct sim_slot *a, const struct sim_slot *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void heap_push(struct sim *sim, struct sim_slot slot)
{
	size_t i = sim->heap_len++;

	if (i == sim->heap_cap) {
		sim->heap_cap = MAX(sim->heap_cap * 2, (size_t)256);
		sim->heap = reallocarray(sim->heap, sim->heap_cap, sizeof(*sim->heap));
		INVARIANT(sim->heap != NULL);
	}
	for (; i > 0 && slot_before(&slot, &sim->heap[(i - 1) / 4]); i = (i - 1) / 4)
		sim->heap[i] = sim->heap[(i - 1) / 4];
	sim->heap[i] = slot;
}

static struct sim_slot heap_pop(struct sim *sim)
{
	struct sim_slot top = sim->heap[0];
	struct sim_slot last = sim->heap[--sim->heap_len];
	size_t n = sim->heap_len;
	size_t i = 0;

	for (;;) {
		size_t first = i * 4 + 1;
		size_t best = first;

		if (first >= n)
			break;
		for (size_t c = first + 1; c < first + 4 && c < n; c++)
			if (slot_before(&sim->heap[c], &sim->heap[best]))
				best = c;
		if (!slot_before(&sim->heap[best], &last))
			break;
		sim->heap[i] = sim->heap[best];
		i = best;
	}
	sim->heap[i] = last;
	return top;
}

struct sim_event *sim_at(struct sim *sim, uint64_t delay, sim_event_fn fn, void *obj, uint64_t arg)
{
	struct sim_event *ev = event_get(sim);

	ev->fn = fn;
	ev->obj = obj;
	ev->arg = arg;
	heap_push(sim, (struct sim_slot){ .at = sim->now + delay, .seq = sim->seq++, .ev = ev });
	return ev;
}

void sim_event_cancel(struct sim_event *ev)
{
	if (ev)
		ev->obj = NULL;
}

/* Drops cancelled events from the top; they are no history. */
static void heap_skip_cancelled(struct sim *sim)
{
	while (sim->heap_len > 0 && !sim->heap[0].ev->obj) {
		struct sim_event *ev = heap_pop(sim).ev;

		ev->next_free = sim->free_events;
		sim->free_events = ev;
	}
}

static void event_fire(struct sim *sim)
{
	struct sim_slot slot = heap_pop(sim);
	struct sim_event ev = *slot.ev;

	slot.ev->next_free = sim->free_events;
	sim->free_events = slot.ev;
	ev.fn(sim, ev.obj, ev.arg);
}

/* ---- trace ----------------------------------------------------------------------------------- */

void sim_did(struct sim *sim, enum sim_what what, const struct sim_node *node, uint64_t id,
	     uint64_t n, uint64_t extra)
{
	uint64_t h = hash_u64(sim->hash, sim->now);

	h = hash_u64(h, (uint64_t)what << 56 | (uint64_t)(node ? node->id : 0) << 40 | id);
	sim->hash = hash_u64(h, n ^ extra << 32 ^ extra >> 32);
	sim->events++;
	if (!sim->trace)
		return;
	fprintf(sim->trace,
		"%" PRIu64 ".%06" PRIu64 " %s %s id=%" PRIu64 " n=%" PRId64 " x=%" PRIx64,
		sim->now / 1000000, sim->now % 1000000, node ? node->name : "-", what_names[what],
		id, (int64_t)n, extra);
	if (what == SIM_DID_FAULT)
		fprintf(sim->trace, " %s", sim_fault_name((enum sim_fault)id));
	fputc('\n', sim->trace);
}

void sim_note(struct sim *sim, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sim->hash = hash_str(hash_u64(sim->hash, sim->now), text);
	if (sim->trace)
		fprintf(sim->trace, "%" PRIu64 ".%06" PRIu64 " - note %s\n", sim->now / 1000000,
			sim->now % 1000000, text);
}

void sim_log_sink(void *ctx, enum log_level level, const char *line, size_t n)
{
	struct sim *sim = ctx;

	if (sim->trace)
		fprintf(sim->trace, "%" PRIu64 ".%06" PRIu64 " - log %.*s", sim->now / 1000000,
			sim->now % 1000000, (int)n, line);
}

void sim_trace(struct sim *sim, FILE *to)
{
	sim->trace = to;
}

/* ---- chance ---------------------------------------------------------------------------------- */

bool sim_fault(struct sim *sim, enum sim_fault f, const struct sim_node *node)
{
	uint32_t ppm = sim->config.ppm[f];

	/*
	 * A kind that does not exist in this run draws nothing: that is most of them, most of the
	 * time.
	 */
	if (ppm == 0 || !rng_chance_ppm(&sim->rng, ppm))
		return false;
	sim->hits[f]++;
	sim_did(sim, SIM_DID_FAULT, node, f, 0, 0);
	return true;
}

bool sim_coin(struct sim *sim)
{
	return rng_u64(&sim->rng) >> 63;
}

uint64_t sim_net_delay(struct sim *sim)
{
	return rng_between(&sim->rng, sim->config.net_min_ns, sim->config.net_max_ns);
}

/* ---- running --------------------------------------------------------------------------------- */

static void set_now(struct sim *sim, uint64_t at)
{
	if (at > sim->now) {
		sim->now = at;
		sim->same_time = 0;
	}
}

/* The loop that is due first, not counting one whose turn is running. */
static struct sim_loop *next_loop(struct sim *sim, uint64_t *ret_due)
{
	struct sim_loop *sl, *best = NULL;
	uint64_t best_due = SIM_NEVER;

	list_for_each_entry(sl, &sim->loops, link) {
		uint64_t due = sl->base.in_turn ? SIM_NEVER : sim_loop_due(sim, sl);

		if (due < best_due) {
			best_due = due;
			best = sl;
		}
	}
	*ret_due = best_due;
	return best;
}

/* The next thing that happens, if that is at or before @limit: 1, 0 if nothing is, or -errno. */
static int step(struct sim *sim, uint64_t limit, bool *ret_idle)
{
	uint64_t loop_due;
	struct sim_loop *sl = next_loop(sim, &loop_due);
	uint64_t event_due;

	heap_skip_cancelled(sim);
	event_due = sim->heap_len ? sim->heap[0].at : SIM_NEVER;
	*ret_idle = loop_due == SIM_NEVER && event_due == SIM_NEVER;
	if (*ret_idle || MIN(loop_due, event_due) > limit)
		return 0;
	if (++sim->same_time > SAME_TIME_MAX)
		return -ELOOP;
	if (event_due <= loop_due) {
		set_now(sim, event_due);
		event_fire(sim);
		if (sim->weather)
			sim_weather(sim);
		return 1;
	}
	set_now(sim, loop_due);
	return sim_loop_turn(sim, sl);
}

int sim_run_until(struct sim *sim, bool (*done)(void *arg), void *arg, uint64_t limit_ns)
{
	uint64_t limit = limit_ns > SIM_NEVER - 1 - sim->now ? SIM_NEVER - 1 : sim->now + limit_ns;
	bool idle;
	int r;

	while (!done || !done(arg)) {
		r = step(sim, limit, &idle);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		if (idle && done)
			return -EDEADLK;
		set_now(sim, limit);
		return -ETIMEDOUT;
	}
	return 0;
}

int sim_run_for(struct sim *sim, uint64_t ns)
{
	int r = sim_run_until(sim, NULL, NULL, ns);

	return r == -ETIMEDOUT ? 0 : r;
}

int sim_world_poll(struct sim *sim, struct sim_loop *self, uint64_t timeout)
{
	uint64_t limit;
	bool idle;
	int r;

	/* "Just look" with something to see. */
	if (timeout == 0 && sim_loop_due(sim, self) <= sim->now)
		return 0;
	if (timeout == 0)
		timeout = LOOK_NS;
	limit = timeout > SIM_NEVER - 1 - sim->now ? SIM_NEVER - 1 : sim->now + timeout;
	while (sim_loop_due(sim, self) > sim->now) {
		r = step(sim, MIN(limit, sim_loop_due(sim, self)), &idle);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		if (idle && limit == SIM_NEVER - 1 && sim_loop_due(sim, self) == SIM_NEVER)
			return -EDEADLK;
		set_now(sim, MIN(limit, sim_loop_due(sim, self)));
		return 0;
	}
	return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct sim *sim_new(uint64_t seed, const struct sim_config *config)
{
	struct sim *sim = sim_xalloc(sizeof(*sim));

	INVARIANT(config->sector == 512 || config->sector == 4096);
	INVARIANT(config->net_min_ns <= config->net_max_ns && config->stream_buffer > 0);
	INVARIANT(config->disk_min_ns <= config->disk_max_ns);
	sim->config = *config;
	sim->now = BEGIN_NS;
	rng_init(&sim->rng, seed);
	rng_fork(&sim->rng, &sim->alloc_rng);
	sim->hash = hash_u64(HASH_INIT, seed);
	sim->weather = config->ppm[SIM_NODE_PAUSE] || config->ppm[SIM_NODE_CLOCK] ||
		       config->ppm[SIM_LINK_DOWN];
	list_init(&sim->slabs);
	list_init(&sim->loops);
	list_init(&sim->conns);
	list_init(&sim->listeners);
	return sim;
}

static void free_slabs(struct sim *sim)
{
	struct sim_slab *slab;

	while ((slab = list_pop_entry(&sim->slabs, struct sim_slab, link)))
		free(slab);
}

struct sim *sim_free(struct sim *sim)
{
	if (!sim)
		return NULL;
	INVARIANT(list_empty(&sim->loops));
	INVARIANT(list_empty(&sim->conns) && list_empty(&sim->listeners));
	for (unsigned int i = 0; i < sim->node_count; i++) {
		sim_disk_free(sim->nodes[i]);
		sim_state_free(sim->nodes[i]);
		free(sim->nodes[i]);
	}
	free_slabs(sim);
	free(sim->nodes);
	free(sim->cuts);
	free(sim->heap);
	free(sim);
	return NULL;
}

uint64_t sim_now(const struct sim *sim)
{
	return sim->now;
}

struct rng *sim_rng(struct sim *sim)
{
	return &sim->rng;
}

uint64_t sim_hash(const struct sim *sim)
{
	return sim->hash;
}

uint64_t sim_events(const struct sim *sim)
{
	return sim->events;
}

uint64_t sim_fault_count(const struct sim *sim, enum sim_fault f)
{
	return sim->hits[f];
}

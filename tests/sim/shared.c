/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what hosts that share may see; shared.h says by what rule. */
#include "shared.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum state {
	PENDING,  /* in flight, or unknown for good */
	SEEN,     /* never acknowledged, but read */
	CERTAIN,  /* acknowledged */
	REFUSED,  /* it never happened */
};

struct shared_value {
	enum state state;
	uint64_t from;      /* what it was to replace */
	uint64_t next;      /* what has replaced it; 0: nothing that is known */
	uint64_t next_ends; /* since when that is acknowledged; UINT64_MAX: it is not */
};

static void wrong(struct shared *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void wrong(struct shared *s, const char *fmt, ...)
{
	va_list args;

	if (s->wrong[0])
		return;
	va_start(args, fmt);
	vsnprintf(s->wrong, sizeof(s->wrong), fmt, args);
	va_end(args);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static uint64_t add_value(struct shared_lock *l, struct shared_value v)
{
	if (l->count == l->cap) {
		l->cap = MAX(l->cap * 2, (size_t)16);
		l->values = reallocarray(l->values, l->cap, sizeof(*l->values));
		INVARIANT(l->values != NULL);
	}
	l->values[l->count] = v;
	return l->count++;
}

void shared_init(struct shared *s, uint32_t block)
{
	*s = (struct shared){ .block = block, .holder = -1 };
	for (unsigned int i = 0; i < SHARED_LOCKS; i++)
		add_value(&s->lock[i], (struct shared_value){ .state = CERTAIN, .next_ends = UINT64_MAX });
}

void shared_deinit(struct shared *s)
{
	for (unsigned int i = 0; i < SHARED_LOCKS; i++)
		free(s->lock[i].values);
}

uint64_t shared_now(struct shared *s)
{
	return ++s->clock;
}

uint64_t shared_lock_begin(struct shared *s, unsigned int lock, uint64_t from)
{
	s->clock++;
	return add_value(&s->lock[lock],
			 (struct shared_value){ .from = from, .next_ends = UINT64_MAX });
}

/* It has happened; so has all that it was built on. */
static void happened(struct shared *s, unsigned int lock, uint64_t number, enum state how)
{
	struct shared_lock *l = &s->lock[lock];

	while (number != 0) {
		struct shared_value *v = &l->values[number], *before = &l->values[v->from];

		if (v->state == REFUSED)
			wrong(s, "lock %u: value %" PRIu64 " was refused, and is there", lock, number);
		if (before->next != 0 && before->next != number)
			wrong(s, "lock %u: value %" PRIu64 " was replaced twice, by %" PRIu64 " and %" PRIu64, lock,
			      v->from, before->next, number);
		before->next = number;
		if (how == CERTAIN && v->state != CERTAIN) {
			v->state = CERTAIN;
			before->next_ends = s->clock;
		} else if (v->state == PENDING) {
			v->state = SEEN;
		}
		/* What is below was overwritten: that is known, whatever was said of it. */
		number = v->from;
		if (l->values[number].state == CERTAIN)
			return;
	}
}

void shared_lock_end(struct shared *s, unsigned int lock, uint64_t number, enum shared_outcome outcome)
{
	struct shared_value *v = &s->lock[lock].values[number];

	s->clock++;
	if (outcome == SHARED_DONE) {
		s->locked++;
		happened(s, lock, number, CERTAIN);
	} else if (outcome == SHARED_REFUSED) {
		s->lost_races++;
		if (v->state == SEEN)
			wrong(s, "lock %u: value %" PRIu64 " was read, and then refused", lock, number);
		v->state = REFUSED;
	}
}

void shared_fill(const struct shared *s, uint64_t number, void *block)
{
	uint64_t *to = block;

	for (size_t i = 0; i < s->block / sizeof(*to); i++)
		to[i] = number;
}

static bool anything_pending(const struct shared_lock *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->values[i].state == PENDING || l->values[i].state == SEEN)
			return true;
	return false;
}

bool shared_lock_read(struct shared *s, unsigned int lock, uint64_t start, const void *block,
		      uint64_t *ret_number)
{
	struct shared_lock *l = &s->lock[lock];
	const uint64_t *from = block;
	bool torn = false;

	s->clock++;
	for (size_t i = 1; i < s->block / sizeof(*from); i++)
		torn |= from[i] != from[0];
	if (torn && anything_pending(l))
		l->spoilt = true; /* half of what failed, or is lost with the power */
	if (l->spoilt)
		return false;
	if (torn || from[0] >= l->count) {
		wrong(s, "lock %u: %s, %" PRIu64, lock, torn ? "torn" : "garbage", from[0]);
		return false;
	}
	if (l->values[from[0]].next_ends < start) {
		wrong(s, "lock %u: value %" PRIu64 " came back after %" PRIu64 " had replaced it", lock, from[0],
		      l->values[from[0]].next);
		return false;
	}
	happened(s, lock, from[0], SEEN);
	*ret_number = from[0];
	return true;
}

/* What was seen but not acknowledged may be gone again, with what was built on it unacknowledged. */
static void forget_unacknowledged(struct shared_lock *l)
{
	for (size_t i = 1; i < l->count; i++) {
		struct shared_value *v = &l->values[i];

		if (v->state == CERTAIN || v->state == REFUSED)
			continue;
		v->state = PENDING;
		if (l->values[v->from].next == i)
			l->values[v->from].next = 0;
	}
}

/* ---- the reservation ------------------------------------------------------------------------- */

void shared_acquired(struct shared *s, unsigned int host, uint64_t life)
{
	s->clock++;
	if (life != s->lives)
		return;
	s->reserved++;
	if (s->holder >= 0 && s->holder != (int)host)
		wrong(s, "host %u acquired what host %d holds", host, s->holder);
	s->holder = (int)host;
	s->held_since = s->clock;
}

void shared_releases(struct shared *s, unsigned int host)
{
	s->clock++;
	if (s->holder == (int)host)
		s->holder = -1;
}

void shared_ended(struct shared *s, unsigned int host, uint64_t start, bool writes, bool done,
		  bool conflict)
{
	bool throughout = s->holder >= 0 && start > s->held_since;

	s->clock++;
	s->conflicts += conflict;
	if (throughout && s->holder != (int)host && writes && done)
		wrong(s, "host %u wrote although host %d has it reserved", host, s->holder);
	if (throughout && conflict && (s->holder == (int)host || !writes))
		wrong(s, "host %u was refused %s by the reservation of host %d", host,
		      writes ? "a write" : "a read", s->holder);
}

void shared_target_gone(struct shared *s, bool power)
{
	s->clock++;
	s->holder = -1;
	s->lives++;
	for (unsigned int i = 0; power && i < SHARED_LOCKS; i++)
		forget_unacknowledged(&s->lock[i]);
}

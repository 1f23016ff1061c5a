/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a run of the KV cache workload. */
#ifndef BENCH_KV_IMPL_H
#define BENCH_KV_IMPL_H

#include <pthread.h>

#include "base/rng.h"
#include "bench/gate.h"
#include "bench/kv-pages.h"
#include "bench/kv.h"
#include "bench/mover.h"

enum {
	/* Pages of a conversation: full ones, and one that is not for each turn. */
	KV_CONVERSATION_PAGES = KV_CONTEXT_TOKENS / KV_PAGE_TOKENS + KV_TURNS_MAX + 2,
	KV_PREFIX_PAGES = KV_PREFIX_TOKENS / KV_PAGE_TOKENS,
	KV_MOVES = KV_CONVERSATION_PAGES + KV_PREFIX_PAGES,
	KV_ALIGN = 4096, /* pages begin and end so, as in a cache that bypasses the host's own */
	/* Without so many a conversation of full length could never be kept. */
	KV_PAGES_LEAST = KV_PREFIXES * KV_PREFIX_PAGES + KV_CONVERSATION_PAGES,
};

/* Thinking, then reading what is there, writing what is new, reading all while the answer is generated. */
enum kv_state { KV_THINKING, KV_READING, KV_WRITING, KV_DECODING };

struct kv_user {
	struct kv_thread *t;
	const struct kv_template *template;
	enum kv_state state;
	enum kv_class_id class; /* of this turn */
	uint64_t due_ns;
	uint64_t phase_ns; /* when this reading or writing began */
	uint64_t used_ns;  /* when the conversation was used last */

	/* The conversation. */
	uint32_t turns;	 /* 0: the next one begins it */
	uint32_t tokens;
	uint32_t fresh;	 /* tokens that this turn adds */
	int prefix;	 /* shared prompt that it begins with; -1: none */
	bool dropped;	 /* its pages are gone */
	uint32_t pages[KV_CONVERSATION_PAGES];
	uint32_t page_count;
	uint32_t old_pages; /* that were there before this turn */
	uint32_t decodes_left;

	struct move moves[KV_MOVES];
	uint32_t open_moves;
	uint64_t bytes[2];
	uint64_t turn_tokens[2];
	bool failed;
};

struct kv_thread {
	struct kv *kv;
	unsigned int index;
	pthread_t thread;
	int rc; /* of opening */
	struct err err;
	struct mover mover;
	struct rng rng;
	struct kv_pages pages;
	uint64_t base;	     /* of its part of the volume */
	uint32_t prefix[KV_PREFIXES][KV_PREFIX_PAGES];
	struct kv_user *users;
	unsigned int user_count;
	uint64_t next_due_ns;
	bool measuring;
	uint64_t ended_ns;
	struct kv_class class[KV_CLASSES];
	struct kv_counts counts;
	struct bench_trouble trouble;
	_Atomic uint64_t live_turns;
};

struct kv {
	const struct kv_options *o;
	struct kv_result *r;
	struct kv_thread *threads;
	uint64_t run; /* tells this run's pages from an earlier one's */
	uint64_t page_bytes; /* from one to the next */
	uint64_t token_bytes;
	struct gate gate;
	bool abandoned;
	uint64_t begin_ns;
	uint64_t end_ns;
	struct bench_cost cost_begin;
	atomic_uint running;
	_Atomic uint64_t turns; /* measured */
	pthread_mutex_t lock; /* of cpu_begun and what follows it */
	bool cpu_begun;
};

/* Where thread @index's part of its volume lies. */
void kv_part(const struct kv *kv, unsigned int index, uint64_t *ret_base, uint32_t *ret_pages);

/* ---- kv-thread.c ----------------------------------------------------------------------------- */

void *kv_thread_main(void *arg);

/* ---- kv-user.c ------------------------------------------------------------------------------- */

/* Users of a thread, when it begins. */
void kv_users_init(struct kv_thread *t, uint64_t now);
/* Begins the turn of a user that is due. */
void kv_user_begin(struct kv_user *u, uint64_t now);
/* The move of a page of @tokens, for reading or writing. */
void kv_move(struct kv_thread *t, struct move *m, uint32_t page, bool write);

#endif

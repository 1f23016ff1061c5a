/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The KV cache of a language model, kept on flash: users hold conversations, and each turn reads what
 * the cache has of the conversation so far, then writes the keys and values of the tokens that came
 * to it. Some conversations begin with a prompt that all share, which is there and only read. When
 * there is no room, the conversation that has been idle longest is dropped; its next turn is a miss,
 * and writes everything anew.
 *
 * Modelled after the KV cache workload of MLPerf Storage v3.0 with its users (chatbot, coding,
 * document), classes of service and probabilities, generation without computing; what is measured
 * with it is no MLPerf result. A user thinks after each turn, then the next one is due: a latency
 * counts from then, so what waits behind a stall is charged with it. Classes go first in the client
 * by their rank, interactive before responsive before batch.
 *
 * Each thread has its users, and its part of a volume in pages of KV_PAGE_TOKENS tokens. There is no
 * Flush: what a cache lost it has to make anew. With verify each page is checked when it is read.
 */
#ifndef BENCH_KV_H
#define BENCH_KV_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"
#include "bench/model.h"

enum {
	KV_USERS_MAX = 4096,
	KV_PAGE_TOKENS = 256,
	KV_CONTEXT_TOKENS = 32768, /* a conversation that would grow longer begins anew */
	KV_TURNS_MAX = 50,	   /* so does one of so many turns */
	KV_PREFIXES = 4,	   /* prompts that are shared, per thread */
	KV_PREFIX_TOKENS = 512,
};

enum kv_class_id { KV_INTERACTIVE, KV_RESPONSIVE, KV_BATCH, KV_CLASSES };

/* What users of a kind do. */
struct kv_template {
	const char *name;
	uint32_t context[2];    /* tokens that a turn adds, from and to */
	uint32_t generation[2]; /* and that the model answers with */
	uint32_t think_ms[2];
};

extern const struct kv_template kv_templates[];
enum { KV_TEMPLATES = 3 };

/* What a class promises, and its name. */
struct kv_target {
	const char *name;
	uint64_t p95_ns;
	uint64_t p99_ns;
	unsigned int percent; /* of the turns, unless told otherwise */
};

extern const struct kv_target kv_targets[KV_CLASSES];

struct kv_options {
	struct bench_target target;
	const struct model *model;
	uint64_t scale_ppm;   /* of the bytes of a token */
	unsigned int users;
	unsigned int threads; /* at most as many as users */
	bool templates[KV_TEMPLATES]; /* which kinds of user there are, in equal numbers */
	unsigned int percent[KV_CLASSES]; /* of turns; together 100 */
	unsigned int prefix_percent; /* of conversations, that begin with a shared prompt */
	unsigned int end_percent;    /* of turns, that are a conversation's last */
	unsigned int decode_reads;   /* how often all of it is read again while the answer is generated */
	uint64_t think_ppm;	     /* of the templates' thinking */
	uint64_t turns;	     /* end after so many; 0: no limit */
	uint64_t time_ns;    /* 0: no limit */
	uint64_t warmup_ns;
	uint64_t piece_bytes;
	unsigned int depth;  /* pieces in flight, per queue */
	unsigned int queues; /* per thread */
	uint64_t offset;     /* the part of each volume, bytes */
	uint64_t size;	     /* 0: to its end */
	uint64_t seed;
	bool verify;
	bool overwrite;
	bench_live_fn live;
	void *live_arg;
};

struct kv_class {
	uint64_t turns;
	uint64_t bytes[2];  /* read, written */
	struct hist turn;   /* ns: what storage made it wait, in all */
	struct hist move[2]; /* reading what is there, writing what is new */
};

struct kv_counts {
	uint64_t conversations; /* begun */
	uint64_t hits;	   /* turns of conversations that were there */
	uint64_t misses;   /* that had been dropped */
	uint64_t prefixes; /* that began with a shared prompt */
	uint64_t dropped;  /* conversations, for want of room */
	uint64_t refused;  /* turns whose tokens found no room at all, and were not written */
	uint64_t tokens[2]; /* read, written */
};

struct kv_result {
	struct bench_result all; /* ops are turns, and latencies theirs; the split is that of pieces */
	struct kv_class class[KV_CLASSES];
	struct kv_counts counts;
	uint64_t token_bytes; /* as scaled */
	uint64_t pages;	      /* on all volumes */
};

/* As micro_run(). -ENOSPC: not even one conversation has room. */
int kv_run(const struct kv_options *opts, struct kv_result *ret_result, struct err *err);

/* Adds a further run with the same options. */
void kv_merge(struct kv_result *r, const struct kv_result *run);

#endif

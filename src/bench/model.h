/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Language models as storage sees them: what each rank of a training job saves in a checkpoint, and
 * how many bytes a token has in a KV cache. From the public configurations of MLPerf Storage v2.0 and
 * v3.0 (github.com/mlcommons/storage): weights in 16 bits, the optimizer's state in three times 32.
 * Sizes are as published, to a hundredth of a GiB; where ranks differ, their mean.
 */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct model {
	const char *name;
	uint32_t tensor, pipeline, data; /* parallelism: as many ranks as their product */
	uint32_t model_ranks;		 /* ranks that save weights: the first ones */
	uint64_t model_bytes;		 /* of each of these */
	uint64_t optimizer_bytes;	 /* of every rank */
	uint64_t kv_bytes_per_token;	 /* 0: none published */
};

extern const struct model models[];
extern const size_t model_count;

/* NULL if there is none. */
const struct model *model_find(const char *name);
/* "llama3-8b, llama3-70b, ..."; returns @buf. @kv: only those with a KV cache. */
const char *model_names(int kv, char *buf, size_t n);

static inline uint32_t model_all_ranks(const struct model *m)
{
	return m->tensor * m->pipeline * m->data;
}

/* Bytes scaled by a millionth's multiple; at least 1 of what is not nothing. @scale_ppm up to 10^9. */
uint64_t model_scaled(uint64_t bytes, uint64_t scale_ppm);

#endif

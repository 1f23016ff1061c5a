/* SPDX-License-Identifier: Apache-2.0 */
/* Are the samples of a batch, where the accelerator finds them, those of the dataset? */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "bench/train-impl.h"

static void check_contents(struct train_rank *r, const struct pst_batch_sample *s, const struct pst_sample *what,
			   uint64_t file)
{
	const char *name = what->name;

	for (uint64_t at = 0; at < s->size; at += VERIFY_PIECE) {
		size_t n = MIN((uint64_t)VERIFY_PIECE, s->size - at), good;
		int rc = pst_memory_copy_out(r->mem, s->mem_offset + at, r->scratch, n);

		if (rc < 0) {
			bench_verify_fail(&r->verify, "%s: sample '%s': cannot be copied out of the accelerator: %s",
					  r->uri, name, strerror(-rc));
			return;
		}
		good = format_check(&r->manifest, file, what->file_offset + at, r->scratch, n);
		if (good < n) {
			bench_verify_fail(&r->verify, "%s: sample '%s': byte %llu is wrong", r->uri, name,
					  (unsigned long long)(what->file_offset + at + good));
			return;
		}
	}
}

static void check_sample(struct train_rank *r, const struct pst_batch_sample *s)
{
	struct pst_sample what;
	uint64_t number, size;

	r->verify.samples++;
	if (pst_dataset_sample(r->ds, s->index, &what) < 0 ||
	    manifest_number(&r->manifest, what.name, &number) < 0) {
		bench_verify_fail(&r->verify, "%s: sample '%s' is none of this dataset's", r->uri, what.name);
		return;
	}
	size = r->manifest.format == FORMAT_PLAIN ? sizes_at(&r->manifest.sizes, number) : what.size;
	if (s->size != size)
		bench_verify_fail(&r->verify, "%s: sample '%s' has %llu bytes: expected %llu", r->uri, what.name,
				  (unsigned long long)s->size, (unsigned long long)size);
	else
		check_contents(r, s, &what, number);
}

void train_verify(struct train_rank *r, const struct pst_batch *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		if (b->samples[i].error == 0)
			check_sample(r, &b->samples[i]);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds batches of a dataset to something that computes, and says how long it waited.
 *
 *	cc feed.c $(pkg-config --cflags --libs penstock) -o feed
 *	./feed nvme+tcp://127.0.0.1/nqn.2026-11.io.penstock:default 4
 */
#include <penstock.h>
#include <stdio.h>

static uint64_t compute(const void *data, uint64_t n)
{
	const unsigned char *p = data;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

static int run(struct pst_feed *feed, struct pst_memory *mem)
{
	struct pst_batch batch;
	uint64_t bytes = 0, waited = 0, sum = 0;
	int rc;

	pst_feed_start(feed, 0);
	while ((rc = pst_feed_next(feed, UINT64_MAX, &batch)) == 1) {
		for (uint32_t i = 0; i < batch.count; i++) {
			const struct pst_batch_sample *s = &batch.samples[i];

			if (s->error) {
				fprintf(stderr, "feed: sample %llu: error %d\n", (unsigned long long)s->index,
					-s->error);
				return 1;
			}
			sum += compute((char *)pst_memory_ptr(mem) + s->mem_offset, s->size);
		}
		bytes += batch.bytes;
		waited += batch.wait_ns;
		pst_feed_release(feed, &batch);
	}
	if (rc < 0)
		return 1;
	printf("batches=%llu bytes=%llu sum=%llu waited_seconds=%.6f\n", (unsigned long long)pst_feed_batches(feed),
	       (unsigned long long)bytes, (unsigned long long)sum, (double)waited / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	struct pst_feed_options options = PST_OPTIONS(options);
	struct pst_context *ctx = NULL;
	struct pst_volume *vol = NULL;
	struct pst_dataset *dataset = NULL;
	struct pst_memory *mem = NULL;
	struct pst_feed *feed = NULL;
	struct pst_error err = { 0 };
	int status = 1;

	if (argc != 3) {
		fprintf(stderr, "usage: feed URI SAMPLES-PER-BATCH\n");
		return 2;
	}
	if (sscanf(argv[2], "%u", &options.batch) != 1) {
		fprintf(stderr, "feed: '%s' is no number\n", argv[2]);
		return 2;
	}
	options.seed = 42;
	if (pst_context_new(NULL, &ctx, &err) == 0 && pst_volume_open(ctx, argv[1], NULL, &vol, &err) == 0 &&
	    pst_dataset_open(vol, &dataset, &err) == 0 &&
	    pst_memory_alloc(ctx, pst_feed_memory_size(dataset, &options), &mem, &err) == 0 &&
	    pst_feed_new(dataset, mem, &options, &feed, &err) == 0)
		status = run(feed, mem);
	else
		fprintf(stderr, "feed: %s\n", err.text);
	pst_feed_free(feed);
	pst_memory_free(mem);
	pst_dataset_close(dataset);
	pst_volume_close(vol);
	pst_context_free(ctx);
	return status;
}

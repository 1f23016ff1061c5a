/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run went over time: what completed in each slice of it, with its latencies. Memory is
 * bounded and taken before the run: when the slices are used up, each two become one of twice the
 * length, which histograms can do without error, so a run of any length ends with between 120 and
 * 240 of them, and short ones see details down to 100 ms. The price is 8 MiB per series, which the
 * kernel only hands out as far as slices are used.
 *
 * On the I/O path a thread adds to a part of its own; it takes the series' lock once per slice.
 */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hist.h"

enum { SERIES_SLICES = 240 };

#define SERIES_SLICE_NS UINT64_C(100000000)

struct series_slice {
	uint64_t bytes;
	struct hist latency; /* its count is that of ops */
};

struct series {
	pthread_mutex_t lock;
	uint64_t begin_ns;
	uint64_t slice_ns;
	size_t used;
	struct series_slice *slices;
};

/* -ENOMEM. */
int series_init(struct series *s);
void series_deinit(struct series *s);
/* The time before the first slice. What is added before it is left out. */
void series_begin(struct series *s, uint64_t now);
/* Something completed at @now. Any thread. */
void series_add(struct series *s, uint64_t now, uint64_t latency, uint64_t bytes);

/* ---- for many additions a second ------------------------------------------------------------- */

/* What one thread has added in the present slice. */
struct series_part {
	struct series *to; /* NULL: nobody wants it */
	uint64_t from_ns;
	uint64_t until_ns; /* of the slice; 0: none yet */
	uint64_t bytes;
	struct hist latency;
};

void series_part_init(struct series_part *p, struct series *to);
/* Of one thread; @now does not go backwards. */
void series_part_add(struct series_part *p, uint64_t now, uint64_t latency, uint64_t bytes);
/* Hands over the rest. */
void series_part_end(struct series_part *p);

/* ---- afterwards ------------------------------------------------------------------------------ */

/* One slice as figures. */
struct series_point {
	double seconds; /* its end, since the beginning */
	double length_seconds;
	uint64_t ops;
	uint64_t bytes;
	uint64_t p50_ns; /* all three 0 where nothing completed */
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t sum_ns; /* of latencies */
};

/* At most SERIES_SLICES into @ret; the last one ends at @end_ns. Returns how many. */
size_t series_points(const struct series *s, uint64_t end_ns, struct series_point *ret);

#endif

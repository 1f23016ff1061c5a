/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training workloads as figures: how large a sample is, how many make a step, how long an
 * accelerator computes on them. From the public configurations of MLPerf Storage v1.0 to v3.0
 * (github.com/mlcommons/storage); what is measured with them here is no MLPerf result.
 *
 * Files of many samples are generated as such (format.h), and read record by record in the order of
 * the shuffle. dlrm, whose steps read a part of each record, reads its columns of groups of rows.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "bench/format.h"

struct workload {
	const char *name;
	const char *accelerator;
	enum format format;
	uint64_t files; /* as published */
	uint64_t samples_per_file;
	uint64_t record_bytes; /* of a sample in its file, mean */
	uint64_t sample_bytes; /* of it that a step reads, mean */
	uint64_t sample_stddev_bytes;
	uint64_t compute_ns; /* per step */
	uint32_t batch;	     /* samples per step */
	uint32_t epochs;
	uint32_t au_floor_percent; /* utilisation that its rules ask for */
	const char *extension;	   /* of a file's name */
};

/* All of them, those of one workload next to one another. */
extern const struct workload workloads[];
extern const size_t workload_count;

/*
 * @accelerator NULL: h100 where there is one, else the first of that workload. NULL if there is no
 * such workload or it has no figures for that accelerator.
 */
const struct workload *workload_find(const char *name, const char *accelerator);

/* "unet3d, resnet50, ..."; with @name, the accelerators that it has figures for. Returns @buf. */
const char *workload_names(const char *name, char *buf, size_t n);

/* What one accelerator that never waits reads. */
double workload_bytes_per_second(const struct workload *w);

#endif

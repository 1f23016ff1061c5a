/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/workload.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define UNET3D(accel, n, compute)                                                                  \
	{ "unet3d",  accel,	FORMAT_PLAIN, n, 1, 146600628, 146600628, 68341808, compute, 7, 5, 90, "npz" }
#define RESNET50(accel, compute)                                                                   \
	{ "resnet50", accel,  FORMAT_TFRECORD, 1024, 1251, 114660, 114660, 0, compute, 400, 5, 90, "tfrecord" }
#define COSMOFLOW(accel, compute)                                                                  \
	{ "cosmoflow", accel, FORMAT_PLAIN, 524288, 1, 2828486, 2828486, 71311, compute, 1, 5, 70, "tfrecord" }
#define RETINANET(accel, batch, compute)                                                           \
	{ "retinanet", accel, FORMAT_PLAIN, 1170301, 1, 322957, 322957, 0, compute, batch, 8, 85, "jpeg" }

const struct workload workloads[] = {
	UNET3D("a100", 168, 636000000),
	UNET3D("h100", 168, 323000000),
	UNET3D("b200", 7200, 162000000),
	RESNET50("a100", 435000000),
	RESNET50("h100", 224000000),
	COSMOFLOW("a100", 5510000),
	COSMOFLOW("h100", 3500000),
	RETINANET("b200", 24, 47550000),
	RETINANET("mi355", 32, 63400000),
	{ "flux", "b200", FORMAT_PACKED, 4296, 288, 2164832, 2164832, 0, 1350000000, 48, 1, 90, "parquet" },
	{ "dlrm", "b200", FORMAT_COLUMNS, 1024, 4718592, 761, 160, 0, 375000, 16384, 1, 70, "parquet" },
};
const size_t workload_count = ARRAY_SIZE(workloads);

const struct workload *workload_find(const char *name, const char *accelerator)
{
	const struct workload *first = NULL;
	const char *want = accelerator ? accelerator : "h100";

	for (size_t i = 0; i < workload_count; i++) {
		if (strcmp(workloads[i].name, name) != 0)
			continue;
		if (strcmp(workloads[i].accelerator, want) == 0)
			return &workloads[i];
		first = first ? first : &workloads[i];
	}
	return accelerator ? NULL : first;
}

const char *workload_names(const char *name, char *buf, size_t n)
{
	const char *last = "";
	size_t len = 0;

	buf[0] = 0;
	for (size_t i = 0; i < workload_count && len < n; i++) {
		const struct workload *w = &workloads[i];

		if (name ? strcmp(w->name, name) != 0 : strcmp(w->name, last) == 0)
			continue;
		last = w->name;
		len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? ", " : "",
					name ? w->accelerator : w->name);
	}
	return buf;
}

double workload_bytes_per_second(const struct workload *w)
{
	return (double)w->sample_bytes * w->batch * 1e9 / (double)w->compute_ns;
}

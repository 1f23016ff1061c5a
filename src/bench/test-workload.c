/* SPDX-License-Identifier: Apache-2.0 */
/* The table against the figures as published, rates included: a slip in one digit shows in both. */
#include "bench/workload.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "tests/tap.h"

struct published {
	const char *name;
	const char *accelerator;
	uint64_t samples;
	uint64_t bytes;
	uint32_t batch;
	double compute_seconds;
	double gigabytes_per_second; /* rounded as published */
	double within;
};

static const struct published published[] = {
	{ "unet3d", "a100", 168, 146600628, 7, 0.636, 1.61, 0.005 },
	{ "unet3d", "h100", 168, 146600628, 7, 0.323, 3.18, 0.005 },
	{ "unet3d", "b200", 7200, 146600628, 7, 0.162, 6.33, 0.006 },
	{ "resnet50", "a100", 1024 * 1251, 114660, 400, 0.435, 0.105, 0.0006 },
	{ "resnet50", "h100", 1024 * 1251, 114660, 400, 0.224, 0.205, 0.0006 },
	{ "cosmoflow", "a100", 524288, 2828486, 1, 0.00551, 0.513, 0.0006 },
	{ "cosmoflow", "h100", 524288, 2828486, 1, 0.0035, 0.808, 0.0006 },
	{ "retinanet", "b200", 1170301, 322957, 24, 0.04755, 0.163, 0.0006 },
	{ "retinanet", "mi355", 1170301, 322957, 32, 0.0634, 0.163, 0.0006 },
	{ "flux", "b200", 4296 * 288, 2164832, 48, 1.35, 0.077, 0.0006 },
	{ "dlrm", "b200", UINT64_C(1024) * 4718592, 160, 16384, 0.000375, 6.99, 0.005 },
};

static void figures(void)
{
	is_u64(workload_count, ARRAY_SIZE(published), "each published figure is in the table, once");
	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		const struct published *p = &published[i];
		const struct workload *w = workload_find(p->name, p->accelerator);

		ok(w && w->files * w->samples_per_file == p->samples && w->sample_bytes == p->bytes &&
			   w->batch == p->batch &&
			   fabs((double)w->compute_ns / 1e9 - p->compute_seconds) < 1e-9,
		   "%s on %s", p->name, p->accelerator);
		ok(w && fabs(workload_bytes_per_second(w) / 1e9 - p->gigabytes_per_second) < p->within,
		   "%s on %s eats %.3f GB/s", p->name, p->accelerator, p->gigabytes_per_second);
	}
}

static void choice(void)
{
	const struct workload *w = workload_find("unet3d", NULL);
	char names[64];

	is_str(w ? w->accelerator : NULL, "h100", "without a word, an h100");
	w = workload_find("retinanet", NULL);
	is_str(w ? w->accelerator : NULL, "b200", "or the first there is");
	ok(!workload_find("retinanet", "h100"), "an accelerator without figures is not found");
	ok(!workload_find("unet", NULL), "nor is half a name");
	is_str(workload_names(NULL, names, sizeof(names)), "unet3d, resnet50, cosmoflow, retinanet, flux, dlrm",
	       "the names, once each");
	is_str(workload_names("unet3d", names, sizeof(names)), "a100, h100, b200", "and its accelerators");
	is_str(workload_names("unet3d", names, 7), "a100, ", "cut where the room ends");
	is_u64(workload_find("unet3d", NULL)->sample_stddev_bytes, 68341808, "unet3d's deviation");
	is_u64(workload_find("cosmoflow", NULL)->sample_stddev_bytes, 71311, "cosmoflow's deviation");
	is_u64(workload_find("dlrm", NULL)->record_bytes, 761, "dlrm's record, of which a step reads a part");
	is_u64(workload_find("dlrm", NULL)->au_floor_percent, 70, "dlrm's floor");
	is_u64(workload_find("dlrm", NULL)->samples_per_file % FORMAT_ROWS, 0, "its files are whole groups of rows");
	is_u64(workload_find("cosmoflow", NULL)->au_floor_percent, 70, "cosmoflow's floor");
}

int main(void)
{
	figures();
	choice();
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The table against totals as published, and arithmetic of scales. */
#include "bench/model.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "tests/tap.h"

static const struct {
	const char *name;
	uint32_t ranks;
	double total_gib;
	double within; /* of what two decimals of a rank's share come to */
} published[] = {
	{ "llama3-8b", 8, 104.7, 0.1 },
	{ "llama3-70b", 64, 911, 1 },
	{ "llama3-405b", 512, 5292, 3 },
	{ "llama3-1t", 1024, 15427, 10 },
};

static void totals(void)
{
	is_u64(model_count, ARRAY_SIZE(published), "as many models");
	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		const struct model *m = model_find(published[i].name);
		double gib;

		if (!ok(m != NULL, "%s", published[i].name))
			continue;
		gib = ((double)m->model_bytes * m->model_ranks +
		       (double)m->optimizer_bytes * model_all_ranks(m)) / (double)(1 << 30);
		is_u64(model_all_ranks(m), published[i].ranks, "ranks of %s", m->name);
		ok(fabs(gib - published[i].total_gib) <= published[i].within,
		   "%s: a checkpoint has %.1f GiB, as published", m->name, gib);
	}
	is_u64(model_find("llama3-8b")->kv_bytes_per_token, 131072, "a token of the 8B model's KV cache");
	is_u64(model_find("llama3-70b")->kv_bytes_per_token, 327680, "of the 70B model's");
	ok(!model_find("llama3"), "half a name is none");
}

static void names(void)
{
	char buf[80];

	is_str(model_names(0, buf, sizeof(buf)), "llama3-8b, llama3-70b, llama3-405b, llama3-1t", "the names");
	is_str(model_names(1, buf, sizeof(buf)), "llama3-8b, llama3-70b", "those with a KV cache");
}

static void scales(void)
{
	is_u64(model_scaled(UINT64_C(12884901888), 1000000), UINT64_C(12884901888), "a scale of one changes nothing");
	is_u64(model_scaled(1000000007, 500000), 500000003, "half, rounded down");
	is_u64(model_scaled(10, 1), 1, "never nothing of something");
	is_u64(model_scaled(0, 1000000), 0, "and nothing of nothing");
	is_u64(model_scaled(UINT64_C(1) << 34, 2000000000), UINT64_C(2000) << 34, "a large one does not overflow");
}

int main(void)
{
	totals();
	names();
	scales();
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench-more.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cli/scale.h"

struct bench_more bench_more = {
	.ranks = BENCH_NOT_GIVEN,	  .scale_ppm = BENCH_NOT_GIVEN,	 .checkpoints = BENCH_NOT_GIVEN,
	.pause = BENCH_NOT_GIVEN,	  .users = BENCH_NOT_GIVEN,	 .turns = BENCH_NOT_GIVEN,
	.shared_prompts = BENCH_NOT_GIVEN, .last_turns = BENCH_NOT_GIVEN, .decode_reads = BENCH_NOT_GIVEN,
	.think_ppm = BENCH_NOT_GIVEN,	  .prepare = BENCH_NOT_GIVEN,	 .cache = BENCH_NOT_GIVEN,
};

int bench_take_scale(const char *arg)
{
	return scale_parse(arg, &bench_more.scale_ppm);
}

int bench_take_think(const char *arg)
{
	return scale_parse(arg, &bench_more.think_ppm);
}

/* "2/3" */
int bench_take_part(const char *arg)
{
	const char *slash = strchr(arg, '/');
	uint64_t part, parts;
	char digits[8];

	if (!slash || slash - arg >= (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(slash - arg), arg);
	if (parse_u64(digits, &part) < 0 || parse_u64_between(slash + 1, 1, 4096, &parts) < 0)
		return -EINVAL;
	if (part < 1 || part > parts)
		return -EINVAL;
	bench_more.part = (unsigned int)part - 1;
	bench_more.parts = (unsigned int)parts;
	return 0;
}

enum { SAVE = 1, RESTORE = 2, KV = 4, MIXED = 8, TRAINING = 16 };

static const struct {
	const char *name;
	unsigned int bit;
	int (*run)(const struct bench_request *q, const struct bench_common *c);
} workloads_more[] = {
	{ "checkpoint-save", SAVE, bench_checkpoint },
	{ "checkpoint-restore", RESTORE, bench_checkpoint },
	{ "kv-cache", KV, bench_kv },
	{ "mixed", MIXED, bench_mixed },
};

static int find(const char *workload)
{
	for (size_t i = 0; workload && i < ARRAY_SIZE(workloads_more); i++) {
		if (strcmp(workload, workloads_more[i].name) == 0)
			return (int)i;
	}
	return -1;
}

bool bench_is_more(const char *workload)
{
	return find(workload) >= 0;
}

bool bench_is_mixed(const char *workload)
{
	return bench_is_more(workload) && workloads_more[find(workload)].bit == MIXED;
}

int bench_more_run(struct bench_request *q, const struct bench_common *c)
{
	return workloads_more[find(c->workload)].run(q, c);
}

const char *bench_more_misplaced(const char *workload)
{
	const struct {
		const char *name;
		bool given;
		unsigned int where;
	} list[] = {
		{ "prepare-time", bench_more.prepare != BENCH_NOT_GIVEN, TRAINING | MIXED },
		{ "calibrate", bench_more.calibrate, TRAINING },
		{ "cache-size", bench_more.cache != BENCH_NOT_GIVEN, TRAINING },
		{ "streams", bench_more.streams, MIXED },
		{ "training", bench_more.training, MIXED },
		{ "model", bench_more.model, SAVE | RESTORE | KV | MIXED },
		{ "scale", bench_more.scale_ppm != BENCH_NOT_GIVEN, SAVE | RESTORE | KV | MIXED },
		{ "ranks", bench_more.ranks != BENCH_NOT_GIVEN, SAVE | RESTORE | MIXED },
		{ "checkpoints", bench_more.checkpoints != BENCH_NOT_GIVEN, SAVE | RESTORE },
		{ "pause", bench_more.pause != BENCH_NOT_GIVEN, SAVE | RESTORE | MIXED },
		{ "users", bench_more.users != BENCH_NOT_GIVEN, KV },
		{ "user-kinds", bench_more.user_kinds, KV },
		{ "class-mix", bench_more.class_mix, KV },
		{ "shared-prompts", bench_more.shared_prompts != BENCH_NOT_GIVEN, KV },
		{ "last-turns", bench_more.last_turns != BENCH_NOT_GIVEN, KV },
		{ "decode-reads", bench_more.decode_reads != BENCH_NOT_GIVEN, KV },
		{ "think", bench_more.think_ppm != BENCH_NOT_GIVEN, KV },
		{ "turns", bench_more.turns != BENCH_NOT_GIVEN, KV },
	};
	int i = find(workload);
	unsigned int bit = i >= 0 ? workloads_more[i].bit : workload ? TRAINING : 0;

	for (size_t k = 0; k < ARRAY_SIZE(list); k++) {
		if (list[k].given && !(list[k].where & bit))
			return list[k].name;
	}
	return NULL;
}

int bench_count(const char *name, uint64_t value, uint64_t otherwise, unsigned int least, unsigned int most,
		unsigned int *ret)
{
	value = value == BENCH_NOT_GIVEN ? otherwise : value;
	if (value < least || value > most)
		return cli_usage("bench: --%s %llu: expected %u to %u", name, (unsigned long long)value, least, most);
	*ret = (unsigned int)value;
	return CLI_DONE;
}

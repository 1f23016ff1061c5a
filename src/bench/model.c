/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* Hundredths of a GiB, as the figures are published. */
#define CENTI_GIB(n) ((uint64_t)(n) * (UINT64_C(1) << 30) / 100)

const struct model models[] = {
	{ "llama3-8b", 1, 1, 8, 8, CENTI_GIB(187), CENTI_GIB(1122), 131072 },
	{ "llama3-70b", 8, 1, 8, 64, CENTI_GIB(203), CENTI_GIB(1220), 327680 },
	{ "llama3-405b", 8, 32, 2, 256, CENTI_GIB(295), CENTI_GIB(886), 0 },
	{ "llama3-1t", 8, 64, 2, 512, CENTI_GIB(431), CENTI_GIB(1291), 0 },
};
const size_t model_count = ARRAY_SIZE(models);

const struct model *model_find(const char *name)
{
	for (size_t i = 0; i < model_count; i++) {
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	}
	return NULL;
}

const char *model_names(int kv, char *buf, size_t n)
{
	size_t len = 0;

	buf[0] = 0;
	for (size_t i = 0; i < model_count && len < n; i++) {
		if (kv && models[i].kv_bytes_per_token == 0)
			continue;
		len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? ", " : "", models[i].name);
	}
	return buf;
}

uint64_t model_scaled(uint64_t bytes, uint64_t scale_ppm)
{
	const uint64_t ppm = 1000000;
	uint64_t scaled = bytes / ppm * scale_ppm + bytes % ppm * scale_ppm / ppm;

	return bytes > 0 && scaled == 0 ? 1 : scaled;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "tests/tap.h"

static const struct manifest good = {
	.workload = "unet3d",
	.extension = "npz",
	.samples = 168,
	.per_file = 1,
	.scale_ppm = 10000,
	.sizes = { .seed = UINT64_MAX, .mean = 1466006, .stddev = 683418 },
};

static void round_trip(void)
{
	struct manifest m = { .samples = 0 };
	struct err err = ERR_NULL;
	char text[MANIFEST_MAX];
	int n = manifest_format(&good, text);

	ok(n > 0 && manifest_parse(text, (size_t)n, &m, &err) == 0, "what is written is read (%s)", err.text);
	is_str(m.workload, "unet3d", "the workload");
	is_str(m.extension, "npz", "the extension");
	is_u64(m.samples, 168, "the samples");
	is_u64(m.scale_ppm, 10000, "the scale");
	is_u64(m.sizes.seed, UINT64_MAX, "a seed of 64 bits");
	is_u64(m.sizes.mean, 1466006, "the mean");
	is_u64(m.sizes.stddev, 683418, "the deviation");
	ok(strstr(text, "\"penstock.dataset-manifest/1\"") && text[n - 1] == '\n', "it is JSON with a schema");
}

/* Each field is replaced by something else and left out. */
static void damage(const char *from, const char *to, int want)
{
	struct manifest m = { .samples = 77 };
	struct err err = ERR_NULL;
	char text[MANIFEST_MAX], bad[MANIFEST_MAX + 64], *at;
	int rc, n = manifest_format(&good, text);

	at = n > 0 ? strstr(text, from) : NULL;
	if (!ok(at, "%s is in the text", from))
		return;
	snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	rc = manifest_parse(bad, strlen(bad), &m, &err);
	ok(rc == want && err.text[0] && m.samples == 77, "%s in its place is refused: %s", to, err.text);
}

static void damages(void)
{
	struct manifest m;
	struct err err = ERR_NULL;
	char text[MANIFEST_MAX];
	int n = manifest_format(&good, text);

	damage("\"samples\": 168", "\"samples\": 0", -EBADMSG);
	damage("\"samples\": 168", "\"samples\": -1", -EBADMSG);
	damage("\"samples\": 168", "\"samples\": \"168\"", -EBADMSG);
	damage("\"samples\": 168,", "", -EBADMSG);
	damage("\"seed\"", "\"sead\"", -EBADMSG);
	damage("unet3d", "../unet3d", -EBADMSG);
	damage("unet3d", "a-name-that-is-longer-than-the-room-for-it", -EBADMSG);
	damage("1466006", "600000", -EBADMSG);
	damage("normal-12/1", "normal-12/2", -EOPNOTSUPP);
	damage("content/1", "content/2", -EOPNOTSUPP);
	damage("manifest/1", "manifest/3", -EOPNOTSUPP);
	damage("{", "[", -EBADMSG);
	for (int cut = 0; cut < n - 2; cut += 7) {
		if (manifest_parse(text, (size_t)cut, &m, &err) == 0)
			ok(false, "a text cut at %d is taken", cut);
	}
	ok(true, "a text that is cut is refused");
}

static void names(void)
{
	static const char *const foreign[] = {
		"unet3d/000168.npz", "unet3d/0000001.npz", "unet3d/1.npz", "unet3d/000001.npy", "000001.npz",
		"unet/000001.npz",   "unet3d/-00001.npz",  "unet3d/",	   "",			"unet3d/0x0001.npz",
		"x/unet3d/000001.npz",
	};
	struct manifest large = good;
	char name[MANIFEST_NAME_MAX];
	uint64_t number = 0;

	manifest_name(&good, 123, name);
	is_str(name, "unet3d/000123.npz", "a sample's name");
	ok(manifest_number(&good, name, &number) == 0 && number == 123, "has its number");
	ok(manifest_number(&good, "./unet3d/000007.npz", &number) == 0 && number == 7, "with ./ in front too");
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		ok(manifest_number(&good, foreign[i], &number) == -ENOENT, "'%s' is none of its names", foreign[i]);
	is_u64(number, 7, "and gives no number");
	large.samples = 5000000;
	manifest_name(&large, 1234567, name);
	ok(manifest_number(&large, name, &number) == 0 && number == 1234567, "a number may have more digits");
}

static void checks(void)
{
	struct manifest m = good;
	struct err err = ERR_NULL;

	ok(manifest_check(&m, &err) == 0, "a good one passes");
	m.sizes.stddev = m.sizes.mean + 1;
	ok(manifest_check(&m, &err) == -EINVAL, "a deviation above the mean does not");
	m = good;
	m.sizes.mean = SIZES_MAX + 1;
	ok(manifest_check(&m, &err) == -EINVAL, "nor a sample of more than half a terabyte");
	m = good;
	m.samples = UINT32_MAX;
	ok(manifest_check(&m, &err) == -EINVAL, "nor more samples than an index holds");
}

int main(void)
{
	round_trip();
	damages();
	names();
	checks();
	return tap_done();
}

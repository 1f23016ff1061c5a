/* SPDX-License-Identifier: Apache-2.0 */
/* penstock read: from a volume to standard output. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/copy.h"

static uint64_t from_offset;
static uint64_t want_length = UINT64_MAX;
static const char *into_text, *require_text;

const struct cli_option read_options[] = {
	{ "offset", 's', CLI_SIZE, &from_offset, "N", "first byte (default 0)", NULL },
	{ "length", 'l', CLI_SIZE, &want_length, "N", "how many bytes (default: to the end)", NULL },
	{ "into", 0, CLI_TEXT, &into_text, CLI_INTO_VALUES, "memory that data passes through (default host)", NULL },
	{ "require-path", 0, CLI_TEXT, &require_text, CLI_PATH_VALUES, "exit with 3 if data takes another way", NULL },
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

static int put(const void *data, uint64_t n)
{
	const uint8_t *p = data;

	while (n > 0) {
		ssize_t r = write(STDOUT_FILENO, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return cli_output_error(errno);
		p += r;
		n -= (uint64_t)r;
	}
	return CLI_DONE;
}

static int stream(struct copy *c, const char *uri, uint64_t offset, uint64_t length)
{
	uint64_t submitted = 0, written = 0;
	struct cli_progress progress;
	int rc = CLI_DONE;

	cli_progress_begin(&progress, "read", length);
	while (rc == CLI_DONE && written < length) {
		struct copy_slot *s;
		void *data;

		while (submitted < length && !copy_full(c)) {
			uint64_t n = MIN(c->chunk, length - submitted);
			int e = copy_submit(c, false, offset + submitted, n);

			if (e < 0)
				return cli_error("%s: read: %s", uri, strerror(-e));
			submitted += n;
		}
		if (copy_oldest(c, &s, &data) < 0)
			return cli_error("%s: waiting for the volume failed", uri);
		if (s->completion.error)
			rc = cli_request_error("read", uri, s->offset, &s->completion);
		else
			rc = put(data, s->length);
		written += s->length;
		copy_pop(c);
		cli_progress_update(&progress, written);
	}
	cli_progress_end(&progress);
	return rc;
}

int cmd_read(int argc, char **argv)
{
	struct cli_volume v;
	struct cli_into into;
	struct copy c;
	int rc = cli_into_parse("read", into_text, require_text, &into);

	if (rc == CLI_DONE)
		rc = cli_volume_open(&v, argv[0], CLI_READ);
	if (rc != CLI_DONE)
		return rc;
	if (want_length == UINT64_MAX && from_offset <= v.info.size_bytes)
		want_length = v.info.size_bytes - from_offset;
	if (!range_within(from_offset, want_length, v.info.size_bytes)) {
		rc = cli_error("%s: the range goes beyond the volume's %llu bytes", argv[0],
			       (unsigned long long)v.info.size_bytes);
		goto out;
	}
	rc = copy_init(&c, &v, "read", &into);
	if (rc == CLI_DONE) {
		rc = stream(&c, argv[0], from_offset, want_length);
		copy_deinit(&c);
	}
out:
	cli_volume_close(&v);
	return rc;
}

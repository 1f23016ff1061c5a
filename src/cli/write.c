/* SPDX-License-Identifier: Apache-2.0 */
/* penstock write: from standard input onto a volume, flushed. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/copy.h"

static uint64_t to_offset;
static const char *from_text, *require_text;
static struct cli_into from;

const struct cli_option write_options[] = {
	{ "offset", 's', CLI_SIZE, &to_offset, "N", "first byte (default 0)", NULL },
	{ "from", 0, CLI_TEXT, &from_text, CLI_INTO_VALUES, "memory that data passes through (default host)", NULL },
	{ "require-path", 0, CLI_TEXT, &require_text, CLI_PATH_VALUES, "exit with 3 if data takes another way", NULL },
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

/* Fills @buf as far as the input goes. Returns bytes (short at its end) or -errno. */
static int64_t fill(void *buf, uint64_t n)
{
	uint64_t done = 0;

	while (done < n) {
		ssize_t r = read(STDIN_FILENO, (uint8_t *)buf + done, n - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += (uint64_t)r;
	}
	return (int64_t)done;
}

/* Size of the input if it is a file, less what was read of it before; 0 if unknown. */
static uint64_t input_size(void)
{
	struct stat st;
	off_t at;

	if (fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	return at >= 0 && at < st.st_size ? (uint64_t)(st.st_size - at) : 0;
}

static int too_long(const char *uri, uint64_t room)
{
	char text[FORMAT_MAX];

	return cli_error("%s: the input does not fit: the volume has %s (%llu bytes) from byte %llu", uri,
			 format_size(room, text, sizeof(text)), (unsigned long long)room,
			 (unsigned long long)to_offset);
}

static int settle(struct copy *c, const char *uri, uint64_t *written)
{
	struct copy_slot *s;
	void *data;
	int rc = CLI_DONE;

	if (copy_oldest(c, &s, &data) < 0)
		return cli_error("%s: waiting for the volume failed", uri);
	if (s->completion.error)
		rc = cli_request_error("write", uri, s->offset, &s->completion);
	*written += s->length;
	copy_pop(c);
	return rc;
}

static int stream(struct copy *c, const char *uri, uint64_t room, uint64_t *written)
{
	struct cli_progress progress;
	uint64_t submitted = 0;
	bool ended = false;
	int rc = CLI_DONE;

	cli_progress_begin(&progress, "write", input_size());
	while (rc == CLI_DONE && (!ended || !copy_empty(c))) {
		if (!ended && !copy_full(c)) {
			int64_t n = fill(copy_next(c), c->chunk);
			int e;

			if (n < 0)
				return cli_error("standard input: %s", strerror((int)-n));
			ended = (uint64_t)n < c->chunk;
			if (n == 0)
				continue;
			if ((uint64_t)n > room - submitted)
				return too_long(uri, room);
			e = copy_submit(c, true, to_offset + submitted, (uint64_t)n);
			if (e < 0)
				return cli_error("%s: write: %s", uri, strerror(-e));
			submitted += (uint64_t)n;
		} else {
			rc = settle(c, uri, written);
		}
		cli_progress_update(&progress, *written);
	}
	cli_progress_end(&progress);
	return rc;
}

static int copy_in(struct cli_volume *v, const char *uri)
{
	uint64_t room, written = 0;
	struct pst_completion done;
	struct copy c;
	int rc;

	if (to_offset > v->info.size_bytes)
		return cli_error("%s: byte %llu is beyond the volume's %llu bytes", uri,
				 (unsigned long long)to_offset, (unsigned long long)v->info.size_bytes);
	room = v->info.size_bytes - to_offset;
	if (input_size() > room)
		return too_long(uri, room);
	rc = copy_init(&c, v, "write", &from);
	if (rc != CLI_DONE)
		return rc;
	rc = stream(&c, uri, room, &written);
	copy_deinit(&c);
	if (rc != CLI_DONE)
		return rc;
	if (pst_flush_sync(v->vol, &done) < 0)
		return cli_request_error("flush", uri, to_offset + written, &done);
	return CLI_DONE;
}

int cmd_write(int argc, char **argv)
{
	struct cli_volume v;
	int rc = cli_into_parse("write", from_text, require_text, &from);

	if (rc == CLI_DONE)
		rc = cli_volume_open(&v, argv[0], CLI_WRITE);
	if (rc != CLI_DONE)
		return rc;
	rc = v.info.read_only ? cli_error("%s: the volume is read-only", argv[0]) : copy_in(&v, argv[0]);
	cli_volume_close(&v);
	return rc;
}

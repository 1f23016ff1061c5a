/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/generate.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "feed/index.h"
#include "feed/tar.h"

enum { PIECE = 1 << 20, MODE = 0644 };

/* 2026-01-01: an archive must not depend on when it was made. */
#define MTIME UINT64_C(1767225600)

struct generator {
	const struct manifest *m;
	struct pst_dataset_writer *writer;
	uint8_t *piece;
	uint64_t done;
	generate_progress progress;
	void *arg;
};

static uint64_t member_size(uint64_t size)
{
	return TAR_BLOCK + size + tar_padding(size);
}

uint64_t generate_size(const struct manifest *m)
{
	char text[MANIFEST_MAX];
	int n = manifest_format(m, text);
	uint64_t at = member_size(n > 0 ? (uint64_t)n : 0);

	for (uint64_t i = 0; i < format_files(m); i++)
		at += member_size(format_file_bytes(m, i));
	return at + 2 * TAR_BLOCK;
}

static int write_manifest(struct generator *g, struct pst_error *err)
{
	char text[MANIFEST_MAX];
	int rc, n = manifest_format(g->m, text);

	if (n < 0) {
		*err = (struct pst_error){ .code = ENOMEM, .text = "out of memory" };
		return n;
	}
	rc = pst_dataset_add(g->writer, INDEX_MANIFEST, (uint64_t)n, MTIME, MODE, err);
	return rc < 0 ? rc : pst_dataset_write(g->writer, text, (size_t)n, err);
}

static int write_file(struct generator *g, uint64_t number, struct pst_error *err)
{
	uint64_t size = format_file_bytes(g->m, number);
	char name[MANIFEST_NAME_MAX];
	int rc;

	manifest_name(g->m, number, name);
	rc = pst_dataset_add(g->writer, name, size, MTIME, MODE, err);
	for (uint64_t at = 0; rc == 0 && at < size; at += PIECE) {
		size_t n = MIN((uint64_t)PIECE, size - at);

		format_fill(g->m, number, at, g->piece, n);
		rc = pst_dataset_write(g->writer, g->piece, n, err);
		g->done += n;
		if (rc == 0 && g->progress && !g->progress(g->arg, g->done)) {
			*err = (struct pst_error){ .code = ECANCELED, .text = "interrupted" };
			rc = -ECANCELED;
		}
	}
	return rc;
}

static int write_all(struct generator *g, uint64_t *ret_bytes, struct pst_error *err)
{
	int rc = write_manifest(g, err);

	for (uint64_t i = 0; rc == 0 && i < format_files(g->m); i++)
		rc = write_file(g, i, err);
	return rc < 0 ? rc : pst_dataset_finish(g->writer, ret_bytes, err);
}

static int check_fits(struct pst_volume *vol, const struct manifest *m, struct err *err)
{
	struct pst_volume_info info;
	uint64_t need = generate_size(m);

	pst_volume_info(vol, &info);
	if (need > info.size_bytes)
		return err_set(err, ENOSPC,
			       "%llu samples take %llu bytes, the volume has %llu: take fewer with --samples or "
			       "smaller ones with --scale",
			       (unsigned long long)m->samples, (unsigned long long)need,
			       (unsigned long long)info.size_bytes);
	return 0;
}

int generate_dataset(struct pst_volume *vol, const struct manifest *m, generate_progress progress, void *arg,
		     uint64_t *ret_bytes, struct err *err)
{
	struct generator g = { .m = m, .progress = progress, .arg = arg };
	struct pst_error perr = { .code = 0 };
	int rc = manifest_check(m, err);

	if (rc == 0)
		rc = check_fits(vol, m, err);
	if (rc < 0)
		return rc;
	g.piece = mem_alloc(PIECE);
	if (!g.piece)
		return err_set(err, ENOMEM, "out of memory");
	rc = pst_dataset_create(vol, &g.writer, &perr);
	if (rc == 0)
		rc = write_all(&g, ret_bytes, &perr);
	pst_dataset_writer_free(g.writer);
	mem_free(g.piece);
	return rc < 0 ? err_set(err, perr.code, "%s", perr.text) : 0;
}

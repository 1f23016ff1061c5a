/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing an archive: a stream of bytes from the volume's start, gathered in two buffers, of which
 * one is on its way while the other fills.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "feed/tar.h"
#include "volume/request.h"

enum { BUFFERS = 2, BUFFER_BYTES = 8 << 20 };

struct buffer {
	struct pst_memory *mem;
	struct worker_event done;
	bool busy;
	uint64_t offset;
	uint64_t len;
	struct pst_completion completion;
};

struct pst_dataset_writer {
	struct pst_volume *vol;
	struct buffer buffers[BUFFERS];
	unsigned int now;   /* the buffer that fills */
	uint64_t at;	    /* where the stream is */
	uint64_t left;	    /* bytes missing of the present sample */
	uint64_t padding; /* behind it */
	char name[TAR_NAME_MAX];
	bool failed;
	uint8_t header[TAR_HEADER_MAX];
};

static void written(const struct pst_completion *c, void *user)
{
	struct buffer *b = user;

	b->completion = *c;
	worker_event_set(&b->done);
}

/* Waits until @b is free again. */
static int settle(struct pst_dataset_writer *w, struct buffer *b, struct err *err)
{
	if (!b->busy)
		return 0;
	worker_event_wait(&b->done);
	b->busy = false;
	b->len = 0;
	if (b->completion.error == 0)
		return 0;
	w->failed = true;
	return err_set(err, -b->completion.error, "writing at byte %llu: %s", (unsigned long long)b->offset,
		       b->completion.nvme_status ? pst_nvme_status_name(b->completion.nvme_status)
						 : strerror(-b->completion.error));
}

/* Sends the buffer that fills on its way and goes on with the other. */
static int turn_over(struct pst_dataset_writer *w, struct err *err)
{
	struct buffer *b = &w->buffers[w->now];
	int rc;

	if (b->len > 0) {
		b->offset = w->at - b->len;
		worker_event_init(&b->done, w->vol->ports[0]->worker);
		b->busy = true;
		rc = pst_write(w->vol, b->mem, 0, b->offset, b->len, written, b);
		if (rc < 0) {
			b->completion = (struct pst_completion){ .error = rc };
			worker_event_set(&b->done);
		}
	}
	w->now = (w->now + 1) % BUFFERS;
	return settle(w, &w->buffers[w->now], err);
}

/* Appends @n bytes; NULL appends zeroes. */
static int append(struct pst_dataset_writer *w, const void *data, uint64_t n, struct err *err)
{
	const uint8_t *from = data;

	if (n > w->vol->info.size_bytes - w->at)
		return err_set(err, ENOSPC, "the volume of %llu bytes is full",
			       (unsigned long long)w->vol->info.size_bytes);
	while (n > 0) {
		struct buffer *b = &w->buffers[w->now];
		uint64_t take = MIN(n, BUFFER_BYTES - b->len);
		uint8_t *to = (uint8_t *)pst_memory_ptr(b->mem) + b->len;
		int rc;

		if (from) {
			memcpy(to, from, take);
			from += take;
		} else {
			memset(to, 0, take);
		}
		b->len += take;
		w->at += take;
		n -= take;
		if (b->len < BUFFER_BYTES)
			break;
		rc = turn_over(w, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_usable(const struct pst_dataset_writer *w, struct err *err)
{
	if (w->failed)
		return err_set(err, EIO, "an earlier write to this dataset has failed");
	return 0;
}

int pst_dataset_create(struct pst_volume *vol, struct pst_dataset_writer **ret_writer,
		       struct pst_error *error)
{
	struct pst_dataset_writer *w = mem_zalloc(sizeof(*w));
	struct err err = ERR_NULL;
	int rc = 0;

	if (!w)
		err_set(&err, ENOMEM, "out of memory");
	else if (vol->info.read_only)
		err_set(&err, EROFS, "the volume is read-only");
	if (err.code) {
		mem_free(w);
		return pst_error_from(error, &err);
	}
	w->vol = vol;
	for (int i = 0; rc == 0 && i < BUFFERS; i++)
		rc = pst_memory_alloc(vol->ctx, BUFFER_BYTES, &w->buffers[i].mem, error);
	if (rc < 0) {
		pst_dataset_writer_free(w);
		return rc;
	}
	*ret_writer = w;
	return 0;
}

/* The sample before must be whole; its padding is written now. */
static int end_sample(struct pst_dataset_writer *w, struct err *err)
{
	uint64_t padding = w->padding;

	if (w->left > 0)
		return err_set(err, EINVAL, "sample '%s' is %llu bytes short of the size it was added with",
			       w->name, (unsigned long long)w->left);
	w->padding = 0;
	return append(w, NULL, padding, err);
}

static int add(struct pst_dataset_writer *w, const char *name, uint64_t size, uint64_t mtime, uint32_t mode,
	       struct err *err)
{
	int n, rc = check_usable(w, err);

	if (rc == 0)
		rc = end_sample(w, err);
	if (rc < 0)
		return rc;
	n = tar_header(name, size, mtime, mode, w->header);
	if (n < 0)
		return err_set(err, -n, "sample name '%.64s...': expected 1 to %d bytes", name, TAR_NAME_MAX - 1);
	if (size > w->vol->info.size_bytes - w->at)
		return err_set(err, ENOSPC, "'%s' of %llu bytes does not fit: the volume has %llu left", name,
			       (unsigned long long)size, (unsigned long long)(w->vol->info.size_bytes - w->at));
	rc = append(w, w->header, (uint64_t)n, err);
	w->left = size;
	w->padding = tar_padding(size);
	memcpy(w->name, name, strlen(name) + 1);
	return rc;
}

int pst_dataset_add(struct pst_dataset_writer *w, const char *name, uint64_t size, uint64_t mtime,
		    uint32_t mode, struct pst_error *error)
{
	struct err err = ERR_NULL;

	return add(w, name, size, mtime, mode, &err) < 0 ? pst_error_from(error, &err) : 0;
}

int pst_dataset_write(struct pst_dataset_writer *w, const void *data, size_t n, struct pst_error *error)
{
	struct err err = ERR_NULL;
	int rc = check_usable(w, &err);

	if (rc == 0 && n > w->left)
		rc = err_set(&err, EINVAL, "sample '%s': %zu bytes given where %llu are missing", w->name, n,
			     (unsigned long long)w->left);
	if (rc == 0)
		rc = append(w, data, n, &err);
	if (rc < 0)
		return pst_error_from(error, &err);
	w->left -= n;
	return 0;
}

static int finish(struct pst_dataset_writer *w, struct err *err)
{
	struct pst_completion c;
	uint64_t trailer;
	int rc = check_usable(w, err);

	if (rc == 0)
		rc = end_sample(w, err);
	if (rc < 0)
		return rc;
	/* A volume may be smaller than whole records; two blocks of zeroes are what matters. */
	trailer = MIN(tar_trailer(w->at), w->vol->info.size_bytes - w->at);
	if (trailer < 2 * TAR_BLOCK)
		return err_set(err, ENOSPC, "the volume is too small for the end of the archive");
	rc = append(w, NULL, trailer, err);
	for (int i = 0; rc == 0 && i < BUFFERS; i++)
		rc = turn_over(w, err);
	if (rc == 0 && pst_flush_sync(w->vol, &c) < 0) {
		w->failed = true;
		rc = err_set(err, -c.error, "flush: %s",
			     c.nvme_status ? pst_nvme_status_name(c.nvme_status) : strerror(-c.error));
	}
	return rc;
}

int pst_dataset_finish(struct pst_dataset_writer *w, uint64_t *ret_bytes, struct pst_error *error)
{
	struct err err = ERR_NULL;

	if (finish(w, &err) < 0)
		return pst_error_from(error, &err);
	if (ret_bytes)
		*ret_bytes = w->at;
	return 0;
}

void pst_dataset_writer_free(struct pst_dataset_writer *w)
{
	if (!w)
		return;
	for (int i = 0; i < BUFFERS; i++) {
		settle(w, &w->buffers[i], NULL);
		pst_memory_free(w->buffers[i].mem);
	}
	mem_free(w);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/direct.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "volume/request.h"

#define PART (UINT64_C(4) << 20) /* of one call to cuFile: enough to be fast, little enough to share out */

struct direct {
	pthread_mutex_t lock; /* while it is found out */
	atomic_bool tried;    /* what follows is settled, and read without the lock */
	bool read_only;
	struct mem_gds_file *file;
	struct err why;
	char path[];
};

struct direct *direct_new(const char *path, bool read_only)
{
	size_t n = strlen(path) + 1;
	struct direct *d = mem_zalloc(sizeof(*d) + n);

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	d->read_only = read_only;
	memcpy(d->path, path, n);
	return d;
}

struct direct *direct_free(struct direct *d)
{
	if (!d)
		return NULL;
	mem_gds_close(d->file);
	pthread_mutex_destroy(&d->lock);
	mem_free(d);
	return NULL;
}

static void find_out(struct direct *d)
{
	pthread_mutex_lock(&d->lock);
	if (!atomic_load(&d->tried))
		(void)mem_gds_open(d->path, d->read_only, &d->file, &d->why);
	atomic_store_explicit(&d->tried, true, memory_order_release);
	pthread_mutex_unlock(&d->lock);
}

struct mem_gds_file *direct_file(const struct pst_volume *vol, struct pst_memory *mem, struct err *err)
{
	struct direct *d = vol->direct;

	if (!d) {
		err_set(err, EOPNOTSUPP, "it was not wanted (gds=0)");
		return NULL;
	}
	if (!atomic_load_explicit(&d->tried, memory_order_acquire))
		find_out(d);
	if (!d->file) {
		if (err)
			*err = d->why;
		return NULL;
	}
	/* Once for each memory. Who comes meanwhile goes through cuFile's own buffer, which is right too. */
	if (!atomic_load_explicit(&mem->gds_tried, memory_order_relaxed) && !atomic_exchange(&mem->gds_tried, true))
		mem->gds = mem_gds_register(mem->dock->dev, mem->region.addr, mem->region.length) == 0;
	return d->file;
}

/* cuFile reads any bytes; of writes it is given whole blocks, so that it need not read and merge. */
bool direct_takes(const struct request *r)
{
	uint64_t start = r->offset + r->issued;

	if (!r->gds)
		return false;
	if (r->kind == REQUEST_READ)
		return true;
	return r->kind == REQUEST_WRITE && start % MEM_GDS_ALIGN == 0 && r->length - r->issued >= MEM_GDS_ALIGN;
}

void direct_cut(struct command *c)
{
	const struct request *r = c->req;
	uint64_t start = r->offset + r->issued;
	/* The next part begins on a block. */
	uint64_t n = MIN(r->length - r->issued, PART - start % MEM_GDS_ALIGN);

	c->skip = 0;
	c->data_len = r->kind == REQUEST_WRITE ? ALIGN_DOWN(n, (uint64_t)MEM_GDS_ALIGN) : n;
	c->b.kind = r->kind == REQUEST_WRITE ? BACKEND_WRITE : BACKEND_READ;
	c->b.offset = start;
	c->b.length = c->data_len;
	c->b.niov = 0;
}

static void arrived(struct io_msg *m)
{
	struct command *c = container_of(m, struct command, gds_msg);

	c->error = c->gds.result;
	c->b.last_ns = io_now(c->port->worker->loop);
	c->gds_done(c);
}

/* A thread of the file's. */
static void moved(struct mem_gds_job *job)
{
	struct command *c = container_of(job, struct command, gds);

	io_post(c->port->worker->loop, &c->gds_msg);
}

void direct_start(struct command *c, void (*done)(struct command *c))
{
	const struct request *r = c->req;

	c->state = COMMAND_TRANSFER;
	c->b.sent_ns = io_now_precise(c->port->worker->loop);
	c->gds_done = done;
	c->gds_msg.fn = arrived;
	c->gds = (struct mem_gds_job){
		.done = moved,
		.dev = r->mem->dock->dev,
		.base = mem_region_addr(&r->mem->region, 0),
		.skip = r->mem_offset + c->data,
		.offset = c->b.offset,
		.length = c->data_len,
		.write = r->kind == REQUEST_WRITE,
	};
	mem_gds_submit(r->gds, &c->gds);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from the user's side: checked, put into a struct request, handed to a port. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "memory/cuda.h"
#include "nvme/status.h"
#include "volume/request.h"
#include "volume/stream.h"

const char *pst_nvme_status_name(uint16_t nvme_status)
{
	return nvme_status_name((struct nvme_status){ .sct = (uint8_t)(nvme_status >> 8),
						      .sc = (uint8_t)nvme_status });
}

static void arrived(struct io_msg *m)
{
	struct request *r = container_of(m, struct request, msg);

	if (!r->sampled)
		r->sampled = port_samples(r->port, r->length);
	port_submit(r->port, r);
}

static struct port *choose_port(struct pst_volume *vol)
{
	unsigned int n = 0;

	if (vol->port_count > 1)
		n = atomic_fetch_add_explicit(&vol->next_port, 1, memory_order_relaxed) % vol->port_count;
	return vol->ports[n];
}

static int submit(struct pst_volume *vol, const struct request *what, pst_callback cb, void *user)
{
	struct request *r = context_get(vol->ctx, cb == NULL);
	struct worker *w;
	bool here;

	if (!r)
		return -EAGAIN;
	r->vol = vol;
	r->kind = what->kind;
	r->mem = what->mem;
	r->mem_offset = what->mem_offset;
	r->offset = what->offset;
	r->length = what->length;
	r->cb = cb;
	r->user = user;
	r->waited = cb == NULL;
	r->issued = 0;
	r->commands = 0;
	r->in_writes = r->queued = false;
	r->error = 0;
	r->nvme_status = 0;
	r->timing = (struct pst_timing){ .total = 0 };
	r->on_stream = what->on_stream;
	r->stream = what->stream;
	r->mark = NULL;
	r->staged = false;
	r->gds = r->mem && r->mem->kind == PST_MEMORY_CUDA && vol->direct ? direct_file(vol, r->mem, NULL) : NULL;
	if (r->on_stream) {
		int rc = stream_mark(r);

		if (rc < 0) {
			context_put(vol->ctx, r, cb == NULL);
			return rc;
		}
	}
	r->port = choose_port(vol);
	w = r->port->worker;
	here = !w->running || pthread_equal(pthread_self(), w->thread);
	r->sampled = here && port_samples(r->port, r->length);
	r->submit_ns = here && !r->sampled ? io_now(w->loop) : io_now_precise(w->loop);
	atomic_fetch_add_explicit(&vol->refs, 1, memory_order_relaxed);
	/* A request of no bytes is over at once, but never from inside the call that made it. */
	if (here && !r->mark && (r->length > 0 || r->kind == REQUEST_FLUSH)) {
		port_submit(r->port, r);
	} else {
		r->msg.fn = arrived;
		io_post(w->loop, &r->msg);
	}
	return 0;
}

static int check_range(const struct pst_volume *vol, uint64_t offset, uint64_t length, bool writes)
{
	if (!range_within(offset, length, vol->info.size_bytes))
		return -EINVAL;
	return writes && vol->info.read_only ? -EROFS : 0;
}

static int check(const struct pst_volume *vol, const struct pst_memory *mem, size_t mem_offset,
		 uint64_t offset, uint64_t length, bool writes)
{
	const struct landing *l;

	if (!mem || mem->ctx != vol->ctx || !mem_region_contains(&mem->region, mem_offset, length))
		return -EINVAL;
	/* A piece of staging holds a block at least: foreign namespaces have them of up to 64 KiB. */
	l = landing_of(mem, vol->ports[0]->worker);
	if (l && mem_staging_piece(l->staging) < vol->info.block_bytes)
		return -EINVAL;
	return check_range(vol, offset, length, writes);
}

static int transfer(struct pst_volume *vol, enum request_kind kind, struct pst_memory *mem, size_t mem_offset,
		    uint64_t offset, uint64_t length, pst_callback cb, void *user)
{
	struct request r = {
		.kind = kind, .mem = mem, .mem_offset = mem_offset, .offset = offset, .length = length
	};
	int rc = check(vol, mem, mem_offset, offset, length, kind == REQUEST_WRITE);

	return rc < 0 ? rc : submit(vol, &r, cb, user);
}

int pst_read(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
	     uint64_t length, pst_callback cb, void *user)
{
	return transfer(vol, REQUEST_READ, mem, mem_offset, offset, length, cb, user);
}

int pst_write(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
	      uint64_t length, pst_callback cb, void *user)
{
	return transfer(vol, REQUEST_WRITE, mem, mem_offset, offset, length, cb, user);
}

static int on_stream(struct pst_volume *vol, struct request *r, pst_callback cb, void *user)
{
	int rc = check(vol, r->mem, r->mem_offset, r->offset, r->length, r->kind == REQUEST_WRITE);

	if (rc == 0 && r->mem->kind != PST_MEMORY_CUDA)
		rc = -EINVAL;
	if (rc == 0)
		rc = mem_cuda_stream_check(r->stream, NULL);
	return rc < 0 ? rc : submit(vol, r, cb, user);
}

int pst_read_on_stream(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
		       uint64_t length, uint64_t stream, pst_callback cb, void *user)
{
	struct request r = { .kind = REQUEST_READ, .mem = mem, .mem_offset = mem_offset, .offset = offset,
			     .length = length, .on_stream = true, .stream = stream };

	return on_stream(vol, &r, cb, user);
}

int pst_write_on_stream(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
			uint64_t length, uint64_t stream, pst_callback cb, void *user)
{
	struct request r = { .kind = REQUEST_WRITE, .mem = mem, .mem_offset = mem_offset, .offset = offset,
			     .length = length, .on_stream = true, .stream = stream };

	return on_stream(vol, &r, cb, user);
}

int pst_flush(struct pst_volume *vol, pst_callback cb, void *user)
{
	struct request r = { .kind = REQUEST_FLUSH };

	return submit(vol, &r, cb, user);
}

int pst_discard(struct pst_volume *vol, uint64_t offset, uint64_t length, pst_callback cb, void *user)
{
	uint32_t block = vol->ports[0]->backend->info.block;
	struct request r = { .kind = REQUEST_DISCARD };
	int rc = check_range(vol, offset, length, true);
	uint64_t first, end;

	if (rc < 0)
		return rc;
	/* Only blocks that lie whole within the range: advice may be taken in part. */
	first = ALIGN_UP_ANY(offset, block);
	end = ALIGN_DOWN_ANY(offset + length, block);
	r.offset = MIN(first, offset + length);
	r.length = end > first ? end - first : 0;
	return submit(vol, &r, cb, user);
}

int pst_write_zeroes(struct pst_volume *vol, uint64_t offset, uint64_t length, pst_callback cb, void *user)
{
	struct request r = { .kind = REQUEST_ZERO, .offset = offset, .length = length };
	int rc = check_range(vol, offset, length, true);

	return rc < 0 ? rc : submit(vol, &r, cb, user);
}

/* ---- blocking ------------------------------------------------------------------------------ */

struct sync {
	struct worker_event done;
	struct pst_completion completion;
};

static void sync_done(const struct pst_completion *c, void *user)
{
	struct sync *s = user;

	s->completion = *c;
	worker_event_set(&s->done);
}

static int sync_end(struct sync *s, int rc, struct pst_completion *ret_completion)
{
	if (rc == 0) {
		worker_event_wait(&s->done);
		rc = s->completion.error;
	} else {
		worker_event_set(&s->done);
		worker_event_wait(&s->done); /* nothing is under way: only to take the event down */
		s->completion = (struct pst_completion){ .error = rc };
	}
	s->completion.user = NULL;
	if (ret_completion)
		*ret_completion = s->completion;
	return rc;
}

static void sync_begin(struct sync *s, struct pst_volume *vol)
{
	worker_event_init(&s->done, vol->ports[0]->worker);
}

int pst_read_sync(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
		  uint64_t length, struct pst_completion *ret_completion)
{
	struct sync s;

	sync_begin(&s, vol);
	return sync_end(&s, pst_read(vol, mem, mem_offset, offset, length, sync_done, &s), ret_completion);
}

int pst_write_sync(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
		   uint64_t length, struct pst_completion *ret_completion)
{
	struct sync s;

	sync_begin(&s, vol);
	return sync_end(&s, pst_write(vol, mem, mem_offset, offset, length, sync_done, &s), ret_completion);
}

int pst_flush_sync(struct pst_volume *vol, struct pst_completion *ret_completion)
{
	struct sync s;

	sync_begin(&s, vol);
	return sync_end(&s, pst_flush(vol, sync_done, &s), ret_completion);
}

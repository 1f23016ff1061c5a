/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port cuts requests into commands. A read takes the blocks that hold its bytes; bytes of those
 * blocks that nobody asked for are received into a scratch block, so an unaligned read costs no
 * copy. A write of part of a block reads the block, merges and writes it. Data of a device passes
 * through a staging piece, which bounds a command's length.
 *
 * Nothing here calls the user from inside a submit: a backend finishes from a later turn.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "volume/request.h"
#include "volume/stream.h"

enum { COMMANDS_MAX = 4096, BLOCK_ALIGN = 4096 };

#define STAT_ADD(counter, n)                                                                       \
	atomic_store_explicit(&(counter), atomic_load_explicit(&(counter), memory_order_relaxed) + (n), \
			      memory_order_relaxed)

static void command_done(struct backend_cmd *b);
static void command_landed(struct mem_job *job);

/* The turn's time: what a request was doing is told to a turn's length, for one look at the clock. */
static uint64_t now(const struct port *p)
{
	return io_now(p->worker->loop);
}

/* For the copy engine, which must not think that a copy began before it did. */
static uint64_t now_precise(const struct port *p)
{
	return io_now_precise(p->worker->loop);
}

/* ---- the end of a request ------------------------------------------------------------------ */

static enum pst_path path_of(const struct request *r)
{
	if (r->kind != REQUEST_READ && r->kind != REQUEST_WRITE)
		return PST_PATH_NONE;
	if (r->gds && !r->staged)
		return PST_PATH_GDS;
	return path_through_staging(r->mem);
}

static void count(struct port *p, const struct request *r)
{
	const struct pst_completion *c = &r->completion;

	if (c->error) {
		STAT_ADD(p->errors, 1);
	} else if (r->kind == REQUEST_READ) {
		STAT_ADD(p->reads, 1);
		STAT_ADD(p->read_bytes, c->bytes);
		STAT_ADD(p->path_bytes[c->path], c->bytes);
	} else if (request_is_write(r)) {
		STAT_ADD(p->writes, 1);
		STAT_ADD(p->write_bytes, c->bytes);
		STAT_ADD(p->path_bytes[c->path], c->bytes);
	}
}

static void request_finish(struct port *p, struct request *r)
{
	struct pst_volume *vol = r->vol;

	r->completion = (struct pst_completion){
		.error = r->error,
		.nvme_status = r->nvme_status,
		.path = path_of(r),
		.bytes = r->error ? 0 : r->length,
		.sampled = r->sampled,
		.timing = r->timing,
		.user = r->user,
	};
	count(p, r);
	if (r->in_writes)
		edge_release(r);
	context_complete(vol->ctx, r);
	volume_unref(vol);
}

static bool all_issued(const struct request *r)
{
	return r->error != 0 || (r->issued >= r->length && (r->kind != REQUEST_FLUSH || r->issued > 0));
}

/* ---- the end of a command ------------------------------------------------------------------ */

static void command_free(struct command *c)
{
	struct port *p = c->port;

	if (c->piece) {
		void *piece = c->piece;

		c->piece = NULL;
		mem_staging_put(c->landing->staging, piece);
	}
	c->state = COMMAND_FREE;
	list_add_head(&p->free, &c->link);
	p->in_flight--;
}

/* The request has one command less to wait for. */
static void command_leave(struct command *c)
{
	struct request *r = c->req;
	bool last;

	if (c->error && !r->error) {
		r->error = c->error;
		r->nvme_status = c->b.nvme_status;
	}
	r->commands--;
	last = r->commands == 0 && all_issued(r);
	if (last)
		command_stamp(c);
	c->req = NULL;
	if (last) {
		if (r->queued) {
			list_del(&r->link);
			r->queued = false;
		}
		request_finish(c->port, r);
	}
}

static void command_end(struct command *c)
{
	struct port *p = c->port;

	command_free(c);
	command_leave(c);
	port_pump(p);
}

/* ---- the steps of a command ---------------------------------------------------------------- */

static void transfer(struct command *c)
{
	c->state = COMMAND_TRANSFER;
	c->b.done = command_done;
	c->port->backend->ops->submit(c->port->backend, &c->b);
}

static void merge_write(struct command *c)
{
	c->b.kind = BACKEND_WRITE;
	transfer(c);
}

/* The edge's block is here, or the piece is to be filled: get the user's bytes of this part. */
static void fetch(struct command *c, void *to)
{
	struct request *r = c->req;

	c->copy = (struct iovec){ to, c->data_len };
	c->landed_ns = now_precise(c->port); /* for now: when the copy began */
	c->state = COMMAND_FETCH;
	mem_job_init(&c->job, command_landed);
	if (mem_copy_out(c->landing ? c->landing->queue : NULL, &r->mem->region, r->mem_offset + c->data,
			 &c->copy, 1, &c->job, c->landed_ns))
		command_landed(&c->job);
	else
		landing_arm(c->landing);
}

/*
 * The user's stream waits for the copy, so the request need not. The command stays until the copy
 * is over, with its staging piece, and the volume with it.
 */
static void command_detach(struct command *c)
{
	atomic_fetch_add_explicit(&c->port->vol->refs, 1, memory_order_relaxed);
	landing_arm(c->landing);
	c->landed_ns = now_precise(c->port);
	command_leave(c);
}

/* A copy that failed now has cost the stream its context: the stream says so. */
static void command_detached_end(struct command *c)
{
	struct port *p = c->port;
	struct pst_volume *vol = p->vol;

	if (c->job.result < 0)
		STAT_ADD(p->errors, 1);
	command_free(c);
	port_pump(p);
	volume_unref(vol);
}

static void land(struct command *c)
{
	struct request *r = c->req;

	c->copy = (struct iovec){ (uint8_t *)c->piece + c->skip, c->data_len };
	c->state = COMMAND_LAND;
	mem_job_init(&c->job, command_landed);
	if (mem_copy_in(c->landing->queue, &r->mem->region, r->mem_offset + c->data, &c->copy, 1, &c->job,
			now_precise(c->port)))
		command_landed(&c->job);
	else if (stream_follows(r, &c->job))
		command_detach(c);
	else
		landing_arm(c->landing);
}

static void command_landed(struct mem_job *job)
{
	struct command *c = container_of(job, struct command, job);
	uint64_t t = now_precise(c->port);

	if (!c->req) {
		command_detached_end(c);
		return;
	}
	if (job->result < 0)
		c->error = job->result;
	if (c->state == COMMAND_LAND || c->error) {
		c->landed_ns = t;
		command_end(c);
		return;
	}
	c->fetch_ns = t - c->landed_ns;
	c->landed_ns = 0;
	merge_write(c);
}

static void merge(struct command *c)
{
	struct request *r = c->req;

	if (r->kind == REQUEST_ZERO) {
		memset(c->block + c->skip, 0, c->data_len);
		merge_write(c);
	} else {
		fetch(c, c->block + c->skip);
	}
}

static void command_done(struct backend_cmd *b)
{
	struct command *c = container_of(b, struct command, b);
	bool edge_read = c->edge && b->kind == BACKEND_READ;

	c->error = b->error;
	/* What failed must not be copied anywhere. */
	if (c->error)
		command_end(c);
	else if (edge_read)
		merge(c);
	else if (c->req->kind == REQUEST_READ && c->landing)
		land(c);
	else
		command_end(c);
}

/* ---- cutting ------------------------------------------------------------------------------- */

static void cut_read(struct port *p, struct request *r, struct command *c)
{
	uint32_t block = p->backend->info.block;
	uint64_t start = r->offset + r->issued, cap = p->backend->info.max_transfer;
	uint32_t skip = (uint32_t)(start % block), tail;
	uint8_t *to;

	if (c->landing)
		cap = MIN(cap, (uint64_t)ALIGN_DOWN_ANY(mem_staging_piece(c->landing->staging), block));
	c->skip = skip;
	c->data_len = MIN(r->length - r->issued, cap - skip);
	c->b.kind = BACKEND_READ;
	c->b.offset = start - skip;
	c->b.length = ALIGN_UP_ANY(skip + c->data_len, block);
	tail = (uint32_t)(c->b.length - skip - c->data_len);
	c->b.niov = 0;
	if (c->landing) {
		c->iov[c->b.niov++] = (struct iovec){ c->piece, c->b.length };
		return;
	}
	to = mem_region_ptr(&r->mem->region, r->mem_offset + r->issued);
	if (skip)
		c->iov[c->b.niov++] = (struct iovec){ p->scratch, skip };
	c->iov[c->b.niov++] = (struct iovec){ to, c->data_len };
	if (tail)
		c->iov[c->b.niov++] = (struct iovec){ p->scratch, tail };
}

static void cut_edge(struct port *p, struct request *r, struct command *c)
{
	uint32_t block = p->backend->info.block;
	uint64_t start = r->offset + r->issued;

	c->edge = true;
	c->skip = (uint32_t)(start % block);
	c->data_len = MIN(r->length - r->issued, (uint64_t)(block - c->skip));
	c->b.kind = BACKEND_READ;
	c->b.offset = start - c->skip;
	c->b.length = block;
	c->iov[0] = (struct iovec){ c->block, block };
	c->b.niov = 1;
}

static bool at_edge(const struct port *p, const struct request *r)
{
	uint32_t block = p->backend->info.block;

	return (r->offset + r->issued) % block != 0 || r->length - r->issued < block;
}

static void cut_write(struct port *p, struct request *r, struct command *c)
{
	uint32_t block = p->backend->info.block;
	uint64_t cap = p->backend->info.max_transfer;

	if (c->landing)
		cap = MIN(cap, (uint64_t)mem_staging_piece(c->landing->staging));
	if (r->gds) /* up to where the direct way begins */
		cap = MIN(cap, MEM_GDS_ALIGN - (r->offset + r->issued) % MEM_GDS_ALIGN);
	c->skip = 0;
	c->data_len = ALIGN_DOWN_ANY(MIN(r->length - r->issued, cap), block);
	c->b.kind = BACKEND_WRITE;
	c->b.offset = r->offset + r->issued;
	c->b.length = c->data_len;
	c->b.niov = 1;
	if (c->landing)
		c->iov[0] = (struct iovec){ c->piece, c->data_len };
	else
		c->iov[0] = (struct iovec){ mem_region_ptr(&r->mem->region, r->mem_offset + r->issued),
					    c->data_len };
}

static void cut_range(struct port *p, struct request *r, struct command *c)
{
	uint64_t n = ALIGN_DOWN_ANY(MIN(r->length - r->issued, p->backend->info.max_discard),
				    p->backend->info.block);

	c->data_len = n;
	c->b.kind = r->kind == REQUEST_ZERO ? BACKEND_ZERO : BACKEND_DISCARD;
	c->b.offset = r->offset + r->issued;
	c->b.length = n;
	c->b.niov = 0;
}

static void cut(struct port *p, struct request *r, struct command *c)
{
	c->data = r->issued;
	c->b.iov = c->iov;
	if (c->direct) {
		direct_cut(c);
		return;
	}
	r->staged = true;
	switch (r->kind) {
	case REQUEST_READ:
		cut_read(p, r, c);
		break;
	case REQUEST_WRITE:
		if (at_edge(p, r))
			cut_edge(p, r, c);
		else
			cut_write(p, r, c);
		break;
	case REQUEST_ZERO:
		if (at_edge(p, r))
			cut_edge(p, r, c);
		else
			cut_range(p, r, c);
		break;
	case REQUEST_DISCARD:
		cut_range(p, r, c);
		break;
	case REQUEST_FLUSH:
		c->b.kind = BACKEND_FLUSH;
		c->b.offset = c->b.length = 0;
		c->b.niov = 0;
		c->data_len = 1; /* so that it counts as issued */
		break;
	}
}

static void start(struct command *c)
{
	bool fetch_first = c->req->kind == REQUEST_WRITE && c->landing && !c->edge;

	if (c->direct)
		direct_start(c, command_end);
	else if (fetch_first)
		fetch(c, c->piece);
	else
		transfer(c);
}

static void piece_free(struct mem_staging_wait *w, void *piece)
{
	struct port *p = container_of(w, struct port, piece_wait);

	port_unblocked(p);
	p->piece_waiting = false;
	p->piece = piece;
	port_pump(p);
}

/* A staging piece if this part needs one. False: the port waits for one. */
static bool get_piece(struct port *p, struct request *r, struct landing *l, void **piece)
{
	bool needed = l && (r->kind == REQUEST_READ || (r->kind == REQUEST_WRITE && !at_edge(p, r)));

	*piece = NULL;
	if (!needed)
		return true;
	if (p->piece && p->piece_from == l) {
		*piece = p->piece;
		p->piece = NULL;
		return true;
	}
	*piece = mem_staging_get(l->staging);
	if (*piece)
		return true;
	p->piece_from = l;
	p->piece_waiting = true;
	port_blocked(p, l);
	mem_staging_wait_init(&p->piece_wait, piece_free);
	mem_staging_wait(l->staging, &p->piece_wait);
	return false;
}

/* Makes the next command of @r. False: it has to wait. */
static bool issue(struct port *p, struct request *r)
{
	bool direct = direct_takes(r);
	struct landing *l = r->mem && !direct ? landing_of(r->mem, p->worker) : NULL;
	struct command *c;
	void *piece;

	if (!get_piece(p, r, l, &piece))
		return false;
	c = list_first_entry(&p->free, struct command, link);
	list_del(&c->link);
	c->req = r;
	c->direct = direct;
	c->edge = false;
	c->error = 0;
	c->piece = piece;
	c->landing = l;
	c->landed_ns = c->fetch_ns = 0;
	c->blocked_ns = port_blocked_ns(p) - r->blocked_ns;
	c->b.sampled = r->sampled;
	c->b.has_times = false;
	c->b.sent_ns = c->b.last_ns = 0;
	c->b.nvme_status = 0;
	c->issued_ns = now(p);
	cut(p, r, c);
	r->issued += c->data_len;
	r->commands++;
	p->in_flight++;
	if (all_issued(r)) {
		list_del(&r->link);
		r->queued = false;
	}
	start(c);
	return true;
}

void port_pump(struct port *p)
{
	/* A copy that is over at once ends a command inside start(): one pump at a time is enough. */
	if (p->pumping)
		return;
	p->pumping = true;
	while (!p->piece_waiting && !list_empty(&p->waiting) && !list_empty(&p->free)) {
		struct request *r = list_first_entry(&p->waiting, struct request, link);

		if (r->error) {
			/* Its commands in flight will finish it. */
			list_del(&r->link);
			r->queued = false;
		} else if (!issue(p, r)) {
			break;
		}
	}
	/* A piece that came for a request which has failed meanwhile goes back. */
	if (p->piece && list_empty(&p->waiting)) {
		void *piece = p->piece;

		p->piece = NULL;
		mem_staging_put(p->piece_from->staging, piece);
	}
	p->pumping = false;
}

void port_submit(struct port *p, struct request *r)
{
	if (!stream_admit(r))
		return;
	if (request_is_write(r) && !edge_admit(r))
		return;
	port_enqueue(p, r);
}

void port_enqueue(struct port *p, struct request *r)
{
	if (r->error || (r->length == 0 && r->kind != REQUEST_FLUSH)) {
		request_finish(p, r);
		return;
	}
	r->blocked_ns = port_blocked_ns(p);
	list_add_tail(&p->waiting, &r->link);
	r->queued = true;
	port_pump(p);
}

/* ---- life ---------------------------------------------------------------------------------- */

int port_new(struct worker *w, struct pst_volume *vol, struct backend *b, struct port **ret_port)
{
	unsigned int n = MIN(MAX(b->info.depth, 1u), (unsigned int)COMMANDS_MAX);
	struct port *p = mem_zalloc(sizeof(*p));
	size_t block = MAX(b->info.block, 512u);

	if (!p)
		return -ENOMEM;
	p->worker = w;
	p->vol = vol;
	p->backend = b;
	p->command_count = n;
	p->until_sample = vol->sample_every;
	list_init(&p->free);
	list_init(&p->waiting);
	p->commands = mem_calloc(n, sizeof(*p->commands));
	p->blocks = mem_aligned(BLOCK_ALIGN, n * block);
	p->scratch = mem_aligned(BLOCK_ALIGN, block);
	if (!p->commands || !p->blocks || !p->scratch) {
		port_free(p);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < n; i++) {
		p->commands[i].port = p;
		p->commands[i].block = p->blocks + i * block;
		list_add_tail(&p->free, &p->commands[i].link);
	}
	*ret_port = p;
	return 0;
}

struct port *port_free(struct port *p)
{
	if (!p)
		return NULL;
	INVARIANT(p->in_flight == 0 && list_empty(&p->waiting));
	mem_free(p->commands);
	mem_free(p->blocks);
	mem_free(p->scratch);
	mem_free(p);
	return NULL;
}

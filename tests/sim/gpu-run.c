/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu-run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/content.h"
#include "base/util.h"
#include "penstock.h"
#include "target/target.h"
#include "volume/context.h"

#define MS	  UINT64_C(1000000)
#define S	  UINT64_C(1000000000)
#define FAULTS_NS (20 * S)
#define FINISH_NS (3000 * S)
#define NQN	  "nqn.2026-11.io.penstock:gpu"

enum {
	SLOTS = 6,
	SLOT = 160 << 10, /* more than a piece, so that requests are several commands */
	SAMPLES = 24,
	SAMPLE_MAX = 50000,
	DATASET = 2 << 20, /* the rest of the volume is the slots' */
	VOLUME = DATASET + SLOTS * SLOT,
	SLOT_OBJECT = 1000, /* number of the first slot's contents, behind the samples' */
};

enum kind { READ, WRITE, STREAM_READ, STREAM_WRITE, KINDS };

/* A range of the device's memory and one of the volume, and what lies in each. */
struct slot {
	struct run *run;
	unsigned int number;
	uint8_t device[SLOT], volume[SLOT], next[SLOT];
	bool doubt; /* a write failed: what the volume has is not known */
	uint64_t stream;
	bool busy;
	unsigned int writes;
	/* the operation */
	enum kind kind;
	uint32_t at, length;
	bool completed;
	bool kernel; /* the user's first one has run */
};

struct run {
	struct gpu_run_result *result;
	struct sim *sim;
	struct rng rng;
	uint64_t seed;
	bool calm;

	struct sim_node *target_node, *client_node;
	struct io_loop *target_loop;
	struct store *store;
	struct target *target;
	struct log log;

	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_memory *host, *mem, *feed_mem;
	struct pst_dataset *ds;
	struct pst_feed *feed;
	uint64_t addr; /* of mem: the application's own */
	struct slot slot[SLOTS];
	unsigned int ops, busy;
	uint64_t epoch;
	bool epoch_over;
	bool feed_failed; /* the device is lost: nothing more comes */
};

static uint8_t scratch[SLOT];
static uint8_t sample[SAMPLE_MAX]; /* while this is filled in, slots may be looked at */

static void wrong(struct run *r, bool content, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void wrong(struct run *r, bool content, const char *fmt, ...)
{
	va_list args;

	if (r->result->wrong[0])
		return;
	r->result->content = content;
	va_start(args, fmt);
	vsnprintf(r->result->wrong, sizeof(r->result->wrong), fmt, args);
	va_end(args);
}

static bool is_wrong(const struct run *r)
{
	return r->result->wrong[0] != 0;
}

/* May anything fail here? */
static bool faulty(const struct run *r)
{
	struct gpu_stats s;

	gpu_stats(&s);
	return !r->calm || s.failures > 0 || s.lost;
}

/* ---- contents -------------------------------------------------------------------------------- */

/* All of the slot's memory on the device: within what was read as beside it. */
static void check(struct slot *s, const char *when)
{
	if (!gpu_peek(s->run->addr + (uint64_t)s->number * SLOT, scratch, SLOT)) {
		wrong(s->run, false, "the slot's memory is gone");
		return;
	}
	for (uint32_t i = 0; i < SLOT; i++) {
		if (scratch[i] == s->device[i])
			continue;
		wrong(s->run, true, "slot %u, %s: byte %u is wrong (of %u to %u)", s->number, when, i, s->at,
		      s->at + s->length);
		return;
	}
}

/* What a failed operation has left is not known: from now on it is. */
static void overwrite(struct slot *s)
{
	gpu_poke(s->run->addr + (uint64_t)s->number * SLOT, s->device, SLOT);
}

static void end(struct slot *s)
{
	s->busy = false;
	s->run->busy--;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* What the stream is given behind a read: sees what it read. A device that was lost meanwhile tells its stream. */
static void kernel_behind(void *arg)
{
	struct slot *s = arg;
	struct gpu_stats stats;

	gpu_stats(&stats);
	memcpy(s->device + s->at, s->volume + s->at, s->length);
	if (stats.lost)
		overwrite(s);
	else
		check(s, "for the stream behind a read");
	end(s);
}

static void kernel_repair(void *arg)
{
	overwrite(arg);
	end(arg);
}

/* Before a read on a stream: something else is there until then. Before a write: what is to be written. */
static void kernel_before(void *arg)
{
	struct slot *s = arg;

	if (s->completed && !faulty(s->run))
		wrong(s->run, false, "slot %u: over before its stream came to it", s->number);
	s->kernel = true;
	memcpy(s->device + s->at, s->next + s->at, s->length);
	overwrite(s);
}

static void completed(const struct pst_completion *c, void *user)
{
	struct slot *s = user;
	struct run *r = s->run;
	bool write = s->kind == WRITE || s->kind == STREAM_WRITE;

	sim_note(r->sim, "slot=%u kind=%d error=%d", s->number, (int)s->kind, c->error);
	s->completed = true;
	if (c->error && !faulty(r))
		wrong(r, false, "slot %u: %s where nothing fails", s->number, strerror(-c->error));
	if (!c->error && c->path != PST_PATH_STAGED)
		wrong(r, false, "slot %u: the path is %s", s->number, pst_path_name(c->path));
	if (c->error)
		r->result->failed++;
	else
		r->result->done[s->kind]++;
	if (write && c->error)
		s->doubt = true;
	else if (write)
		memcpy(s->volume + s->at, s->device + s->at, s->length);
	if (s->kind == STREAM_READ) {
		gpu_launch(s->stream, c->error ? kernel_repair : kernel_behind, s);
		return;
	}
	if (s->kind == STREAM_WRITE && !s->kernel) {
		/* Failed before its turn: the stream has still to come by. */
		if (!c->error)
			wrong(r, true, "slot %u: written before the stream had made it", s->number);
		gpu_launch(s->stream, kernel_repair, s);
		return;
	}
	if (!c->error && s->kind == READ)
		memcpy(s->device + s->at, s->volume + s->at, s->length);
	if (c->error && s->kind == READ)
		overwrite(s);
	check(s, c->error ? "after a failure" : "at its completion");
	end(s);
}

static void draw(struct slot *s)
{
	struct run *r = s->run;

	s->kind = (enum kind)rng_below(&r->rng, KINDS);
	s->at = (uint32_t)rng_below(&r->rng, SLOT);
	s->length = (uint32_t)rng_below(&r->rng, rng_chance_ppm(&r->rng, 500000) ? 2000 : SLOT) + 1;
	s->length = MIN(s->length, SLOT - s->at);
	if (rng_chance_ppm(&r->rng, 300000)) {
		s->at = ALIGN_DOWN(s->at, 4096u);
		s->length = MIN(ALIGN_UP(s->length, 4096u), SLOT - s->at);
	}
	if (!s->doubt)
		return;
	/* All of it is written anew, before anything is read. */
	s->kind = s->kind == READ ? WRITE : s->kind == STREAM_READ ? STREAM_WRITE : s->kind;
	s->at = 0;
	s->length = SLOT;
}

static void submit(struct slot *s)
{
	struct run *r = s->run;
	uint64_t offset;
	size_t mem_offset;
	int rc;

	draw(s);
	s->busy = true;
	s->completed = s->kernel = false;
	s->doubt = false;
	r->busy++;
	r->ops--;
	content_fill(r->seed, SLOT_OBJECT + s->number + SLOTS * (uint64_t)++s->writes, 0, s->next, SLOT);
	if (s->kind == WRITE) {
		memcpy(s->device + s->at, s->next + s->at, s->length);
		overwrite(s);
	} else if (s->kind != READ) {
		gpu_launch(s->stream, kernel_before, s);
	}
	mem_offset = (size_t)s->number * SLOT + s->at;
	offset = DATASET + (uint64_t)s->number * SLOT + s->at;
	if (s->kind == READ)
		rc = pst_read(r->vol, r->mem, mem_offset, offset, s->length, completed, s);
	else if (s->kind == WRITE)
		rc = pst_write(r->vol, r->mem, mem_offset, offset, s->length, completed, s);
	else if (s->kind == STREAM_READ)
		rc = pst_read_on_stream(r->vol, r->mem, mem_offset, offset, s->length, s->stream, completed, s);
	else
		rc = pst_write_on_stream(r->vol, r->mem, mem_offset, offset, s->length, s->stream, completed, s);
	if (rc == 0)
		return;
	if (!faulty(r))
		wrong(r, false, "slot %u: not submitted: %s", s->number, strerror(-rc));
	r->result->failed++;
	s->doubt = s->kind == WRITE || s->kind == STREAM_WRITE;
	if (s->kind == READ || s->kind == WRITE)
		end(s);
	else
		gpu_launch(s->stream, kernel_repair, s);
}

/* ---- the feed -------------------------------------------------------------------------------- */

static uint64_t sample_size(uint64_t i)
{
	return i == 3 ? 0 : 1 + i * 4799 % SAMPLE_MAX;
}

static void check_batch(struct run *r, const struct pst_batch *b)
{
	const struct pst_timing *t = &b->stall;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct pst_batch_sample *s = &b->samples[i];

		r->result->samples++;
		if (s->error && !faulty(r))
			wrong(r, false, "sample %" PRIu64 ": %s where nothing fails", s->index, strerror(-s->error));
		if (s->error || s->size == 0)
			continue;
		if (pst_memory_kind(r->feed_mem) != PST_MEMORY_CUDA) {
			if (pst_memory_copy_out(r->feed_mem, s->mem_offset, sample, s->size) != 0)
				wrong(r, false, "sample %" PRIu64 ": cannot be copied out", s->index);
		} else if (!gpu_peek(pst_memory_device_ptr(r->feed_mem) + s->mem_offset, sample, s->size)) {
			wrong(r, false, "sample %" PRIu64 " is not in the feed's memory", s->index);
		}
		if (s->size != sample_size(s->index) ||
		    content_check(1, s->index, 0, sample, s->size) != s->size)
			wrong(r, true, "sample %" PRIu64 " of %" PRIu64 " bytes is wrong", s->index, s->size);
	}
	if (t->total != b->wait_ns || t->total != t->client_queue + t->network + t->target_queue + t->qos + t->media +
						       t->staging + t->wakeup + t->remote)
		wrong(r, false, "a stall does not sum to its parts");
}

static void feed_turn(struct run *r)
{
	struct pst_batch b;
	int rc;

	if (r->epoch_over)
		return;
	rc = pst_feed_next(r->feed, 0, &b);
	if (rc == 1) {
		sim_note(r->sim, "batch=%" PRIu64 " wait=%" PRIu64, b.number, b.wait_ns);
		check_batch(r, &b);
		pst_feed_release(r->feed, &b);
	} else if (rc == 0) {
		r->epoch_over = true;
	} else if (rc != -ETIMEDOUT) {
		wrong(r, false, "the feed: %s", strerror(-rc));
	}
}

/* ---- up -------------------------------------------------------------------------------------- */

static void target_up(struct run *r)
{
	struct target_ns_config ns = { .nsid = 1 };
	struct target_subsys_config subsys = {
		.nqn = NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct target_listener_config listener = { .nqn_count = 0 };
	struct target_config c;
	struct err err = ERR_NULL;
	char spec[96];
	int rc;

	r->target_node = sim_node_new(r->sim, "target");
	r->target_loop = sim_loop_new(r->target_node);
	snprintf(spec, sizeof(spec), "memory:%d,block=%d", VOLUME, rng_chance_ppm(&r->rng, 500000) ? 4096 : 512);
	sim_node_addr(r->target_node, 4420, &listener.addr);
	rc = store_open(r->target_loop, spec, &r->store, &err);
	ns.store = r->store;
	target_config_init(&c);
	c.subsystems = &subsys;
	c.subsystem_count = 1;
	c.listeners = &listener;
	c.listener_count = 1;
	c.log = &r->log;
	if (rc == 0)
		rc = target_new_on_loops(&c, &r->target_loop, 1, &r->target, &err);
	if (rc == 0)
		rc = target_start(r->target, &err);
	if (rc < 0)
		wrong(r, false, "the target does not start: %s", err_text(&err));
}

/* Faults may hit the first try, and the tenth; what comes after a heal must work. */
static bool again(struct run *r, int *tries)
{
	if (++*tries == 10)
		sim_heal(r->sim);
	return *tries <= 20 && !is_wrong(r);
}

static int open_volume(struct run *r)
{
	struct pst_volume_options o = PST_OPTIONS(o);
	struct pst_error perr = { .code = 0 };
	char address[IO_ADDR_TEXT], uri[IO_ADDR_TEXT + 80];
	struct io_addr addr;
	int tries = 0, rc;

	sim_node_addr(r->target_node, 4420, &addr);
	io_addr_format(&addr, address);
	snprintf(uri, sizeof(uri), "nvme+tcp://%s/%s", address, NQN);
	o.queues = 1 + (unsigned int)rng_below(&r->rng, 3);
	o.depth = 1 + (unsigned int)rng_below(&r->rng, 32);
	o.io_timeout_ns = 60 * S;
	o.loss_timeout_ns = 1000 * S;
	o.sample_every = 1 + (uint32_t)rng_below(&r->rng, 4);
	do
		rc = pst_volume_open(r->ctx, uri, &o, &r->vol, &perr);
	while (rc < 0 && again(r, &tries));
	if (rc < 0)
		wrong(r, false, "the volume does not open: %s", perr.text);
	return rc;
}

static int write_dataset(struct run *r, struct pst_error *perr)
{
	struct pst_dataset_writer *w;
	int rc = pst_dataset_create(r->vol, &w, perr);

	if (rc < 0)
		return rc;
	for (uint64_t i = 0; rc == 0 && i < SAMPLES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%03u", (unsigned int)i);
		content_fill(1, i, 0, sample, sample_size(i));
		rc = pst_dataset_add(w, name, sample_size(i), 0, 0644, perr);
		if (rc == 0)
			rc = pst_dataset_write(w, sample, sample_size(i), perr);
	}
	if (rc == 0)
		rc = pst_dataset_finish(w, NULL, perr);
	pst_dataset_writer_free(w);
	return rc;
}

static void prepare_dataset(struct run *r)
{
	struct pst_error perr = { .code = 0 };
	int tries = 0, rc;

	do
		rc = write_dataset(r, &perr);
	while (rc < 0 && again(r, &tries));
	if (rc == 0) {
		do
			rc = pst_dataset_open(r->vol, &r->ds, &perr);
		while (rc < 0 && again(r, &tries));
	}
	if (rc < 0)
		wrong(r, false, "the dataset: %s", perr.text);
}

/* Memory of the application's for the slots, of the library's for the feed. */
static void take_memory(struct run *r)
{
	struct pst_cuda_options co = PST_OPTIONS(co);
	struct pst_feed_options fo = PST_OPTIONS(fo);
	struct pst_error perr = { .code = 0 };
	bool emulated = rng_chance_ppm(&r->rng, 200000);
	size_t size;
	int tries = 0, rc;

	co.piece_bytes = 131072u << rng_below(&r->rng, 2);
	co.staging_bytes = co.piece_bytes * (2 + rng_below(&r->rng, 6));
	co.mapped_bytes = SIZE_MAX;
	fo.batch = 1 + (uint32_t)rng_below(&r->rng, 5);
	fo.prefetch = 1 + (uint32_t)rng_below(&r->rng, 3);
	fo.request_bytes = 4096u << rng_below(&r->rng, 5);
	fo.inflight = (uint32_t)rng_below(&r->rng, 8);
	fo.seed = r->seed;
	fo.keep_last = true;
	size = pst_feed_memory_size(r->ds, &fo);
	r->addr = gpu_alloc(SLOTS * SLOT);
	do
		rc = pst_memory_cuda(r->ctx, r->addr, SLOTS * SLOT, &co, &r->mem, &perr);
	while (rc < 0 && again(r, &tries));
	while (rc == 0 && !r->feed_mem && again(r, &tries)) {
		if (emulated)
			(void)pst_memory_emulated(r->ctx, size, NULL, &r->feed_mem, &perr);
		else
			(void)pst_memory_cuda_alloc(r->ctx, 0, size, &co, &r->feed_mem, &perr);
	}
	if (!r->mem || !r->feed_mem)
		wrong(r, false, "no memory: %s", perr.text);
	else if (pst_feed_new(r->ds, r->feed_mem, &fo, &r->feed, &perr) < 0)
		wrong(r, false, "no feed: %s", perr.text);
}

static void fill_slots(struct run *r)
{
	for (unsigned int i = 0; i < SLOTS && !is_wrong(r); i++) {
		struct slot *s = &r->slot[i];
		struct pst_completion c;
		int tries = 0;

		s->run = r;
		s->number = i;
		s->stream = gpu_stream_new();
		content_fill(r->seed, SLOT_OBJECT + i, 0, s->volume, SLOT);
		memcpy(pst_memory_ptr(r->host), s->volume, SLOT);
		while (pst_write_sync(r->vol, r->host, 0, DATASET + (uint64_t)i * SLOT, SLOT, &c) < 0) {
			if (!again(r, &tries))
				wrong(r, false, "slot %u cannot be written: %s", i, strerror(-c.error));
			if (is_wrong(r))
				break;
		}
		overwrite(s);
	}
}

static void set_up(struct run *r)
{
	struct pst_context_options co = PST_OPTIONS(co);
	struct pst_error perr = { .code = 0 };

	target_up(r);
	r->client_node = sim_node_new(r->sim, "client");
	co.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001";
	co.hostid = "00000000-0000-4000-8000-000000000001";
	if (is_wrong(r))
		return;
	if (context_new_on_loop(sim_loop_new(r->client_node), &co, &r->ctx, &perr) < 0 ||
	    pst_memory_alloc(r->ctx, SLOT, &r->host, &perr) < 0) {
		wrong(r, false, "no context: %s", perr.text);
		return;
	}
	if (open_volume(r) == 0)
		prepare_dataset(r);
	if (!is_wrong(r))
		take_memory(r);
	if (!is_wrong(r))
		fill_slots(r);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void turn(struct run *r)
{
	struct slot *s = &r->slot[rng_below(&r->rng, SLOTS)];
	const char *device;

	if (r->ops > 0 && !s->busy)
		submit(s);
	feed_turn(r);
	sim_run_for(r->sim, rng_below(&r->rng, rng_chance_ppm(&r->rng, 900000) ? 100000 : 5 * MS) + 1);
	/* The user's kernels run when somebody looks. */
	(void)gpu_stream_idle(s->stream);
	device = gpu_wrong();
	if (device)
		wrong(r, true, "%s", device);
}

static bool all_over(const struct run *r)
{
	return r->ops == 0 && r->busy == 0 && r->epoch_over;
}

static void run_until(struct run *r, uint64_t end_ns)
{
	while (!is_wrong(r) && !all_over(r) && sim_now(r->sim) < end_ns)
		turn(r);
}

static void work(struct run *r)
{
	r->ops = 20 + (unsigned int)rng_below(&r->rng, 60);
	for (r->epoch = 0; r->epoch < 2 && !is_wrong(r); r->epoch++) {
		pst_feed_start(r->feed, r->epoch);
		r->epoch_over = false;
		if (r->epoch == 0)
			run_until(r, sim_now(r->sim) + FAULTS_NS);
		sim_heal(r->sim);
		gpu_heal();
		run_until(r, sim_now(r->sim) + FINISH_NS);
		if (!is_wrong(r) && !all_over(r))
			wrong(r, false, "it does not finish: %u operations in flight, %u to come, the epoch %s",
			      r->busy, r->ops, r->epoch_over ? "over" : "not over");
	}
}

static bool target_is_drained(void *arg)
{
	return target_drained(((struct run *)arg)->target);
}

static void take_down(struct run *r)
{
	struct gpu_stats s;
	const char *left;

	gpu_stats(&s);
	pst_feed_free(r->feed);
	pst_memory_free(r->feed_mem);
	pst_memory_free(r->mem);
	pst_memory_free(r->host);
	pst_dataset_close(r->ds);
	pst_volume_close(r->vol);
	pst_context_free(r->ctx);
	/* Whatever was still to land has to have landed: this is the application's to take away. */
	gpu_free(r->addr);
	for (unsigned int i = 0; i < SLOTS; i++)
		gpu_stream_free(r->slot[i].stream);
	left = gpu_end();
	/* What could not be destroyed, since the call failed or the device was lost, stays. */
	if (left && s.failures == 0 && !s.lost)
		wrong(r, false, "%s", left);
	if (gpu_wrong())
		wrong(r, true, "%s", gpu_wrong());
	target_drain(r->target, false);
	if (sim_run_until(r->sim, target_is_drained, r, 300 * S) != 0) {
		wrong(r, false, "the target does not come to an end");
		return;
	}
	target_free(r->target);
	store_free(r->store);
	io_loop_free(r->target_loop);
	if (sim_node_streams(r->client_node) || sim_node_streams(r->target_node))
		wrong(r, false, "a connection is left");
}

static void start_world(struct run *r, enum gpu_plant plant, FILE *trace)
{
	struct gpu_config gc = { .seed = r->seed, .plant = plant };
	struct sim_config sc;

	rng_init(&r->rng, r->seed ^ UINT64_C(0x73696d677075));
	r->calm = plant != GPU_HONEST || rng_chance_ppm(&r->rng, 300000);
	if (r->calm)
		sim_config_calm(&sc);
	else
		sim_config_swarm(&sc, r->seed);
	/* What is moved here is more than the systems of sim-main move: it shall not take minutes. */
	sc.stream_buffer = MAX(sc.stream_buffer, (size_t)65536);
	sc.net_max_ns = MIN(sc.net_max_ns, 5 * MS);
	sc.net_min_ns = MIN(sc.net_min_ns, sc.net_max_ns);
	gc.delay_max_ns = UINT64_C(1) << rng_below(&r->rng, 23);
	if (plant == GPU_HONEST && rng_chance_ppm(&r->rng, 300000))
		gc.fail_ppm = 1u << rng_below(&r->rng, 15);
	if (plant == GPU_HONEST && rng_chance_ppm(&r->rng, 100000))
		gc.lose_ppm = 1u << rng_below(&r->rng, 14);
	r->sim = sim_new(r->seed, &sc);
	if (trace)
		sim_trace(r->sim, trace);
	r->log = (struct log){ .level = LOG_LEVEL_DEBUG, .sink = sim_log_sink, .ctx = r->sim };
	gpu_start(r->sim, &gc);
}

void gpu_run_seed(uint64_t seed, enum gpu_plant plant, FILE *trace, struct gpu_run_result *ret)
{
	struct run *r = calloc(1, sizeof(*r));

	INVARIANT(r != NULL);
	memset(ret, 0, sizeof(*ret));
	r->result = ret;
	r->seed = seed;
	start_world(r, plant, trace);
	set_up(r);
	if (!is_wrong(r))
		work(r);
	if (!is_wrong(r))
		take_down(r);
	ret->hash = sim_hash(r->sim);
	ret->events = sim_events(r->sim);
	ret->virtual_ns = sim_now(r->sim);
	gpu_stats(&ret->gpu);
	if (is_wrong(r))
		return;
	sim_free(r->sim);
	free(r);
}

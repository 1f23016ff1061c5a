/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target and a client in one thread, turn by turn, for counting instructions under callgrind:
 *
 *	PENSTOCK_IO=epoll valgrind --tool=callgrind --collect-atstart=no \
 *		count target|client IO SIZE DEPTH OPS [SAMPLE|off [host|cuda]]
 *
 * IO is read or write; one request in SAMPLE is sampled (as ?sample=); data lands in the host's memory or a
 * GPU's. What is collected is the work of one end for OPS operations, in user space;
 * connecting and warming up are not. Both ends take their turns in the same order each time, so the
 * count repeats to a fraction of a percent, which time does not. Prints the operations it counted.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "base/parse.h"
#include "base/rng.h"
#include "base/util.h"
#include "penstock.h"
#include "store/store.h"
#include "target/target.h"

#define NQN "nqn.2026-11.io.penstock:count"
#define VOLUME (64u << 20)

static struct {
	bool write;
	uint64_t size, depth, ops, sample; /* sample 0: the library's choice */
	bool cuda;
	struct pst_volume *vol;
	struct pst_memory *mem;
	struct rng rng;
	uint64_t submitted, completed, wanted;
} run;

static struct io_loop *loop;

static NORETURN void die(const char *what, const char *why)
{
	fprintf(stderr, "count: %s: %s\n", what, why);
	exit(1);
}

/* ---- the client's side ------------------------------------------------------------------------- */

static void done(const struct pst_completion *c, void *user);

static void submit(uint64_t slot)
{
	uint64_t place = rng_below(&run.rng, VOLUME / run.size) * run.size;
	int rc = run.write ? pst_write(run.vol, run.mem, slot * run.size, place, run.size, done, (void *)slot)
			   : pst_read(run.vol, run.mem, slot * run.size, place, run.size, done, (void *)slot);

	if (rc < 0)
		die("submit", strerror(-rc));
	run.submitted++;
}

static void done(const struct pst_completion *c, void *user)
{
	if (c->error)
		die("I/O", strerror(-c->error));
	run.completed++;
	if (run.submitted < run.wanted)
		submit((uint64_t)user);
}

/* ---- both in turn ------------------------------------------------------------------------------ */

/* @ops operations, with what @who does collected. */
static void rounds(struct pst_context *ctx, uint64_t ops, const char *who)
{
	bool client = strcmp(who, "client") == 0, target = strcmp(who, "target") == 0;

	run.submitted = run.completed = 0;
	run.wanted = ops;
	for (uint64_t i = 0; i < run.depth; i++)
		submit(i);
	while (run.completed < ops) {
		if (client)
			CALLGRIND_TOGGLE_COLLECT;
		pst_poll(ctx, 0);
		if (client)
			CALLGRIND_TOGGLE_COLLECT;
		if (target)
			CALLGRIND_TOGGLE_COLLECT;
		io_loop_turn(loop, 0);
		if (target)
			CALLGRIND_TOGGLE_COLLECT;
	}
}

/* Opening blocks, so the target has a thread of its own meanwhile. */
static void *turn(void *arg)
{
	io_loop_run(loop);
	return NULL;
}

static void with_target_turning(pthread_t *t, bool begin)
{
	if (begin && pthread_create(t, NULL, turn, NULL) != 0)
		die("pthread_create", "no thread");
	if (begin)
		return;
	io_loop_stop(loop);
	pthread_join(*t, NULL);
}

static void measure(const char *uri, const char *who)
{
	struct pst_context_options o = PST_OPTIONS(o);
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct pst_context *ctx;
	struct pst_error err;
	pthread_t t;
	int rc;

	o.mode = PST_MODE_POLLED;
	vo.sample_every = (uint32_t)run.sample;
	with_target_turning(&t, true);
	if (pst_context_new(&o, &ctx, &err) < 0 || pst_volume_open(ctx, uri, &vo, &run.vol, &err) < 0)
		die("open", err.text);
	rc = run.cuda ? pst_memory_cuda_alloc(ctx, 0, run.depth * run.size, NULL, &run.mem, &err)
		      : pst_memory_alloc(ctx, run.depth * run.size, &run.mem, &err);
	if (rc < 0)
		die("memory", err.text);
	with_target_turning(&t, false);

	rounds(ctx, 4 * run.depth, "");
	rounds(ctx, run.ops, who);
	printf("%llu\n", (unsigned long long)run.ops);

	with_target_turning(&t, true);
	pst_memory_free(run.mem);
	pst_volume_close(run.vol);
	pst_context_free(ctx);
	with_target_turning(&t, false);
}

/* ---- the target -------------------------------------------------------------------------------- */

static void serve(const char *who)
{
	struct target_listener_config listener = { 0 };
	struct target_ns_config ns = { .nsid = 1 };
	struct target_subsys_config subsys = { .nqn = NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1 };
	/* A ring belongs to the thread that made it; this loop changes threads. */
	struct io_loop_options o = { .kind = IO_KIND_EPOLL };
	struct target_config c;
	struct target *t;
	char uri[256], text[IO_ADDR_TEXT];
	struct err err;

	target_config_init(&c);
	if (io_loop_new(&o, &loop, &err) < 0 || store_open(loop, "memory:64M", &ns.store, &err) < 0 ||
	    io_addr_parse("127.0.0.1:0", 0, true, &listener.addr, &err) < 0)
		die("target", err.text);
	c.subsystems = &subsys;
	c.subsystem_count = 1;
	c.listeners = &listener;
	c.listener_count = 1;
	if (target_new_on_loops(&c, &loop, 1, &t, &err) < 0 || target_start(t, &err) < 0)
		die("target", err.text);
	io_addr_format(target_listener_addr(t, 0), text);
	snprintf(uri, sizeof(uri), "nvme+tcp://%s/%s", text, NQN);
	measure(uri, who);
	target_drain(t, false);
	while (!target_drained(t))
		io_loop_turn(loop, 1000000);
	target_free(t);
	store_free(ns.store);
	io_loop_free(loop);
}

int main(int argc, char **argv)
{
	if (argc < 6 || argc > 8 || parse_size(argv[3], &run.size) < 0 || parse_u64(argv[4], &run.depth) < 0 ||
	    parse_u64(argv[5], &run.ops) < 0 || run.size == 0 || run.depth == 0) {
		fputs("usage: count target|client|nobody read|write SIZE DEPTH OPS [SAMPLE|off [host|cuda]]\n", stderr);
		return 2;
	}
	run.sample = argc > 6 && strcmp(argv[6], "off") == 0 ? UINT32_MAX : 0;
	if (argc > 6 && !run.sample && parse_u64_between(argv[6], 1, UINT32_MAX - 1, &run.sample) < 0) {
		fprintf(stderr, "count: '%s': expected off or a number\n", argv[6]);
		return 2;
	}
	run.cuda = argc > 7 && strcmp(argv[7], "cuda") == 0;
	run.write = strcmp(argv[2], "write") == 0;
	rng_init(&run.rng, 1);
	serve(argv[1]);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator under its own weather: the toy service of toy.h in many worlds, with the server
 * crashing. What was acknowledged is there at the end, all is done after the heal, the same seed
 * gives the same history, and over all seeds each kind of fault has occurred.
 *
 * Usage: test-swarm [seeds [first seed [trace]]]
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "tests/tap.h"
#include "toy.h"

#define S     UINT64_C(1000000000)
#define SLOTS 40

struct run {
	struct sim *sim;
	struct sim_node *server_node, *client_node;
	struct io_loop *client_loop;
	struct io_loop *server_loop;
	struct toy_server server;
	struct toy_client client;
	uint64_t hits[SIM_FAULT_COUNT];
	uint64_t events, hash;
	unsigned int crashes;
	const char *wrong;
};

static bool client_done(void *arg)
{
	struct run *r = arg;

	return r->client.slot == SLOTS;
}

static bool all_stopped(void *arg)
{
	struct run *r = arg;

	return toy_server_stopped(&r->server) && toy_client_stopped(&r->client);
}

static bool server_stopped(void *arg)
{
	return toy_server_stopped(&((struct run *)arg)->server);
}

/* Every acknowledged slot holds its value in what a power cut would leave. */
static void check_durable(struct run *r)
{
	struct toy_message m;

	for (uint64_t slot = 0; slot < r->client.slot; slot++) {
		int64_t n = sim_disk_peek(r->server_node, TOY_PATH, SIM_VIEW_DURABLE,
					  toy_offset(slot), &m, sizeof(m));

		if (n != (int64_t)sizeof(m) || m.slot != slot || m.value != toy_value(slot))
			r->wrong = "an acknowledged slot is lost";
	}
}

static void server_down(struct run *r)
{
	toy_server_stop(&r->server);
	if (sim_run_until(r->sim, server_stopped, r, 100 * S) != 0)
		r->wrong = "a dead server does not end";
	r->server.file = io_file_close(r->server.file);
	r->server_loop = io_loop_free(r->server_loop);
}

static void server_up(struct run *r)
{
	r->server_loop = sim_loop_new(r->server_node);
	if (toy_server_start(&r->server, r->server_loop, rng_below(sim_rng(r->sim), 2) != 0) != 0)
		r->wrong = "the server does not start";
}

static void fault_phase(struct run *r)
{
	unsigned int crashes = (unsigned int)rng_below(sim_rng(r->sim), 4);

	for (unsigned int i = 0; i <= crashes && !client_done(r); i++) {
		sim_run_until(r->sim, client_done, r, rng_below(sim_rng(r->sim), 2 * S));
		if (i == crashes)
			break;
		sim_node_crash(r->server_node,
			       rng_below(sim_rng(r->sim), 2) ? SIM_CRASH_POWER : SIM_CRASH_PROCESS);
		r->crashes++;
		check_durable(r);
		server_down(r);
		sim_run_for(r->sim, rng_below(sim_rng(r->sim), S));
		sim_node_restart(r->server_node);
		server_up(r);
	}
}

static void run_seed(struct run *r, uint64_t seed, bool trace)
{
	struct sim_config config;
	struct io_addr addr;

	memset(r, 0, sizeof(*r));
	sim_config_swarm(&config, seed);
	r->sim = sim_new(seed, &config);
	if (trace) {
		sim_config_print(&config, stderr);
		sim_trace(r->sim, stderr);
	}
	r->server_node = sim_node_new(r->sim, "server");
	r->client_node = sim_node_new(r->sim, "client");
	server_up(r);
	r->client_loop = sim_loop_new(r->client_node);
	sim_node_addr(r->server_node, TOY_PORT, &addr);
	toy_client_start(&r->client, r->client_loop, &addr, SLOTS);
	fault_phase(r);
	sim_heal(r->sim);
	if (sim_run_until(r->sim, client_done, r, 300 * S) != 0)
		r->wrong = "the work does not finish after the heal";
	check_durable(r);
	toy_client_stop(&r->client);
	toy_server_stop(&r->server);
	if (sim_run_until(r->sim, all_stopped, r, 300 * S) != 0)
		r->wrong = "it does not stop";
	r->server.file = io_file_close(r->server.file);
	io_loop_free(r->server_loop);
	io_loop_free(r->client_loop);
	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		r->hits[i] = sim_fault_count(r->sim, (enum sim_fault)i);
	r->events = sim_events(r->sim);
	r->hash = sim_hash(r->sim);
	sim_free(r->sim);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint64_t number(const char *text, uint64_t otherwise)
{
	uint64_t v;

	return text && parse_u64(text, &v) == 0 ? v : otherwise;
}

int main(int argc, char **argv)
{
	uint64_t seeds = number(argc > 1 ? argv[1] : NULL, 1500);
	uint64_t first = number(argc > 2 ? argv[2] : NULL, 1);
	uint64_t hits[SIM_FAULT_COUNT] = { 0 };
	uint64_t events = 0, wrong = 0, differs = 0, crashes = 0;
	double begin = seconds();
	static struct run r;

	/* Worlds come and go: memory given back to the kernel each time is most of the cost. */
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		run_seed(&r, seed, argc > 3);
		for (int i = 0; i < SIM_FAULT_COUNT; i++)
			hits[i] += r.hits[i];
		events += r.events;
		crashes += r.crashes;
		if (r.wrong && wrong++ < 10)
			diag("seed %" PRIu64 ": %s; repeat: test-swarm 1 %" PRIu64 " trace", seed,
			     r.wrong, seed);
		if (seed % 10 == 0 && argc <= 3) {
			uint64_t hash = r.hash;

			run_seed(&r, seed, false);
			differs += r.hash != hash;
			events += r.events;
		}
	}
	diag("%" PRIu64 " seeds, %" PRIu64 " events, %" PRIu64 " crashes, %.2f million events/s",
	     seeds, events, crashes, (double)events / (seconds() - begin) / 1e6);
	is_u64(wrong, 0, "every seed keeps what was acknowledged and finishes");
	is_u64(differs, 0, "the same seed gives the same history");
	for (int i = 0; seeds >= 1500 && i < SIM_FAULT_COUNT; i++)
		if (i != SIM_NET_CORRUPT && i != SIM_ALLOC && i != SIM_FILE_READ &&
		    i != SIM_FILE_BAD)
			ok(hits[i] > 0, "%s has occurred (%" PRIu64 " times)",
			   sim_fault_name((enum sim_fault)i), hits[i]);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated world itself: time, determinism, nodes that pause, crash and come back. */
#include <stdlib.h>

#include "base/alloc.h"
#include "tests/tap.h"
#include "toy.h"
#include "wait.h"

struct ticker {
	struct io_timer timer;
	struct io_loop *loop;
	uint64_t period;
	unsigned int ticks;
	uint64_t last; /* io_now() of the last tick */
};

static void tick(struct io_timer *t)
{
	struct ticker *k = container_of(t, struct ticker, timer);

	k->ticks++;
	k->last = io_now(k->loop);
	io_timer_start(k->loop, t, k->period);
}

static void ticker_start(struct ticker *k, struct io_loop *loop, uint64_t period)
{
	*k = (struct ticker){ .loop = loop, .period = period };
	io_timer_init(&k->timer, tick);
	io_timer_start(loop, &k->timer, period);
}

static bool never(void *arg)
{
	return false;
}

static struct sim *calm_world(uint64_t seed)
{
	struct sim_config c;

	sim_config_calm(&c);
	return sim_new(seed, &c);
}

static void test_time(void)
{
	struct sim *sim = calm_world(1);
	struct sim_node *node = sim_node_new(sim, "n");
	struct io_loop *loop = sim_loop_new(node);
	struct ticker k;
	uint64_t wall;

	is_str(io_loop_name(loop), "sim", "a loop knows what it is");
	is_i64(sim_run_until(sim, never, NULL, S), -EDEADLK, "nothing can ever happen");
	ticker_start(&k, loop, MS);
	is_i64(sim_run_for(sim, S), 0, "a second passes");
	is_u64(k.ticks, 1000, "with a tick each millisecond");
	is_i64(sim_run_until(sim, never, NULL, S), -ETIMEDOUT, "a limit ends it");

	wall = io_wall(loop);
	sim_node_clock(node, -3600 * (int64_t)S);
	is_u64(wall - io_wall(loop), 3600 * S, "the wall clock jumps");
	sim_run_for(sim, 10 * MS);
	is_u64(k.ticks, 2010, "and no timer minds");

	sim_node_pause(node, S);
	sim_run_for(sim, S / 2);
	is_u64(k.ticks, 2010, "a paused node does nothing");
	sim_run_for(sim, S / 2 + 10 * MS);
	ok(k.ticks > 2010 && k.ticks < 2030, "then goes on, late (%u)", k.ticks);
	io_timer_stop(loop, &k.timer);
	io_loop_free(loop);
	sim_free(sim);
}

static void tick_forever(struct io_timer *t)
{
	struct ticker *k = container_of(t, struct ticker, timer);

	io_timer_start(k->loop, t, 0);
}

static void test_endless(void)
{
	struct sim *sim = calm_world(1);
	struct io_loop *loop = sim_loop_new(sim_node_new(sim, "n"));
	struct ticker k;

	ticker_start(&k, loop, MS);
	k.timer.fn = tick_forever;
	is_i64(sim_run_for(sim, S), -ELOOP, "a program that does without end is stopped");
	io_timer_stop(loop, &k.timer);
	io_loop_free(loop);
	sim_free(sim);
}

struct hello {
	struct io_msg msg;
	struct io_loop *to;
};

static void hello_arrived(struct io_msg *m)
{
	io_loop_stop(container_of(m, struct hello, msg)->to);
}

static void post_hello(struct io_timer *t)
{
	static struct hello hello = { .msg = { .fn = hello_arrived } };
	struct ticker *k = container_of(t, struct ticker, timer);

	hello.to = (struct io_loop *)(uintptr_t)k->period;
	io_post(hello.to, &hello.msg);
}

/* Loops also turn by themselves, as a program would turn them, and take the world along. */
static void test_self_driven(void)
{
	struct sim *sim = calm_world(1);
	struct sim_node *node = sim_node_new(sim, "n");
	struct io_loop *a = sim_loop_new(node), *b = sim_loop_new(node);
	struct ticker k, kb;
	uint64_t begin = sim_now(sim);

	is_i64(io_loop_turn(a, UINT64_MAX), -EDEADLK, "a loop with nothing to wait for says so");
	is_i64(io_loop_turn(a, 5 * MS), 0, "and waits as long as it is told");
	ok(sim_now(sim) - begin >= 5 * MS, "in virtual time");
	ticker_start(&kb, b, MS);
	ticker_start(&k, b, 10 * MS);
	k.timer.fn = post_hello;
	k.period = (uintptr_t)a;
	is_i64(io_loop_run(a), 0, "a message of another loop stops it");
	ok(kb.ticks >= 9, "and that other loop has turned meanwhile (%u)", kb.ticks);
	io_timer_stop(b, &kb.timer);
	io_loop_free(a);
	io_loop_free(b);
	sim_free(sim);
}

/* A run of the toy service; its hash. */
static uint64_t toy_run(uint64_t seed, FILE *trace, uint64_t *ret_random)
{
	struct sim *sim = calm_world(seed);
	struct sim_node *ns = sim_node_new(sim, "server"), *nc = sim_node_new(sim, "client");
	struct io_loop *ls = sim_loop_new(ns), *lc = sim_loop_new(nc);
	static struct toy_server server;
	static struct toy_client client;
	struct io_addr addr;
	uint64_t hash;

	sim_trace(sim, trace);
	sim_node_addr(ns, TOY_PORT, &addr);
	toy_server_start(&server, ls, true);
	toy_client_start(&client, lc, &addr, 20);
	sim_run_for(sim, S);
	sim_note(sim, "done slots=%u", (unsigned int)client.slot);
	io_random(lc, ret_random, sizeof(*ret_random));
	toy_client_stop(&client);
	toy_server_stop(&server);
	sim_run_for(sim, 100 * S);
	io_file_close(server.file);
	io_loop_free(ls);
	io_loop_free(lc);
	hash = sim_hash(sim);
	sim_free(sim);
	return client.slot == 20 ? hash : 0;
}

static void test_same_seed(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *trace = open_memstream(&text, &size);
	uint64_t r1, r2, r3;
	uint64_t h1 = toy_run(5, NULL, &r1);
	uint64_t h2 = toy_run(5, trace, &r2);
	uint64_t h3 = toy_run(6, NULL, &r3);

	fclose(trace);
	ok(h1 != 0, "a run does its work");
	is_u64(h1, h2, "the same seed gives the same history, traced or not");
	is_u64(r1, r2, "and the same random numbers");
	ok(h1 != h3 && r1 != r3, "another seed gives others");
	ok(size > 1000 && strstr(text, "server write") && strstr(text, "note done slots=20"),
	   "the trace tells what happened (%zu bytes)", size);
	free(text);
}

/* What a host sees of a server that is gone, in the ways in which it can go. */
static void test_crash(enum sim_crash how)
{
	unsigned int ends = 0, resets = 0, silent = 0, refused = 0, timed_out = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct sim *sim = calm_world(seed);
		struct sim_node *ns = sim_node_new(sim, "server"),
				*nc = sim_node_new(sim, "client");
		struct io_loop *ls = sim_loop_new(ns), *lc = sim_loop_new(nc);
		struct io_listener *listener;
		struct io_stream *client = NULL, *server = NULL;
		struct waiter wc, wa, again;
		struct io_addr addr;
		char c;

		sim_node_addr(ns, 1, &addr);
		io_listen(ls, &addr, NULL, &listener, NULL);
		io_accept(listener, waiter_arm(&wa, sim));
		io_connect(lc, waiter_arm(&wc, sim), &addr, NULL);
		waiter_wait(&wc, S);
		waiter_wait(&wa, S);
		io_stream_new(lc, wc.op.sock, NULL, &client);
		io_stream_new(ls, wa.op.sock, NULL, &server);
		waiter_recv(&wc, sim, client, &c, 1);
		waiter_recv(&wa, sim, server, &c, 1);
		sim_node_crash(ns, how);
		ok(waiter_wait(&wa, S) == -ECANCELED, "the dead end's receive is cancelled");
		sim_run_for(sim, S);
		ends += wc.done && wc.op.result == 0;
		resets += wc.done && wc.op.result == -ECONNRESET;
		silent += !wc.done;
		io_connect(lc, waiter_arm(&again, sim), &addr, NULL);
		waiter_wait(&again, 100 * S);
		refused += again.op.result == -ECONNREFUSED;
		timed_out += again.op.result == -ETIMEDOUT;
		sim_node_restart(ns);
		if (!wc.done) {
			send_some(sim, client, "?", 1);
			ok(waiter_wait(&wc, S) == -ECONNRESET,
			   "a restarted machine knows no connection");
		}
		ok(send_some(sim, server, "ghost", 5) == -ECANCELED, "the dead cannot send");
		io_stream_close(server, false);
		io_stream_close(client, false);
		io_listener_close(listener);
		sim_run_for(sim, S);
		io_loop_free(ls);
		io_loop_free(lc);
		sim_free(sim);
	}
	if (how == SIM_CRASH_PROCESS) {
		ok(ends > 0 && resets > 0 && silent == 0,
		   "killed: end of stream %u, resets %u, silence %u", ends, resets, silent);
		is_u64(refused, 40, "and connecting is refused");
	} else {
		ok(ends == 0 && resets > 0 && silent > 0,
		   "no power: end of stream %u, resets %u, silence %u", ends, resets, silent);
		is_u64(timed_out, 40, "and connecting times out");
	}
}

static bool timer_ran;

static void note_timer(struct io_timer *t)
{
	timer_ran = true;
}

/* A dead process's loop goes on for itself, and for nobody else. */
static void test_cut_off(void)
{
	struct sim *sim = calm_world(3);
	struct sim_node *node = sim_node_new(sim, "n"), *other = sim_node_new(sim, "o");
	struct io_loop *loop = sim_loop_new(node);
	struct io_listener *l;
	struct io_sock *a, *b;
	struct waiter w, wa;
	struct io_timer t;
	struct io_addr addr;

	sim_node_addr(other, 1, &addr);
	io_connect(loop, waiter_arm(&wa, sim), &addr, NULL);
	sim_node_crash(node, SIM_CRASH_POWER);
	is_i64(waiter_wait(&wa, S), -ECANCELED, "a connect in flight is cancelled");
	io_timer_init(&t, note_timer);
	io_timer_start(loop, &t, MS);
	sim_run_for(sim, S);
	ok(timer_ran, "timers of the dead run, so that they can be torn down");
	io_connect(loop, waiter_arm(&w, sim), &addr, NULL);
	is_i64(waiter_wait(&w, S), -ECANCELED, "it cannot connect");
	sim_node_addr(node, 1, &addr);
	ok(io_listen(loop, &addr, NULL, &l, NULL) < 0, "nor listen");
	is_i64(io_sock_pair(loop, &a, &b), 0, "it may make a pair");
	io_sock_close(a);
	io_sock_close(b);
	io_complete(loop, waiter_arm(&w, sim), 5);
	is_i64(waiter_wait(&w, S), 5, "and finish what needs no world");
	io_loop_free(loop);
	sim_free(sim);
}

static unsigned int alloc_failed;

static void alloc_tick(struct io_timer *t)
{
	void *p = mem_alloc(10);

	alloc_failed += !p;
	mem_free(p);
	tick(t);
}

static void test_alloc(void)
{
	struct sim_config c;
	struct sim *sim;
	struct sim_node *node;
	struct io_loop *loop;
	struct ticker k;
	void *p;

	sim_config_calm(&c);
	c.ppm[SIM_ALLOC] = 300000;
	sim = sim_new(1, &c);
	node = sim_node_new(sim, "n");
	loop = sim_loop_new(node);
	ticker_start(&k, loop, MS);
	k.timer.fn = alloc_tick;
	sim_run_for(sim, S);
	is_u64(alloc_failed, 0, "allocations succeed unless the node is told otherwise");
	sim_node_fail_alloc(node, true);
	sim_run_for(sim, S);
	ok(alloc_failed > 200 && alloc_failed < 400, "then some fail (%u of 1000)", alloc_failed);
	is_u64(sim_fault_count(sim, SIM_ALLOC), alloc_failed, "which is counted");
	p = mem_alloc(1);
	ok(p != NULL, "and those of the test do not");
	mem_free(p);
	sim_heal(sim);
	alloc_failed = 0;
	sim_run_for(sim, S);
	is_u64(alloc_failed, 0, "a heal ends it");
	io_timer_stop(loop, &k.timer);
	io_loop_free(loop);
	sim_free(sim);
}

int main(void)
{
	test_time();
	test_endless();
	test_self_driven();
	test_same_seed();
	test_crash(SIM_CRASH_PROCESS);
	test_crash(SIM_CRASH_POWER);
	test_cut_off();
	test_alloc();
	return tap_done();
}

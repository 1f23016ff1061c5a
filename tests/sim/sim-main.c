/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole systems in the simulator: target, hosts and faults from a seed.
 *
 *	sim-main                        the suite: saved seeds, fixed ones, fresh ones for 30 s
 *	sim-main --seed N [--runs K]    these seeds
 *	sim-main --seed N --trace       with a line for each event, on stderr
 *	sim-main ... --without NAME     leaving out a fault or a blow, to see which it takes
 *	sim-main --plant-no-fence       without the fence: some seed must find out
 *
 * A seed that fails is printed as the command that repeats it. PENSTOCK_SIM_SEED=N in the
 * environment makes the suite run that seed alone; PENSTOCK_SIM_SECONDS is the time for fresh ones.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "env.h"
#include "run.h"
#include "tests/tap.h"

#define FIXED_SEEDS   300
#define FRESH_SECONDS 30
#define PLANT_SEEDS   5000
#define REPEAT_EVERY  16  /* every so many seeds, one is run twice */
#define STUCK_SECONDS 120 /* of real time for one seed: it does not end */

static struct {
	uint64_t seed;
	uint64_t runs;
	bool has_seed;
	bool trace;
	bool plant_no_fence;
	const char *saved;
	const char *self;
	struct run_options run;
} opt;

static struct {
	uint64_t seeds, events, differs;
	bool data; /* the last that failed did so by its data */
	struct run_result sum;
} total;

static volatile uint64_t current_seed;

/* ---- when it dies ---------------------------------------------------------------------------- */

static void say_seed(void)
{
	char text[160];
	int n = snprintf(text, sizeof(text),
			 "\n# seed %" PRIu64 " died; repeat: %s --seed %" PRIu64 "%s\n",
			 current_seed, opt.self, current_seed,
			 opt.plant_no_fence ? " --plant-no-fence" : "");

	if (write(STDOUT_FILENO, text, (size_t)n) < 0) {
		/* Nothing is left to tell anybody with. */
	}
}

static void on_signal(int sig)
{
	say_seed();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Part of the sanitizers' runtime, where there is one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void set_up_last_words(void)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };
	struct sigaction sa = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_seed);
}

/* ---- running --------------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void diag_lines(char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		diag("%s", line);
}

static void add_up(const struct run_result *res)
{
	total.seeds++;
	total.events += res->events;
	total.sum.virtual_ns += res->virtual_ns;
	total.sum.succeeded += res->succeeded;
	total.sum.failures += res->failures;
	total.sum.unknowns += res->unknowns;
	total.sum.losses += res->losses;
	total.sum.requeued += res->requeued;
	total.sum.fence_waits += res->fence_waits;
	total.sum.locked += res->locked;
	total.sum.lost_races += res->lost_races;
	total.sum.reserved += res->reserved;
	total.sum.conflicts += res->conflicts;
	total.sum.aborts += res->aborts;
	total.sum.aborted += res->aborted;
	total.sum.verified += res->verified;
	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		total.sum.hits[i] += res->hits[i];
	for (int i = 0; i < BLOW_COUNT; i++)
		total.sum.blows[i] += res->blows[i];
}

/* Whether all was right with it. */
static bool run_one(uint64_t seed)
{
	static struct run_result res, again;

	current_seed = seed;
	alarm(STUCK_SECONDS);
	run_seed(seed, &opt.run, &res);
	if (!res.failed && seed % REPEAT_EVERY == 0 && !opt.trace) {
		run_seed(seed, &opt.run, &again);
		if (again.hash != res.hash) {
			total.differs++;
			res.failed = true;
			snprintf(res.wrong, sizeof(res.wrong),
				 "the same seed gave another history");
		}
	}
	alarm(0);
	add_up(&res);
	if (!res.failed)
		return true;
	total.data = res.data;
	diag("seed %" PRIu64 ":", seed);
	diag_lines(res.wrong);
	diag("repeat: %s --seed %" PRIu64 " --trace%s", opt.self, seed,
	     opt.plant_no_fence ? " --plant-no-fence" : "");
	return false;
}

static bool run_range(uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (!run_one(first + i))
			return false;
	return true;
}

/* Lines of a number and, after a space, why it was saved. */
static bool run_saved(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool right = true;
	uint64_t seed;

	if (!f) {
		diag("%s: %s", path, strerror(errno));
		return false;
	}
	while (right && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\n")] = '\0';
		if (line[0] && line[0] != '#')
			right = parse_u64(line, &seed) == 0 && run_one(seed);
	}
	fclose(f);
	return right;
}

static bool run_fresh(uint64_t first, double limit)
{
	double end = seconds() + limit;

	for (uint64_t seed = first; seconds() < end; seed++)
		if (!run_one(seed))
			return false;
	return true;
}

static void report(double took)
{
	const struct run_result *s = &total.sum;

	diag("%" PRIu64 " seeds, %" PRIu64 " events, %.2f million events/s, %.0f s of virtual time",
	     total.seeds, total.events, (double)total.events / took / 1e6,
	     (double)s->virtual_ns * 1e-9);
	diag("%" PRIu64 " operations done, %" PRIu64 " failed, %" PRIu64 " unknown, %" PRIu64
	     " sent again, %" PRIu64 " associations lost, %" PRIu64 " fence waits",
	     s->succeeded, s->failures, s->unknowns, s->requeued, s->losses, s->fence_waits);
	diag("fused: %" PRIu64 " done, %" PRIu64 " refused; %" PRIu64 " reservations, %" PRIu64
	     " conflicts; %" PRIu64 " Aborts, %" PRIu64 " at once; %" PRIu64 " Verifies",
	     s->locked, s->lost_races, s->reserved, s->conflicts, s->aborts, s->aborted, s->verified);
	printf("# faults:");
	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		if (s->hits[i])
			printf(" %s=%" PRIu64, sim_fault_name((enum sim_fault)i), s->hits[i]);
	printf("\n# blows:");
	for (int i = 0; i < BLOW_COUNT; i++)
		if (s->blows[i])
			printf(" %s=%" PRIu64, plan_blow_name((enum plan_blow)i), s->blows[i]);
	printf("\n");
}

static void suite(void)
{
	uint64_t forced = from_environment("PENSTOCK_SIM_SEED", UINT64_MAX);
	uint64_t limit = from_environment("PENSTOCK_SIM_SECONDS", FRESH_SECONDS);
	uint64_t fresh = (uint64_t)time(NULL) << 20;

	if (forced != UINT64_MAX) {
		ok(run_one(forced), "seed %" PRIu64 ", as the environment says", forced);
		return;
	}
	if (opt.saved)
		ok(run_saved(opt.saved), "seeds that once failed");
	ok(run_range(1, FIXED_SEEDS), "seeds 1 to %d", FIXED_SEEDS);
	diag("fresh seeds from %" PRIu64, fresh);
	ok(run_fresh(fresh, (double)limit), "fresh seeds for %" PRIu64 " s", limit);
	is_u64(total.differs, 0, "the same seed gives the same history");
	ok(total.sum.losses > 0 && total.sum.requeued > 0 && total.sum.fence_waits > 0,
	   "associations were lost, operations sent again, and the fence was waited for");
	ok(total.sum.locked > 0 && total.sum.lost_races > 0 && total.sum.reserved > 0 && total.sum.conflicts > 0,
	   "fused operations were done and refused, reservations held and run into");
	ok(total.sum.aborts > 0 && total.sum.verified > 0, "Abort and Verify were answered");
	for (int i = 0; i < BLOW_COUNT; i++)
		ok(total.sum.blows[i] > 0, "%s happened", plan_blow_name((enum plan_blow)i));
}

/* A simulator that does not find a fault that is there would be of no use. */
static void plant(void)
{
	uint64_t first = opt.has_seed ? opt.seed : 1;
	uint64_t count = opt.has_seed ? opt.runs : PLANT_SEEDS;
	uint64_t i = 0;

	while (i < count && run_one(first + i))
		i++;
	ok(i < count && total.data, "a target without a fence is found out, by seed %" PRIu64,
	   first + i);
}

/* ---- the command line ------------------------------------------------------------------------ */

static int usage(const char *what)
{
	fprintf(stderr, "sim-main: %s\n", what);
	fputs("usage: sim-main [--seed N [--runs K] [--trace]] [--without NAME]... "
	      "[--plant-no-fence] [--saved FILE]\n",
	      stderr);
	return 2;
}

static bool leave_out(const char *name)
{
	bool known = false;

	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		if (strcmp(name, sim_fault_name((enum sim_fault)i)) == 0)
			known = opt.run.without[i] = true;
	for (int i = 0; i < BLOW_COUNT; i++)
		if (strcmp(name, plan_blow_name((enum plan_blow)i)) == 0)
			known = opt.run.without_blow[i] = true;
	return known;
}

static int parse_args(int argc, char **argv)
{
	opt.runs = 1;
	opt.self = argv[0];
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(arg, "--trace") == 0) {
			opt.trace = true;
			opt.run.trace = stderr;
		} else if (strcmp(arg, "--plant-no-fence") == 0) {
			opt.plant_no_fence = opt.run.no_fence = true;
			/* What else these might find is for others to see. */
			opt.run.without[SIM_NET_CORRUPT] = opt.run.without[SIM_ALLOC] = true;
		} else if (strcmp(arg, "--without") == 0 && value && leave_out(value)) {
			i++;
		} else if (strcmp(arg, "--saved") == 0 && value) {
			opt.saved = argv[++i];
		} else if (strcmp(arg, "--seed") == 0 && value &&
			   parse_u64(value, &opt.seed) == 0) {
			opt.has_seed = true;
			i++;
		} else if (strcmp(arg, "--runs") == 0 && value &&
			   parse_u64(value, &opt.runs) == 0) {
			i++;
		} else {
			return usage(arg);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	double begin = seconds();
	int r = parse_args(argc, argv);

	if (r != 0)
		return r;
	/* Worlds come and go: memory given back to the kernel each time is most of the cost. */
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	set_up_last_words();
	if (opt.plant_no_fence)
		plant();
	else if (opt.has_seed)
		ok(run_range(opt.seed, opt.runs), "%" PRIu64 " seeds from %" PRIu64, opt.runs,
		   opt.seed);
	else
		suite();
	report(seconds() - begin);
	r = tap_done();
	fflush(NULL);
	/* A seed that failed has left its world behind: no leak to report. */
	_exit(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library into a simulated GPU, seed by seed; see gpu-run.h.
 *
 *	sim-gpu                          the suite: fixed seeds, fresh ones for 10 s, planted bugs
 *	sim-gpu --seed N [--runs K]      these seeds
 *	sim-gpu --seed N --trace         with a line for each event, on stderr
 *	sim-gpu ... --plant early        a driver that says that copies are over before they are
 *	sim-gpu ... --plant no-wait      one whose streams do not wait for copies
 *
 * PENSTOCK_SIM_SEED=N makes the suite run that seed alone; PENSTOCK_SIM_SECONDS is the time for fresh ones.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "env.h"
#include "gpu-run.h"
#include "tests/tap.h"

enum { FIXED_SEEDS = 300, FRESH_SECONDS = 10, PLANT_SEEDS = 200, REPEAT_EVERY = 16, STUCK_SECONDS = 120 };

static struct {
	uint64_t seeds, differs, done[4], failed, samples, copies, failures, lost;
	bool content;
} total;

static volatile uint64_t current;
static const char *self;
static FILE *trace;

static void on_signal(int sig)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "\n# seed %" PRIu64 " died; repeat: %s --seed %" PRIu64 "\n", current,
			 self, current);

	if (write(STDOUT_FILENO, text, (size_t)n) < 0) {
		/* Nothing is left to tell anybody with. */
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool run_one(uint64_t seed, enum gpu_plant plant)
{
	struct gpu_run_result res, twice;

	current = seed;
	alarm(STUCK_SECONDS);
	gpu_run_seed(seed, plant, trace, &res);
	total.seeds++;
	for (int i = 0; i < 4; i++)
		total.done[i] += res.done[i];
	total.failed += res.failed;
	total.samples += res.samples;
	total.copies += res.gpu.copies;
	total.failures += res.gpu.failures;
	total.lost += res.gpu.lost;
	total.content = res.content;
	if (res.wrong[0]) {
		diag("seed %" PRIu64 ": %s", seed, res.wrong);
		diag("repeat: %s --seed %" PRIu64 "%s", self, seed,
		     plant == GPU_PLANT_EARLY ? " --plant early" : plant ? " --plant no-wait" : "");
		return false;
	}
	if (seed % REPEAT_EVERY == 0) {
		gpu_run_seed(seed, plant, NULL, &twice);
		total.differs += twice.hash != res.hash || twice.events != res.events;
	}
	alarm(0);
	return true;
}

static bool run_range(uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (!run_one(first + i, GPU_HONEST))
			return false;
	}
	return true;
}

static bool run_fresh(uint64_t first, uint64_t limit)
{
	time_t end = time(NULL) + (time_t)limit;

	for (uint64_t seed = first; time(NULL) < end; seed++) {
		if (!run_one(seed, GPU_HONEST))
			return false;
	}
	return true;
}

/* A simulator that does not find a bug that is there would be of no use. */
static void planted(enum gpu_plant plant, uint64_t first, const char *what)
{
	uint64_t i = 0;

	while (i < PLANT_SEEDS && run_one(first + i, plant))
		i++;
	ok(i < PLANT_SEEDS && total.content, "%s is found out, by seed %" PRIu64, what, first + i);
}

static void suite(void)
{
	uint64_t forced = from_environment("PENSTOCK_SIM_SEED", UINT64_MAX);
	uint64_t limit = from_environment("PENSTOCK_SIM_SECONDS", FRESH_SECONDS), fresh = (uint64_t)time(NULL) << 20;

	if (forced != UINT64_MAX) {
		ok(run_one(forced, GPU_HONEST), "seed %" PRIu64 ", as the environment says", forced);
		return;
	}
	ok(run_range(1, FIXED_SEEDS), "seeds 1 to %d", FIXED_SEEDS);
	diag("fresh seeds from %" PRIu64, fresh);
	ok(run_fresh(fresh, limit), "fresh seeds for %" PRIu64 " s", limit);
	is_u64(total.differs, 0, "the same seed gives the same history");
	ok(total.done[0] && total.done[1] && total.done[2] && total.done[3] && total.samples,
	   "reads and writes, with and without a stream, and samples");
	ok(total.failures > 0 && total.lost > 0, "calls failed, and devices were lost");
	planted(GPU_PLANT_EARLY, 1, "a completion before the copy is done");
	planted(GPU_PLANT_NO_WAIT, 1, "a stream that does not wait for the copies");
}

int main(int argc, char **argv)
{
	uint64_t seed = 0, runs = 1;
	enum gpu_plant plant = GPU_HONEST;
	bool one = false;
	int r;

	self = argv[0];
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--trace") == 0) {
			trace = stderr;
			continue;
		}
		i++;
		if (strcmp(argv[i - 1], "--seed") == 0 && parse_u64(value, &seed) == 0) {
			one = true;
		} else if (strcmp(argv[i - 1], "--plant") == 0 && strcmp(value, "early") == 0) {
			plant = GPU_PLANT_EARLY;
		} else if (strcmp(argv[i - 1], "--plant") == 0 && strcmp(value, "no-wait") == 0) {
			plant = GPU_PLANT_NO_WAIT;
		} else if (strcmp(argv[i - 1], "--runs") != 0 || parse_u64(value, &runs) < 0) {
			fputs("usage: sim-gpu [--seed N [--runs K] [--trace]] [--plant early|no-wait]\n", stderr);
			return 2;
		}
	}
	for (int i = 0; i < 3; i++)
		signal((int[]){ SIGABRT, SIGSEGV, SIGALRM }[i], on_signal);
	if (plant)
		planted(plant, one ? seed : 1, "a planted bug");
	else if (one)
		ok(run_range(seed, runs), "%" PRIu64 " seeds from %" PRIu64, runs, seed);
	else
		suite();
	diag("%" PRIu64 " seeds: %" PRIu64 " reads, %" PRIu64 " writes, %" PRIu64 " and %" PRIu64 " on streams",
	     total.seeds, total.done[0], total.done[1], total.done[2], total.done[3]);
	diag("%" PRIu64 " samples, %" PRIu64 " failed; %" PRIu64 " copies, %" PRIu64 " calls that failed, %" PRIu64
	     " devices lost",
	     total.samples, total.failed, total.copies, total.failures, total.lost);
	r = tap_done();
	fflush(NULL);
	/* A seed that failed has left its world behind: no leak to report. */
	_exit(r);
}

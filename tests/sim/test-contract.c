/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of io.h, which io_uring and epoll keep, kept by the simulator: in calm weather, and
 * in some that is as bad as the contract allows for a connection that lives.
 */
#include <stdlib.h>

#include "io/sim.h"
#include "io/test-contract.h"

static struct io_loop *make_loop(void *arg)
{
	return sim_loop_new(arg);
}

/* @calm: no transfer is cut, which contract_many() does not expect of its few bytes. */
static void keep(const char *name, const struct sim_config *config, uint64_t seed, bool calm)
{
	struct sim *sim = sim_new(seed, config);
	struct contract c = {
		.name = name,
		.make = make_loop,
		.arg = sim_node_new(sim, "machine"),
		.address = "127.0.0.1:0",
		.address6 = "[::1]:0",
		.directory = "/srv",
	};

	if (calm) {
		contract_run(&c);
	} else {
		contract_transfer(&c);
		contract_full(&c);
		contract_end(&c);
		contract_reset(&c);
		contract_connect(&c);
		contract_file(&c, false);
		contract_file(&c, true);
	}
	sim_free(sim);
}

int main(void)
{
	struct sim_config config;

	sim_config_calm(&config);
	keep("calm", &config, 1, true);

	config.ppm[SIM_NET_SHORT] = 200000;
	config.ppm[SIM_NET_BYTE] = 10000;
	config.ppm[SIM_NET_STALL] = 1000;
	config.ppm[SIM_FILE_SLOW] = 10000;
	config.ppm[SIM_FILE_SPLIT] = 200000;
	config.stall_max_ns = 10000000;
	config.slow_max_ns = 10000000;
	config.turn_late_ppm = 100000;
	config.turn_max_ns = 100000;
	keep("cut and late", &config, 2, false);

	sim_config_calm(&config);
	config.inline_ppm = 1000000;
	config.stream_buffer = 16384;
	config.sector = 4096;
	keep("at once, small buffers", &config, 3, true);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration space as it may come: whole, cut short, without capabilities, in circles, all ones. */
#include "base/rng.h"
#include "doctor/facts.h"
#include "doctor/pci-config.h"
#include "tests/tap.h"

static uint8_t config[PCICFG_SIZE];

static void capability(size_t at, uint16_t id, size_t next)
{
	uint32_t header = id | 1u << 16 | (uint32_t)next << 20;

	for (int i = 0; i < 4; i++)
		config[at + (size_t)i] = (uint8_t)(header >> 8 * i);
}

static void make(uint8_t control)
{
	memset(config, 0, sizeof(config));
	config[0] = 0x86;
	config[1] = 0x80;
	config[6] = 0x10; /* has capabilities */
	capability(0x100, 0x0001, 0x148);
	capability(0x148, 0x000d, 0);
	config[0x148 + 6] = control;
}

int main(void)
{
	struct rng rng;

	make(0x1d);
	is_i64(pcicfg_acs(config, sizeof(config)), 0x1d, "the control register behind another capability");
	is_i64(pcicfg_acs(config, 64), DOCTOR_DENIED, "the public part alone is not what there is");
	is_i64(pcicfg_acs(config, 256), 0, "a conventional device has no ACS");
	is_i64(pcicfg_acs(config, 0x14c), DOCTOR_UNSEEN, "cut short within the capability");
	is_i64(pcicfg_acs(config, 10), DOCTOR_UNSEEN, "cut short within the header");
	config[6] = 0;
	is_i64(pcicfg_acs(config, 64), 0, "no capabilities, hence no ACS, even in 64 bytes");

	make(0);
	capability(0x148, 0x0002, 0);
	is_i64(pcicfg_acs(config, sizeof(config)), 0, "a list without ACS");
	capability(0x148, 0x0002, 0x100);
	is_i64(pcicfg_acs(config, sizeof(config)), DOCTOR_UNSEEN, "a list in a circle ends");
	capability(0x148, 0x0002, 0x40);
	is_i64(pcicfg_acs(config, sizeof(config)), DOCTOR_UNSEEN, "a list that leads out of its part");
	memset(config, 0xff, sizeof(config));
	is_i64(pcicfg_acs(config, sizeof(config)), DOCTOR_UNSEEN, "a device that has gone reads all ones");

	rng_init(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		for (size_t k = 0x100; k < sizeof(config); k += 64)
			config[k] = (uint8_t)rng_u64(&rng);
		config[0] = 0;
		config[rng_u64(&rng) % sizeof(config)] = (uint8_t)rng_u64(&rng);
		pcicfg_acs(config, rng_u64(&rng) % (sizeof(config) + 1));
	}
	ok(true, "any bytes at all end");
	return tap_done();
}

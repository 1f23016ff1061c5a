/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor extension: its bytes, and figures that come out as they went in, or a little less. */
#include <string.h>

#include "base/rng.h"
#include "nvme/cmd.h"
#include "nvme/vendor.h"
#include "tests/tap.h"

static void identify(void)
{
	static const uint8_t golden[16] = { 'P', 'E', 'N', 'S', 'T', 'O', 'C', 'K', 1, 0, 0, 0, 1, 0, 0, 0 };
	static struct nvme_id_ctrl id;

	is_u64(nvme_vendor_caps(&id), 0, "a controller that says nothing has nothing");
	nvme_vendor_put(&id, NVME_VENDOR_CAP_TIMES);
	ok(memcmp((uint8_t *)&id + 3072, golden, sizeof(golden)) == 0, "16 bytes from byte 3072 of Identify on");
	is_u64(nvme_vendor_caps(&id), NVME_VENDOR_CAP_TIMES, "and they are understood");
	id.vs[7] = 'k';
	is_u64(nvme_vendor_caps(&id), 0, "another's magic is not ours");
	nvme_vendor_put(&id, NVME_VENDOR_CAP_TIMES);
	id.vs[8] = 0;
	is_u64(nvme_vendor_caps(&id), 0, "version 0 there is none");
}

static void command(void)
{
	static const uint8_t golden[4] = { 0x00, 0x80, 0x00, 0x00 };
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 8, 0);
	ok(!nvme_cmd_timed(&cmd), "a Read asks for nothing by itself");
	nvme_cmd_set_timed(&cmd);
	ok(nvme_cmd_timed(&cmd) && memcmp((uint8_t *)&cmd + 52, golden, 4) == 0, "bit 15 of dword 13 asks");
	is_u64(nvme_cmd_nlb(&cmd), 8, "and changes nothing else");
}

static bool close_to(uint64_t got, uint64_t ns)
{
	return got <= ns && ns - got <= ns / 32768;
}

static void figures(void)
{
	struct nvme_times t = { .queue = 1, .qos = 65535, .media = 65536 }, r;
	struct rng rng;
	bool right = true, exact = true;

	is_u64(nvme_times_encode(&t), UINT64_C(1) << 63 | UINT64_C(1) << 42 | UINT64_C(65535) << 21 | 0x18000,
	       "the layout of dwords 1:0");
	ok(!nvme_times_decode(0, &r), "zeroes, as others send them, are no figures");
	ok(!nvme_times_decode(UINT64_MAX >> 1, &r), "nor is anything without bit 63");
	rng_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		unsigned int shift = 17 + (unsigned int)(rng_u64(&rng) % 47);

		t = (struct nvme_times){ rng_u64(&rng) >> shift, rng_u64(&rng) >> shift, rng_u64(&rng) >> shift };
		right = right && nvme_times_decode(nvme_times_encode(&t), &r) && close_to(r.queue, t.queue) &&
			close_to(r.qos, t.qos) && close_to(r.media, t.media);
		exact = exact && (t.media > 65535 || r.media == t.media);
	}
	ok(right, "up to 39 hours a figure is low by less than 1 in 32768");
	ok(exact, "and exact up to 65 us");
	t = (struct nvme_times){ .queue = UINT64_MAX, .qos = UINT64_C(1) << 47, .media = 0 };
	nvme_times_decode(nvme_times_encode(&t), &r);
	ok(r.queue == UINT64_C(65535) << 31 && r.qos == r.queue && r.media == 0, "longer ones stay at the largest");
}

int main(void)
{
	identify();
	command();
	figures();
	return tap_done();
}

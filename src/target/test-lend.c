/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads that send the store's own memory, while a slow host takes them in sips and the store is
 * written to between the sips: every logical block is of one time, and the answer is complete.
 */
#include <string.h>

#include "base/util.h"
#include "target/test-rig.h"
#include "tests/tap.h"

enum { LENGTH = 512 << 10, STEPS_MAX = 20000, STEP_NS = 3000 };

static struct rig rig;
static struct peer admin, io;
static uint8_t in[LENGTH], pattern[LENGTH];

/* Every byte of the first LENGTH bytes of @s becomes @version. */
static void paint(struct store *s, uint8_t version)
{
	struct iovec iov = { pattern, LENGTH };
	struct store_op op = { .kind = STORE_WRITE, .length = LENGTH, .iov = &iov, .niov = 1 };

	memset(pattern, version, LENGTH);
	INVARIANT(store_submit(s, rig.loop, &op) && op.result == 0);
}

/* Blocks that are not of one version; counts the versions. */
static unsigned int torn(uint32_t block, unsigned int *ret_versions)
{
	bool seen[256] = { false };
	unsigned int bad = 0;

	*ret_versions = 0;
	for (uint32_t at = 0; at < LENGTH; at += block) {
		for (uint32_t i = 1; i < block; i++) {
			if (in[at + i] == in[at])
				continue;
			bad++;
			break;
		}
		*ret_versions += !seen[in[at]];
		seen[in[at]] = true;
	}
	return bad;
}

/* The receive that is pending still takes all there is: one more block ends it. */
static void sip_from_now(struct peer *p, size_t bytes)
{
	uint8_t block[4096];
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	peer_sip(p, bytes);
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 3, 0, 1, 0);
	cpl = peer_do(p, &cmd, block, sizeof(block));
	INVARIANT(peer_status(&cpl) == 0);
}

static void read_while_written(uint32_t nsid, uint32_t block, struct store *s, size_t sip, const char *what)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	unsigned int versions, bad;
	uint8_t version = 1;
	uint16_t cid;

	paint(s, version);
	memset(in, 0, sizeof(in));
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, nsid, 0, LENGTH / block, 0);
	cmd.sgl = nvme_sgl_transport(LENGTH);
	sip_from_now(&io, sip);
	cid = peer_submit(&io, &cmd, NULL, 0);
	for (int i = 0; i < STEPS_MAX && io.in_len - io.in_at < LENGTH; i++) {
		rig_run(&rig, STEP_NS);
		paint(s, ++version);
	}
	peer_sip(&io, 0);
	cpl = peer_finish(&io, cid, in, LENGTH);
	is_status(&cpl, SUCCESS, "%s: read", what);
	bad = torn(block, &versions);
	is_u64(bad, 0, "%s: no block is torn", what);
	ok(versions > 1, "%s: though the store was written to meanwhile (%u times seen)", what, versions);
}

/* With data digests a PDU is of one time as a whole: its digest is. */
static void digests(void)
{
	unsigned int versions;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer p;
	uint16_t cid;

	peer_open(&p, &rig, 0);
	peer_ic(&p, 0, true, true);
	cpl = peer_connect(&p, RIG_NQN, 2, le16_to_cpu((le16){ { 1, 0 } }), 16, 0);
	is_status(&cpl, SUCCESS, "digests: a queue");
	paint(rig.stores[1].under, 1);
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 3, 0, LENGTH / 4096, 0);
	cmd.sgl = nvme_sgl_transport(LENGTH);
	sip_from_now(&p, 5000);
	cid = peer_submit(&p, &cmd, NULL, 0);
	for (int i = 0; i < STEPS_MAX && p.in_len - p.in_at < LENGTH; i++) {
		rig_run(&rig, STEP_NS);
		paint(rig.stores[1].under, (uint8_t)(2 + i));
	}
	peer_sip(&p, 0);
	/* The peer asserts that digests are right. */
	cpl = peer_finish(&p, cid, in, LENGTH);
	is_status(&cpl, SUCCESS, "digests: read");
	is_u64(torn(4096, &versions), 0, "digests: no block is torn");
	ok(versions > 1, "digests: though it was written to meanwhile (%u times seen)", versions);
	peer_close(&p);
}

/* Many small ones in one list, of which the host takes a part. */
static void deep(void)
{
	enum { READS = 100 };
	uint16_t cid[READS];
	struct nvme_cmd cmd;
	unsigned int wrong = 0;
	struct nvme_cpl cpl;
	uint8_t block[4096];

	paint(rig.stores[1].under, 7);
	sip_from_now(&io, 1000);
	for (int i = 0; i < READS; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 3, (uint64_t)i, 1, 0);
		cmd.sgl = nvme_sgl_transport(sizeof(block));
		cid[i] = peer_submit(&io, &cmd, NULL, 0);
	}
	for (int i = 0; i < STEPS_MAX && io.in_len - io.in_at < READS * sizeof(block); i++)
		rig_run(&rig, STEP_NS);
	peer_sip(&io, 0);
	for (int i = 0; i < READS; i++) {
		memset(block, 0, sizeof(block));
		cpl = peer_finish(&io, cid[i], block, sizeof(block));
		wrong += peer_status(&cpl) != 0 || block[0] != 7 || memcmp(block, block + 1, 4095) != 0;
	}
	is_u64(wrong, 0, "%d reads in one list, taken in sips", READS);
}

/* The host goes while its answer is half out: the target asserts that nothing stays lent or taken. */
static void cut_off(void)
{
	struct nvme_cmd cmd;
	struct iovec iov = { pattern, LENGTH };
	struct store_op op = { .kind = STORE_WRITE, .length = LENGTH, .iov = &iov, .niov = 1 };

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 3, 0, LENGTH / 4096, 0);
	cmd.sgl = nvme_sgl_transport(LENGTH);
	sip_from_now(&io, 3000);
	peer_submit(&io, &cmd, NULL, 0);
	rig_run(&rig, 100000);
	peer_close(&io);
	rig_run(&rig, RIG_MS);
	ok(store_submit(rig.stores[1].under, rig.loop, &op) && op.result == 0,
	   "a write finds nobody in its way when the host has gone");
}

int main(void)
{
	static const size_t sips[] = { 90, 700, 4096, 10007 };
	uint16_t cntlid;

	rig_init(&rig);
	rig.namespaces[0].store = rig.stores[0].under;
	rig.namespaces[1].store = rig.stores[1].under;
	rig_start(&rig);
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	for (size_t i = 0; i < ARRAY_SIZE(sips); i++) {
		char what[64];

		snprintf(what, sizeof(what), "512-byte blocks, sips of %zu", sips[i]);
		read_while_written(1, 512, rig.stores[0].under, sips[i], what);
		snprintf(what, sizeof(what), "4096-byte blocks, sips of %zu", sips[i]);
		read_while_written(3, 4096, rig.stores[1].under, sips[i], what);
	}
	deep();
	digests();
	cut_off();
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O commands: what they do to the store, how their data travels, and every way to get one wrong.
 */
#include <errno.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "base/util.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static struct peer admin, io;
static uint16_t cntlid;
static uint8_t out[2 << 20], in[2 << 20];

static struct nvme_cpl rw(struct peer *p, uint8_t opc, uint32_t nsid, uint64_t slba, uint32_t nlb,
			  uint32_t flags, void *buf, uint32_t len)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, nsid, slba, nlb, flags);
	return peer_do(p, &cmd, buf, len);
}

static struct nvme_cpl bare(uint8_t opc, uint32_t nsid, uint64_t slba, uint32_t nlb, uint32_t flags)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, nsid, slba, nlb, flags);
	return peer_do(&io, &cmd, NULL, 0);
}

static void fill(uint8_t *p, size_t n, uint64_t seed)
{
	struct rng r;

	rng_init(&r, seed);
	rng_fill(&r, p, n);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void sizes(struct peer *p, const char *how)
{
	static const uint32_t blocks[] = { 1, 2, 8, 9, 16, 17, 256, 511, 513, 1024, 2048 };
	bool right = true;

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		uint32_t n = blocks[i] * 512;
		struct nvme_cpl w, r;

		fill(out, n, i);
		memset(in, 0, n);
		w = rw(p, NVME_NVM_WRITE, 1, 0, blocks[i], 0, out, n);
		r = rw(p, NVME_NVM_READ, 1, 0, blocks[i], 0, in, n);
		right = right && peer_status(&w) == 0 && peer_status(&r) == 0 &&
			memcmp(in, out, n) == 0;
	}
	ok(right, "512 bytes to 1 MiB are read as they were written, %s", how);
}

static void in_capsule(struct peer *p, const char *how)
{
	bool right = true;

	for (uint32_t blocks = 1; blocks <= 16; blocks++) {
		uint32_t n = blocks * 512;
		struct nvme_cmd cmd;
		struct nvme_cpl w;

		fill(out, n, 100 + blocks);
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 64, blocks, 0);
		cmd.sgl = nvme_sgl_in_capsule(0, n);
		w = peer_wait(p, peer_submit(p, &cmd, out, n));
		rw(p, NVME_NVM_READ, 1, 64, blocks, 0, in, n);
		right = right && peer_status(&w) == 0 && memcmp(in, out, n) == 0;
	}
	ok(right, "up to 8 KiB in the capsule, %s", how);
}

static void with_digests(void)
{
	static const struct {
		uint8_t hpda;
		bool hdgst, ddgst;
		const char *name;
	} cases[] = {
		{ 0, true, false, "with header digest" },
		{ 0, false, true, "with data digest" },
		{ 0, true, true, "with both digests" },
		{ 1, false, false, "aligned to 8" },
		{ 31, false, false, "aligned to 128" },
		{ 31, true, true, "aligned to 128, both digests" },
		{ 6, true, false, "aligned to 28, header digest" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nvme_cpl cpl;
		struct peer p;

		peer_open(&p, &rig, -1);
		peer_ic(&p, cases[i].hpda, cases[i].hdgst, cases[i].ddgst);
		is_u64(p.hdgst << 1 | p.ddgst, cases[i].hdgst << 1 | cases[i].ddgst,
		       "digests as asked for");
		cpl = peer_connect(&p, RIG_NQN, 2, cntlid, 128, 0);
		is_status(&cpl, SUCCESS, "connected, %s", cases[i].name);
		sizes(&p, cases[i].name);
		in_capsule(&p, cases[i].name);
		peer_close(&p);
	}
}

/* I018: data starts at a multiple of what the host asked for, with and without digest. */
static void alignment(void)
{
	bool right = true;

	for (unsigned int hpda = 0; hpda <= 31; hpda++) {
		union tcp_pdu pdu;
		struct nvme_cmd cmd;
		struct peer p;

		peer_open(&p, &rig, -1);
		peer_ic(&p, (uint8_t)hpda, hpda & 1, false);
		peer_connect(&p, RIG_NQN, 2, cntlid, 128, 0);
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 1, 0);
		cmd.sgl = nvme_sgl_transport(512);
		peer_submit(&p, &cmd, NULL, 0);
		right = right && peer_next(&p, &pdu, in, sizeof(in), NULL) &&
			pdu.ch.type == TCP_PDU_C2H_DATA && pdu.ch.pdo % ((hpda + 1) * 4) == 0;
		peer_close(&p);
	}
	ok(right, "I018: PDO for each HPDA");
}

/* I017: the SUCCESS flag stands for a completion only when the host has given up flow control. */
static void success_flag(void)
{
	for (int sqflow = 0; sqflow < 2; sqflow++) {
		uint32_t chunks = 0, bytes = 0, n;
		bool order = true, rsp = false, success = false;
		struct nvme_cmd cmd;
		union tcp_pdu pdu;
		struct peer p;

		peer_open(&p, &rig, -1);
		peer_ic(&p, 0, false, false);
		p.sqflow = sqflow;
		peer_connect(&p, RIG_NQN, 2, cntlid, 128, 0);
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 2048, 0);
		cmd.sgl = nvme_sgl_transport(1 << 20);
		peer_submit(&p, &cmd, NULL, 0);
		while (peer_next(&p, &pdu, in, sizeof(in), &n)) {
			if (pdu.ch.type == TCP_PDU_RSP) {
				rsp = true;
				is_u64(nvme_cpl_sqhd(&pdu.rsp.cqe), 2, "SQHD counts");
				continue;
			}
			order = order && le32_to_cpu(pdu.data.datao) == bytes && !success && !rsp &&
				!!(pdu.ch.flags & TCP_PDU_LAST) == (bytes + n == 1 << 20);
			success = success || (pdu.ch.flags & TCP_PDU_SUCCESS);
			bytes += n;
			chunks++;
		}
		ok(order && bytes == 1 << 20 && chunks == 4,
		   "1 MiB in 4 C2HData, in order, LAST on the last");
		ok(success != sqflow && rsp == sqflow, "I017: CATTR %d: %s", sqflow ? 0 : 4,
		   sqflow ? "a completion" : "SUCCESS instead of a completion");
		peer_close(&p);
	}
}

/* Several commands at once, answered in any order, data of the host in between. */
static void deep(void)
{
	struct tcp_r2t r2t[32];
	struct nvme_cmd cmd;
	union tcp_pdu pdu;
	int n = 0, done = 0;

	for (int i = 0; i < 32; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 3, (uint64_t)i * 4, 4, 0);
		cmd.sgl = nvme_sgl_transport(16384);
		peer_submit(&io, &cmd, NULL, 0);
	}
	while (n < 32 && peer_next(&io, &pdu, NULL, 0, NULL))
		if (pdu.ch.type == TCP_PDU_R2T)
			r2t[n++] = pdu.r2t;
	is_u64(n, 32, "32 writes, 32 R2Ts");
	/* Data in reverse order, each in two parts that are mixed with the others' parts. */
	for (int half = 0; half < 2; half++) {
		for (int i = 31; i >= 0; i--) {
			struct iovec iov = { out + i * 16384 + half * 8192, 8192 };
			struct tcp_tx_pdu h = { 0 };

			if (half == 0)
				fill(out + i * 16384, 16384, 500 + (uint64_t)i);
			tcp_build_h2c_data(&io.tx, &h, le16_to_cpu(r2t[i].cccid),
					   le16_to_cpu(r2t[i].ttag), (uint32_t)half * 8192, &iov, 1,
					   8192, half == 1);
			peer_pdu(&io, &h);
		}
	}
	while (done < 32 && peer_next(&io, &pdu, NULL, 0, NULL))
		done += pdu.ch.type == TCP_PDU_RSP && peer_status(&pdu.rsp.cqe) == 0;
	is_u64(done, 32, "all of them succeed");
	{
		struct nvme_cpl cpl = rw(&io, NVME_NVM_READ, 3, 0, 128, 0, in, 128 * 4096);

		is_status(&cpl, SUCCESS, "read back");
	}
	is_mem(in, out, 128 * 4096, "everything is where it belongs");
}

static void bad_digest(void)
{
	uint64_t before;
	struct target_stats st;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	union tcp_pdu pdu;
	struct peer p;
	uint8_t *at;

	peer_open(&p, &rig, -1);
	peer_ic(&p, 0, false, true);
	peer_connect(&p, RIG_NQN, 2, cntlid, 128, 0);
	target_stats(rig.target, &st);
	before = st.ddgst_errors;
	fill(out, 512, 1);
	rw(&p, NVME_NVM_WRITE, 1, 9, 1, 0, out, 512);

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 9, 1, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 512);
	memset(in, 7, 512);
	peer_submit(&p, &cmd, in, 512);
	at = p.out + p.out_len - 3; /* inside the digest */
	*at ^= 0x40;
	cpl = peer_wait(&p, p.cid);
	is_status(&cpl, TRANSIENT_TRANSPORT, "a wrong data digest in a capsule: the command fails");
	ok(!peer_dnr(&cpl), "... and may be tried again");

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 9, 1, 0);
	cmd.sgl = nvme_sgl_transport(512);
	peer_submit(&p, &cmd, NULL, 0);
	peer_next(&p, &pdu, NULL, 0, NULL);
	{
		struct iovec iov = { in, 512 };
		struct tcp_tx_pdu h = { 0 };

		tcp_build_h2c_data(&p.tx, &h, p.cid, le16_to_cpu(pdu.r2t.ttag), 0, &iov, 1, 512,
				   true);
		peer_pdu(&p, &h);
		p.out[p.out_len - 1] ^= 1;
	}
	cpl = peer_wait(&p, p.cid);
	is_status(&cpl, TRANSIENT_TRANSPORT, "a wrong data digest in H2CData: the command fails");
	cpl = rw(&p, NVME_NVM_READ, 1, 9, 1, 0, in, 512);
	is_status(&cpl, SUCCESS, "the connection lives");
	is_mem(in, out, 512, "and the block is as it was");
	target_stats(rig.target, &st);
	is_u64(st.ddgst_errors - before, 2, "both were counted");
	peer_close(&p);
}

/* ---- SGLs ------------------------------------------------------------------------------------ */

static struct nvme_cpl with_sgl(uint8_t opc, struct nvme_sgl_desc sgl, uint32_t capsule)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, 1, 0, 8, 0);
	cmd.sgl = sgl;
	return peer_wait(&io, peer_submit(&io, &cmd, out, capsule));
}

static void sgls(void)
{
	struct nvme_sgl_desc sgl = nvme_sgl_transport(4096);
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;

	for (unsigned int id = 0; id < 256; id++) {
		if (id == NVME_SGL_ID_TRANSPORT || id == NVME_SGL_ID_IN_CAPSULE)
			continue;
		sgl.id = (uint8_t)id;
		cpl = with_sgl(NVME_NVM_WRITE, sgl, 0);
		if (peer_status(&cpl) != NVME_SC_SGL_INVALID_TYPE)
			ok(false, "SGL identifier %02xh", id);
	}
	ok(true, "all other SGL identifiers are refused");
	cpl = with_sgl(NVME_NVM_READ, nvme_sgl_in_capsule(0, 4096), 0);
	is_status(&cpl, INVALID_FIELD, "a read into the capsule");
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_in_capsule(0, 4096), 0);
	is_status(&cpl, SGL_INVALID_OFFSET, "T030: in-capsule data that is not there");
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_in_capsule(0, 4096), 4095);
	is_status(&cpl, SGL_INVALID_OFFSET, "T030: ... or not all of it");
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_in_capsule(UINT64_MAX, 4096), 4096);
	is_status(&cpl, SGL_INVALID_OFFSET, "... or at the end of the world");
	fill(out, 8192, 77);
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_in_capsule(1000, 4096), 8192);
	is_status(&cpl, SUCCESS, "T030: in-capsule data with an offset");
	rw(&io, NVME_NVM_READ, 1, 0, 8, 0, in, 4096);
	is_mem(in, out + 1000, 4096, "... is taken from there");
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_transport(4095), 0);
	is_status(&cpl, SGL_INVALID_LENGTH, "an SGL that is too short");
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_transport(8192), 0);
	is_status(&cpl, SGL_INVALID_LENGTH, "an SGL that is too long");
	cpl = with_sgl(NVME_NVM_READ, nvme_sgl_transport(0), 0);
	is_status(&cpl, SGL_INVALID_LENGTH, "E007: an SGL of nothing");
	cpl = with_sgl(NVME_NVM_WRITE, nvme_sgl_transport(0xfffff000), 0);
	is_status(&cpl, SGL_INVALID_LENGTH, "T006: an SGL of 4 GiB");
	cpl = rw(&io, NVME_NVM_WRITE, 3, 0, 257, 0, out, 257 * 4096);
	is_status(&cpl, INVALID_FIELD, "one block more than MDTS");
	ok(peer_dnr(&cpl), "and none of that is to be tried again");
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 8, 0);
	cmd.flags = NVME_PSDT_SGL_METADATA_SGL << 6;
	cpl = peer_do(&io, &cmd, in, 4096);
	is_status(&cpl, INVALID_FIELD, "PSDT 10b");
	for (uint8_t fuse = 1; fuse < 4; fuse += 2) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 8, 0);
		cmd.flags |= fuse;
		cpl = peer_do(&io, &cmd, in, 4096);
		is_status(&cpl, INVALID_FIELD, "E004: a Read with FUSE %u", fuse);
	}
	cpl = rw(&io, NVME_NVM_READ, 1, 0, 8, 0, in, 4096);
	is_status(&cpl, SUCCESS, "T032: the next command knows nothing of those");
}

/* ---- commands -------------------------------------------------------------------------------- */

static void ranges(void)
{
	static const struct {
		uint64_t slba;
		uint32_t nlb;
		bool good;
	} cases[] = {
		{ 0, 1, true },
		{ RIG_BLOCKS - 1, 1, true },
		{ RIG_BLOCKS - 8, 8, true },
		{ RIG_BLOCKS, 1, false },
		{ RIG_BLOCKS - 1, 2, false },
		{ UINT64_MAX, 1, false },
		{ UINT64_MAX, 2, false },
		{ UINT64_MAX - 7, 8, false },
		{ UINT64_C(1) << 55, 1, false },
	};
	static const uint8_t opcs[] = { NVME_NVM_READ, NVME_NVM_WRITE, NVME_NVM_COMPARE };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t want = cases[i].good ? NVME_SC_SUCCESS : NVME_SC_LBA_OUT_OF_RANGE;
		struct nvme_cpl cpl;

		memset(out, 0, 4096);
		for (size_t k = 0; k < ARRAY_SIZE(opcs); k++) {
			cpl = rw(&io, opcs[k], 1, cases[i].slba, cases[i].nlb, 0, out,
				 cases[i].nlb * 512);
			if (opcs[k] == NVME_NVM_COMPARE && cases[i].good)
				continue;
			is_u64(peer_status(&cpl), want, "E011: opcode %u of %u blocks at %llu",
			       opcs[k], cases[i].nlb, (unsigned long long)cases[i].slba);
		}
		cpl = bare(NVME_NVM_WRITE_ZEROES, 1, cases[i].slba, cases[i].nlb, 0);
		is_u64(peer_status(&cpl), want, "E011: Write Zeroes");
		cpl = bare(NVME_NVM_VERIFY, 1, cases[i].slba, cases[i].nlb, 0);
		is_u64(peer_status(&cpl), want, "E011: Verify");
	}
}

/* A001: the opcode of Verify is that of an event request on the admin queue: only the queue tells. */
static void verify_is_no_event_request(void)
{
	unsigned int good = 0;

	for (int i = 0; i < 100; i++) {
		struct nvme_cpl cpl = bare(NVME_NVM_VERIFY, 1, (uint64_t)i, 8, 0);

		good += peer_status(&cpl) == NVME_SC_SUCCESS;
	}
	is_u64(good, 100, "A001: a hundred times Verify on an I/O queue, each answered");
}

static void nsids(void)
{
	static const uint32_t bad[] = { 0, 2, 4, 256, 257, 0xfffffffe, 0xffffffff };
	struct nvme_cpl cpl;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cpl = rw(&io, NVME_NVM_READ, bad[i], 0, 8, 0, in, 4096);
		is_status(&cpl, INVALID_NAMESPACE, "Read of namespace %u", bad[i]);
	}
	cpl = rw(&io, NVME_NVM_READ, 7, 0, 8, 0, in, 4096);
	is_status(&cpl, SUCCESS, "a read-only namespace can be read");
	cpl = rw(&io, NVME_NVM_WRITE, 7, 0, 8, 0, out, 4096);
	is_status(&cpl, WRITE_PROTECTED, "... and not written");
	cpl = bare(NVME_NVM_WRITE_ZEROES, 7, 0, 8, 0);
	is_status(&cpl, WRITE_PROTECTED, "... nor zeroed");
}

static void flushes(void)
{
	unsigned int before[2];
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_flush(&cmd, 3);
	before[1] = rig.stores[1].count[STORE_FLUSH];
	cpl = peer_do(&io, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "Flush");
	is_u64(rig.stores[1].count[STORE_FLUSH] - before[1], 1, "DU1: reaches the store");
	nvme_cmd_init_flush(&cmd, 0);
	cpl = peer_do(&io, &cmd, NULL, 0);
	is_status(&cpl, INVALID_NAMESPACE, "E013: Flush of namespace 0");
	before[0] = rig.stores[0].count[STORE_FLUSH];
	before[1] = rig.stores[1].count[STORE_FLUSH];
	rig.stores[0].hold = rig.stores[1].hold = true;
	nvme_cmd_init_flush(&cmd, NVME_NSID_ALL);
	peer_submit(&io, &cmd, NULL, 0);
	for (int i = 0; i < 6; i++) {
		rig_run(&rig, RIG_MS);
		rig_store_release_one(&rig.stores[i % 2]);
	}
	rig_store_release(&rig.stores[0]);
	rig_store_release(&rig.stores[1]);
	cpl = peer_wait(&io, io.cid);
	is_status(&cpl, SUCCESS, "E013: Flush of all namespaces");
	is_u64(rig.stores[0].count[STORE_FLUSH] - before[0], 2,
	       "... the first and the read-only one");
	is_u64(rig.stores[1].count[STORE_FLUSH] - before[1], 1, "... and the other");
	rig.stores[1].fail = -EIO;
	cpl = peer_do(&io, &cmd, NULL, 0);
	is_status(&cpl, WRITE_FAULT, "DU1: a flush that fails fails");
	rig.stores[1].fail = 0;
}

static void fua(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	unsigned int before = rig.stores[1].fua;

	rw(&io, NVME_NVM_WRITE, 3, 0, 1, 0, out, 4096);
	is_u64(rig.stores[1].fua, before, "a write without FUA");
	rw(&io, NVME_NVM_WRITE, 3, 0, 1, NVME_RW_FUA, out, 4096);
	is_u64(rig.stores[1].fua, before + 1, "DU2: a write with FUA");
	bare(NVME_NVM_WRITE_ZEROES, 3, 0, 1, NVME_RW_FUA);
	is_u64(rig.stores[1].fua, before + 2, "DU2: Write Zeroes with FUA");
	nvme_cmd_init_set_features(&cmd, 0x06, false, 0, 0);
	cpl = peer_do(&admin, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "the write cache is turned off");
	rw(&io, NVME_NVM_WRITE, 3, 0, 1, 0, out, 4096);
	is_u64(rig.stores[1].fua, before + 3, "DU2: every write is FUA then");
	nvme_cmd_init_set_features(&cmd, 0x06, false, 0, 1);
	peer_do(&admin, &cmd, NULL, 0);
	rw(&io, NVME_NVM_WRITE, 3, 0, 1, 0, out, 4096);
	is_u64(rig.stores[1].fua, before + 3, "and no more when it is on again");
}

static void zeroes_and_compare(void)
{
	static const uint8_t none[8192];
	struct nvme_cpl cpl;

	fill(out, 8192, 5);
	rw(&io, NVME_NVM_WRITE, 3, 10, 2, 0, out, 8192);
	cpl = rw(&io, NVME_NVM_COMPARE, 3, 10, 2, 0, out, 8192);
	is_status(&cpl, SUCCESS, "Compare of what is there");
	out[5000] ^= 1;
	cpl = rw(&io, NVME_NVM_COMPARE, 3, 10, 2, 0, out, 8192);
	is_status(&cpl, COMPARE_FAILURE, "Compare of what is not");
	cpl = bare(NVME_NVM_VERIFY, 3, 10, 2, 0);
	is_status(&cpl, SUCCESS, "Verify");
	rig.stores[1].keep = 0;
	cpl = bare(NVME_NVM_WRITE_ZEROES, 3, 10, 2, 0);
	is_status(&cpl, SUCCESS, "Write Zeroes");
	is_u64(rig.stores[1].keep, 1, "... which stay allocated");
	memset(in, 1, 8192);
	rw(&io, NVME_NVM_READ, 3, 10, 2, 0, in, 8192);
	is_mem(in, none, 8192, "... are zeroes");
	bare(NVME_NVM_WRITE_ZEROES, 3, 10, 2, NVME_RW_DEAC);
	is_u64(rig.stores[1].keep, 1, "Write Zeroes with DEAC may deallocate");
	cpl = bare(NVME_NVM_WRITE_ZEROES, 3, 0, 2048, 0);
	is_status(&cpl, SUCCESS, "Write Zeroes of 8 MiB: MDTS is about data that moves");
	for (uint32_t prinfo = NVME_RW_PRCHK_REF; prinfo <= NVME_RW_PRACT; prinfo <<= 1) {
		cpl = rw(&io, NVME_NVM_WRITE, 1, 0, 8, prinfo, out, 4096);
		is_status(&cpl, SUCCESS, "PRINFO %08x: ignored in a Write", prinfo);
		cpl = rw(&io, NVME_NVM_READ, 1, 0, 8, prinfo | NVME_RW_STC, in, 4096);
		is_status(&cpl, SUCCESS, "... in a Read");
		cpl = bare(NVME_NVM_VERIFY, 1, 0, 8, prinfo | NVME_RW_STC);
		is_status(&cpl, SUCCESS, "... and in a Verify");
		is_mem(in, out, 4096, "... nothing is added or taken away");
	}
	cpl = rw(&io, NVME_NVM_WRITE, 1, 0, 8, 1 << 20, out, 4096);
	is_status(&cpl, INVALID_FIELD, "a directive");
}

static struct nvme_cpl dsm(uint32_t nr, uint32_t attr, const struct nvme_dsm_range *r, uint32_t len)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_dsm(&cmd, 3, nr, attr);
	memset(out, 0, len);
	memcpy(out, r, MIN((size_t)len, nr * sizeof(*r)));
	return peer_do(&io, &cmd, out, len);
}

static void deallocate(void)
{
	static uint8_t none[4096];
	struct nvme_dsm_range r[256];
	struct nvme_cpl cpl;
	unsigned int before;

	fill(out, 1 << 20, 9);
	rw(&io, NVME_NVM_WRITE, 3, 0, 256, 0, out, 1 << 20);
	for (uint32_t i = 0; i < 256; i++)
		r[i] = nvme_dsm_range(i, i % 2);
	before = rig.stores[1].count[STORE_DISCARD];
	cpl = dsm(256, NVME_DSM_DEALLOCATE, r, 4096);
	is_status(&cpl, SUCCESS, "E002: 256 ranges, half of them empty");
	is_u64(rig.stores[1].count[STORE_DISCARD] - before, 128, "... reach the store");
	rw(&io, NVME_NVM_READ, 3, 1, 1, 0, in, 4096);
	is_mem(in, none, 4096, "what was deallocated reads as zeroes");
	rw(&io, NVME_NVM_READ, 3, 2, 1, 0, in, 4096);
	ok(memcmp(in, none, 4096) != 0, "its neighbour is there");
	r[0] = nvme_dsm_range(0, 1);
	cpl = dsm(1, NVME_DSM_DEALLOCATE, r, 4096);
	is_status(&cpl, SUCCESS, "E001: an SGL of a page for one range");
	cpl = dsm(256, NVME_DSM_DEALLOCATE, r, 16);
	is_status(&cpl, SGL_INVALID_LENGTH, "E001: an SGL of one range for 256");
	before = rig.stores[1].count[STORE_DISCARD];
	r[1] = nvme_dsm_range(2040, 9);
	cpl = dsm(2, NVME_DSM_DEALLOCATE, r, 32);
	is_status(&cpl, LBA_OUT_OF_RANGE, "E002: the second of two ranges ends behind the end");
	r[1] = nvme_dsm_range(UINT64_MAX, 0xffffffff);
	cpl = dsm(2, NVME_DSM_DEALLOCATE, r, 32);
	is_status(&cpl, LBA_OUT_OF_RANGE, "E002: or wraps");
	cpl = dsm(1, NVME_DSM_IDR, r, 16);
	is_status(&cpl, SUCCESS, "a hint");
	is_u64(rig.stores[1].count[STORE_DISCARD], before, "none of those touched anything");
	r[0] = nvme_dsm_range(0, 4);
	r[1] = nvme_dsm_range(2, 4);
	rig.stores[1].hold = true;
	{
		struct nvme_cmd cmd;

		nvme_cmd_init_dsm(&cmd, 3, 2, NVME_DSM_DEALLOCATE);
		cmd.sgl = nvme_sgl_in_capsule(0, 32);
		peer_submit(&io, &cmd, r, 32);
	}
	rig_run(&rig, RIG_MS);
	rig_store_release_one(&rig.stores[1]);
	rig_run(&rig, RIG_MS);
	rig_store_release(&rig.stores[1]);
	cpl = peer_wait(&io, io.cid);
	is_status(&cpl, SUCCESS, "E002: overlapping ranges, one after the other");
}

static void opcodes(void)
{
	static const uint8_t have[] = { 0x00, 0x01, 0x02, 0x05, 0x08, 0x09,
				     0x0c, 0x0d, 0x0e, 0x11, 0x15, 0x7f };
	unsigned int refused = 0;

	for (unsigned int opc = 0; opc < 256; opc++) {
		struct nvme_cmd cmd;
		struct nvme_cpl cpl;

		if (memchr(have, (int)opc, sizeof(have)))
			continue;
		nvme_cmd_init(&cmd, (uint8_t)opc, 1);
		cpl = peer_do(&io, &cmd, out, 4096);
		refused += peer_status(&cpl) == NVME_SC_INVALID_OPCODE && peer_dnr(&cpl);
	}
	is_u64(refused, 256 - sizeof(have), "E007, E010: every other opcode is Invalid Opcode");
}

static void store_errors(void)
{
	static const struct {
		int error;
		uint8_t opc;
		uint16_t status;
		const char *name;
	} cases[] = {
		{ -EIO, NVME_NVM_READ, NVME_SC_UNRECOVERED_READ, "DU5: EIO on Read" },
		{ -EIO, NVME_NVM_WRITE, NVME_SC_WRITE_FAULT, "DU5: EIO on Write" },
		{ -ENOSPC, NVME_NVM_WRITE, NVME_SC_CAPACITY_EXCEEDED, "DU4: ENOSPC" },
		{ -EROFS, NVME_NVM_WRITE, NVME_SC_WRITE_PROTECTED, "EROFS" },
	};
	union tcp_pdu pdu;
	struct nvme_cpl cpl;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rig.stores[0].fail = cases[i].error;
		cpl = rw(&io, cases[i].opc, 1, 0, 8, 0, out, 4096);
		is_u64(peer_status(&cpl), cases[i].status, "%s", cases[i].name);
		rig.stores[0].fail = 0;
		cpl = rw(&io, cases[i].opc, 1, 0, 8, 0, out, 4096);
		is_status(&cpl, SUCCESS, "%s: the next one succeeds", cases[i].name);
	}
	rig.stores[0].fail = -EIO;
	{
		struct nvme_cmd cmd;

		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 8, 0);
		cmd.sgl = nvme_sgl_transport(4096);
		peer_submit(&io, &cmd, NULL, 0);
	}
	ok(peer_next(&io, &pdu, NULL, 0, NULL) && pdu.ch.type == TCP_PDU_RSP,
	   "T034: a Read that failed sends no data");
	rig.stores[0].fail = 0;
}

int main(void)
{
	rig_init(&rig);
	rig_start(&rig);
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	sizes(&io, "plain");
	in_capsule(&io, "plain");
	with_digests();
	alignment();
	success_flag();
	deep();
	bad_digest();
	sgls();
	ranges();
	verify_is_no_event_request();
	nsids();
	flushes();
	fua();
	zeroes_and_compare();
	deallocate();
	opcodes();
	store_errors();
	peer_close(&io);
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}

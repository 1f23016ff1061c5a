/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that break the framing or the order of PDUs. Each test names the public fault that must not
 * be ours by its T-number. Expected every time: a C2HTermReq that names the fault, that connection
 * closed within its limit, one counter raised by one, and another connection that goes on as if
 * nothing had happened.
 *
 * FES and FEI are those of NVMe/TCP Transport 1.0, 3.6.2.5; where Linux and SPDK differ among
 * themselves, the standard decides.
 */
#include <stddef.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static uint16_t cntlid;
static struct peer admin, bystander;
static uint16_t next_qid = 2;

/* The bystander writes and reads back; true if all is well. */
static bool bystander_serves(void)
{
	static uint8_t tag;
	uint8_t out[4096], in[4096];
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	memset(out, ++tag, sizeof(out));
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 1024, 8, 0);
	cpl = peer_do(&bystander, &cmd, out, sizeof(out));
	if (peer_status(&cpl) != 0)
		return false;
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 1024, 8, 0);
	cpl = peer_do(&bystander, &cmd, in, sizeof(in));
	return peer_status(&cpl) == 0 && memcmp(in, out, sizeof(in)) == 0;
}

static void io_queue(struct peer *p)
{
	peer_io(p, &rig, RIG_NQN, next_qid, cntlid);
	next_qid = next_qid == 64 ? 2 : next_qid + 1;
}

static void hangs_up(struct peer *p, uint16_t fes, uint32_t fei, enum target_close reason,
		     uint64_t before, const char *what)
{
	ok(peer_terminated(p, fes, fei), "%s: C2HTermReq FES %u FEI %u, then closed", what, fes,
	   fei);
	is_u64(rig_closed(&rig, reason), before + 1, "%s: counted once", what);
	peer_close(p);
	ok(bystander_serves(), "%s: the other connection goes on", what);
}

/* A Write of 8 KiB that waits for its data; the R2T. */
static struct tcp_r2t start_write(struct peer *p)
{
	union tcp_pdu pdu;
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 16, 0);
	cmd.sgl = nvme_sgl_transport(8192);
	peer_submit(p, &cmd, NULL, 0);
	if (!peer_next(p, &pdu, NULL, 0, NULL) || pdu.ch.type != TCP_PDU_R2T)
		memset(&pdu, 0, sizeof(pdu));
	return pdu.r2t;
}

static struct tcp_data h2c(const struct tcp_r2t *r2t, uint32_t datao, uint32_t datal, uint32_t plen)
{
	return (struct tcp_data){
		.ch = { .type = TCP_PDU_H2C_DATA,
			.flags = TCP_PDU_LAST,
			.hlen = 24,
			.pdo = 24,
			.plen = cpu_to_le32(plen) },
		.cccid = r2t->cccid,
		.ttag = r2t->ttag,
		.datao = cpu_to_le32(datao),
		.datal = cpu_to_le32(datal),
	};
}

static void r2t_is_right(void)
{
	struct tcp_r2t r2t;
	struct peer p;

	io_queue(&p);
	r2t = start_write(&p);
	is_u64(r2t.ch.plen.b[0], 24, "R2T: 24 bytes");
	is_u64(le16_to_cpu(r2t.cccid), p.cid, "R2T: of the command");
	is_u64(le32_to_cpu(r2t.r2to), 0, "R2T: from the start");
	is_u64(le32_to_cpu(r2t.r2tl), 8192, "R2T: all of it");
	peer_close(&p);
}

/* T001 */
static void h2c_lengths(void)
{
	static const uint32_t plens[] = { 0, 8, 23, 24, 25, 8215, 8217, 0x80000000u, 0xffffffffu };

	for (size_t i = 0; i < ARRAY_SIZE(plens); i++) {
		uint64_t before = rig_closed(&rig, TARGET_CLOSE_PDU_FIELD);
		uint8_t junk[8192] = { 0 };
		struct tcp_r2t r2t;
		struct tcp_data d;
		struct peer p;
		char name[32];

		io_queue(&p);
		r2t = start_write(&p);
		d = h2c(&r2t, 0, 8192, plens[i]);
		peer_bytes(&p, &d, sizeof(d));
		peer_bytes(&p, junk, sizeof(junk));
		snprintf(name, sizeof(name), "T001: PLEN %u", plens[i]);
		hangs_up(&p, TCP_FES_HDR_FIELD, 4, TARGET_CLOSE_PDU_FIELD, before, name);
	}
}

/* T001 */
static void h2c_ranges(void)
{
	static const struct {
		uint32_t datao, datal;
		uint16_t fes;
		uint32_t fei;
		enum target_close reason;
		const char *name;
	} cases[] = {
		{ 0, 8196, TCP_FES_RANGE, 0, TARGET_CLOSE_PDU_RANGE,
		  "T001: more than the R2T asked for" },
		{ 4, 8188, TCP_FES_RANGE, 0, TARGET_CLOSE_PDU_RANGE,
		  "T001: a gap at the beginning" },
		{ 0xfffffffcu, 8192, TCP_FES_RANGE, 0, TARGET_CLOSE_PDU_RANGE,
		  "T001: an offset that wraps" },
		{ 0, 4096, TCP_FES_HDR_FIELD, 1, TARGET_CLOSE_PDU_FIELD,
		  "T001: LAST before the end" },
		{ 0, 0, TCP_FES_HDR_FIELD, 16, TARGET_CLOSE_PDU_FIELD, "T001: no data" },
		{ 0, (1 << 20) + 4, TCP_FES_LIMIT, 0, TARGET_CLOSE_PDU_LIMIT,
		  "T001: beyond MAXH2CDATA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t before = rig_closed(&rig, cases[i].reason);
		struct tcp_r2t r2t;
		struct tcp_data d;
		struct peer p;

		io_queue(&p);
		r2t = start_write(&p);
		d = h2c(&r2t, cases[i].datao, cases[i].datal, 24 + cases[i].datal);
		peer_bytes(&p, &d, sizeof(d));
		hangs_up(&p, cases[i].fes, cases[i].fei, cases[i].reason, before, cases[i].name);
	}
}

/* T002 */
static void h2c_tags(void)
{
	uint64_t before = rig_closed(&rig, TARGET_CLOSE_PDU_FIELD);
	const uint32_t fei = offsetof(struct tcp_data, ttag);
	uint8_t buf[8192] = { 0 };
	struct tcp_r2t r2t = { 0 };
	struct tcp_data d;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer p;

	io_queue(&p);
	d = h2c(&r2t, 0, 8192, 24 + 8192);
	peer_bytes(&p, &d, sizeof(d));
	hangs_up(&p, TCP_FES_HDR_FIELD, fei, TARGET_CLOSE_PDU_FIELD, before++,
		 "T002: H2CData before any command");

	io_queue(&p);
	r2t = start_write(&p);
	r2t.ttag = cpu_to_le16(0xffff);
	d = h2c(&r2t, 0, 8192, 24 + 8192);
	peer_bytes(&p, &d, sizeof(d));
	hangs_up(&p, TCP_FES_HDR_FIELD, fei, TARGET_CLOSE_PDU_FIELD, before++,
		 "T002: a tag never issued");

	io_queue(&p);
	r2t = start_write(&p);
	r2t.cccid = cpu_to_le16(99);
	d = h2c(&r2t, 0, 8192, 24 + 8192);
	peer_bytes(&p, &d, sizeof(d));
	hangs_up(&p, TCP_FES_HDR_FIELD, offsetof(struct tcp_data, cccid), TARGET_CLOSE_PDU_FIELD,
		 before++, "T002: the tag of another command");

	io_queue(&p);
	r2t = start_write(&p);
	d = h2c(&r2t, 0, 8192, 24 + 8192);
	peer_bytes(&p, &d, sizeof(d));
	peer_bytes(&p, buf, sizeof(buf));
	cpl = peer_wait(&p, p.cid);
	is_status(&cpl, SUCCESS, "T002: the data is taken once");
	peer_bytes(&p, &d, sizeof(d));
	peer_bytes(&p, buf, sizeof(buf));
	hangs_up(&p, TCP_FES_HDR_FIELD, fei, TARGET_CLOSE_PDU_FIELD, before++,
		 "T002: but not twice");

	/* The tag is used again by the next command; its number differs all the same. */
	io_queue(&p);
	r2t = start_write(&p);
	d = h2c(&r2t, 0, 8192, 24 + 8192);
	peer_bytes(&p, &d, sizeof(d));
	peer_bytes(&p, buf, sizeof(buf));
	peer_wait(&p, p.cid);
	start_write(&p);
	d.cccid = cpu_to_le16(p.cid);
	peer_bytes(&p, &d, sizeof(d));
	hangs_up(&p, TCP_FES_HDR_FIELD, fei, TARGET_CLOSE_PDU_FIELD, before++,
		 "T002: nor for the next command");

	io_queue(&p);
	rig.stores[0].hold = true;
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 16, 0);
	cmd.sgl = nvme_sgl_transport(8192);
	r2t = (struct tcp_r2t){ .cccid = cpu_to_le16(peer_submit(&p, &cmd, NULL, 0)) };
	d = h2c(&r2t, 0, 8192, 24 + 8192);
	peer_bytes(&p, &d, sizeof(d));
	rig_run(&rig, RIG_MS);
	rig_store_release(&rig.stores[0]);
	hangs_up(&p, TCP_FES_HDR_FIELD, fei, TARGET_CLOSE_PDU_FIELD, before++,
		 "T002: H2CData for a Read");
}

/* T004 */
static void bad_icreq(void)
{
	static uint8_t junk[4096];

	memset(junk, 0xa5, sizeof(junk));
	for (int i = 0; i < 300; i++) {
		struct tcp_icreq ic = {
			.ch = { .type = TCP_PDU_ICREQ, .hlen = 128, .plen = cpu_to_le32(128) },
			.dgst = 3,
		};
		struct peer p;

		if (i % 3 == 0)
			ic.pfv = cpu_to_le16(1);
		else if (i % 3 == 1)
			ic.ch.hlen = 127;
		peer_open(&p, &rig, -1);
		peer_bytes(&p, &ic, sizeof(ic));
		peer_bytes(&p, junk, sizeof(junk));
		rig_run(&rig, RIG_MS);
		peer_close(&p);
	}
	ok(bystander_serves(), "T004: 300 connections end in or right after a bad ICReq");
	rig_run(&rig, 5 * RIG_S);
	{
		struct target_stats st;

		target_stats(rig.target, &st);
		is_u64(st.open, 2, "T004: nothing is left of them");
	}
}

static void icreq_fields(void)
{
	static const uint8_t hpdas[] = { 32, 255 };
	struct tcp_icreq ic = {
		.ch = { .type = TCP_PDU_ICREQ, .hlen = 128, .plen = cpu_to_le32(128) }
	};
	struct peer p;

	for (size_t i = 0; i < ARRAY_SIZE(hpdas); i++) {
		uint64_t before = rig_closed(&rig, TARGET_CLOSE_PDU_FIELD);

		ic.hpda = hpdas[i];
		peer_open(&p, &rig, -1);
		peer_bytes(&p, &ic, sizeof(ic));
		hangs_up(&p, TCP_FES_HDR_FIELD, offsetof(struct tcp_icreq, hpda),
			 TARGET_CLOSE_PDU_FIELD, before, "T020: HPDA above 31");
	}
	ic.hpda = 31;
	ic.maxr2t = cpu_to_le32(0xffffffff);
	peer_open(&p, &rig, -1);
	peer_bytes(&p, &ic, sizeof(ic));
	{
		union tcp_pdu pdu;

		ok(peer_next(&p, &pdu, NULL, 0, NULL) && pdu.ch.type == TCP_PDU_ICRESP,
		   "T020: HPDA 31 and any MAXR2T are fine");
		is_u64(le32_to_cpu(pdu.icresp.maxh2cdata), 1 << 20, "ICResp: MAXH2CDATA in bytes");
		is_u64(pdu.icresp.cpda, 0, "ICResp: CPDA");
	}
	peer_close(&p);
}

/* T023 */
static void types(void)
{
	static const uint8_t bad[] = { 0x08,           0x0a,        0xac,       0xff,
				       TCP_PDU_ICRESP, TCP_PDU_RSP, TCP_PDU_R2T };
	struct tcp_icreq ic = {
		.ch = { .type = TCP_PDU_ICREQ, .hlen = 128, .plen = cpu_to_le32(128) }
	};
	struct peer p;
	uint64_t before;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct tcp_ch ch = { .type = bad[i], .hlen = 24, .plen = cpu_to_le32(24) };
		char name[40];

		before = rig_closed(&rig, TARGET_CLOSE_PDU_FIELD);
		io_queue(&p);
		peer_bytes(&p, &ch, sizeof(ch));
		snprintf(name, sizeof(name), "T023: PDU type %02xh", bad[i]);
		hangs_up(&p, TCP_FES_HDR_FIELD, 0, TARGET_CLOSE_PDU_FIELD, before, name);
	}
	before = rig_closed(&rig, TARGET_CLOSE_PDU_SEQUENCE);
	io_queue(&p);
	peer_bytes(&p, &ic, sizeof(ic));
	hangs_up(&p, TCP_FES_SEQUENCE, 0, TARGET_CLOSE_PDU_SEQUENCE, before++,
		 "T023: a second ICReq");
	peer_open(&p, &rig, -1);
	peer_bytes(&p, "GET / HTTP/1.1\r\n\r\n", 18);
	hangs_up(&p, TCP_FES_SEQUENCE, 0, TARGET_CLOSE_PDU_SEQUENCE, before++, "T023: HTTP");
}

/* T025 */
static void term(void)
{
	struct tcp_term t = {
		.ch = { .type = TCP_PDU_H2C_TERM, .hlen = 24, .plen = cpu_to_le32(24) },
		.fes = cpu_to_le16(1),
	};
	uint64_t before = rig_closed(&rig, TARGET_CLOSE_HOST_TERM);
	struct peer p;

	io_queue(&p);
	start_write(&p);
	peer_bytes(&p, &t, sizeof(t));
	ok(peer_ends(&p, RIG_S / 10), "T025: H2CTermReq: we close, at once");
	is_u64(rig_closed(&rig, TARGET_CLOSE_HOST_TERM), before + 1, "T025: counted once");
	peer_close(&p);
	t.ch.hlen = 8;
	io_queue(&p);
	peer_bytes(&p, &t, sizeof(t));
	ok(peer_ends(&p, RIG_S / 10), "T025: a malformed H2CTermReq: closed without an answer");
	ok(p.in_len == p.in_at, "T025: nothing was said");
	peer_close(&p);
}

/* T025 */
static void overrun(void)
{
	uint64_t before = rig_closed(&rig, TARGET_CLOSE_QUEUE_OVERRUN);
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;
	struct peer p;

	peer_open(&p, &rig, -1);
	peer_ic(&p, 0, false, false);
	cpl = peer_connect(&p, RIG_NQN, next_qid++, cntlid, 16, 0);
	is_status(&cpl, SUCCESS, "T025: a queue of 16 entries");
	rig.stores[0].hold = true;
	for (int i = 0; i < 16; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 1, 0);
		cmd.sgl = nvme_sgl_transport(512);
		peer_submit(&p, &cmd, NULL, 0);
	}
	rig_run(&rig, RIG_MS);
	is_u64(rig_closed(&rig, TARGET_CLOSE_QUEUE_OVERRUN), before, "T025: 16 commands are held");
	peer_submit(&p, &cmd, NULL, 0);
	rig_run(&rig, RIG_MS);
	rig_store_release(&rig.stores[0]);
	hangs_up(&p, TCP_FES_SEQUENCE, 0, TARGET_CLOSE_QUEUE_OVERRUN, before, "T025: the 17th");
}

/* T027 */
static void dribble(void)
{
	uint8_t out[512], in[512], bytes[1200];
	struct nvme_connect_data data;
	struct nvme_cmd cmd;
	struct tcp_cmd pdu;
	union tcp_pdu got;
	struct peer p;
	bool right = true;

	memset(out, 0x3c, sizeof(out));
	io_queue(&p);
	for (size_t split = 1; split < sizeof(pdu) + sizeof(out); split += split < 100 ? 1 : 37) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 5, 1, 0);
		cmd.cid = cpu_to_le16((uint16_t)split);
		cmd.sgl = nvme_sgl_in_capsule(0, 512);
		pdu = (struct tcp_cmd){ .ch = { .type = TCP_PDU_CMD,
						.hlen = 72,
						.pdo = 72,
						.plen = cpu_to_le32(72 + 512) },
					.sqe = cmd };
		memcpy(bytes, &pdu, sizeof(pdu));
		memcpy(bytes + sizeof(pdu), out, sizeof(out));
		peer_bytes(&p, bytes, split);
		rig_run(&rig, RIG_MS);
		peer_bytes(&p, bytes + split, sizeof(pdu) + sizeof(out) - split);
		right = right && peer_next(&p, &got, NULL, 0, NULL) && got.ch.type == TCP_PDU_RSP &&
			nvme_cpl_cid(&got.rsp.cqe) == split && peer_status(&got.rsp.cqe) == 0;
	}
	ok(right, "T027: a capsule cut in two at every byte of its header, and in its data");
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 5, 1, 0);
	peer_do(&p, &cmd, in, sizeof(in));
	is_mem(in, out, sizeof(in), "T027: what was written arrived");
	peer_close(&p);

	peer_open(&p, &rig, -1);
	peer_ic(&p, 0, false, false);
	nvme_cmd_init_connect(&cmd, 0, 32, 0, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
	peer_connect_data(&p, RIG_NQN, NVME_CNTLID_DYNAMIC, &data);
	pdu = (struct tcp_cmd){ .ch = { .type = TCP_PDU_CMD,
					.hlen = 72,
					.pdo = 72,
					.plen = cpu_to_le32(72 + 1024) },
				.sqe = cmd };
	memcpy(bytes, &pdu, sizeof(pdu));
	memcpy(bytes + sizeof(pdu), &data, sizeof(data));
	for (size_t i = 0; i < sizeof(pdu) + sizeof(data); i++) {
		peer_bytes(&p, bytes + i, 1);
		rig_run(&rig, RIG_MS);
	}
	ok(peer_next(&p, &got, NULL, 0, NULL) && got.ch.type == TCP_PDU_RSP &&
		   peer_status(&got.rsp.cqe) == 0,
	   "T027: a Connect byte by byte, 1 ms apart");
	peer_close(&p);
}

/*
 * Whatever comes after the Connect: the connection ends or serves, the bystander does not notice.
 */
static void noise(void)
{
	struct rng r;

	rng_init(&r, 11);
	for (int i = 0; i < 200; i++) {
		uint8_t bytes[600];
		struct peer p;

		io_queue(&p);
		rng_fill(&r, bytes, sizeof(bytes));
		/* Half of them begin like a PDU. */
		if (i % 2) {
			bytes[0] = i % 4 == 1 ? TCP_PDU_CMD : TCP_PDU_H2C_DATA;
			bytes[1] = 0;
			bytes[2] = i % 4 == 1 ? 72 : 24;
			bytes[3] = bytes[2];
			bytes[4] = (uint8_t)rng_below(&r, 256);
			bytes[5] = (uint8_t)rng_below(&r, 3);
			bytes[6] = bytes[7] = 0;
		}
		peer_bytes(&p, bytes, sizeof(bytes));
		rig_run(&rig, RIG_MS);
		peer_close(&p);
	}
	rig_run(&rig, 5 * RIG_S);
	ok(bystander_serves(), "200 connections of noise");
}

int main(void)
{
	rig_init(&rig);
	rig.log.level = LOG_LEVEL_INFO;
	rig_start(&rig);
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	peer_io(&bystander, &rig, RIG_NQN, 1, cntlid);
	r2t_is_right();
	h2c_lengths();
	h2c_ranges();
	h2c_tags();
	bad_icreq();
	icreq_fields();
	types();
	term();
	overrun();
	dribble();
	noise();
	ok(rig.log_len < 20000, "the log stayed short: %zu bytes", rig.log_len);
	peer_close(&bystander);
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}

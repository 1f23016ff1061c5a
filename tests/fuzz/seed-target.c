/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes seeds for fuzz-target into a directory: sessions that make sense, so that the fuzzer starts
 * behind Connect and knows what commands look like.
 */
#include "nvme/cmd.h"
#include "nvme/feature.h"
#include "nvme/log.h"
#include "nvme/vendor.h"
#include "tests/fuzz/seed.h"

enum { CAP = 4096 };
enum { OPEN, BYTES, COMMAND, DATA, STORE, TIME, CLOSE, ARENA, FILLED };
enum { FILLED_BYTES = 32, SECOND = 4 /* added to a connection: of the second host */ };

static uint8_t seed[CAP];
static size_t len;
static uint16_t cid; /* of the last command */

static void byte(unsigned int b)
{
	seed[len++] = (uint8_t)b;
}

static void step(unsigned int conn, unsigned int what, unsigned int arg)
{
	byte((conn & 3) << 6 | (conn & SECOND) << 3 | what);
	byte(arg);
}

/* Dwords 0 and 1; commands are numbered from 1. */
static void head(const struct nvme_cmd *cmd)
{
	struct nvme_cmd c = *cmd;

	c.cid = cpu_to_le16(++cid);
	memcpy(seed + len, &c, 8);
}

/* @data: in-capsule data, units of 64 bytes. The parts of the SQE that fuzz-target takes. */
static void command(unsigned int conn, const struct nvme_cmd *cmd, unsigned int data)
{
	step(conn, COMMAND, data);
	head(cmd);
	memcpy(seed + len + 8, &cmd->sgl.len, 8);
	memcpy(seed + len + 16, &cmd->cdw10, 12);
	len += 28;
}

/* With all dwords and @n bytes of data, which is sent in the capsule. */
static void filled(unsigned int conn, const struct nvme_cmd *cmd, const void *data, size_t n)
{
	struct nvme_cmd c = *cmd;

	c.sgl = n ? nvme_sgl_in_capsule(0, (uint32_t)n) : nvme_sgl_transport(0);
	step(conn, FILLED, (unsigned int)n / 8);
	head(&c);
	memcpy(seed + len + 8, &c.sgl.len, 8);
	memcpy(seed + len + 16, &c.cdw10, 24);
	len += 40;
	if (n == 0)
		return;
	memset(seed + len, 0, FILLED_BYTES);
	memcpy(seed + len, data, n);
	len += FILLED_BYTES;
}

static void begin(void)
{
	memset(seed, 0, sizeof(seed));
	len = 0;
	cid = 0;
}

static void host(unsigned int first, unsigned int flags)
{
	for (unsigned int n = 0; n < 4; n++)
		step(first + n, OPEN, flags);
}

static void start(unsigned int flags)
{
	begin();
	host(0, flags);
}

static void save(const char *dir, const char *name)
{
	seed_save(dir, name, seed, len);
}

static void rw(unsigned int conn, uint8_t opc, uint32_t nsid, uint32_t nlb, unsigned int block,
	       bool capsule)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, nsid, 0, nlb, 0);
	cmd.sgl = capsule ? nvme_sgl_in_capsule(0, nlb * block) : nvme_sgl_transport(nlb * block);
	command(conn, &cmd, capsule ? nlb * block / 64 : 0);
}

static void io(const char *dir, unsigned int flags, const char *name)
{
	struct nvme_cmd cmd;

	start(flags);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(2, NVME_NVM_WRITE, 3, 8, 4096, false);
	step(2, TIME, 2);
	step(2, DATA, 1);
	step(2, DATA, 7);
	rw(3, NVME_NVM_READ, 1, 16, 512, false);
	nvme_cmd_init_flush(&cmd, NVME_NSID_ALL);
	command(1, &cmd, 0);
	nvme_cmd_init_dsm(&cmd, 3, 2, NVME_DSM_DEALLOCATE);
	cmd.sgl = nvme_sgl_in_capsule(0, 32);
	command(3, &cmd, 1);
	rw(1, NVME_NVM_COMPARE, 1, 1, 512, true);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE_ZEROES, 1, 0, 8, NVME_RW_DEAC);
	command(1, &cmd, 0);
	step(1, TIME, 4);
	nvme_cmd_init_disconnect(&cmd);
	command(2, &cmd, 0);
	step(2, TIME, 4);
	save(dir, name);
}

static void admin(const char *dir)
{
	struct nvme_get_log g = { .lid = NVME_LID_SMART, .bytes = 512 };
	struct nvme_cmd cmd;

	start(0);
	for (uint8_t cns = 0; cns < 4; cns++) {
		nvme_cmd_init_identify(&cmd, cns, 1, 0, 0);
		cmd.sgl = nvme_sgl_transport(4096);
		command(0, &cmd, 0);
	}
	nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
	cmd.sgl = nvme_sgl_transport(512);
	command(0, &cmd, 0);
	nvme_cmd_init_set_features(&cmd, 0x0b, false, 0, 0x100);
	command(0, &cmd, 0);
	nvme_cmd_init_get_features(&cmd, 0x81, 0, 0, 1);
	cmd.sgl = nvme_sgl_transport(16);
	command(0, &cmd, 0);
	nvme_cmd_init_set_features(&cmd, 0x0f, false, 0, 1000);
	command(0, &cmd, 0);
	nvme_cmd_init_async_event(&cmd);
	command(0, &cmd, 0);
	step(0, STORE, 2);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, false);
	nvme_cmd_init_abort(&cmd, 1, 0);
	command(0, &cmd, 0);
	step(0, TIME, 3);
	step(1, DATA, 4);
	nvme_cmd_init_property_set(&cmd, 0x14, 4, 0x464001);
	command(0, &cmd, 0);
	step(0, TIME, 0x84);
	save(dir, "admin");
}

/* ---- reservations ---- */

static void reserve(unsigned int conn, uint8_t opc, uint8_t action, bool ignore, uint8_t type, uint64_t key,
		    uint64_t other)
{
	struct nvme_resv_keys keys = { cpu_to_le64(key), cpu_to_le64(other) };
	struct nvme_cmd cmd;

	nvme_cmd_init_resv(&cmd, opc, 1, action, ignore, type, 0);
	filled(conn, &cmd, &keys, opc == NVME_NVM_RESV_RELEASE ? 8 : 16);
	step(conn, TIME, 4);
}

static void report(unsigned int conn, bool extended)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_resv_report(&cmd, 1, 512, extended);
	cmd.sgl = nvme_sgl_transport(512);
	command(conn, &cmd, 0);
}

static void event(unsigned int conn)
{
	struct nvme_get_log g = { .lid = NVME_LID_RESERVATION, .bytes = 64 };
	struct nvme_cmd cmd;

	nvme_cmd_init_async_event(&cmd);
	command(conn, &cmd, 0);
	nvme_cmd_init_get_log(&cmd, 0, &g);
	cmd.sgl = nvme_sgl_transport(64);
	command(conn, &cmd, 0);
}

static void reservations(const char *dir, uint8_t type, const char *name)
{
	struct nvme_cmd cmd;

	start(0);
	host(SECOND, 0);
	nvme_cmd_init_async_event(&cmd);
	command(0, &cmd, 0);
	command(SECOND, &cmd, 0);
	reserve(1, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, false, 0, 0, 0xa1);
	reserve(SECOND + 1, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, true, 0, 0, 0xb2);
	reserve(1, NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, false, 0, 0xa1, 0xa3);
	reserve(1, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_ACQUIRE, false, type, 0xa3, 0);
	report(1, false);
	report(SECOND + 2, true);
	/* Kept off, or not. */
	rw(SECOND + 1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(SECOND + 1, NVME_NVM_READ, 1, 8, 512, false);
	rw(2, NVME_NVM_WRITE, 1, 8, 512, true);
	/* A write in flight of whom is preempted and aborted. */
	step(0, STORE, 2);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	reserve(SECOND + 1, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_PREEMPT_AND_ABORT, false, type, 0xb2, 0xa3);
	step(0, STORE, 0);
	step(0, TIME, 4);
	event(0);
	reserve(1, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, false, 0, 0, 0xa4);
	reserve(1, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_PREEMPT, false, type, 0xa4, 0xb2);
	event(SECOND);
	reserve(1, NVME_NVM_RESV_RELEASE, NVME_RRELA_RELEASE, false, type, 0xa4, 0);
	reserve(1, NVME_NVM_RESV_RELEASE, NVME_RRELA_CLEAR, false, type, 0xa4, 0);
	reserve(1, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, false, 0, 0, 0xa4);
	step(1, CLOSE, 0);
	reserve(2, NVME_NVM_RESV_REGISTER, NVME_RREGA_UNREGISTER, false, 0, 0xa4, 0);
	for (uint8_t fid = NVME_FID_RESERVATION_MASK; fid <= NVME_FID_NS_WRITE_PROTECTION; fid++) {
		nvme_cmd_init_get_features(&cmd, fid, 0, 0, 1);
		command(0, &cmd, 0);
	}
	nvme_cmd_init_set_features(&cmd, 0x82, false, 0, 0xe);
	cmd.nsid = cpu_to_le32(1);
	command(0, &cmd, 0);
	nvme_cmd_init_set_features(&cmd, 0x83, false, 0, 1);
	cmd.nsid = cpu_to_le32(1);
	command(0, &cmd, 0);
	save(dir, name);
}

/* ---- the rarer commands ---- */

static void sqe(unsigned int conn, const struct nvme_cmd *cmd)
{
	step(conn, FILLED, 0);
	head(cmd);
	memcpy(seed + len + 8, &cmd->sgl.len, 8);
	memcpy(seed + len + 16, &cmd->cdw10, 24);
	len += 40;
}

static void one(unsigned int conn, uint8_t opc, uint32_t nsid, uint32_t nlb, uint32_t flags, uint8_t fuse,
		uint32_t dw13)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, nsid, 3, nlb, flags);
	cmd.flags |= fuse;
	cmd.cdw13 = cpu_to_le32(dw13);
	cmd.sgl = nvme_sgl_transport(opc == NVME_NVM_READ ? nlb * 512 : 0);
	sqe(conn, &cmd);
}

/* Compare and Write of one block, data in the capsule or asked for. */
static void fused(unsigned int conn, uint8_t opc, uint8_t fuse, bool capsule)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, 1, 8, 1, 0);
	cmd.flags |= fuse;
	cmd.sgl = capsule ? nvme_sgl_in_capsule(0, 512) : nvme_sgl_transport(512);
	command(conn, &cmd, capsule ? 8 : 0);
}

static void fusing(const char *dir)
{
	start(0);
	fused(1, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
	fused(1, NVME_NVM_WRITE, NVME_FUSE_SECOND, true);
	fused(2, NVME_NVM_COMPARE, NVME_FUSE_FIRST, false);
	fused(2, NVME_NVM_WRITE, NVME_FUSE_SECOND, false);
	step(2, TIME, 2);
	step(2, DATA, 4);
	step(2, TIME, 2);
	step(2, DATA, 4);
	fused(3, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
	rw(3, NVME_NVM_READ, 1, 8, 512, false);
	fused(3, NVME_NVM_WRITE, NVME_FUSE_SECOND, true);
	fused(3, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
	step(0, STORE, 2);
	fused(1, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
	fused(1, NVME_NVM_WRITE, NVME_FUSE_SECOND, true);
	step(3, CLOSE, 1);
	step(0, STORE, 8);
	step(0, TIME, 4);
	save(dir, "fused");
}

static void rare(const char *dir)
{
	struct nvme_dsm_range ranges[] = { nvme_dsm_range(1, 2), nvme_dsm_range(9, 1) };
	struct nvme_cmd cmd;

	start(0);
	one(1, NVME_NVM_VERIFY, 1, 8, 0, 0, 0);
	one(1, NVME_NVM_VERIFY, 1, 8, NVME_RW_PRCHK_GUARD, 0, 0);
	one(1, NVME_NVM_WRITE_ZEROES, 1, 8, 0, 0, 0);
	one(1, NVME_NVM_WRITE_ZEROES, 1, 8, NVME_RW_DEAC | NVME_RW_FUA, 0, 0);
	one(1, NVME_NVM_WRITE_UNCORRECTABLE, 1, 8, 0, 0, 0);
	nvme_cmd_init_dsm(&cmd, 1, 2, NVME_DSM_DEALLOCATE);
	filled(2, &cmd, ranges, sizeof(ranges));
	nvme_cmd_init_dsm(&cmd, 1, 1, NVME_DSM_IDR);
	filled(2, &cmd, ranges, sizeof(ranges[0]));
	step(0, STORE, 2);
	nvme_cmd_init_dsm(&cmd, 1, 2, NVME_DSM_DEALLOCATE);
	filled(2, &cmd, ranges, sizeof(ranges));
	nvme_cmd_init_flush(&cmd, 3);
	command(3, &cmd, 0);
	step(0, TIME, 2);
	step(0, STORE, 0);
	step(0, STORE, 1);
	/* Times of the vendor extension: on, asked for, off. */
	nvme_cmd_init_set_features(&cmd, NVME_FID_VENDOR_TIMES, false, 0, NVME_TIMES_ALL_QUEUES | NVME_TIMES_ENABLE);
	command(0, &cmd, 0);
	nvme_cmd_init_get_features(&cmd, NVME_FID_VENDOR_TIMES, 0, 0, 1);
	command(0, &cmd, 0);
	step(0, TIME, 2);
	one(3, NVME_NVM_READ, 1, 8, 0, 0, NVME_RW_TIMED);
	one(3, NVME_NVM_READ, 1, 8, NVME_RW_FUA, 0, NVME_RW_TIMED);
	nvme_cmd_init_set_features(&cmd, NVME_FID_VENDOR_TIMES, false, 0, 3);
	command(0, &cmd, 0);
	step(0, TIME, 4);
	save(dir, "rare");
}

/* Of a write that waits for its data, one in the store, one that is parked for memory, and none. */
static void aborts(const char *dir)
{
	struct nvme_cmd cmd;

	start(0);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, false);
	step(0, STORE, 2);
	rw(2, NVME_NVM_READ, 1, 8, 512, false);
	step(0, ARENA, 1);
	rw(3, NVME_NVM_READ, 3, 2, 4096, false);
	nvme_cmd_init_async_event(&cmd);
	command(0, &cmd, 0);
	step(0, TIME, 2);
	fused(1, NVME_NVM_COMPARE, NVME_FUSE_FIRST, false);
	fused(1, NVME_NVM_WRITE, NVME_FUSE_SECOND, false);
	fused(2, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
	step(0, TIME, 2);
	for (uint16_t which = 1, last = cid; which <= last; which++) {
		/* Of each on its own queue and on none. */
		for (uint16_t qid = 0; qid < 4; qid++) {
			nvme_cmd_init_abort(&cmd, qid, which);
			command(0, &cmd, 0);
		}
		step(0, TIME, 1);
	}
	step(0, TIME, 2);
	step(0, ARENA, 0);
	step(0, STORE, 0);
	step(1, DATA, 4);
	step(1, TIME, 2);
	step(1, DATA, 4);
	step(0, TIME, 4);
	save(dir, "aborts");
}

/* Every log and feature there is, and the pages of Identify. */
static void pages(const char *dir)
{
	static const uint8_t lids[] = { 0, 1, 2, 3, 4, 5, 0x0c, 0x12, 0x70, 0x80 };
	struct nvme_cmd cmd;

	start(0);
	for (size_t i = 0; i < sizeof(lids); i++) {
		struct nvme_get_log g = { .lid = lids[i], .bytes = 4096, .offset = i % 3 * 4 };

		nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
		cmd.sgl = nvme_sgl_transport(4096);
		command(0, &cmd, 0);
		step(0, TIME, 1);
	}
	for (unsigned int cns = 0; cns < 0x20; cns++) {
		nvme_cmd_init_identify(&cmd, (uint8_t)cns, 1, 0, 0);
		cmd.sgl = nvme_sgl_transport(4096);
		command(0, &cmd, 0);
		step(0, TIME, 1);
	}
	save(dir, "pages");
	for (uint8_t sel = 0; sel < 4; sel++) {
		char name[32];

		start(0);
		for (unsigned int fid = 0; fid < 0x20; fid++) {
			nvme_cmd_init_get_features(&cmd, (uint8_t)(fid < 0x1b ? fid : 0x70 + fid), sel, 0, 1);
			command(0, &cmd, 0);
			nvme_cmd_init_set_features(&cmd, (uint8_t)(fid < 0x1b ? fid : 0x70 + fid), false, 0, fid);
			command(0, &cmd, 0);
			step(0, TIME, 1);
		}
		snprintf(name, sizeof(name), "features-%u", sel);
		save(dir, name);
	}
}

/* The discovery service: its log, in pieces, events, and what it does not do. */
static void discovery(const char *dir)
{
	struct nvme_get_log g = { .lid = NVME_LID_DISCOVERY, .bytes = 4096 };
	struct nvme_cmd cmd;

	begin();
	step(0, OPEN, 128);
	step(0, TIME, 2);
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cmd.sgl = nvme_sgl_transport(4096);
	command(0, &cmd, 0);
	for (; g.offset < 4096; g.offset += 1024) {
		nvme_cmd_init_get_log(&cmd, 0, &g);
		cmd.sgl = nvme_sgl_transport(4096);
		sqe(0, &cmd);
	}
	nvme_cmd_init_set_features(&cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0, UINT32_C(1) << 31);
	command(0, &cmd, 0);
	nvme_cmd_init_async_event(&cmd);
	command(0, &cmd, 0);
	nvme_cmd_init_keep_alive(&cmd);
	command(0, &cmd, 0);
	step(1, OPEN, 128);
	step(0, TIME, 4);
	save(dir, "discovery");
}

/* Properties read and written, keep alive, and a silence that ends it all. */
static void properties(const char *dir)
{
	static const uint32_t offsets[] = { 0, 8, 0x14, 0x1c, 0x20, 0x68, 0xffffffff };
	struct nvme_cmd cmd;

	start(0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		for (unsigned int size = 4; size <= 8; size += 4) {
			nvme_cmd_init_property_get(&cmd, offsets[i], size);
			command(0, &cmd, 0);
			nvme_cmd_init_property_set(&cmd, offsets[i], size, i);
			command(i & 1, &cmd, 0);
		}
	}
	nvme_cmd_init_keep_alive(&cmd);
	command(0, &cmd, 0);
	step(0, TIME, 0xff);
	step(0, TIME, 0xff);
	save(dir, "properties");
}

/* A host that comes back while its writes are in the store, and waits for the fence. */
static void fence(const char *dir)
{
	start(0);
	step(0, STORE, 2);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(2, NVME_NVM_WRITE, 3, 2, 4096, true);
	step(0, TIME, 2);
	for (unsigned int n = 0; n < 4; n++)
		step(n, CLOSE, n & 1);
	host(0, 0);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(1, NVME_NVM_READ, 1, 8, 512, false);
	fused(2, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
	fused(2, NVME_NVM_WRITE, NVME_FUSE_SECOND, true);
	step(0, TIME, 4);
	step(0, STORE, 4);
	step(0, TIME, 4);
	step(0, STORE, 0);
	step(0, TIME, 0x85);
	step(0, TIME, 0x85);
	save(dir, "fence");
}

/* Commands that wait for memory, go away while they do, or get it. */
static void hungry(const char *dir)
{
	start(0);
	step(0, ARENA, 1);
	for (unsigned int n = 1; n < 4; n++) {
		rw(n, NVME_NVM_READ, 1, 64, 512, false);
		rw(n, NVME_NVM_WRITE, 1, 8, 512, true);
		rw(n, NVME_NVM_WRITE, 3, 8, 4096, false);
		fused(n, NVME_NVM_COMPARE, NVME_FUSE_FIRST, true);
		fused(n, NVME_NVM_WRITE, NVME_FUSE_SECOND, true);
	}
	step(0, TIME, 4);
	step(1, CLOSE, 1);
	step(0, ARENA, 3);
	step(0, TIME, 4);
	step(0, ARENA, 0);
	step(0, TIME, 4);
	step(2, DATA, 4);
	step(3, DATA, 4);
	step(0, TIME, 4);
	save(dir, "hungry");
}

static void trouble(const char *dir)
{
	start(0);
	step(0, STORE, 2);
	step(0, ARENA, 1);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(2, NVME_NVM_READ, 1, 8, 512, false);
	step(1, TIME, 2);
	step(1, CLOSE, 0);
	step(1, OPEN, 0);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	step(0, STORE, 4);
	step(0, ARENA, 0);
	step(0, TIME, 2);
	step(0, CLOSE, 1);
	step(0, OPEN, 0);
	step(0, STORE, 0);
	step(1, BYTES, 3);
	byte(4);
	byte(0);
	byte(72);
	step(1, TIME, 0xc0);
	save(dir, "trouble");
}

int main(int argc, char **argv)
{
	const char *dir = seed_directory(argc, argv);

	io(dir, 0, "io");
	io(dir, 3, "io-digests");
	io(dir, 4, "io-sqflow");
	io(dir, 0xf0, "io-pda");
	admin(dir);
	trouble(dir);
	reservations(dir, NVME_RTYPE_WRITE_EXCLUSIVE, "reserved-writes");
	reservations(dir, NVME_RTYPE_EXCLUSIVE_ACCESS_REGISTRANTS, "reserved-registrants");
	reservations(dir, NVME_RTYPE_EXCLUSIVE_ACCESS_ALL, "reserved-all");
	fusing(dir);
	rare(dir);
	aborts(dir);
	pages(dir);
	discovery(dir);
	properties(dir);
	fence(dir);
	hungry(dir);
	return 0;
}

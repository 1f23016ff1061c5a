/* SPDX-License-Identifier: Apache-2.0 */
/* Writes seeds for fuzz-discovery into a directory: one thing that is wrong, or rare, in each. */
#include <stddef.h>

#include "nvme/feature.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "nvme/status.h"
#include "tests/fuzz/seed.h"

/* As in fuzz-discovery.c. */
enum { CONTROL, CTRL, NS, LIST, DESC, LIMITS, LOG };
enum { SAW_EVENT = 15, DISCOVERY = 1, ONE = 2, DIGESTS = 4, TIMED = 8, WALK = 128 };
enum { CAP = 0, VS = 8, CSTS = 12, QUEUES = 16, RESULT = 20, EVENT = 28, RESTLESS = 32, STATUS = 36, LESS = 66 };
enum { A_CAP, A_VS, A_CSTS, A_SET_CC, A_CTRL, A_LIMITS, A_LIST, A_NS, A_DESC, A_BEHAVIOR, A_EVENTS, A_QUEUES,
       A_TIMES, A_LOG, A_IO };

static uint8_t seed[4096];
static size_t len;

static void begin(unsigned int flags)
{
	seed[0] = (uint8_t)flags;
	len = 1;
}

static void patch(unsigned int page, size_t offset, const void *bytes, size_t n)
{
	seed[len++] = (uint8_t)(page | 128);
	seed[len++] = (uint8_t)n;
	seed[len++] = (uint8_t)offset;
	seed[len++] = (uint8_t)(offset >> 8);
	memcpy(seed + len, bytes, n);
	len += n;
}

static void number(unsigned int page, size_t offset, uint64_t value, size_t n)
{
	le64 bytes = cpu_to_le64(value);

	patch(page, offset, &bytes, n);
}

static void event(void)
{
	seed[len++] = SAW_EVENT;
}

static void save(const char *dir, const char *name)
{
	seed_save(dir, name, seed, len);
}

static void one(const char *dir, const char *name, unsigned int flags, unsigned int page, size_t offset,
		uint64_t value, size_t n)
{
	begin(flags);
	number(page, offset, value, n);
	save(dir, name);
}

static void controllers(const char *dir)
{
	static const uint8_t vendor[] = "PENSTOCK\1\0\0\0\1\0\0";

	begin(0);
	save(dir, "right");
	begin(ONE | DIGESTS);
	save(dir, "one-namespace");
	one(dir, "cap-zero", 0, CONTROL, CAP, 0, 8);
	one(dir, "cap-large-pages", 0, CONTROL, CAP, UINT64_C(0xffff) << 48 | 0x2000ff, 8);
	one(dir, "version-1", 0, CONTROL, VS, 0x10000, 4);
	one(dir, "never-ready", 0, CONTROL, CSTS, 0, 4);
	one(dir, "fatal", 0, CONTROL, CSTS, 3, 4);
	one(dir, "no-queues", 0, CONTROL, QUEUES, 0, 4);
	one(dir, "many-queues", 0, CONTROL, QUEUES, 0xffffffff, 4);
	one(dir, "other-cntlid", 0, CTRL, offsetof(struct nvme_id_ctrl, cntlid), 0xffff, 2);
	one(dir, "mdts-none", 0, CTRL, offsetof(struct nvme_id_ctrl, mdts), 0, 1);
	one(dir, "mdts-huge", 0, CTRL, offsetof(struct nvme_id_ctrl, mdts), 255, 1);
	one(dir, "maxcmd-1", 0, CTRL, offsetof(struct nvme_id_ctrl, maxcmd), 1, 2);
	one(dir, "ioccsz", 0, CTRL, offsetof(struct nvme_id_ctrl, ioccsz), 0xffffffff, 4);
	one(dir, "crdt", 0, CTRL, offsetof(struct nvme_id_ctrl, crdt1), 10, 2);
	one(dir, "no-keep-alive", 0, CTRL, offsetof(struct nvme_id_ctrl, kas), 0, 2);
	one(dir, "wzsl", 0, LIMITS, offsetof(struct nvme_id_ctrl_nvm, wzsl), 3, 1);
	begin(TIMED);
	patch(CTRL, offsetof(struct nvme_id_ctrl, vs), vendor, sizeof(vendor));
	number(CONTROL, RESULT, UINT64_C(1) << 63 | 0x12345, 8);
	save(dir, "times");
	begin(TIMED);
	patch(CTRL, offsetof(struct nvme_id_ctrl, vs), vendor, sizeof(vendor));
	number(CONTROL, STATUS + 2 * A_TIMES, 0x4004, 2);
	save(dir, "times-refused");
	for (unsigned int ask = A_CAP; ask <= A_IO; ask++) {
		char name[32];

		snprintf(name, sizeof(name), "refused-%u", ask);
		one(dir, name, 0, CONTROL, STATUS + 2 * ask, 0x4004, 2);
		snprintf(name, sizeof(name), "short-%u", ask);
		one(dir, name, 0, CONTROL, LESS + 2 * ask, 4, 2);
	}
}

static void namespaces(const char *dir)
{
	static const le32 out_of_order[] = { { { 9 } }, { { 1 } }, { { 9 } }, { { 0xff, 0xff, 0xff, 0xff } } };
	static const uint8_t odd[] = { 3, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 2, 3, 4, 5, 6, 77, 3, 0, 0,
				       1, 1, 1, 1, 8, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 4, 1, 0, 0, 0, 2, 255 };

	begin(0);
	patch(LIST, 0, out_of_order, sizeof(out_of_order));
	save(dir, "list-out-of-order");
	one(dir, "list-empty", 0, LIST, 0, 0, 8);
	one(dir, "ns-inactive", ONE, NS, 0, 0, 8);
	one(dir, "ns-huge", 0, NS, 0, UINT64_MAX, 8);
	one(dir, "ns-metadata", 0, NS, offsetof(struct nvme_id_ns, lbaf), 0x90008, 4);
	one(dir, "ns-tiny-blocks", 0, NS, offsetof(struct nvme_id_ns, lbaf) + 2, 3, 1);
	begin(0);
	number(NS, offsetof(struct nvme_id_ns, lbaf) + 2, 16, 1);
	number(NS, offsetof(struct nvme_id_ns, nsfeat), 0xff, 1);
	number(NS, offsetof(struct nvme_id_ns, npwg), 0xffff, 2);
	save(dir, "ns-large-blocks");
	begin(0);
	patch(DESC, 0, odd, sizeof(odd));
	save(dir, "descriptors");
	begin(0);
	event();
	number(DESC, 4, 99, 1);
	event();
	number(LIST, 4, 0, 4);
	event();
	number(CONTROL, STATUS + 2 * A_LIST, 0x4004, 2);
	save(dir, "changes");
	begin(0);
	number(CONTROL, STATUS + 2 * A_LOG, 0x4004, 2);
	event();
	number(CONTROL, EVENT, 0x0001ff07, 4);
	event();
	save(dir, "events");
}

static void logs(const char *dir)
{
	const size_t first = sizeof(struct nvme_log_discovery);
	uint8_t rubbish[200];

	begin(DISCOVERY);
	save(dir, "log");
	one(dir, "log-empty", DISCOVERY, LOG, offsetof(struct nvme_log_discovery, numrec), 0, 8);
	one(dir, "log-long", DISCOVERY, LOG, offsetof(struct nvme_log_discovery, numrec), 100, 8);
	one(dir, "log-endless", DISCOVERY, LOG, offsetof(struct nvme_log_discovery, numrec), UINT64_MAX, 8);
	one(dir, "log-format", DISCOVERY, LOG, offsetof(struct nvme_log_discovery, recfmt), 1, 2);
	one(dir, "log-restless", DISCOVERY, CONTROL, RESTLESS, 3, 1);
	one(dir, "log-never-still", DISCOVERY, CONTROL, RESTLESS, 255, 1);
	one(dir, "log-refused", DISCOVERY, CONTROL, STATUS + 2 * A_LOG, 0x4004, 2);
	one(dir, "log-short", DISCOVERY, CONTROL, LESS + 2 * A_LOG, 4, 2);
	memset(rubbish, 0x9b, sizeof(rubbish));
	begin(DISCOVERY);
	patch(LOG, first + offsetof(struct nvme_discovery_entry, traddr), rubbish, sizeof(rubbish));
	patch(LOG, first + offsetof(struct nvme_discovery_entry, trsvcid), rubbish, 32);
	patch(LOG, first + offsetof(struct nvme_discovery_entry, subnqn), rubbish, 100);
	save(dir, "log-rubbish");
}

static void walks(const char *dir)
{
	struct nvme_log_ana head = { .chgcnt = cpu_to_le64(1), .ngrps = cpu_to_le16(2) };
	struct nvme_ana_desc desc = { .grpid = cpu_to_le32(1), .nnsids = cpu_to_le32(2), .state = 1 };

	begin(WALK);
	memcpy(seed + len, &head, sizeof(head));
	len += sizeof(head);
	for (int i = 0; i < 2; i++) {
		memcpy(seed + len, &desc, sizeof(desc));
		len += sizeof(desc);
		memset(seed + len, 1, 8);
		len += 8;
	}
	save(dir, "ana");
	/* Commands, to be shown. */
	for (unsigned int opc = 0; opc < 0x80; opc++) {
		char name[32];

		begin(WALK);
		memset(seed + len, (int)opc, 64);
		seed[len + 4] = (uint8_t)(opc % 9);
		len += 64;
		snprintf(name, sizeof(name), "command-%u", opc);
		save(dir, name);
	}
}

int main(int argc, char **argv)
{
	const char *dir = seed_directory(argc, argv);

	controllers(dir);
	namespaces(dir);
	logs(dir);
	walks(dir);
	return 0;
}

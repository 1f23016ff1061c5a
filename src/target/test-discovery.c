/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discovery service: what each host sees, at which address, and that it is told of changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nvme/aen.h"
#include "nvme/feature.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "nvme/nqn.h"
#include "nvme/text.h"
#include "target/discovery.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static uint8_t page[64 * 1024];

static struct nvme_cpl read_log(struct peer *p, uint64_t offset, uint32_t bytes, bool rae)
{
	struct nvme_get_log g = {
		.lid = NVME_LID_DISCOVERY, .offset = offset, .bytes = bytes, .rae = rae
	};
	struct nvme_cmd cmd;

	memset(page, 0xee, sizeof(page));
	nvme_cmd_init_get_log(&cmd, 0, &g);
	return peer_do(p, &cmd, page, bytes);
}

static const struct nvme_log_discovery *head(void)
{
	return (const void *)page;
}

static const struct nvme_discovery_entry *entry(size_t i)
{
	return (const void *)(page + 1024 * (i + 1));
}

static const char *traddr(size_t i)
{
	static char text[NVME_TEXT_ESCAPED_MAX(256)];

	return nvme_text_decode(entry(i)->traddr, 256, text, sizeof(text));
}

static const char *trsvcid(size_t i)
{
	static char text[NVME_TEXT_ESCAPED_MAX(32)];

	return nvme_text_decode(entry(i)->trsvcid, 32, text, sizeof(text));
}

static void open_as(struct peer *p, struct rig *rig, int listener, const char *host,
		    const char *nqn)
{
	struct nvme_cpl cpl;

	peer_open(p, rig, listener);
	peer_ic(p, 0, false, false);
	p->hostnqn = host;
	cpl = peer_connect(p, nqn, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SUCCESS, "connected to %s", nqn);
	peer_enable(p);
}

static void contents(struct rig *rig)
{
	struct nvme_cpl cpl;
	struct peer p;
	bool stripped;

	open_as(&p, rig, 0, RIG_HOST, NVME_DISCOVERY_NQN);
	cpl = read_log(&p, 0, 8192, false);
	is_status(&cpl, SUCCESS, "the log is read");
	is_u64(le64_to_cpu(head()->numrec), 3,
	       "a host that one subsystem admits: itself and two listeners");
	is_u64(le16_to_cpu(head()->recfmt), 0, "RECFMT");
	is_u64(entry(0)->subtype, NVME_SUBTYPE_CURRENT, "D005: the service itself comes first");
	is_str((const char *)entry(0)->subnqn, NVME_DISCOVERY_NQN, "D005: by its name");
	is_u64(entry(1)->subtype, NVME_SUBTYPE_NVM, "then the subsystem");
	is_str((const char *)entry(1)->subnqn, RIG_NQN, "by its name");
	is_str((const char *)entry(2)->subnqn, RIG_NQN, "and again at the other listener");
	is_u64(entry(1)->trtype, NVME_TRTYPE_TCP, "TCP");
	is_u64(entry(1)->adrfam, NVME_ADRFAM_IPV4, "IPv4");
	is_str(trsvcid(1), "4420", "the port of the first");
	is_str(trsvcid(2), "4421", "the port of the second");
	is_u64(le16_to_cpu(entry(1)->portid), 1, "PORTID");
	is_u64(le16_to_cpu(entry(1)->cntlid), NVME_CNTLID_DYNAMIC, "CNTLID FFFFh");
	ok(le16_to_cpu(entry(1)->asqsz) >= 32, "ASQSZ of at least 32");
	is_u64(entry(1)->treq & NVME_TREQ_SECURE_MASK, NVME_TREQ_NOT_SPECIFIED,
	       "D008: TREQ without TLS");
	is_u64(entry(1)->tsas[0], NVME_TCP_SECTYPE_NONE, "D008: TSAS without TLS");
	stripped = entry(1)->traddr[255] == ' ' && entry(1)->trsvcid[31] == ' ';
	ok(stripped, "C014: addresses are padded with spaces");
	ok(page[1024 * 4] == 0 && page[8191] == 0,
	   "D005: the header counts what is there, then zeroes");
	peer_close(&p);

	open_as(&p, rig, 0, RIG_HOST2, NVME_DISCOVERY_NQN);
	read_log(&p, 0, 8192, false);
	is_u64(le64_to_cpu(head()->numrec), 5, "C006: the host that both admit sees both");
	is_str((const char *)entry(3)->subnqn, RIG_OTHER, "C006: the other one");
	peer_close(&p);
	rig_run(rig, RIG_MS);
}

/* T009, D001 */
static void pieces(struct rig *rig)
{
	uint8_t whole[6144], genctr[8];
	struct nvme_cpl cpl;
	struct peer p;
	bool right = true;

	open_as(&p, rig, 0, RIG_HOST2, NVME_DISCOVERY_NQN);
	read_log(&p, 0, sizeof(whole), true);
	memcpy(whole, page, sizeof(whole));
	for (uint32_t at = 0; at < sizeof(whole); at += 516) {
		uint32_t n = MIN((uint32_t)sizeof(whole) - at, 516u);

		read_log(&p, at, n, true);
		right = right && memcmp(page, whole + at, n) == 0;
	}
	ok(right, "D001: in pieces that cross entries");
	cpl = read_log(&p, 6144, 1024, true);
	is_status(&cpl, SUCCESS, "T009: right behind the end");
	cpl = read_log(&p, 6148, 1024, true);
	is_status(&cpl, INVALID_FIELD, "T009: past the end");
	cpl = read_log(&p, 0x100000, 1024, true);
	is_status(&cpl, INVALID_FIELD, "T009: far past the end");
	cpl = read_log(&p, UINT64_C(0xfffffffffffffffc), 1024, true);
	is_status(&cpl, INVALID_FIELD, "T009: at the end of 64 bits");
	memcpy(genctr, whole, 8);
	tgt_discovery_changed(rig->target);
	read_log(&p, 0, 1024, true);
	ok(memcmp(genctr, page, 8) != 0, "D001: GENCTR changes with what the log is made from");
	peer_close(&p);
	rig_run(rig, RIG_MS);
}

static void controller(struct rig *rig)
{
	const struct nvme_id_ctrl *id = (const void *)page;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer p, q;
	uint16_t cntlid;

	open_as(&p, rig, 0, RIG_HOST, NVME_DISCOVERY_NQN);
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&p, &cmd, page, 4096);
	is_status(&cpl, SUCCESS, "Identify Controller");
	is_u64(id->cntrltype, NVME_CNTRLTYPE_DISCOVERY, "CNTRLTYPE");
	is_str((const char *)id->subnqn, NVME_DISCOVERY_NQN, "SUBNQN");
	is_u64(le32_to_cpu(id->oaes), NVME_AEC_DISCOVERY, "OAES");
	is_u64(le32_to_cpu(id->nn), 0, "no namespaces");
	is_u64(id->cmic, 0, "no ANA");
	cntlid = le16_to_cpu(id->cntlid);
	nvme_cmd_init_identify(&cmd, NVME_CNS_NS, 1, 0, 0);
	cpl = peer_do(&p, &cmd, page, 4096);
	is_status(&cpl, INVALID_FIELD, "Identify Namespace");
	nvme_cmd_init_get_features(&cmd, NVME_FID_NUMBER_OF_QUEUES, 0, 0, 0);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_FIELD, "Number of Queues");
	nvme_cmd_init_abort(&cmd, 0, 1);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_OPCODE, "Abort");
	{
		struct nvme_get_log g = { .lid = NVME_LID_SMART, .bytes = 512 };

		nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
		cpl = peer_do(&p, &cmd, page, 512);
		is_status(&cpl, LOG_PAGE_INVALID, "SMART");
	}
	peer_open(&q, rig, 0);
	peer_ic(&q, 0, false, false);
	cpl = peer_connect(&q, NVME_DISCOVERY_NQN, 1, cntlid, 32, 0);
	is_status(&cpl, CONNECT_INVALID_PARAM, "an I/O queue of a discovery controller");
	peer_close(&q);
	peer_close(&p);
	rig_run(rig, RIG_MS);
}

/* D007: KATO 0 and others are accepted, and the controller stays. */
static void persistent(struct rig *rig)
{
	static const uint32_t katos[] = { 0, 1000, 30000 };

	for (size_t i = 0; i < ARRAY_SIZE(katos); i++) {
		struct nvme_cpl cpl;
		struct nvme_cmd cmd;
		struct peer p;
		bool served = true;

		peer_open(&p, rig, 0);
		peer_ic(&p, 0, false, false);
		cpl = peer_connect(&p, NVME_DISCOVERY_NQN, 0, NVME_CNTLID_DYNAMIC, 32, katos[i]);
		is_status(&cpl, SUCCESS, "D007: KATO %u", katos[i]);
		peer_enable(&p);
		for (int s = 0; s < 300 && katos[i]; s++) {
			rig_run(rig, 990 * RIG_MS);
			nvme_cmd_init_keep_alive(&cmd);
			cpl = peer_do(&p, &cmd, NULL, 0);
			served = served && peer_status(&cpl) == 0;
		}
		if (!katos[i])
			rig_run(rig, 300 * RIG_S);
		ok(served, "D007: Keep Alive is served, not only taken for traffic");
		cpl = read_log(&p, 0, 1024, false);
		is_status(&cpl, SUCCESS, "D007: and 5 minutes later it is still there");
		peer_close(&p);
	}
	rig_run(rig, RIG_MS);
}

/* D006: one event for a change that the host can see, none for others. */
static void events(struct rig *rig)
{
	struct tgt_subsys *other = rig->target->subsystems[2];
	struct nvme_event e;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer p;
	uint16_t cid;

	open_as(&p, rig, 0, RIG_HOST, NVME_DISCOVERY_NQN);
	nvme_cmd_init_set_features(&cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0, NVME_AEC_DISCOVERY);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "D006: the event is enabled");
	nvme_cmd_init_async_event(&cmd);
	cid = peer_submit(&p, &cmd, NULL, 0);
	tgt_discovery_changed(rig->target);
	cpl = peer_wait(&p, cid);
	is_u64(le16_to_cpu(cpl.status), 0xffff, "D006: a change that this host does not see");
	other->hosts.any = true;
	tgt_discovery_changed(rig->target);
	tgt_discovery_changed(rig->target);
	cpl = peer_wait(&p, cid);
	e = nvme_event_decode(nvme_cpl_dw0(&cpl));
	ok(e.type == NVME_EVENT_NOTICE && e.info == NVME_NOTICE_DISCOVERY &&
		   e.lid == NVME_LID_DISCOVERY,
	   "D006: one that it does: Discovery Log Page Change");
	nvme_cmd_init_async_event(&cmd);
	cid = peer_submit(&p, &cmd, NULL, 0);
	other->hosts.any = false;
	tgt_discovery_changed(rig->target);
	cpl = peer_wait(&p, cid);
	is_u64(le16_to_cpu(cpl.status), 0xffff, "masked until the log is read");
	peer_submit(&p, &cmd, NULL, 0);
	read_log(&p, 0, 4096, false);
	cpl = peer_wait(&p, cid);
	is_status(&cpl, SUCCESS, "and then it is told");
	peer_close(&p);
	rig_run(rig, RIG_MS);
}

/* Wildcards, loopback, an address to advertise, a name of its own. */
static void addresses(void)
{
	struct target_listener_config l[5];
	struct err err;
	struct rig rig;
	struct peer p;

	memset(l, 0, sizeof(l));
	rig_init(&rig);
	io_addr_parse("0.0.0.0:4420", 0, false, &l[0].addr, &err);
	io_addr_parse("127.0.0.1:4421", 0, false, &l[1].addr, &err);
	sim_node_addr(rig.node, 4422, &l[2].addr);
	io_addr_parse("storage.example:8009", 0, false, &l[2].advertise, &err);
	io_addr_parse("192.0.2.7:8009", 0, false, &l[2].advertise, &err);
	sim_node_addr6(rig.node, 4423, &l[3].addr);
	sim_node_addr(rig.node, 4420, &l[4].addr);
	rig.config.listeners = l;
	rig.config.listener_count = 4;
	rig.config.discovery_nqn = "nqn.2026-11.io.penstock:discovery";
	rig_start(&rig);

	open_as(&p, &rig, 0, RIG_HOST, "nqn.2026-11.io.penstock:discovery");
	read_log(&p, 0, 16384, false);
	/* The in-process connection has a loopback address. */
	is_u64(le64_to_cpu(head()->numrec), 5, "itself and four listeners");
	is_str((const char *)entry(0)->subnqn, "nqn.2026-11.io.penstock:discovery",
	       "D009: its own name");
	is_str(traddr(1), "127.0.0.1", "a wildcard: where the host reached us");
	is_str(trsvcid(1), "4420", "... at the port of the listener");
	is_str(traddr(2), "127.0.0.1", "loopback is shown to whoever came through it");
	is_str(traddr(3), "192.0.2.7", "what is to be advertised");
	is_str(trsvcid(3), "8009", "... with its port");
	is_u64(entry(4)->adrfam, NVME_ADRFAM_IPV6, "IPv6");
	ok(strchr(traddr(4), ':') && !strchr(traddr(4), '['), "... without brackets: %s",
	   traddr(4));
	peer_close(&p);
	open_as(&p, &rig, 0, RIG_HOST, NVME_DISCOVERY_NQN);
	peer_close(&p);
	rig_end(&rig);
}

int main(void)
{
	struct rig rig;

	rig_init(&rig);
	rig_start(&rig);
	contents(&rig);
	pieces(&rig);
	controller(&rig);
	persistent(&rig);
	events(&rig);
	rig_end(&rig);
	addresses();
	return tap_done();
}

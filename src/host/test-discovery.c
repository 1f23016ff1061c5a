/* SPDX-License-Identifier: Apache-2.0 */
/* The discovery log: in pieces, while it changes, with rubbish in it, and too long. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/discovery.h"
#include "host/test-world.h"
#include "nvme/feature.h"
#include "nvme/text.h"
#include "tests/tap.h"

static struct {
	struct nvme_log_discovery header;
	struct nvme_discovery_entry entries[300];
	unsigned int headers, pieces;
	unsigned int restless; /* so many times it changes while it is being read */
	bool short_read;
} log_page;

static struct {
	bool called;
	int error;
	char text[512];
	uint64_t generation;
	size_t count;
	struct host_discovery_entry entries[300];
} result;

static bool serve_log(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct nvme_get_log g;
	const uint8_t *at = (const uint8_t *)&log_page.header;
	uint32_t n;

	if (c->qid != 0 || cmd->opc != NVME_ADMIN_GET_LOG_PAGE)
		return false;
	g = nvme_cmd_get_log(cmd);
	n = (uint32_t)g.bytes;
	if (g.offset == 0) {
		log_page.headers++;
		/* It changes before each look at the header but the first. */
		if (log_page.headers > 1 && log_page.restless > 0) {
			log_page.restless--;
			log_page.header.genctr =
				cpu_to_le64(le64_to_cpu(log_page.header.genctr) + 1);
		}
	} else {
		log_page.pieces++;
	}
	if (log_page.short_read && g.offset)
		n -= 4;
	for (uint32_t done = 0; done < n; done += MIN(n - done, 4096u))
		fake_c2h(c, nvme_cmd_cid(cmd), done, at + g.offset + done, MIN(n - done, 4096u),
			 done + 4096 >= n, false);
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_success(), 0);
	return true;
}

static void on_log(void *arg, const struct host_discovery_log *log, const struct err *err)
{
	memset(&result, 0, sizeof(result));
	result.called = true;
	if (err) {
		result.error = err->code;
		memcpy(result.text, err->text, sizeof(result.text));
		return;
	}
	result.generation = log->generation;
	result.count = log->count;
	memcpy(result.entries, log->entries, log->count * sizeof(*log->entries));
}

static bool called(void *arg)
{
	return result.called;
}

static void fill(size_t count)
{
	memset(&log_page, 0, sizeof(log_page));
	log_page.header.genctr = cpu_to_le64(7);
	log_page.header.numrec = cpu_to_le64(count);
	for (size_t i = 0; i < MIN(count, ARRAY_SIZE(log_page.entries)); i++) {
		struct nvme_discovery_entry *e = &log_page.entries[i];

		e->trtype = NVME_TRTYPE_TCP;
		e->adrfam = NVME_ADRFAM_IPV4;
		e->subtype = NVME_SUBTYPE_NVM;
		e->portid = cpu_to_le16((uint16_t)i);
		nvme_text_encode(e->traddr, sizeof(e->traddr), "10.0.0.1");
		nvme_text_encode(e->trsvcid, sizeof(e->trsvcid), "4420");
		memcpy(e->subnqn, FAKE_NQN, sizeof(FAKE_NQN));
	}
}

static void k_discovery(struct fake *f, struct host_config *c)
{
	f->id.cntrltype = NVME_CNTRLTYPE_DISCOVERY;
	f->id.mdts = 3; /* 32 KiB: 32 entries at once */
	f->id.oaes = cpu_to_le32(NVME_AEC_DISCOVERY);
	f->hook = serve_log;
	c->subnqn = NULL;
}

static void discover(const char *what, int error, world_knob knob)
{
	struct host_discovery *d;
	struct world w;

	world_prepare(&w, knob);
	result.called = false;
	ok(host_discover(w.f.host_loop, &w.config, on_log, NULL, &d, NULL) == 0 &&
		   sim_run_until(w.f.sim, called, NULL, 120 * FAKE_S) == 0,
	   "%s: an answer", what);
	is_u64(result.error, (uint64_t)error, "%s: %s", what, error ? result.text : "no error");
	if (!error)
		is_u64(le32_to_cpu(w.f.last_connect.kato), 0, "%s: no keep alive (D007)", what);
	world_end(&w);
}

static void k_refused(struct fake *f, struct host_config *c)
{
	k_discovery(f, c);
	fake_stop(f);
}

static void k_no_log(struct fake *f, struct host_config *c)
{
	k_discovery(f, c);
	f->hook = NULL;
	f->c2h_chunk = 512;
}

static void logs(void)
{
	fill(100);
	discover("100 entries", 0, k_discovery);
	ok(result.count == 100 && result.generation == 7 && log_page.pieces == 4 &&
		   log_page.headers == 2,
	   "in four pieces, between two looks at the header");
	is_str(result.entries[99].traddr, "10.0.0.1", "padding is stripped (C014)");
	is_str(result.entries[99].trsvcid, "4420", "of the port too (C014)");
	is_str(result.entries[99].subnqn, FAKE_NQN, "NQN");
	is_u64(result.entries[99].portid, 99, "the last one is the last one");

	fill(0);
	discover("no entries", 0, k_discovery);
	ok(result.count == 0 && log_page.pieces == 0, "an empty log");

	fill(40);
	log_page.restless = 3;
	discover("it changes three times", 0, k_discovery);
	ok(result.count == 40 && result.generation == 10 && log_page.pieces == 8,
	   "read until it stood still (D001)");

	fill(10);
	log_page.restless = 1000;
	discover("it never stands still (D001)", EAGAIN, k_discovery);

	fill(10);
	log_page.header.numrec = cpu_to_le64(UINT64_MAX);
	discover("2^64 - 1 entries", E2BIG, k_discovery);

	fill(10);
	log_page.header.recfmt = cpu_to_le16(1);
	discover("a format of the future", EPROTONOSUPPORT, k_discovery);

	fill(10);
	log_page.short_read = true;
	discover("less than was asked for", EPROTO, k_discovery);

	fill(2);
	memset(&log_page.entries[0].traddr, 0xff, 256);
	memset(&log_page.entries[0].subnqn, 'A', 256);
	memset(&log_page.entries[1].trsvcid, 0, 32);
	discover("rubbish in text fields", 0, k_discovery);
	ok(!strncmp(result.entries[0].traddr, "\\xff", 4) && result.entries[0].subnqn[0] == 0 &&
		   result.entries[1].trsvcid[0] == 0,
	   "made safe to print");

	discover("nobody there", ECONNREFUSED, k_refused);
	fill(0);
	discover("an empty page", 0, k_no_log);
}

static void cancelled(void)
{
	unsigned int bad = 0;

	for (uint64_t us = 0; us < 4000; us += 100) {
		struct host_discovery *d;
		struct world w;

		fill(100);
		world_prepare(&w, k_discovery);
		result.called = false;
		bad += host_discover(w.f.host_loop, &w.config, on_log, NULL, &d, NULL) != 0;
		sim_run_for(w.f.sim, us * 1000);
		if (!result.called)
			host_discovery_cancel(d);
		bad += sim_run_until(w.f.sim, called, NULL, 120 * FAKE_S) != 0 ||
		       (result.error != 0 && result.error != ECANCELED);
		world_end(&w);
	}
	is_u64(bad, 0, "cancelled at 40 moments: one answer each");
}

static void k_persistent(struct fake *f, struct host_config *c)
{
	k_discovery(f, c);
	c->subnqn = NVME_DISCOVERY_NQN;
}

static void persistent(void)
{
	struct host_discovery *d;
	struct host_ctrl_info i;
	struct world w;

	fill(3);
	world_open(&w, k_persistent);
	world_until(&w, HOST_EVENT_LIVE);
	host_ctrl_info(w.ctrl, &i);
	ok(i.discovery && i.queues == 0, "a discovery controller that stays connected");
	sim_run_for(w.f.sim, 5 * FAKE_S);
	ok(w.f.keep_alives >= 9 && !w.lost, "is kept alive (D007)");
	is_u64(w.f.aec, NVME_AEC_DISCOVERY, "events of its log are asked for");
	fake_event(&w.f, 0x0070f002);
	ok(world_until(&w, HOST_EVENT_DISCOVERY), "and told");
	result.called = false;
	ok(host_discovery_read(w.ctrl, on_log, NULL, &d, NULL) == 0 &&
		   sim_run_until(w.f.sim, called, NULL, 10 * FAKE_S) == 0 && result.count == 3,
	   "its log is read through it");
	world_close(&w);
	world_end(&w);
}

int main(void)
{
	logs();
	cancelled();
	persistent();
	return tap_done();
}

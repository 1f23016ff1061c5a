/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a running target, on two cores, with commands in every place where a change could hurt
 * them: in the store, waiting for their data, waiting for memory.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/aen.h"
#include "nvme/cmd-admin.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "nvme/nqn.h"
#include "target/change.h"
#include "target/inspect.h"
#include "target/test-rig.h"
#include "tests/tap.h"

#define NEW_NQN "nqn.2026-11.io.penstock:new"

static struct rig rig;
static struct io_loop *second;
static struct err err;

static void start(void)
{
	struct io_loop *loops[2];

	rig_init(&rig);
	loops[0] = rig.loop;
	loops[1] = second = sim_loop_new(rig.node);
	rig.config.limits.drain_ns = 5 * RIG_S;
	ok(target_new_on_loops(&rig.config, loops, 2, &rig.target, &err) == 0 &&
		   target_start(rig.target, &err) == 0,
	   "a target on two loops %s", err.text);
}

/* The next connections go to that core: the other one looks busy. */
static void steer(unsigned int core)
{
	atomic_store(&rig.target->reactors[core].load, 1000);
	atomic_store(&rig.target->reactors[1 - core].load, 2000);
}

static int settled;

static void on_settled(struct target_settled *s)
{
	settled++;
}

static struct target_settled watch = { on_settled };
static struct store *released;

static void on_release(void *arg, struct store *store)
{
	released = store;
}

/* ---- a host ---------------------------------------------------------------------------------- */

struct host {
	struct peer admin, io; /* on core 0 and 1 */
	uint16_t aer;
};

static void ask_for_event(struct host *h)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_async_event(&cmd);
	h->aer = peer_submit(&h->admin, &cmd, NULL, 0);
}

static void attach(struct host *h, const char *nqn)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	uint16_t id;

	steer(0);
	id = peer_admin(&h->admin, &rig, nqn);
	steer(1);
	peer_io(&h->io, &rig, nqn, 1, id);
	nvme_cmd_init_set_features(&cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0,
				   NVME_AEC_NS_ATTRIBUTE);
	cpl = peer_do(&h->admin, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "events are enabled");
	ask_for_event(h);
}

static void detach(struct host *h)
{
	peer_close(&h->io);
	peer_close(&h->admin);
	rig_run(&rig, RIG_S);
}

/* An event came for @nsid alone; asks for the next one. */
static void told(struct host *h, uint32_t nsid, const char *what)
{
	struct nvme_get_log g = { .lid = NVME_LID_CHANGED_NS, .bytes = 4096 };
	static struct nvme_log_changed_ns page;
	struct nvme_cpl cpl = peer_wait(&h->admin, h->aer);
	struct nvme_event e = nvme_event_decode(nvme_cpl_dw0(&cpl));
	struct nvme_cmd cmd;

	ok(peer_status(&cpl) == 0 && e.type == NVME_EVENT_NOTICE &&
		   e.info == NVME_NOTICE_NS_ATTRIBUTE,
	   "%s: Namespace Attribute Changed", what);
	nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
	cpl = peer_do(&h->admin, &cmd, &page, sizeof(page));
	ok(peer_status(&cpl) == 0 && le32_to_cpu(page.nsid[0]) == nsid &&
		   le32_to_cpu(page.nsid[1]) == 0,
	   "%s: namespace %u is in the list", what, nsid);
	ask_for_event(h);
}

static uint64_t size_of(struct host *h, uint32_t nsid, uint8_t *ret_attr)
{
	static struct nvme_id_ns id;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_identify(&cmd, NVME_CNS_NS, nsid, 0, 0);
	cpl = peer_do(&h->admin, &cmd, &id, sizeof(id));
	if (ret_attr)
		*ret_attr = id.nsattr;
	return peer_status(&cpl) == 0 ? le64_to_cpu(id.nsze) : UINT64_MAX;
}

/* A write of one block: its data in the capsule, or to be asked for. */
static uint16_t submit_write(struct host *h, uint32_t nsid, uint64_t slba, bool in_capsule)
{
	static uint8_t buf[512];
	struct nvme_cmd cmd;

	memset(buf, (int)slba, sizeof(buf));
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, nsid, slba, 1, 0);
	cmd.sgl = in_capsule ? nvme_sgl_in_capsule(0, 512) : nvme_sgl_transport(512);
	return peer_submit(&h->io, &cmd, buf, in_capsule ? 512 : 0);
}

static struct nvme_cpl write_one(struct host *h, uint32_t nsid, uint64_t slba)
{
	return peer_wait(&h->io, submit_write(h, nsid, slba, true));
}

static struct nvme_cpl read_one(struct host *h, uint32_t nsid, uint64_t slba, uint8_t *buf)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, nsid, slba, 1, 0);
	return peer_do(&h->io, &cmd, buf, 512);
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static struct target_ns_config ns_config(uint32_t nsid)
{
	return (struct target_ns_config){
		.nsid = nsid, .store = &rig.stores[0].store, .release = on_release
	};
}

static void added(struct host *h)
{
	struct target_ns_config c = ns_config(2);
	struct nvme_cpl cpl = write_one(h, 2, 5);

	is_status(&cpl, INVALID_NAMESPACE, "before: there is no namespace 2");
	is_i64(target_ns_add(rig.target, RIG_NQN, &c, &err), 0, "added");
	cpl = write_one(h, 2, 5);
	is_status(&cpl, SUCCESS, "it can be written at once, on the other core");
	told(h, 2, "added");
	is_u64(size_of(h, 2, NULL), RIG_BLOCKS, "and identified");
	is_i64(target_ns_add(rig.target, RIG_NQN, &c, &err), -EEXIST, "twice: %s", err.text);
	c.nsid = 257;
	is_i64(target_ns_add(rig.target, RIG_NQN, &c, &err), -EINVAL, "N004: above NN: %s", err.text);
	is_i64(target_ns_add(rig.target, "nqn.2026-11.io.penstock:x", &c, &err), -ENOENT,
	       "nowhere: %s", err.text);
	is_i64(target_ns_add(rig.target, NVME_DISCOVERY_NQN, &c, &err), -EINVAL,
	       "the discovery subsystem has none: %s", err.text);
	ok(!released, "what was refused is still the caller's");
}

/* N001, N005: commands in the store and commands that wait for their data. */
static void removed(struct host *h)
{
	uint16_t in_store, waiting;
	struct nvme_cpl cpl;
	uint8_t buf[512];

	settled = 0;
	rig.stores[0].hold = true;
	in_store = submit_write(h, 2, 7, true);
	waiting = submit_write(h, 2, 8, false);
	rig_run(&rig, RIG_MS);
	is_i64(target_ns_remove(rig.target, RIG_NQN, 2, &watch, &err), 0, "removed");
	told(h, 2, "removed");
	is_u64(size_of(h, 2, NULL), 0, "an inactive namespace is all zeroes");
	cpl = write_one(h, 2, 9);
	is_status(&cpl, INVALID_NAMESPACE, "N001: what comes now is refused");
	ok(peer_dnr(&cpl), "... for good");
	rig_run(&rig, RIG_S);
	ok(!settled && !released, "N005: the store is still in use");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&h->io, in_store);
	is_status(&cpl, SUCCESS, "N001: the write in the store is answered");
	ok(!settled && !released, "another one waits for its data");
	memset(buf, 8, sizeof(buf));
	(void)waiting; /* its R2T was dropped by the waits above: the host stays silent */
	peer_close(&h->io);
	rig_run(&rig, RIG_S);
	ok(settled == 1 && released == &rig.stores[0].store, "the host is gone: now it is free");
	cpl = (struct nvme_cpl){ 0 };
	steer(1);
	peer_open(&h->io, &rig, -1);
	peer_ic(&h->io, 0, false, false);
	cpl = peer_connect(&h->io, RIG_NQN, 1, 1, 128, 0);
	is_status(&cpl, SUCCESS, "the queue is connected again");
	read_one(h, 1, 7, buf);
	is_u64(buf[0], 7, "N001: what was acknowledged is there, by another name");
	is_i64(target_ns_remove(rig.target, RIG_NQN, 2, &watch, &err), -ENOENT, "twice: %s",
	       err.text);
	released = NULL;
}

/* A write whose data arrives after the namespace has gone ends as it would have. */
static void removed_under_r2t(struct host *h)
{
	struct target_ns_config c = ns_config(2);
	struct nvme_cpl cpl;
	uint8_t buf[512];
	uint16_t cid;

	settled = 0;
	is_i64(target_ns_add(rig.target, RIG_NQN, &c, &err), 0, "added again");
	told(h, 2, "again");
	cid = submit_write(h, 2, 11, false);
	rig_run(&rig, RIG_MS);
	is_i64(target_ns_remove(rig.target, RIG_NQN, 2, &watch, &err), 0, "removed under an R2T");
	ok(!settled, "which keeps it");
	memset(buf, 11, sizeof(buf));
	cpl = peer_finish(&h->io, cid, buf, sizeof(buf));
	is_status(&cpl, SUCCESS, "N001: the data came, the write succeeds");
	rig_run(&rig, RIG_MS);
	ok(settled == 1 && released, "and then nothing uses it any more");
	told(h, 2, "removed");
	released = NULL;
}

/* N003: the store grows and shrinks. */
static void resized(struct host *h)
{
	struct store_info *info = &rig.stores[0].store.info;
	uint64_t was = info->size;
	struct nvme_cpl cpl;
	uint16_t cid;

	settled = 0;
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_ACCESS_KEEP, &watch, &err), 0,
	       "nothing is different");
	is_i64(settled, 1, "... which settles at once");
	rig.stores[0].hold = true;
	cid = submit_write(h, 1, RIG_BLOCKS - 1, true);
	rig_run(&rig, RIG_MS);
	info->size = was / 2;
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_ACCESS_KEEP, &watch, &err), 1,
	       "N003: smaller");
	told(h, 1, "smaller");
	is_u64(size_of(h, 1, NULL), RIG_BLOCKS / 2, "N003: the new size");
	cpl = write_one(h, 1, RIG_BLOCKS - 1);
	is_status(&cpl, LBA_OUT_OF_RANGE, "N003: what lies behind it is out of range");
	is_i64(settled, 1, "a write behind it is still in the store");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&h->io, cid);
	is_status(&cpl, SUCCESS, "it is answered");
	is_i64(settled, 2, "then the old size is history");
	info->size = was;
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_ACCESS_KEEP, NULL, &err), 1,
	       "N003: larger");
	told(h, 1, "larger");
	cpl = write_one(h, 1, RIG_BLOCKS - 1);
	is_status(&cpl, SUCCESS, "N003: and all of it can be written");
	info->size = 0;
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_ACCESS_KEEP, NULL, &err), -EINVAL,
	       "less than a block: %s", err.text);
	info->size = was;
}

static void read_only(struct host *h)
{
	struct nvme_cpl cpl;
	uint8_t attr;
	uint16_t cid;

	settled = 0;
	rig.stores[0].hold = true;
	cid = submit_write(h, 1, 20, true);
	rig_run(&rig, RIG_MS);
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_READ_ONLY, &watch, &err), 1,
	       "read-only");
	told(h, 1, "read-only");
	size_of(h, 1, &attr);
	ok(attr & NVME_NSATTR_WRITE_PROTECTED, "NSATTR says so");
	cpl = write_one(h, 1, 21);
	is_status(&cpl, WRITE_PROTECTED, "a write is refused");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&h->io, cid);
	is_status(&cpl, SUCCESS, "one of before is not");
	is_i64(settled, 1, "and now nothing writes any more");
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_READ_WRITE, NULL, &err), 1,
	       "writable again");
	told(h, 1, "writable");
	cpl = write_one(h, 1, 21);
	is_status(&cpl, SUCCESS, "a write succeeds");
	rig.stores[0].store.info.read_only = true;
	is_i64(target_ns_update(rig.target, RIG_NQN, 1, TARGET_READ_WRITE, NULL, &err), -EROFS,
	       "not where the store cannot: %s", err.text);
	rig.stores[0].store.info.read_only = false;
}

/* N005, N007: another store under the same number. */
static void replaced(struct host *h)
{
	struct target_ns_config c = ns_config(1);
	struct nvme_cpl cpl;

	c.store = &rig.stores[1].store;
	settled = 0;
	is_i64(target_ns_replace(rig.target, RIG_NQN, &c, &watch, &err), 0, "replaced");
	is_i64(settled, 1, "nothing was in flight");
	told(h, 1, "replaced");
	is_u64(size_of(h, 1, NULL), RIG_BLOCKS, "N005: it is another one");
	cpl = write_one(h, 1, 0);
	is_status(&cpl, SGL_INVALID_LENGTH, "N005: with other blocks");
	c.store = &rig.stores[0].store;
	is_i64(target_ns_replace(rig.target, RIG_NQN, &c, NULL, &err), 0, "and back");
	ok(released == &rig.stores[1].store, "what was there in between is released");
	told(h, 1, "back");
	released = NULL;
}

/* A003: events outstanding hold nothing up; N001: again and again, under load. */
static void again_and_again(struct host *h)
{
	struct target_ns_config c = ns_config(9);
	unsigned int good = 0, gone = 0;

	settled = 0;
	for (int i = 0; i < 1000; i++) {
		uint16_t cid[2];

		target_ns_add(rig.target, RIG_NQN, &c, &err);
		cid[0] = submit_write(h, 9, 30, true);
		rig_run(&rig, RIG_MS / 10 * (uint64_t)(i % 3));
		target_ns_remove(rig.target, RIG_NQN, 9, &watch, &err);
		cid[1] = submit_write(h, 9, 30, true);
		for (int k = 0; k < 2; k++) {
			struct nvme_cpl cpl = peer_wait(&h->io, cid[k]);

			good += peer_status(&cpl) == 0;
			gone += peer_status(&cpl) == NVME_SC_INVALID_NAMESPACE;
		}
	}
	is_u64(good + gone, 2000, "N001: a thousand times: every write is answered");
	ok(good > 300 && gone >= 1000, "N001: %u done, %u refused", good, gone);
	is_i64(settled, 1000, "N001, A003: and every namespace let go of, an event request or not");
	told(h, 9, "a thousand changes");
	released = NULL;
}

/* The n-th allocation fails, for every n: an error, and nothing has changed. */
static void no_memory(struct host *h)
{
	struct target_ns_config c = ns_config(12);
	struct target_subsys_config s = { .nqn = NEW_NQN, .namespaces = &c, .namespace_count = 1 };
	struct target_listener_config l = { 0 };
	const char *const hosts[] = { RIG_HOST2 };
	unsigned int failed = 0;
	int r = -1;

	sim_node_addr(rig.node, 4499, &l.addr);
	settled = 0;
	for (; r < 0; failed++) {
		mem_fail_after(failed + 1);
		r = target_ns_add(rig.target, RIG_NQN, &c, &err);
	}
	told(h, 12, "added in the end");
	ok(failed > 3 && size_of(h, 12, NULL) == RIG_BLOCKS, "%u allocations of add", failed);
	for (r = -1, failed = 0; r < 0; failed++) {
		mem_fail_after(failed + 1);
		r = target_ns_remove(rig.target, RIG_NQN, 12, &watch, &err);
	}
	ok(failed > 3, "%u of remove", failed);
	is_i64(settled, 1, "and settles once");
	for (r = -1, failed = 0; r < 0; failed++) {
		mem_fail_after(failed + 1);
		r = target_subsys_add(rig.target, &s, &err);
	}
	ok(failed > 6, "%u allocations of a subsystem", failed);
	for (r = -1, failed = 0; r < 0; failed++) {
		mem_fail_after(failed + 1);
		r = target_subsys_allow(rig.target, NEW_NQN, false, hosts, 1, &err);
	}
	ok(failed > 1, "%u of a list of hosts", failed);
	for (r = -1, failed = 0; r < 0; failed++) {
		mem_fail_after(failed + 1);
		r = target_listener_add(rig.target, &l, NULL, &err);
	}
	ok(failed > 2, "%u of a listener", failed);
	for (r = -1, failed = 0; r < 0; failed++) {
		mem_fail_after(failed + 1);
		r = target_subsys_remove(rig.target, NEW_NQN, &watch, &err);
	}
	mem_fail_after(0);
	rig_run(&rig, RIG_MS);
	ok(failed > 1 && settled == 2, "%u of its end", failed);
	is_i64(target_listener_remove(rig.target, &l.addr, &err), 0, "and the listener goes");
	told(h, 12, "after all that");
	released = NULL;
}

/* ---- subsystems ------------------------------------------------------------------------------ */

static void subsystem(void)
{
	struct target_ns_config ns = ns_config(1);
	struct target_subsys_config c = {
		.nqn = NEW_NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct nvme_cpl cpl;
	struct host h;
	struct peer p;
	uint16_t cid;

	settled = 0;
	is_i64(target_subsys_add(rig.target, &c, &err), 0, "a subsystem is added");
	is_i64(target_subsys_add(rig.target, &c, &err), -EEXIST, "twice: %s", err.text);
	attach(&h, NEW_NQN);
	rig.stores[0].hold = true;
	cid = submit_write(&h, 1, 40, true);
	submit_write(&h, 1, 41, false);
	rig_run(&rig, RIG_MS);
	is_i64(target_subsys_remove(rig.target, NEW_NQN, &watch, &err), 0, "and removed");
	is_i64(target_subsys_remove(rig.target, NEW_NQN, &watch, &err), -ENOENT, "twice: %s",
	       err.text);
	rig_run(&rig, RIG_S);
	ok(!settled && !released, "a write is in the store");
	peer_open(&p, &rig, 0);
	peer_ic(&p, 0, false, false);
	cpl = peer_connect(&p, NEW_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, CONNECT_INVALID_PARAM, "C008: nobody connects any more");
	peer_close(&p);
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&h.io, cid);
	is_status(&cpl, SUCCESS, "what was in the store is answered first");
	ok(peer_ends(&h.io, RIG_S) && peer_ends(&h.admin, RIG_S), "then the connections end");
	rig_run(&rig, RIG_S);
	ok(settled == 1 && released == &rig.stores[0].store, "N008: and all of it is gone");
	ok(rig_closed(&rig, TARGET_CLOSE_WITHDRAWN) == 2, "with their reason");
	detach(&h);
	is_i64(target_subsys_add(rig.target, &c, &err), 0, "its name can be used again");
	is_i64(target_subsys_remove(rig.target, NEW_NQN, &watch, &err), 0, "with nobody there");
	rig_run(&rig, RIG_MS);
	is_i64(settled, 2, "it goes at once");
	released = NULL;
}

/* A host that takes no answers keeps a subsystem no longer than the limit says. */
static void stubborn(void)
{
	struct target_ns_config ns = ns_config(1);
	struct target_subsys_config c = {
		.nqn = NEW_NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct nvme_cmd cmd;
	struct host h;

	settled = 0;
	is_i64(target_subsys_add(rig.target, &c, &err), 0, "a subsystem");
	attach(&h, NEW_NQN);
	for (int i = 0; i < 40; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 2048, 0);
		cmd.sgl = nvme_sgl_transport(1 << 20);
		peer_submit(&h.io, &cmd, NULL, 0);
	}
	/* It does not read: what is sent fills the pipe. */
	h.io.recv_iov.iov_len = 1;
	is_i64(target_subsys_remove(rig.target, NEW_NQN, &watch, &err), 0, "removed");
	rig_run(&rig, 6 * RIG_S);
	is_i64(settled, 1, "gone after limits.drain_ns at the latest");
	detach(&h);
	released = NULL;
}

/* C008: a Connect that waits for its queue ID finds the subsystem gone. */
static void connect_waits(void)
{
	struct target_subsys_config c = { .nqn = NEW_NQN, .allow_any = true };
	struct nvme_connect_data data;
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;
	struct host h;
	struct peer p;
	uint16_t cid;

	settled = 0;
	is_i64(target_subsys_add(rig.target, &c, &err), 0, "a subsystem without namespaces");
	attach(&h, NEW_NQN);
	steer(0);
	peer_open(&p, &rig, -1);
	peer_ic(&p, 0, false, false);
	nvme_cmd_init_connect(&cmd, 1, 128, 0, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
	peer_connect_data(&p, NEW_NQN, 1, &data);
	cid = peer_submit(&p, &cmd, &data, sizeof(data));
	rig_run(&rig, RIG_MS);
	is_i64(target_subsys_remove(rig.target, NEW_NQN, &watch, &err), 0, "removed meanwhile");
	cpl = peer_wait(&p, cid);
	is_status(&cpl, CONNECT_INVALID_PARAM, "C008: a Connect that waited is refused");
	rig_run(&rig, RIG_S);
	is_i64(settled, 1, "and the subsystem goes");
	peer_close(&p);
	detach(&h);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void hosts(void)
{
	const char *const other[] = { RIG_HOST2 };
	const char *const both[] = { RIG_HOST2, RIG_HOST };
	const char *const twice[] = { RIG_HOST, RIG_HOST };
	struct nvme_cpl cpl;
	struct host h;
	struct peer p;
	uint16_t cid;

	attach(&h, RIG_NQN);
	is_i64(target_subsys_allow(rig.target, RIG_NQN, false, both, 2, &err), 0, "both hosts");
	cpl = write_one(&h, 1, 50);
	is_status(&cpl, SUCCESS, "who is still named notices nothing");
	rig.stores[0].hold = true;
	cid = submit_write(&h, 1, 51, true);
	rig_run(&rig, RIG_MS);
	is_i64(target_subsys_allow(rig.target, RIG_NQN, false, other, 1, &err), 0, "the other one");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&h.io, cid);
	is_status(&cpl, SUCCESS, "a host that is denied gets its last answers");
	ok(peer_ends(&h.io, RIG_S) && peer_ends(&h.admin, RIG_S), "and is closed");
	detach(&h);
	peer_open(&p, &rig, 0);
	peer_ic(&p, 0, false, false);
	cpl = peer_connect(&p, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, CONNECT_INVALID_HOST, "C006: and does not come back");
	peer_close(&p);
	is_i64(target_subsys_allow(rig.target, RIG_NQN, false, twice, 2, &err), -EINVAL,
	       "C006: named twice: %s", err.text);
	is_i64(target_subsys_allow(rig.target, RIG_NQN, true, NULL, 0, &err), 0, "any host");
	attach(&h, RIG_NQN);
	detach(&h);
}

/* ---- listeners ------------------------------------------------------------------------------- */

static void discovery_log(struct peer *p, struct nvme_log_discovery *ret)
{
	struct nvme_get_log g = { .lid = NVME_LID_DISCOVERY, .bytes = 1024 };
	struct nvme_cmd cmd;

	nvme_cmd_init_get_log(&cmd, 0, &g);
	peer_do(p, &cmd, ret, sizeof(*ret));
}

static uint16_t discover(struct peer *p)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	steer(1);
	peer_open(p, &rig, 0);
	peer_ic(p, 0, false, false);
	cpl = peer_connect(p, NVME_DISCOVERY_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SUCCESS, "a discovery controller");
	peer_enable(p);
	nvme_cmd_init_set_features(&cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0, NVME_AEC_DISCOVERY);
	peer_do(p, &cmd, NULL, 0);
	nvme_cmd_init_async_event(&cmd);
	return peer_submit(p, &cmd, NULL, 0);
}

static void listener(void)
{
	struct target_listener_config c = { 0 };
	static struct nvme_log_discovery before, after;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct io_addr addr;
	struct peer d, admin;
	uint16_t cid;

	cid = discover(&d);
	discovery_log(&d, &before);
	sim_node_addr(rig.node, 4477, &c.addr);
	is_i64(target_listener_add(rig.target, &c, &addr, &err), 0, "a listener is added %s",
	       err.text);
	is_u64(io_addr_port(&addr), 4477, "where it was told to");
	ok(target_listener_add(rig.target, &c, NULL, &err) < 0, "C015: twice: %s", err.text);
	cpl = peer_wait(&d, cid);
	ok(peer_status(&cpl) == 0 &&
		   nvme_event_decode(nvme_cpl_dw0(&cpl)).info == NVME_NOTICE_DISCOVERY,
	   "D006: a discovery controller is told");
	discovery_log(&d, &after);
	ok(le64_to_cpu(after.genctr) > le64_to_cpu(before.genctr), "D001: GENCTR has moved");
	is_u64(le64_to_cpu(after.numrec), le64_to_cpu(before.numrec) + 1, "one entry more");
	nvme_cmd_init_async_event(&cmd);
	cid = peer_submit(&d, &cmd, NULL, 0);

	peer_open(&admin, &rig, 2);
	peer_ic(&admin, 0, false, false);
	cpl = peer_connect(&admin, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SUCCESS, "a controller through it");
	is_i64(target_listener_remove(rig.target, &addr, &err), 0, "removed");
	is_i64(target_listener_remove(rig.target, &addr, &err), -ENOENT, "twice: %s", err.text);
	ok(peer_ends(&admin, RIG_S), "what came in there ends");
	cpl = peer_wait(&d, cid);
	ok(peer_status(&cpl) == 0, "D006: again they are told");
	discovery_log(&d, &after);
	is_u64(le64_to_cpu(after.numrec), le64_to_cpu(before.numrec), "the entry is gone");
	peer_close(&admin);
	peer_close(&d);
	rig_run(&rig, RIG_S);
	c.nqns = (const char *const[]){ "nqn.2026-11.io.penstock:none" };
	c.nqn_count = 1;
	is_i64(target_listener_add(rig.target, &c, NULL, &err), -EINVAL, "for nothing: %s", err.text);
}

/* ---- looking --------------------------------------------------------------------------------- */

static struct target_io_stats seen_ns, seen_cores;

static void add_ns(void *arg, const struct target_ns_info *info)
{
	target_io_stats_add(&seen_ns, &info->io);
}

static void add_core(void *arg, const struct target_core_info *info)
{
	target_io_stats_add(&seen_cores, &info->io);
}

static void count_host(void *arg, const struct target_host_info *info)
{
	unsigned int *n = arg;

	*n += strcmp(info->hostnqn, RIG_HOST) == 0 ? info->connections : 0;
}

static void inspected(struct host *h)
{
	static struct hist latency[TARGET_LATENCY_CLASSES];
	struct target_io_stats was;
	struct target_stats st;
	unsigned int n = 0;
	uint8_t buf[512];

	for (int i = 0; i < TARGET_LATENCY_CLASSES; i++)
		hist_init(&latency[i]);
	target_visit_namespaces(rig.target, add_ns, NULL);
	was = seen_ns;
	seen_ns = (struct target_io_stats){ 0 };
	for (int i = 0; i < 10; i++)
		read_one(h, 1, 0, buf);
	rig.stores[0].fail = -EIO;
	read_one(h, 1, 0, buf);
	rig.stores[0].fail = 0;
	target_visit_namespaces(rig.target, add_ns, NULL);
	is_u64(seen_ns.reads - was.reads, 11, "reads of namespaces");
	is_u64(seen_ns.read_bytes - was.read_bytes, 5120, "their bytes");
	is_u64(seen_ns.errors - was.errors, 1, "and errors");
	target_visit_cores(rig.target, add_core, NULL);
	target_stats(rig.target, &st);
	is_u64(seen_cores.reads, st.io.reads, "cores and connections count the same reads");
	is_u64(seen_cores.writes, st.io.writes, "... and writes");
	is_i64(target_latency(rig.target, latency), 0, "how long they took");
	is_u64(latency[TARGET_LATENCY_READ].count, seen_cores.reads, "of every read");
	is_i64(target_visit_hosts(rig.target, count_host, &n), 0, "hosts");
	is_u64(n, 2, "a host with two connections");
}

/* ---- the end --------------------------------------------------------------------------------- */

static void drained(void)
{
	struct target_ns_config c = ns_config(2);
	struct nvme_event e;
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;
	struct host h;
	struct peer d;
	uint16_t cid = discover(&d);

	attach(&h, RIG_NQN);
	nvme_cmd_init_set_features(&cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0, NVME_AEC_SHUTDOWN);
	cpl = peer_do(&h.admin, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "a host wants to know of a shutdown");

	rig_run(&rig, RIG_MS);
	target_drain(rig.target, false);
	cpl = peer_wait(&d, cid);
	ok(peer_status(&cpl) == 0 &&
		   nvme_event_decode(nvme_cpl_dw0(&cpl)).info == NVME_NOTICE_DISCOVERY,
	   "X012: discovery controllers hear of the end");
	cpl = peer_wait(&h.admin, h.aer);
	e = nvme_event_decode(nvme_cpl_dw0(&cpl));
	ok(peer_status(&cpl) == 0 && e.type == NVME_EVENT_IMMEDIATE &&
		   e.info == NVME_IMMEDIATE_SHUTDOWN,
	   "X012: and hosts that want to: Normal NVM Subsystem Shutdown");
	ok(peer_ends(&d, RIG_S) && peer_ends(&h.io, RIG_S) && peer_ends(&h.admin, RIG_S),
	   "X012: which comes");
	detach(&h);
	peer_close(&d);
	rig_run(&rig, RIG_S);
	ok(target_drained(rig.target), "drained on both cores");
	is_i64(target_ns_add(rig.target, RIG_NQN, &c, &err), -ESHUTDOWN, "too late: %s", err.text);
}

int main(void)
{
	struct host h;

	start();
	attach(&h, RIG_NQN);
	added(&h);
	removed(&h);
	removed_under_r2t(&h);
	resized(&h);
	read_only(&h);
	replaced(&h);
	again_and_again(&h);
	no_memory(&h);
	inspected(&h);
	detach(&h);
	subsystem();
	stubborn();
	connect_waits();
	hosts();
	listener();
	drained();
	rig.target = target_free(rig.target);
	second = io_loop_free(second);
	rig_end(&rig);
	return tap_done();
}

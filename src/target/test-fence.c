/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence: a write of a dead association must not land after a later write of the same host was
 * acknowledged. Each test asks whether the later write waits, for exactly as long as it must.
 */
#include <string.h>

#include "base/alloc.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static uint8_t buf[8192];

static uint16_t submit_write(struct peer *p, uint64_t slba, uint8_t fill)
{
	struct nvme_cmd cmd;

	memset(buf, fill, 512);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, slba, 1, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 512);
	return peer_submit(p, &cmd, buf, 512);
}

static uint8_t read_byte(struct peer *p, uint64_t slba)
{
	struct nvme_cmd cmd;

	memset(buf, 0xee, sizeof(buf));
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, slba, 1, 0);
	peer_do(p, &cmd, buf, 512);
	return buf[0];
}

/* Nothing was answered so far. */
static bool silent(struct peer *p, uint64_t ns)
{
	rig_run(&rig, ns);
	return p->in_at == p->in_len && !p->eof;
}

static uint64_t stat_waits(void)
{
	struct target_stats st;

	target_stats(rig.target, &st);
	return st.fence_waits;
}

struct host {
	struct peer admin, io;
	uint16_t cntlid;
};

static void host_up(struct host *h)
{
	h->cntlid = peer_admin(&h->admin, &rig, RIG_NQN);
	peer_io(&h->io, &rig, RIG_NQN, 1, h->cntlid);
}

static void host_down(struct host *h)
{
	peer_close(&h->io);
	peer_close(&h->admin);
	rig_run(&rig, RIG_MS);
}

/* The case of the design: the host reconnects and writes the block again, and then once more. */
static void reconnect(void)
{
	struct host old, new;
	struct nvme_cpl cpl;
	uint16_t cid;

	host_up(&old);
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 100, 1);
	rig_run(&rig, RIG_MS);
	host_down(&old);
	rig.stores[0].hold_writes = false; /* the store is fast again, but for the one it holds */
	host_up(&new);
	cid = submit_write(&new.io, 100, 2);
	ok(silent(&new.io, RIG_S), "X014: the new write waits while the old one is in the store");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&new.io, cid);
	is_status(&cpl, SUCCESS, "and goes on when that has ended");
	is_u64(read_byte(&new.io, 100), 2, "X014: so the later one wins");
	host_down(&new);
}

/* Only the I/O queue is lost; the controller lives on and the host connects the queue again. */
static void queue_lost(void)
{
	struct nvme_cpl cpl;
	struct host h;
	uint16_t cid;

	host_up(&h);
	rig.stores[0].hold_writes = true;
	submit_write(&h.io, 101, 1);
	rig_run(&rig, RIG_MS);
	peer_close(&h.io);
	rig_run(&rig, RIG_MS);
	rig.stores[0].hold_writes = false;
	peer_io(&h.io, &rig, RIG_NQN, 1, h.cntlid);
	cid = submit_write(&h.io, 101, 2);
	ok(silent(&h.io, RIG_S), "a queue that was lost alone: the new one waits");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&h.io, cid);
	is_status(&cpl, SUCCESS, "and goes on");
	is_u64(read_byte(&h.io, 101), 2, "the later one wins");
	host_down(&h);
}

/* Two paths: one dies, the host writes on the other, which was there all the time. */
static void other_path(void)
{
	struct nvme_cpl cpl;
	struct host a, b;
	uint16_t cid;

	host_up(&a);
	host_up(&b);
	rig.stores[0].hold_writes = true;
	submit_write(&a.io, 102, 1);
	rig_run(&rig, RIG_MS);
	host_down(&a);
	rig.stores[0].hold_writes = false;
	cid = submit_write(&b.io, 102, 2);
	ok(silent(&b.io, RIG_S), "the other path waits for the one that died");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&b.io, cid);
	is_status(&cpl, SUCCESS, "and goes on");
	is_u64(read_byte(&b.io, 102), 2, "the later one wins");
	host_down(&b);
}

/* What is none of their business. */
static void others(void)
{
	struct nvme_cpl cpl;
	struct host old;
	struct peer admin, io;
	uint64_t waits;
	uint16_t id;

	host_up(&old);
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 103, 1);
	rig_run(&rig, RIG_MS);
	host_down(&old);
	rig.stores[0].hold_writes = false;
	waits = stat_waits();
	peer_open(&admin, &rig, -1);
	peer_ic(&admin, 0, false, false);
	admin.hostnqn = RIG_HOST2;
	memset(admin.hostid, 0x22, 16);
	cpl = peer_connect(&admin, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	id = (uint16_t)nvme_cpl_dw0(&cpl);
	peer_enable(&admin);
	peer_open(&io, &rig, -1);
	peer_ic(&io, 0, false, false);
	io.hostnqn = RIG_HOST2;
	memset(io.hostid, 0x22, 16);
	peer_connect(&io, RIG_NQN, 1, id, 128, 0);
	cpl = peer_wait(&io, submit_write(&io, 104, 2));
	is_status(&cpl, SUCCESS, "another host does not wait");
	is_u64(stat_waits(), waits, "... nor is it counted");
	peer_close(&io);
	peer_close(&admin);
	rig_store_release(&rig.stores[0]);
	rig_run(&rig, RIG_MS);
}

static void reads_do_not_fence(void)
{
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;
	struct host old, new;

	host_up(&old);
	rig.stores[0].hold = true;
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 1, 0);
	cmd.sgl = nvme_sgl_transport(512);
	peer_submit(&old.io, &cmd, NULL, 0);
	rig_run(&rig, RIG_MS);
	host_down(&old);
	rig.stores[0].hold = false;
	host_up(&new);
	cpl = peer_wait(&new.io, submit_write(&new.io, 105, 2));
	is_status(&cpl, SUCCESS, "a read that is still in the store holds up nobody");
	rig_store_release(&rig.stores[0]);
	host_down(&new);
}

/* The wait is bounded, and whoever waited in vain is told, not let through. */
static void bounded(void)
{
	struct target_stats st;
	struct nvme_cpl cpl;
	struct host old, new;
	uint16_t cid;

	host_up(&old);
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 106, 1);
	rig_run(&rig, RIG_MS);
	host_down(&old);
	rig.stores[0].hold_writes = false;
	host_up(&new);
	cid = submit_write(&new.io, 106, 2);
	ok(silent(&new.io, 29 * RIG_S), "29 seconds: it waits");
	new.io.patience = 5 * RIG_S;
	cpl = peer_wait(&new.io, cid);
	is_status(&cpl, NS_NOT_READY, "30 seconds: Namespace Not Ready");
	ok(!peer_dnr(&cpl), "... which may be tried again");
	target_stats(rig.target, &st);
	ok(st.fence_expired == 1, "... and is counted");
	rig_store_release(&rig.stores[0]);
	rig_run(&rig, RIG_MS);
	cpl = peer_wait(&new.io, submit_write(&new.io, 106, 3));
	is_status(&cpl, SUCCESS, "afterwards all is as it was");
	host_down(&new);
}

/* The new controller comes before anything tells us that the old one is gone. */
static void still_alive(void)
{
	struct host old, new;
	struct nvme_cpl cpl;
	uint16_t cid;

	host_up(&old);
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 107, 1);
	rig_run(&rig, RIG_MS);
	rig.stores[0].hold_writes = false;
	host_up(&new);
	cid = submit_write(&new.io, 107, 2);
	ok(silent(&new.io, RIG_S), "what an older live queue had in the store is waited for");
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&new.io, cid);
	is_status(&cpl, SUCCESS, "and then no longer");
	is_u64(read_byte(&new.io, 107), 2, "the later one wins");
	/* Now both are alive and neither hinders the other. */
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 108, 1);
	rig_run(&rig, RIG_MS);
	rig.stores[0].hold_writes = false;
	cpl = peer_wait(&new.io, submit_write(&new.io, 109, 2));
	is_status(&cpl, SUCCESS, "two live paths do not wait for each other");
	rig_store_release(&rig.stores[0]);
	host_down(&new);
	host_down(&old);
}

/* A third comes while the second, whose host has left it too, waits for the first. */
static void chain(void)
{
	struct host first, second, third;
	struct nvme_cpl cpl;
	uint16_t cid;

	host_up(&first);
	rig.stores[0].hold_writes = true;
	submit_write(&first.io, 113, 1);
	rig_run(&rig, RIG_MS);
	host_up(&second);
	submit_write(&second.io, 113, 2);
	rig_run(&rig, RIG_S);
	host_up(&third);
	cid = submit_write(&third.io, 113, 3);
	rig_run(&rig, RIG_S);
	is_u64(list_count(&rig.stores[0].held), 1, "of three in a row the store has one write");
	rig_store_release_one(&rig.stores[0]);
	rig_run(&rig, RIG_S);
	is_u64(list_count(&rig.stores[0].held), 1, "then the second, which the third waits for");
	rig_store_release_one(&rig.stores[0]);
	rig_run(&rig, RIG_S);
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&third.io, cid);
	is_status(&cpl, SUCCESS, "then the third");
	is_u64(read_byte(&third.io, 113), 3, "which wins");
	host_down(&first);
	host_down(&second);
	host_down(&third);
}

/*
 * The old queue does not read: its capsule waits for memory. The host gave up on it and closed it,
 * but the write and the end of stream lie unread in the socket.
 */
static void unread(void)
{
	struct host old, new;
	struct nvme_cpl cpl;
	uint16_t cid;

	host_up(&old);
	/* The reserve of the connection is taken by a write that the store holds ... */
	rig_take_arena(&rig);
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 110, 1);
	rig_run(&rig, RIG_MS);
	/* ... so this one cannot even be received, and what comes after it is not seen. */
	submit_write(&old.io, 111, 1);
	rig_run(&rig, RIG_MS);
	io_stream_shutdown(old.io.stream);
	rig_run(&rig, RIG_MS);
	host_up(&new);
	/* Memory again, for the new queue, but not for the old one, which waits for its reserve. */
	cid = submit_write(&new.io, 111, 2);
	ok(silent(&new.io, RIG_S), "an older queue that does not read is waited for");
	rig.stores[0].hold_writes = false;
	rig_give_arena(&rig);
	rig_store_release(&rig.stores[0]);
	cpl = peer_wait(&new.io, cid);
	is_status(&cpl, SUCCESS, "until it has read, and ended");
	is_u64(read_byte(&new.io, 111), 2, "so the write that lay in the socket is not the last");
	host_down(&new);
	host_down(&old);
}

/* The planted bug, without which a simulator could not show that its oracle sees anything. */
static void hook(void)
{
	struct host old, new;
	struct nvme_cpl cpl;

	rig.target->hooks.no_fence = true;
	host_up(&old);
	rig.stores[0].hold_writes = true;
	submit_write(&old.io, 112, 1);
	rig_run(&rig, RIG_MS);
	host_down(&old);
	rig.stores[0].hold_writes = false;
	host_up(&new);
	cpl = peer_wait(&new.io, submit_write(&new.io, 112, 2));
	is_status(&cpl, SUCCESS, "with the hook nothing waits");
	rig_store_release(&rig.stores[0]);
	rig_run(&rig, RIG_MS);
	is_u64(read_byte(&new.io, 112), 1, "... and the old write wins, as it must not");
	host_down(&new);
	rig.target->hooks.no_fence = false;
}

/* Hosts come and go in every order while the store holds their writes. */
static void churn(void)
{
	struct host h[3];
	struct nvme_cpl cpl;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3; i++) {
			host_up(&h[i]);
			rig.stores[0].hold_writes = true;
			submit_write(&h[i].io, 120 + (uint64_t)i, 1);
			rig_run(&rig, RIG_MS * (uint64_t)(round % 3));
		}
		for (int i = 0; i < 3; i++) {
			struct host *x = &h[(i * 2 + round) % 3];

			if (round % 2)
				peer_close(&x->admin);
			rig_store_release_one(&rig.stores[0]);
			if (!(round % 2))
				peer_close(&x->io);
			rig_run(&rig, RIG_MS / 4);
			peer_close(round % 2 ? &x->io : &x->admin);
		}
		rig_store_release(&rig.stores[0]);
		rig_run(&rig, 10 * RIG_MS);
	}
	host_up(&h[0]);
	cpl = peer_wait(&h[0].io, submit_write(&h[0].io, 120, 9));
	is_status(&cpl, SUCCESS, "after 60 controllers nothing is fenced");
	host_down(&h[0]);
}

/* A new controller waits for two older queues, and there is memory for one barrier, or none. */
static void no_memory(void)
{
	struct peer second;
	struct host old;
	uint64_t failed = 0;

	host_up(&old);
	peer_io(&second, &rig, RIG_NQN, 2, old.cntlid);
	for (uint64_t n = 1; n < 16; n++) {
		uint64_t before = mem_fail_count();
		struct nvme_connect_data data;
		struct nvme_cmd cmd;
		struct peer p;

		peer_open(&p, &rig, -1);
		peer_ic(&p, 0, false, false);
		nvme_cmd_init_connect(&cmd, 0, 32, 0, 0);
		cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
		peer_connect_data(&p, RIG_NQN, NVME_CNTLID_DYNAMIC, &data);
		peer_submit(&p, &cmd, &data, sizeof(data));
		mem_fail_after(n);
		rig_run(&rig, 10 * RIG_MS);
		mem_fail_after(0);
		failed += mem_fail_count() - before;
		peer_close(&p);
		rig_run(&rig, 10 * RIG_MS);
	}
	ok(failed >= 7, "%d allocations of a Connect with barriers failed", (int)failed);
	peer_close(&second);
	host_down(&old);
	is_u64(rig.target->subsystems[1]->ctrl_count, 0, "and nothing is left of them");
}

int main(void)
{
	rig_init(&rig);
	rig_start(&rig);
	reconnect();
	queue_lost();
	other_path();
	others();
	reads_do_not_fence();
	bounded();
	still_alive();
	chain();
	unread();
	hook();
	churn();
	no_memory();
	rig_end(&rig);
	return tap_done();
}

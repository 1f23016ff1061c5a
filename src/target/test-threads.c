/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target on threads of its own, over real sockets: the same associations as everywhere else,
 * but with cores that send each other messages. Meant to be run under the thread sanitizer too.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nvme/reg.h"
#include "target/aen.h"
#include "target/change.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/subsys.h"
#include "tcp/pdu.h"
#include "tcp/tx.h"
#include "tests/tap.h"

#include "target/target.h"

#define NQN "nqn.2026-11.io.penstock:threads"

enum {
	HOSTS = 4,
	QUEUES = 3, /* I/O queues of each */
	ROUNDS = 60,
	BYTES = 8192,
};

/* ---- a blocking host ------------------------------------------------------------------------- */

struct link {
	int fd;
	uint16_t cid;
};

static bool put(struct link *l, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0) {
		ssize_t r = write(l->fd, at, n);

		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

static bool get(struct link *l, void *p, size_t n)
{
	char *at = p;

	while (n > 0) {
		ssize_t r = read(l->fd, at, n);

		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

static bool send_pdu(struct link *l, struct tcp_tx *tx, struct tcp_tx_pdu *pdu)
{
	struct iovec iov[8];
	bool good = true;
	int n;

	pdu->sent = NULL;
	tcp_tx_push(tx, pdu);
	while ((n = tcp_tx_gather(tx, iov, 8)) > 0) {
		size_t bytes = 0;

		for (int i = 0; i < n; i++) {
			good = good && put(l, iov[i].iov_base, iov[i].iov_len);
			bytes += iov[i].iov_len;
		}
		tcp_tx_sent(tx, bytes);
	}
	return good;
}

static bool open_link(struct link *l, const struct io_addr *addr)
{
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_icresp resp;
	struct tcp_tx tx;
	int on = 1;

	*l = (struct link){ .fd = socket(addr->ss.ss_family, SOCK_STREAM, 0) };
	if (l->fd < 0 || connect(l->fd, (const struct sockaddr *)&addr->ss, addr->len) < 0)
		return false;
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	tcp_tx_init(&tx);
	tcp_build_icreq(&pdu, 0, false, false, 0);
	return send_pdu(l, &tx, &pdu) && get(l, &resp, sizeof(resp));
}

/* One command; its data goes in the capsule, or comes back into @in. Status, or FFFFh. */
static uint16_t command(struct link *l, struct nvme_cmd *cmd, const void *out, void *in,
			uint32_t len, uint64_t *ret_result)
{
	struct iovec iov = { .iov_len = len };
	struct tcp_tx_pdu pdu = { 0 };
	union tcp_pdu got;
	struct tcp_tx tx;

	memcpy(&iov.iov_base, &out, sizeof(out));
	cmd->cid = cpu_to_le16(++l->cid);
	if (len)
		cmd->sgl = out ? nvme_sgl_in_capsule(0, len) : nvme_sgl_transport(len);
	tcp_tx_init(&tx);
	tcp_build_cmd(&tx, &pdu, cmd, out ? &iov : NULL, out ? 1 : 0, out ? len : 0);
	if (!send_pdu(l, &tx, &pdu))
		return 0xffff;
	for (;;) {
		if (!get(l, &got, sizeof(struct tcp_ch)) ||
		    !get(l, got.bytes + 8, got.ch.hlen - 8u))
			return 0xffff;
		if (got.ch.type == TCP_PDU_C2H_DATA) {
			if (!get(l, (char *)in + le32_to_cpu(got.data.datao),
				 le32_to_cpu(got.data.datal)))
				return 0xffff;
			if (got.ch.flags & TCP_PDU_SUCCESS)
				return 0;
		} else if (got.ch.type == TCP_PDU_RSP && nvme_cpl_cid(&got.rsp.cqe) == l->cid) {
			if (ret_result)
				*ret_result = nvme_cpl_u64(&got.rsp.cqe);
			return nvme_status_code(nvme_cpl_status(&got.rsp.cqe));
		}
	}
}

static uint16_t connect_queue(struct link *l, int host, uint16_t qid, uint16_t cntlid,
			      uint64_t *ret)
{
	struct nvme_connect_data d = { .cntlid = cpu_to_le16(cntlid) };
	struct nvme_cmd cmd;

	memset(d.hostid, host + 1, sizeof(d.hostid));
	memcpy(d.subnqn, NQN, sizeof(NQN));
	snprintf((char *)d.hostnqn, sizeof(d.hostnqn), "nqn.2026-11.io.penstock:host%d", host);
	nvme_cmd_init_connect(&cmd, qid, 32, NVME_CATTR_DISABLE_SQFLOW, 5000);
	return command(l, &cmd, &d, NULL, sizeof(d), ret);
}

static bool enable(struct link *l)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_property_set(
		&cmd, NVME_REG_CC, 4,
		nvme_cc_encode((struct nvme_cc){ .en = true, .iosqes = 6, .iocqes = 4 }));
	return command(l, &cmd, NULL, NULL, 0, NULL) == 0;
}

/* ---- hosts, each in a thread ----------------------------------------------------------------- */

struct host {
	pthread_t thread;
	struct io_addr addr;
	int number;
	unsigned int good, bad;
};

static bool write_and_read(struct link *l, int host, int queue, uint8_t fill)
{
	uint8_t out[BYTES], in[BYTES] = { 0 };
	uint64_t slba = (uint64_t)(host * QUEUES + queue) * 16;
	struct nvme_cmd cmd;

	memset(out, fill, sizeof(out));
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, slba, 16, 0);
	if (command(l, &cmd, out, NULL, BYTES, NULL) != 0)
		return false;
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, slba, 16, 0);
	return command(l, &cmd, NULL, in, BYTES, NULL) == 0 && memcmp(in, out, BYTES) == 0;
}

static bool session(struct host *h, int round)
{
	struct link admin, q[QUEUES];
	struct nvme_cmd cmd;
	uint64_t cntlid = 0, dw0 = 0;
	bool good;

	good = open_link(&admin, &h->addr) &&
	       connect_queue(&admin, h->number, 0, NVME_CNTLID_DYNAMIC, &cntlid) == 0 &&
	       enable(&admin);
	for (int i = 0; i < QUEUES; i++)
		good = open_link(&q[i], &h->addr) && good &&
		       connect_queue(&q[i], h->number, (uint16_t)(i + 1), (uint16_t)cntlid, NULL) ==
			       0;
	for (int i = 0; i < QUEUES && good; i++)
		good = write_and_read(&q[i], h->number, i, (uint8_t)round);
	/* Over to another core and back. */
	nvme_cmd_init_abort(&cmd, 1, 9999);
	good = good && command(&admin, &cmd, NULL, NULL, 0, &dw0) == 0 && dw0 == 1;
	/* The admin queue ends first, last, or in between. */
	for (int i = 0; i < QUEUES; i++) {
		if (i == round % (QUEUES + 1))
			close(admin.fd);
		close(q[i].fd);
	}
	if (round % (QUEUES + 1) == QUEUES)
		close(admin.fd);
	return good;
}

static void *host_main(void *arg)
{
	struct host *h = arg;

	for (int round = 0; round < ROUNDS; round++) {
		if (session(h, round))
			h->good++;
		else
			h->bad++;
	}
	return NULL;
}

/* ---- namespaces that change meanwhile -------------------------------------------------------- */

#define OTHER "nqn.2026-11.io.penstock:comes-and-goes"

static atomic_int settled;

static void on_settled(struct target_settled *x)
{
	atomic_fetch_add(&settled, 1);
}

static struct target_settled watch = { on_settled };

/* Everything that can be changed without disturbing the hosts' sessions, there and back. */
static int change(struct target *t, const struct target_ns_config *second, bool there)
{
	struct target_ns_config first = { .nsid = 1, .store = second->store };
	struct target_subsys_config s = {
		.nqn = OTHER, .allow_any = true, .namespaces = &first, .namespace_count = 1
	};
	static struct io_addr extra;
	struct target_listener_config l = { 0 };
	struct err err = ERR_NULL;
	int bad = 0;

	io_addr_parse("127.0.0.1:0", 0, true, &l.addr, &err);
	if (there) {
		bad += target_ns_add(t, NQN, second, &err) < 0;
		bad += target_subsys_add(t, &s, &err) < 0;
		bad += target_listener_add(t, &l, &extra, &err) < 0;
	} else {
		bad += target_ns_remove(t, NQN, 2, &watch, &err) < 0;
		bad += target_subsys_remove(t, OTHER, &watch, &err) < 0;
		bad += target_listener_remove(t, &extra, &err) < 0;
	}
	bad += target_subsys_allow(t, NQN, true, NULL, 0, &err) < 0;
	if (bad)
		diag("%s", err.text);
	return bad;
}

static void look(void *arg, const struct target_ctrl_info *info)
{
	unsigned int *n = arg;

	*n += info->subnqn[0] != 0;
}

static void run(enum io_kind kind, const char *name)
{
	struct target_ns_config ns = { .nsid = 1 }, second = { .nsid = 2 };
	struct target_subsys_config s = {
		.nqn = NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct target_listener_config l[2] = { 0 };
	struct io_loop_options opts = { .kind = kind };
	struct host h[HOSTS] = { 0 };
	struct target_config c;
	struct target_stats st;
	struct io_loop *loop;
	struct target *t;
	struct err err = ERR_NULL;
	static struct hist latency[TARGET_LATENCY_CLASSES];
	unsigned int good = 0, seen = 0;
	int bad = 0;

	if (io_loop_new(&opts, &loop, &err) < 0) {
		tap_skip(err.text);
		return;
	}
	ok(store_open(loop, "memory:1M,block=512", &ns.store, &err) == 0, "%s: a store", name);
	second.store = ns.store;
	target_config_init(&c);
	c.subsystems = &s;
	c.subsystem_count = 1;
	c.listeners = l;
	c.listener_count = 2;
	c.reactors = 2;
	c.loop.kind = kind;
	c.limits.arena = 32 << 20;
	io_addr_parse("127.0.0.1:0", 0, true, &l[0].addr, &err);
	io_addr_parse("127.0.0.1:0", 0, true, &l[1].addr, &err);
	if (!ok(target_new(&c, &t, &err) == 0, "%s: a target on two threads %s", name, err.text))
		return;
	ok(target_start(t, &err) == 0, "%s: listens %s", name, err.text);
	for (int i = 0; i < HOSTS; i++) {
		h[i].number = i;
		h[i].addr = *target_listener_addr(t, (size_t)i % 2);
		pthread_create(&h[i].thread, NULL, host_main, &h[i]);
	}
	for (int i = 0; i < 50; i++) {
		bad += change(t, &second, i % 2 == 0);
		target_visit_ctrls(t, look, &seen);
		bad += target_latency(t, latency) < 0;
		target_stats(t, &st);
		usleep(5000);
	}
	for (int i = 0; i < HOSTS; i++) {
		pthread_join(h[i].thread, NULL);
		good += h[i].good;
	}
	is_i64(bad, 0, "%s: every change was made", name);
	while (atomic_load(&settled) < 50)
		usleep(1000);
	atomic_store(&settled, 0);
	is_u64(good, HOSTS * ROUNDS, "%s: every session of every host was right", name);
	target_stats(t, &st);
	is_u64(st.connects, HOSTS * ROUNDS * (QUEUES + 1), "%s: so many Connects", name);
	ok(tgt_counted(&t->reactors[0].stats.connects) > 0 &&
		   tgt_counted(&t->reactors[1].stats.connects) > 0,
	   "%s: on both reactors", name);
	target_drain(t, false);
	ok(target_run(t) == 0, "%s: drained", name);
	ok(target_drained(t), "%s: and says so", name);
	target_drain(t, true);
	target_free(t);
	store_free(ns.store);
	io_loop_free(loop);
}

/* X012: stopping under load, and an address that is taken. */
static void stop_and_fail(void)
{
	struct target_ns_config ns = { .nsid = 1 };
	struct target_subsys_config s = {
		.nqn = NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct target_listener_config l = { 0 };
	struct io_loop_options opts = { .kind = IO_KIND_EPOLL };
	struct target_config c;
	struct target *t, *again;
	struct io_loop *loop;
	struct err err = ERR_NULL;
	struct host h = { 0 };

	io_loop_new(&opts, &loop, &err);
	store_open(loop, "memory:1M,block=512", &ns.store, &err);
	target_config_init(&c);
	c.subsystems = &s;
	c.subsystem_count = 1;
	c.listeners = &l;
	c.listener_count = 1;
	c.reactors = 2;
	c.loop.kind = IO_KIND_EPOLL;
	io_addr_parse("127.0.0.1:0", 0, true, &l.addr, &err);
	target_new(&c, &t, &err);
	target_start(t, &err);
	l.addr = *target_listener_addr(t, 0);
	target_new(&c, &again, &err);
	ok(target_start(again, &err) == -EADDRINUSE && err.text[0], "an address that is taken: %s",
	   err.text);
	target_free(again);
	h.addr = l.addr;
	pthread_create(&h.thread, NULL, host_main, &h);
	usleep(30000);
	target_drain(t, true);
	ok(target_run(t) == 0, "X012: stopped under load");
	pthread_join(h.thread, NULL);
	target_free(t);
	ok(h.good + h.bad == ROUNDS, "X012: hosts that came later were turned away");
	target_new(&c, &t, &err);
	ok(target_start(t, &err) == 0, "X012: and the port is free again %s", err.text);
	target_free(t);
	store_free(ns.store);
	io_loop_free(loop);
}

/* ---- reservations, from one core to another -------------------------------------------------- */

enum { CONTESTED = 8 }; /* LBA that two hosts write to */

struct rival {
	pthread_t thread;
	struct io_addr addr;
	atomic_bool stop;
	unsigned int written, kept_off, bad;
};

static uint16_t resv(struct link *l, uint8_t opc, uint8_t action, uint64_t crkey, uint64_t key,
		     uint8_t type)
{
	struct nvme_resv_keys keys = { .crkey = cpu_to_le64(crkey), .key = cpu_to_le64(key) };
	struct nvme_cmd cmd;

	nvme_cmd_init_resv(&cmd, opc, 1, action, false, type, 0);
	return command(l, &cmd, &keys, NULL, sizeof(keys), NULL);
}

static uint16_t contest(struct link *l, uint8_t opc, uint8_t *block)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, 1, CONTESTED, 1, 0);
	return command(l, &cmd, opc == NVME_NVM_WRITE ? block : NULL, block, 512, NULL);
}

static bool open_host(struct link *admin, struct link *q, const struct io_addr *addr, int number)
{
	uint64_t cntlid = 0;

	return open_link(admin, addr) &&
	       connect_queue(admin, number, 0, NVME_CNTLID_DYNAMIC, &cntlid) == 0 &&
	       enable(admin) && open_link(q, addr) &&
	       connect_queue(q, number, 1, (uint16_t)cntlid, NULL) == 0;
}

/* Registers with key 2 again and again, and writes whenever it may. */
static void *rival_main(void *arg)
{
	struct rival *r = arg;
	struct link admin, q;
	uint8_t block[512];

	memset(block, 0xbb, sizeof(block));
	if (!open_host(&admin, &q, &r->addr, 1)) {
		r->bad++;
		return NULL;
	}
	while (!atomic_load(&r->stop)) {
		uint16_t st = contest(&q, NVME_NVM_WRITE, block);

		if (st == 0)
			r->written++;
		else if (st == NVME_SC_RESERVATION_CONFLICT || st == NVME_SC_ABORTED_PREEMPT ||
			 st == NVME_SC_ABORT_REQUESTED)
			r->kept_off++;
		else
			r->bad++;
		st = resv(&q, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, 0, 2, 0);
		/* That is a command of a preempted host, too. */
		r->bad += st != 0 && st != NVME_SC_ABORT_REQUESTED && st != NVME_SC_ABORTED_PREEMPT;
	}
	close(q.fd);
	close(admin.fd);
	return NULL;
}

/* Once it holds the reservation nothing of the other host lands any more. */
static unsigned int contests(const struct io_addr *addr, int rounds)
{
	uint8_t block[512], got[512];
	struct link admin, q;
	unsigned int bad = 0;

	if (!open_host(&admin, &q, addr, 0))
		return 1;
	memset(block, 0xaa, sizeof(block));
	for (int i = 0; i < rounds && bad == 0; i++) {
		bad += resv(&q, NVME_NVM_RESV_REGISTER, 0, 0, 1, 0) != 0;
		bad += resv(&q, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_ACQUIRE, 1, 0, 1) != 0;
		/* What the other one had begun before that is waited for, if it is registered now. */
		resv(&q, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_PREEMPT_AND_ABORT, 1, 2, 1);
		bad += contest(&q, NVME_NVM_WRITE, block) != 0;
		usleep(300);
		bad += contest(&q, NVME_NVM_READ, got) != 0;
		bad += memcmp(got, block, sizeof(block)) != 0;
		bad += resv(&q, NVME_NVM_RESV_RELEASE, 1, 1, 0, 0) != 0;
		usleep(100);
	}
	close(q.fd);
	close(admin.fd);
	return bad;
}

static void reservations(enum io_kind kind, const char *name)
{
	struct target_ns_config ns = { .nsid = 1 };
	struct target_subsys_config s = {
		.nqn = NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct target_listener_config l = { 0 };
	struct io_loop_options opts = { .kind = kind };
	struct rival r = { 0 };
	struct target_config c;
	struct io_loop *loop;
	struct target *t;
	struct err err = ERR_NULL;
	unsigned int bad;

	if (io_loop_new(&opts, &loop, &err) < 0) {
		tap_skip(err.text);
		return;
	}
	INVARIANT(store_open(loop, "memory:1M,block=512", &ns.store, &err) == 0);
	target_config_init(&c);
	c.subsystems = &s;
	c.subsystem_count = 1;
	c.listeners = &l;
	c.listener_count = 1;
	c.reactors = 3;
	c.loop.kind = kind;
	c.limits.arena = 32 << 20;
	io_addr_parse("127.0.0.1:0", 0, true, &l.addr, &err);
	INVARIANT(target_new(&c, &t, &err) == 0 && target_start(t, &err) == 0);
	r.addr = *target_listener_addr(t, 0);
	pthread_create(&r.thread, NULL, rival_main, &r);
	bad = contests(&r.addr, 200);
	atomic_store(&r.stop, true);
	pthread_join(r.thread, NULL);
	is_u64(bad, 0, "%s: a host that holds a reservation is alone", name);
	ok(r.bad == 0 && r.written > 0 && r.kept_off > 0,
	   "%s: the other one wrote %u times, was kept off %u times, saw %u wrong answers", name,
	   r.written, r.kept_off, r.bad);
	target_drain(t, false);
	ok(target_run(t) == 0, "%s: ends", name);
	target_free(t);
	store_free(ns.store);
	io_loop_free(loop);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	reservations(IO_KIND_EPOLL, "epoll");
	reservations(IO_KIND_URING, "io_uring");
	run(IO_KIND_EPOLL, "epoll");
	run(IO_KIND_URING, "io_uring");
	stop_and_fail();
	return tap_done();
}

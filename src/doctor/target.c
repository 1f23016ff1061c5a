/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to a target in two steps, so that a failure says which part is to blame: a plain TCP
 * connection first, of which the kernel tells round trip, path MTU and interface, and then an NVMe
 * association by the same initiator that volumes use.
 */
#include "doctor/target.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/magic.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/parse.h"
#include "doctor/tree.h"
#include "host/host.h"
#include "host/identity.h"
#include "nvme/cmd.h"
#include "nvme/text.h"
#include "nvme/vendor.h"
#include "volume/uri.h"

enum {
	QUEUES_ASKED = 8, /* unless the URI says: what a client with some cores wants */
	COMMANDS = 16,    /* of which the fastest counts */
	TIMEOUT_MS = 5000,
};

#define MS UINT64_C(1000000)

/* ---- TCP ----------------------------------------------------------------------------------- */

static bool same_host(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* The interface that has the connection's own address. */
static void interface(int fd, struct doctor_target *t)
{
	struct sockaddr_storage local = { 0 };
	socklen_t len = sizeof(local);
	struct ifaddrs *all;

	if (getsockname(fd, (struct sockaddr *)&local, &len) < 0 || getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i && !t->interface[0]; i = i->ifa_next) {
		if (i->ifa_addr && same_host(i->ifa_addr, &local))
			snprintf(t->interface, sizeof(t->interface), "%s", i->ifa_name);
	}
	freeifaddrs(all);
}

static void ask_tcp(int fd, struct doctor_target *t)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return;
	t->rtt_us = info.tcpi_rtt;
	t->rtt_var_us = info.tcpi_rttvar;
	t->path_mtu = info.tcpi_pmtu;
	t->mss = info.tcpi_snd_mss;
}

/* A connection that carries nothing: its handshake is what is measured. 0 or an errno. */
static int try_tcp(int fd, const struct io_addr *a, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0, rc;
	socklen_t len = sizeof(error);

	if (connect(fd, (const struct sockaddr *)&a->ss, a->len) < 0 && errno != EINPROGRESS)
		return errno;
	do
		rc = poll(&p, 1, timeout_ms);
	while (rc < 0 && errno == EINTR);
	if (rc <= 0)
		return rc < 0 ? errno : ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

static int reach(const struct uri *u, const struct io_addr *a, struct doctor_target *t)
{
	int timeout = u->connect_timeout_ns ? (int)(u->connect_timeout_ns / MS) : TIMEOUT_MS;
	int fd = socket(a->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

	error = fd < 0 ? errno : try_tcp(fd, a, timeout);
	if (error) {
		err_set(&t->err, error, "%s: %s", t->address, strerror(error));
	} else {
		interface(fd, t);
		ask_tcp(fd, t);
		t->reached = DOCTOR_CONNECTED;
	}
	if (fd >= 0)
		close(fd);
	return -error;
}

/* ---- NVMe ---------------------------------------------------------------------------------- */

struct visit {
	struct doctor_target *t;
	struct io_loop *loop;
	struct host_ctrl *ctrl;
	struct host_admin admin;
	struct iovec iov;
	struct io_timer limit;
	uint64_t sent_ns;
	int left; /* commands to measure */
	bool closing, closed;
	uint8_t page[NVME_IDENTIFY_SIZE];
};

static void on_closed(void *arg)
{
	((struct visit *)arg)->closed = true;
}

static void leave(struct visit *v)
{
	if (v->closing)
		return;
	v->closing = true;
	io_timer_stop(v->loop, &v->limit);
	host_ctrl_close(v->ctrl, on_closed, v);
}

static void next_command(struct visit *v);

static void on_command(struct host_admin *a)
{
	struct visit *v = container_of(a, struct visit, admin);
	doctor_number us = (doctor_number)((io_now_precise(v->loop) - v->sent_ns) / 1000);

	if (a->error == 0 && (v->t->command_us < 0 || us < v->t->command_us))
		v->t->command_us = us;
	if (a->error < 0 || --v->left == 0)
		leave(v);
	else
		next_command(v);
}

/* Identify is the one command with data that every controller has. */
static void next_command(struct visit *v)
{
	v->iov = (struct iovec){ .iov_base = v->page, .iov_len = sizeof(v->page) };
	v->admin.iov = &v->iov;
	v->admin.niov = 1;
	v->admin.bytes = sizeof(v->page);
	v->admin.done = on_command;
	nvme_cmd_init_identify(&v->admin.cmd, NVME_CNS_CTRL, 0, 0, 0);
	v->sent_ns = io_now_precise(v->loop);
	host_admin_submit(v->ctrl, &v->admin);
}

/* Of MDTS what is used of it: the initiator has a limit of its own, far above what a read gains by. */
static void remember(const struct host_ctrl_info *i, struct doctor_target *t)
{
	const struct nvme_id_ctrl *id = i->id;

	snprintf(t->subnqn, sizeof(t->subnqn), "%s", i->subnqn);
	nvme_text_decode(id->mn, sizeof(id->mn), t->model, sizeof(t->model));
	nvme_text_decode(id->sn, sizeof(id->sn), t->serial, sizeof(t->serial));
	nvme_text_decode(id->fr, sizeof(id->fr), t->firmware, sizeof(t->firmware));
	t->version = i->version;
	t->mdts_bytes = id->mdts ? i->max_transfer : 0;
	t->ioccsz_bytes = le32_to_cpu(id->ioccsz) * 16;
	t->in_capsule_bytes = t->ioccsz_bytes > 64 ? t->ioccsz_bytes - 64 : 0;
	t->queues = i->queues;
	t->depth = i->depth;
	t->hdgst = i->hdgst;
	t->ddgst = i->ddgst;
	t->kato_ms = i->kato_ms;
	t->cqt_ms = le16_to_cpu(id->cqt);
	t->extension = nvme_vendor_caps(id) & NVME_VENDOR_CAP_TIMES;
	t->times = i->times;
	t->reached = DOCTOR_LIVE;
}

static void on_event(struct host_ctrl *c, enum host_event event, void *arg)
{
	struct visit *v = arg;
	struct host_ctrl_info i;
	struct host_ns ns;

	if (v->closing || (event != HOST_EVENT_LIVE && event != HOST_EVENT_FAILED))
		return;
	host_ctrl_info(c, &i);
	if (event == HOST_EVENT_FAILED) {
		err_set(&v->t->err, -i.error, "%s", i.error_text);
		leave(v);
		return;
	}
	if (v->t->reached == DOCTOR_LIVE)
		return; /* again, after a loss: the command in flight tells */
	remember(&i, v->t);
	if (host_ns_get(c, v->t->nsid, &ns) == 0) {
		v->t->namespace_there = true;
		v->t->block_bytes = ns.block;
		v->t->size_bytes = host_ns_bytes(&ns);
	}
	v->left = COMMANDS;
	next_command(v);
}

static void on_limit(struct io_timer *timer)
{
	struct visit *v = container_of(timer, struct visit, limit);
	struct host_ctrl_info i;

	host_ctrl_info(v->ctrl, &i);
	if (v->t->reached != DOCTOR_LIVE)
		err_set(&v->t->err, ETIMEDOUT, "no answer while %s", i.state);
	leave(v);
}

static void configure(struct host_config *c, const struct uri *u, const struct host_identity *who,
		      const struct io_addr *a, struct visit *v)
{
	host_config_init(c);
	c->addr = *a;
	c->subnqn = u->subnqn;
	c->hostnqn = who->nqn;
	memcpy(c->hostid, who->id, sizeof(c->hostid));
	c->queues = v->t->queues_asked = u->queues ? u->queues : QUEUES_ASKED;
	if (u->depth)
		c->depth = u->depth;
	v->t->depth_asked = c->depth;
	c->times = u->sample_every != UINT32_MAX;
	c->hdgst = u->hdgst;
	c->ddgst = u->ddgst;
	if (u->kato_ns)
		c->kato_ns = u->kato_ns;
	c->connect_timeout_ns = u->connect_timeout_ns ? u->connect_timeout_ns : TIMEOUT_MS * MS;
	c->admin_timeout_ns = c->connect_timeout_ns;
	/* It is to be found out whether it works, not to be made to. */
	c->loss_timeout_ns = 0;
	c->event = on_event;
	c->arg = v;
}

static int visit(struct visit *v, const struct host_config *c, struct err *err)
{
	int rc = host_ctrl_new(v->loop, c, &v->ctrl, err);

	if (rc < 0)
		return rc;
	io_timer_init(&v->limit, on_limit);
	/* Connecting has several steps, each with a limit of its own; this one is for all of them. */
	rc = io_timer_start(v->loop, &v->limit, 4 * c->connect_timeout_ns);
	if (rc < 0)
		leave(v);
	while (!v->closed && rc >= 0)
		rc = io_loop_turn(v->loop, UINT64_MAX);
	return rc < 0 ? err_set(err, -rc, "event loop: %s", strerror(-rc)) : 0;
}

static int remote(const struct uri *u, const char *hostnqn, const char *hostid, struct doctor_target *t,
		  struct err *err)
{
	struct visit v = { .t = t };
	struct host_identity who;
	struct host_config c;
	struct io_addr a;
	int rc = io_loop_new(NULL, &v.loop, err);

	if (rc < 0)
		return rc;
	rc = host_identity_get(v.loop, hostnqn, hostid, &who, err);
	if (rc == 0 && io_addr_parse(u->address, URI_DEFAULT_PORT, false, &a, &t->err) == 0) {
		t->reached = DOCTOR_RESOLVED;
		io_addr_format(&a, t->address);
		t->loopback = io_addr_is_loopback(&a);
		configure(&c, u, &who, &a, &v);
		if (reach(u, &a, t) == 0)
			rc = visit(&v, &c, err);
	}
	io_loop_free(v.loop);
	return rc;
}

/* ---- files --------------------------------------------------------------------------------- */

static const char *filesystem_name(long magic)
{
	static const struct {
		long magic;
		const char *name;
	} names[] = {
		{ EXT4_SUPER_MAGIC, "ext4" },         { XFS_SUPER_MAGIC, "XFS" },
		{ BTRFS_SUPER_MAGIC, "Btrfs" },       { TMPFS_MAGIC, "tmpfs" },
		{ OVERLAYFS_SUPER_MAGIC, "overlay" }, { NFS_SUPER_MAGIC, "NFS" },
		{ F2FS_SUPER_MAGIC, "F2FS" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].magic == magic)
			return names[i].name;
	}
	return "";
}

/* The disk of a device number: its own name, or for a partition that of the directory above it. */
static void disk_of(dev_t dev, char *name, size_t n)
{
	static const struct tree here = { .root = "" };
	char path[DOCTOR_TEXT_SIZE], real[4096];
	ssize_t len;
	char *slash;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	len = readlink(path, real, sizeof(real) - 1);
	if (len < 0)
		return;
	real[len] = 0;
	slash = strrchr(real, '/');
	if (slash && tree_exists(&here, "sys/dev/block/%u:%u/partition", major(dev), minor(dev))) {
		*slash = 0;
		slash = strrchr(real, '/');
	}
	snprintf(name, n, "%.39s", slash ? slash + 1 : real);
}

static void local(const struct uri *u, struct doctor_target *t)
{
	struct statfs fs;
	struct stat st;
	int fd;

	snprintf(t->path, sizeof(t->path), "%.255s", u->path);
	if (stat(u->path, &st) < 0) {
		err_set(&t->err, errno, "%s: %s", u->path, strerror(errno));
		return;
	}
	t->reached = DOCTOR_LIVE;
	if (S_ISBLK(st.st_mode))
		snprintf(t->filesystem, sizeof(t->filesystem), "a block device");
	else if (statfs(u->path, &fs) == 0)
		snprintf(t->filesystem, sizeof(t->filesystem), "%s", filesystem_name((long)fs.f_type));
	disk_of(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, t->disk, sizeof(t->disk));
	fd = open(u->path, O_RDONLY | O_CLOEXEC | O_DIRECT | O_NONBLOCK);
	t->direct_error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
}

int gather_target(const char *uri, const char *hostnqn, const char *hostid, struct doctor_target *ret,
		  struct err *err)
{
	struct uri u;
	int rc = uri_parse(uri, &u, err);

	if (rc < 0)
		return rc;
	if (u.kind == URI_FILE) {
		ret->kind = DOCTOR_TO_FILE;
		local(&u, ret);
		return 0;
	}
	ret->kind = DOCTOR_TO_TCP;
	ret->nsid = u.nsid;
	return remote(&u, hostnqn, hostid, ret, err);
}

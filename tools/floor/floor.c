/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor: what this machine's TCP can do for a request and its answer, with nothing else around it.
 * Two processes, one core each, move the bytes that an NVMe/TCP command moves: for a read 72 bytes
 * there and 24 + N back, for a write 72 + N there and 24 back, with DEPTH requests outstanding on
 * each of CONNECTIONS sockets. Nobody parses, allocates or checks anything; both sides poll
 * (or both sleep in epoll, with --blocking). Read answers are sent from random places of a region
 * of 1 GiB, as a store would; they are received into DEPTH buffers in turn.
 *
 * Every figure of docs/performance.md is a ratio to this program's, measured in the same
 * alternating runs: it is the limit that any NVMe/TCP pair has on the same machine.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hist.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/util.h"

enum { COMMAND = 72, RESPONSE = 24, MAX_CONNECTIONS = 1024, MAX_IOV = 64, STAGE = 1 << 18, SINK_MAX = 64 << 20 };
#define REGION (1ull << 30)

struct options {
	uint64_t size;
	uint64_t depth;
	uint64_t connections;
	uint64_t time_ns;
	uint64_t warmup_ns;
	int server_cpu;
	int client_cpu;
	bool write;
	bool blocking;
	bool json;
};

/* One direction of one socket: fixed-size records out, fixed-size records in. */
struct lane {
	int fd;
	uint64_t in_record;  /* bytes of a record that comes in */
	uint64_t out_record; /* bytes of a record that goes out */
	uint64_t in_bytes;   /* received of the present record */
	uint64_t out_due;    /* records still to send, the first one partly sent */
	uint64_t out_bytes;  /* sent of it */
	uint64_t out_place;  /* where in the region its payload lies */
	uint64_t *sent_at;   /* client: ring of send times */
	uint64_t head;
	uint64_t tail;
	uint8_t *sink; /* what comes in lands here, round and round */
	uint64_t sink_size;
	uint64_t sink_at;
};

static struct options opt = {
	.size = 4096,
	.depth = 32,
	.connections = 1,
	.time_ns = 2000000000,
	.warmup_ns = 200000000,
	.server_cpu = 0,
	.client_cpu = 1,
};
static uint8_t *region;
static struct rng rng;
static uint8_t head_out[COMMAND];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static NORETURN void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("sched_setaffinity");
}

static uint64_t random_place(void)
{
	return ALIGN_DOWN(rng_below(&rng, REGION - opt.size), (uint64_t)4096);
}

/* Sends what is due, as much as the socket takes. True if it moved anything. */
static bool lane_send(struct lane *l, uint64_t head_len)
{
	struct iovec iov[MAX_IOV];
	bool moved = false;

	while (l->out_due > 0) {
		uint64_t places[MAX_IOV], off = l->out_bytes, records = 0;
		int n = 0;
		ssize_t r;

		while (records < l->out_due && n + 2 <= MAX_IOV) {
			uint64_t place = records == 0 && off > 0 ? l->out_place : random_place();

			places[records] = place;
			if (off < head_len)
				iov[n++] = (struct iovec){ head_out + off, head_len - off };
			if (l->out_record > head_len) {
				uint64_t skip = off > head_len ? off - head_len : 0;

				iov[n++] = (struct iovec){ region + place + skip,
							   l->out_record - head_len - skip };
			}
			off = 0;
			records++;
		}
		r = sendmsg(l->fd, &(struct msghdr){ .msg_iov = iov, .msg_iovlen = (size_t)n },
			    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r < 0) {
			if (errno == EAGAIN)
				return moved;
			die("sendmsg");
		}
		moved = true;
		l->out_bytes += (uint64_t)r;
		l->out_place = places[MIN(l->out_bytes / l->out_record, records - 1)];
		l->out_due -= l->out_bytes / l->out_record;
		l->out_bytes %= l->out_record;
	}
	return moved;
}

/* Receives what there is; returns whole records, or -1 if there was nothing. */
static int64_t lane_recv(struct lane *l)
{
	uint64_t room = MIN(l->sink_size - l->sink_at, MAX((uint64_t)STAGE, l->in_record));
	ssize_t r = recv(l->fd, l->sink + l->sink_at, room, MSG_DONTWAIT);
	int64_t records;

	if (r == 0 || (r < 0 && errno != EAGAIN))
		die("recv");
	if (r < 0)
		return -1;
	l->sink_at = (l->sink_at + (uint64_t)r) % l->sink_size;
	l->in_bytes += (uint64_t)r;
	records = (int64_t)(l->in_bytes / l->in_record);
	l->in_bytes %= l->in_record;
	return records;
}

static void lane_init(struct lane *l, int fd, uint64_t in_record, uint64_t out_record)
{
	int one = 1;

	*l = (struct lane){ .fd = fd, .in_record = in_record, .out_record = out_record };
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
		die("TCP_NODELAY");
	l->sink_size = MIN(MAX((uint64_t)STAGE, in_record * opt.depth), (uint64_t)SINK_MAX);
	l->sink = malloc(l->sink_size);
	l->sent_at = calloc(opt.depth, sizeof(*l->sent_at));
	if (!l->sink || !l->sent_at)
		die("memory");
}

static int watch(const struct lane *lanes)
{
	int ep = epoll_create1(0);

	for (uint64_t i = 0; i < opt.connections; i++) {
		struct epoll_event ev = { .events = EPOLLIN };

		if (epoll_ctl(ep, EPOLL_CTL_ADD, lanes[i].fd, &ev) != 0)
			die("epoll_ctl");
	}
	return ep;
}

static void nap(int ep, bool output_waits)
{
	struct epoll_event ev;

	if (opt.blocking && !output_waits)
		epoll_wait(ep, &ev, 1, 100);
}

static NORETURN void server(int listener)
{
	static struct lane lanes[MAX_CONNECTIONS];
	uint64_t in = COMMAND + (opt.write ? opt.size : 0);
	uint64_t out = RESPONSE + (opt.write ? 0 : opt.size);
	int ep;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(opt.server_cpu);
	rng_init(&rng, 1);
	for (uint64_t i = 0; i < opt.connections; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept");
		lane_init(&lanes[i], fd, in, out);
	}
	ep = watch(lanes);
	for (;;) {
		bool moved = false, waits = false;

		for (uint64_t i = 0; i < opt.connections; i++) {
			int64_t n = lane_recv(&lanes[i]);

			if (n > 0)
				lanes[i].out_due += (uint64_t)n;
			moved |= n >= 0;
			moved |= lane_send(&lanes[i], RESPONSE);
			waits |= lanes[i].out_due > 0;
		}
		if (!moved)
			nap(ep, waits);
	}
}

static void fill(struct lane *l, uint64_t records, uint64_t now)
{
	for (uint64_t i = 0; i < records; i++)
		l->sent_at[l->head++ % opt.depth] = now;
	l->out_due += records;
}

static uint64_t client(struct lane *lanes, struct hist *latency, uint64_t *ret_ns)
{
	uint64_t begin = now_ns(), measure = begin + opt.warmup_ns, end = measure + opt.time_ns;
	uint64_t done = 0, now = begin;
	int ep = watch(lanes);

	for (uint64_t i = 0; i < opt.connections; i++)
		fill(&lanes[i], opt.depth, now);
	while (now < end) {
		bool moved = false, waits = false;

		for (uint64_t i = 0; i < opt.connections; i++) {
			struct lane *l = &lanes[i];
			int64_t n;

			moved |= lane_send(l, COMMAND);
			waits |= l->out_due > 0;
			n = lane_recv(l);
			moved |= n >= 0;
			if (n <= 0)
				continue;
			now = now_ns();
			for (int64_t k = 0; k < n; k++) {
				uint64_t at = l->sent_at[l->tail++ % opt.depth];

				if (now >= measure) {
					hist_add(latency, now - at);
					done++;
				}
			}
			fill(l, (uint64_t)n, now);
			moved |= lane_send(l, COMMAND);
		}
		if (!moved) {
			nap(ep, waits);
			now = now_ns();
		}
	}
	*ret_ns = now - measure;
	return done;
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: floor [--io read|write] [--block-size 4k] [--depth 32] [--connections 1]\n"
		"             [--time 2s] [--warmup 200ms] [--blocking] [--cpus SERVER,CLIENT|none] [--json]\n"
		"Moves the bytes of NVMe/TCP commands between two processes over loopback, and nothing else.\n");
	return status;
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "io", 1, NULL, 'i' },		 { "block-size", 1, NULL, 'b' }, { "depth", 1, NULL, 'd' },
		{ "connections", 1, NULL, 'c' }, { "time", 1, NULL, 't' },	 { "warmup", 1, NULL, 'w' },
		{ "blocking", 0, NULL, 'B' },	 { "cpus", 1, NULL, 'p' },	 { "json", 0, NULL, 'j' },
		{ "help", 0, NULL, 'h' },	 { NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	while (rc == 0 && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'i':
			opt.write = strcmp(optarg, "write") == 0;
			rc = opt.write || strcmp(optarg, "read") == 0 ? 0 : -EINVAL;
			break;
		case 'b':
			rc = parse_size(optarg, &opt.size);
			break;
		case 'd':
			rc = parse_u64_between(optarg, 1, 65536, &opt.depth);
			break;
		case 'c':
			rc = parse_u64_between(optarg, 1, MAX_CONNECTIONS, &opt.connections);
			break;
		case 't':
			rc = parse_duration_ns(optarg, &opt.time_ns);
			break;
		case 'w':
			rc = parse_duration_ns(optarg, &opt.warmup_ns);
			break;
		case 'B':
			opt.blocking = true;
			break;
		case 'p':
			if (strcmp(optarg, "none") == 0)
				opt.server_cpu = opt.client_cpu = -1;
			else if (sscanf(optarg, "%d,%d", &opt.server_cpu, &opt.client_cpu) != 2)
				rc = -EINVAL;
			break;
		case 'j':
			opt.json = true;
			break;
		case 'h':
			exit(usage(0));
		default:
			return -EINVAL;
		}
		if (rc != 0)
			fprintf(stderr, "floor: bad value '%s'\n", optarg);
	}
	if (rc == 0 && (optind != argc || opt.size == 0 || opt.size > REGION / 2))
		rc = -EINVAL;
	return rc;
}

static void report(uint64_t done, uint64_t ns, const struct hist *latency)
{
	double seconds = (double)ns / 1e9, iops = (double)done / seconds;
	double p50 = (double)hist_percentile(latency, 50) / 1e3;
	double p99 = (double)hist_percentile(latency, 99) / 1e3;

	if (opt.json)
		printf("{\"schema\":\"penstock.floor/1\",\"io\":\"%s\",\"block_size_bytes\":%llu,\"depth\":%llu,"
		       "\"connections\":%llu,\"blocking\":%s,\"iops\":%.0f,\"bytes_per_second\":%.0f,"
		       "\"latency_us\":{\"p50\":%.2f,\"p99\":%.2f}}\n",
		       opt.write ? "write" : "read", (unsigned long long)opt.size, (unsigned long long)opt.depth,
		       (unsigned long long)opt.connections, opt.blocking ? "true" : "false", iops,
		       iops * (double)opt.size, p50, p99);
	else
		printf("%s %llu bytes, depth %llu, %llu connections, %s: %.0f IOPS, %.1f MiB/s, p50 %.1f us, "
		       "p99 %.1f us\n",
		       opt.write ? "write" : "read", (unsigned long long)opt.size, (unsigned long long)opt.depth,
		       (unsigned long long)opt.connections, opt.blocking ? "blocking" : "polling", iops,
		       iops * (double)opt.size / 1048576, p50, p99);
}

static int start(struct lane *lanes, pid_t *ret_pid)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, len) != 0 ||
	    listen(listener, MAX_CONNECTIONS) != 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) != 0)
		die("listen");
	*ret_pid = fork();
	if (*ret_pid < 0)
		die("fork");
	if (*ret_pid == 0)
		server(listener);
	pin(opt.client_cpu);
	for (uint64_t i = 0; i < opt.connections; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&addr, len) != 0)
			die("connect");
		lane_init(&lanes[i], fd, RESPONSE + (opt.write ? 0 : opt.size),
			  COMMAND + (opt.write ? opt.size : 0));
	}
	close(listener);
	return 0;
}

int main(int argc, char **argv)
{
	static struct lane lanes[MAX_CONNECTIONS];
	static struct hist latency;
	uint64_t done, ns;
	pid_t pid;

	if (parse(argc, argv) != 0)
		return usage(2);
	region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		die("mmap");
	memset(region, 0xa5, REGION);
	rng_init(&rng, 2);
	hist_init(&latency);
	start(lanes, &pid);
	done = client(lanes, &latency, &ns);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	report(done, ns, &latency);
	return 0;
}

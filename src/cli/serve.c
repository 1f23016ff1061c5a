/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock serve: a target from a configuration, run until a signal. Here words become things:
 * addresses, stores, cores; every error names the word.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "nvme/nqn.h"
#include "ops/config.h"
#include "target/target.h"

enum { CORES_MAX = 256, READY_MAX = 4096 };
#define DEFAULT_PORT 4420

static struct {
	const char *config;
	struct cli_list listen;
	struct cli_list allow;
	const char *advertise;
	const char *nqn;
	const char *serial;
	const char *model;
	const char *cores;
	const char *log_level;
	uint64_t spin_ns;
	uint64_t arena;
	uint64_t depth;
	uint64_t io_queues;
	uint64_t connections;
	uint64_t drain_ns;
} given;

const struct cli_option serve_options[] = {
	{ "config", 'c', CLI_TEXT, &given.config, "FILE",
	  "read the configuration from a YAML file: penstock.yaml(5)", NULL },
	{ "listen", 'l', CLI_LIST, &given.listen, "tcp://ADDR:PORT",
	  "address to listen on; may be repeated (default tcp://127.0.0.1:4420)", NULL },
	{ "advertise", 0, CLI_TEXT, &given.advertise, "ADDR[:PORT]",
	  "address for the discovery log, where hosts reach it by another one", NULL },
	{ "nqn", 'n', CLI_TEXT, &given.nqn, "NQN",
	  "name of the subsystem (default " CONFIG_DEFAULT_NQN ")", NULL },
	{ "allow", 'a', CLI_LIST, &given.allow, "HOSTNQN|any",
	  "host that may connect; may be repeated (default: any, on loopback only)", NULL },
	{ "serial", 0, CLI_TEXT, &given.serial, "TEXT", "serial number (default: from the NQN)", NULL },
	{ "model", 0, CLI_TEXT, &given.model, "TEXT", "model name (default Penstock)", NULL },
	{ "cores", 0, CLI_TEXT, &given.cores, "LIST",
	  "one reactor on each of these CPUs, as 0,2-3 (default: one, not pinned)", NULL },
	{ "spin", 0, CLI_DURATION, &given.spin_ns, "TIME",
	  "poll this long before sleeping: less latency, more CPU (default 0)", NULL },
	{ "queue-depth", 0, CLI_COUNT, &given.depth, "N", "entries of a queue at most (default 128)", NULL },
	{ "io-queues", 0, CLI_COUNT, &given.io_queues, "N", "I/O queues of a controller at most", NULL },
	{ "connections", 0, CLI_COUNT, &given.connections, "N", "connections at most", NULL },
	{ "arena", 0, CLI_SIZE, &given.arena, "SIZE", "memory for data in flight (default 128M)", NULL },
	{ "drain", 0, CLI_DURATION, &given.drain_ns, "TIME",
	  "at SIGTERM, how long commands in flight may take", NULL },
	{ "log-level", 0, CLI_TEXT, &given.log_level, "error|warn|info|debug",
	  "what to log on stderr (default info)", NULL },
	{ .name = NULL },
};

/* Everything that lives as long as the target does. */
struct server {
	struct config *config;
	struct io_loop *loop; /* opens files; never turned */
	struct target_config tc;
	struct target_listener_config *listeners;
	struct target_subsys_config *subsystems;
	struct target *target;
	struct log log;
	int cores[CORES_MAX];
};

static struct target *signalled;

static void on_signal(int signo)
{
	static volatile sig_atomic_t again;

	target_drain(signalled, again);
	again = 1;
}

static int load_config(struct server *s, int argc, char **argv, struct err *err)
{
	struct config_words w = {
		.listen = given.listen.items,
		.listen_count = given.listen.count,
		.advertise = given.advertise,
		.nqn = given.nqn,
		.serial = given.serial,
		.model = given.model,
		.allow = given.allow.items,
		.allow_count = given.allow.count,
		.namespaces = argv,
		.namespace_count = (size_t)argc,
	};
	int rc;

	if (given.config)
		rc = config_load(given.config, &s->config, err);
	else
		rc = config_from_words(&w, &s->config, err);
	return rc;
}

/* An option that says what is served, which a file says already; NULL if none was given. */
static const char *describes(void)
{
	return given.listen.count ? "listen" : given.allow.count ? "allow" : given.advertise ? "advertise" :
	       given.nqn ? "nqn" : given.serial ? "serial" : given.model ? "model" : NULL;
}

/* The words that say how to run win over the file, so that a file can be tried with other ones. */
static void override(struct config *c)
{
	if (given.spin_ns)
		c->spin_ns = given.spin_ns;
	if (given.arena)
		c->arena_bytes = given.arena;
	if (given.drain_ns)
		c->drain_ns = given.drain_ns;
	if (given.depth)
		c->queue_depth = (uint32_t)MIN(given.depth, (uint64_t)UINT32_MAX);
	if (given.io_queues)
		c->io_queues = (uint32_t)MIN(given.io_queues, (uint64_t)UINT32_MAX);
	if (given.connections)
		c->connections = (uint32_t)MIN(given.connections, (uint64_t)UINT32_MAX);
}

static int add_listener(struct server *s, size_t i, struct err *err)
{
	const struct config_listener *in = &s->config->listeners[i];
	struct target_listener_config *out = &s->listeners[i];
	int rc = io_addr_parse(in->address, DEFAULT_PORT, true, &out->addr, err);

	if (rc == 0 && in->advertise) {
		rc = io_addr_parse(in->advertise, 0, true, &out->advertise, err);
		if (rc == 0 && io_addr_port(&out->advertise) == 0)
			io_addr_set_port(&out->advertise, io_addr_port(&out->addr));
	}
	out->nqns = (const char *const *)in->nqns;
	out->nqn_count = in->nqn_count;
	if (rc < 0)
		err_prefix(err, "listen");
	return rc;
}

static int add_namespaces(struct server *s, const struct config_subsystem *in, struct target_subsys_config *out,
			  struct err *err)
{
	struct target_ns_config *ns = mem_calloc(in->namespace_count, sizeof(*ns));

	if (!ns)
		return err_set(err, ENOMEM, "no memory for %zu namespaces", in->namespace_count);
	out->namespaces = ns;
	for (; out->namespace_count < in->namespace_count; out->namespace_count++) {
		const struct config_namespace *n = &in->namespaces[out->namespace_count];
		struct target_ns_config *x = &ns[out->namespace_count];
		int rc;

		if (n->uuid && uuid_parse(n->uuid, &x->uuid) < 0)
			return err_set(err, EINVAL, "%s: '%s' is no UUID", n->store, n->uuid);
		rc = store_open(s->loop, n->store, &x->store, err);
		if (rc < 0)
			return rc;
		x->nsid = n->nsid ? n->nsid : (uint32_t)out->namespace_count + 1;
		x->read_only = n->read_only;
	}
	return 0;
}

static int add_subsystem(struct server *s, size_t i, struct err *err)
{
	const struct config_subsystem *in = &s->config->subsystems[i];
	struct target_subsys_config *out = &s->subsystems[i];

	out->nqn = in->nqn;
	out->serial = in->serial;
	out->model = in->model;
	out->hosts = (const char *const *)in->allow;
	out->host_count = in->allow_count;
	for (size_t k = 0; k < in->allow_count; k++) {
		if (strcmp(in->allow[k], "any") == 0)
			out->allow_any = true;
		else if (!nvme_nqn_valid(in->allow[k]))
			return err_set(err, EINVAL, "allow: '%s' is no host NQN (and not 'any')", in->allow[k]);
	}
	if (out->allow_any)
		out->host_count = 0;
	return add_namespaces(s, in, out, err);
}

/*
 * Secure by default: on loopback anybody on this machine may connect; on any other address only
 * who was named.
 */
static int check_access(struct server *s, struct err *err)
{
	bool exposed = false;

	for (size_t i = 0; i < s->config->listener_count; i++)
		exposed |= !io_addr_is_loopback(&s->listeners[i].addr);
	for (size_t i = 0; i < s->config->subsystem_count; i++) {
		struct target_subsys_config *x = &s->subsystems[i];

		if (x->allow_any || x->host_count > 0)
			continue;
		if (exposed)
			return err_set(err, EACCES,
				       "listening beyond loopback without saying who may connect to %s: name hosts "
				       "with --allow HOSTNQN, or say --allow any",
				       x->nqn);
		x->allow_any = true;
	}
	return 0;
}

/* What the file says of limits; the sizes and numbers among them fit 32 bits. */
static void apply_limits(const struct config_limits *c, struct target_limits *l)
{
#define APPLY(name, kind, field)                                                                   \
	if (c->name.text)                                                                          \
		l->field = (__typeof__(l->field))c->name.value;
	CONFIG_LIMIT_LIST(APPLY)
#undef APPLY
}

static int resources(struct server *s, struct err *err)
{
	const struct config *c = s->config;
	struct target_limits *l = &s->tc.limits;
	int n;

	if (c->cores || given.cores) {
		n = config_parse_cores(given.cores ? given.cores : c->cores, s->cores, CORES_MAX, err);
		if (n < 0)
			return n;
		s->tc.cores = s->cores;
		s->tc.core_count = (size_t)n;
	}
	s->tc.loop.spin_ns = c->spin_ns;
	if (c->arena_bytes)
		l->arena = c->arena_bytes;
	if (c->queue_depth)
		l->queue_depth = c->queue_depth;
	if (c->io_queues)
		l->io_queues = c->io_queues;
	if (c->connections)
		l->connections = c->connections;
	if (c->drain_ns)
		l->drain_ns = c->drain_ns;
	apply_limits(&c->limits, l);
	return 0;
}

static int set_up(struct server *s, int argc, char **argv, struct err *err)
{
	const char *level;
	int rc = load_config(s, argc, argv, err);

	if (rc < 0)
		return rc;
	override(s->config);
	level = given.log_level ? given.log_level : s->config->log_level;
	if (level && log_level_parse(level, &s->log.level) < 0)
		return err_set(err, EINVAL, "log-level: '%s': expected error, warn, info or debug", level);
	rc = io_loop_new(&s->tc.loop, &s->loop, err);
	s->listeners = mem_calloc(s->config->listener_count, sizeof(*s->listeners));
	s->subsystems = mem_calloc(s->config->subsystem_count, sizeof(*s->subsystems));
	if (rc == 0 && (!s->listeners || !s->subsystems))
		rc = err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < s->config->listener_count; i++)
		rc = add_listener(s, i, err);
	for (size_t i = 0; rc == 0 && i < s->config->subsystem_count; i++)
		rc = add_subsystem(s, i, err);
	if (rc == 0)
		rc = check_access(s, err);
	if (rc == 0)
		rc = resources(s, err);
	if (rc < 0)
		return rc;
	s->tc.listeners = s->listeners;
	s->tc.listener_count = s->config->listener_count;
	s->tc.subsystems = s->subsystems;
	s->tc.subsystem_count = s->config->subsystem_count;
	s->tc.log = &s->log;
	return target_new(&s->tc, &s->target, err);
}

static void tear_down(struct server *s)
{
	target_free(s->target);
	for (size_t i = 0; s->subsystems && i < s->config->subsystem_count; i++) {
		struct target_subsys_config *x = &s->subsystems[i];
		struct target_ns_config *ns = (struct target_ns_config *)(uintptr_t)x->namespaces;

		for (size_t k = 0; k < x->namespace_count; k++)
			store_free(ns[k].store);
		mem_free(ns);
	}
	mem_free(s->subsystems);
	mem_free(s->listeners);
	io_loop_free(s->loop);
	config_free(s->config);
}

/* As many connections as the administrator lets us have, rather than as many as the shell had. */
static void raise_descriptor_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* The protocol of sd_notify(3) for Type=notify services. Silent where there is no supervisor. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n == 0 || n >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, n);
	if (addr.sun_path[0] == '@')
		addr.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

static void append(char *text, size_t *at, const char *separator, const char *word)
{
	int n = snprintf(text + *at, READY_MAX - *at, "%s%s", separator, word);

	*at = MIN(*at + (size_t)MAX(n, 0), (size_t)READY_MAX - 1);
}

static void say_ready(const struct server *s)
{
	char line[READY_MAX], addr[IO_ADDR_TEXT];
	size_t at = 0;

	for (size_t i = 0; i < s->tc.subsystem_count; i++)
		append(line, &at, i == 0 ? "ready nqn=" : ",", s->subsystems[i].nqn);
	for (size_t i = 0; i < s->tc.listener_count; i++) {
		io_addr_format(target_listener_addr(s->target, i), addr);
		append(line, &at, i == 0 ? " listen=tcp://" : ",tcp://", addr);
	}
	puts(line);
	fflush(stdout);
	notify("READY=1");
}

static int serve(struct server *s, struct err *err)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int rc = target_start(s->target, err);

	if (rc < 0)
		return rc;
	signalled = s->target;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	say_ready(s);
	rc = target_run(s->target);
	notify("STOPPING=1");
	sa.sa_handler = SIG_IGN;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	if (rc < 0)
		err_set(err, -rc, "the target failed: %s", strerror(-rc));
	return rc;
}

int cmd_serve(int argc, char **argv)
{
	struct server s = { .log = { LOG_LEVEL_INFO, log_sink_stdio, stderr } };
	struct err err = ERR_NULL;
	int rc;

	if (given.config ? argc > 0 : argc == 0)
		return cli_usage("serve: either NAMESPACE arguments or --config FILE ('penstock serve --help')");
	if (given.config && describes())
		return cli_usage("serve: --%s belongs into the file that --config names", describes());
	raise_descriptor_limit();
	target_config_init(&s.tc);
	rc = set_up(&s, argc, argv, &err);
	if (rc == 0)
		rc = serve(&s, &err);
	tear_down(&s);
	return rc == 0 ? CLI_DONE : cli_error("serve: %s", err_text(&err));
}

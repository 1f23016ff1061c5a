/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock serve: a target from a configuration, run until a signal. What the words mean is settled
 * by ops/site.h; here are the options, the signals and the supervisor.
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

#include "base/check.h"
#include "cli/cli.h"
#include "ops/config.h"
#include "ops/control.h"
#include "ops/site.h"
#include "target/target.h"

enum {
	READY_MAX = 4096,
	/* On top of the time for a drain: for stores to end what they have begun. */
	END_GRACE_S = 5,
};

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
	const char *control;
	const char *state_dir;
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
	{ "allow", 'a', CLI_LIST, &given.allow, "HOSTNQN|any|none",
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
	{ "drain-timeout", 0, CLI_DURATION, &given.drain_ns, "TIME",
	  "at SIGTERM, how long commands in flight may take (default 5s)", NULL },
	{ "state-dir", 0, CLI_TEXT, &given.state_dir, "DIR",
	  "where reservations that persist through power loss are kept (default: none do)", NULL },
	{ "control", 0, CLI_TEXT, &given.control, "PATH|none",
	  "socket for penstock ctl (default: see penstock-ctl(1))", NULL },
	{ "log-level", 0, CLI_TEXT, &given.log_level, "error|warn|info|debug",
	  "what to log on stderr (default info)", NULL },
	{ .name = NULL },
};

/* Everything that lives as long as the target does. */
struct server {
	struct log log;
	struct site *site;
	struct methods methods;
	struct control *control;
};

/* For signal handlers. */
static struct target *signalled;
static struct control *reloaded;
static unsigned int patience_s;

/* Polite, or not; neither waits for a store for ever. */
static void drain(void *arg, bool now)
{
	alarm(now ? 1 : patience_s);
	target_drain(signalled, now);
}

/* The first one is polite, the second one is not. */
static void on_term(int signo)
{
	static volatile sig_atomic_t again;

	drain(NULL, again);
	again = 1;
}

static void on_hangup(int signo)
{
	control_reload(reloaded);
}

/* What a host has no answer for it must not take for done: ending here loses nothing. */
static void on_alarm(int signo)
{
	static const char text[] = "penstock: serve: a store did not end what it had begun: ended without it\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(CLI_FAILED);
}

static int words(int argc, char **argv, struct config **ret_config, struct err *err)
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

	return config_from_words(&w, ret_config, err);
}

/* An option that says what is served, which a file says already; NULL if none was given. */
static const char *describes(void)
{
	return given.listen.count ? "listen" : given.allow.count ? "allow" : given.advertise ? "advertise" :
	       given.nqn ? "nqn" : given.serial ? "serial" : given.model ? "model" : NULL;
}

static bool replace(char **text, const char *word)
{
	free(*text);
	*text = strdup(word);
	return *text;
}

/* Said here, or, where the file says nothing, made by systemd for this service (StateDirectory=). */
static const char *state_dir(const struct config *c)
{
	const char *made = getenv("STATE_DIRECTORY");

	if (given.state_dir || c->state_dir)
		return given.state_dir;
	/* Several of them are one text, with colons: which one is meant nobody knows. */
	return made && *made && !strchr(made, ':') ? made : NULL;
}

/* The words that say how to run win over the file, so that a file can be tried with other ones. */
static int override(struct config *c, struct err *err)
{
	if (given.cores && !replace(&c->cores, given.cores))
		return err_set(err, ENOMEM, "out of memory");
	if (given.log_level && !replace(&c->log_level, given.log_level))
		return err_set(err, ENOMEM, "out of memory");
	if (given.control && !replace(&c->control, given.control))
		return err_set(err, ENOMEM, "out of memory");
	if (state_dir(c) && !replace(&c->state_dir, state_dir(c)))
		return err_set(err, ENOMEM, "out of memory");
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
	return 0;
}

static int load(void *arg, struct config **ret_config, struct err *err)
{
	struct config *c;
	int rc = config_load(given.config, &c, err);

	if (rc < 0)
		return rc;
	rc = override(c, err);
	if (rc < 0)
		config_free(c);
	else
		*ret_config = c;
	return rc;
}

static int set_up(struct server *s, int argc, char **argv, struct err *err)
{
	struct config *c;
	int rc = given.config ? load(NULL, &c, err) : words(argc, argv, &c, err);

	if (rc == 0 && !given.config)
		rc = override(c, err);
	if (rc < 0)
		return rc;
	if (c->log_level && log_level_parse(c->log_level, &s->log.level) < 0) {
		rc = err_set(err, EINVAL, "log-level: '%s': expected error, warn, info or debug", c->log_level);
		config_free(c);
		return rc;
	}
	return site_new(c, &s->log, &s->site, err);
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

/* The line for who waits for it. Made before anybody can change the configuration. */
static void describe(const struct server *s, char line[READY_MAX])
{
	const struct config *c = site_config(s->site);
	char addr[IO_ADDR_TEXT];
	size_t at = 0;

	for (size_t i = 0; i < c->subsystem_count; i++)
		append(line, &at, i == 0 ? "ready nqn=" : ",", c->subsystems[i].nqn);
	for (size_t i = 0; i < c->listener_count; i++) {
		io_addr_format(&c->listeners[i].bound, addr);
		append(line, &at, i == 0 ? " listen=tcp://" : ",tcp://", addr);
	}
}

static void say_ready(const struct server *s, const char *line)
{
	puts(line);
	if (fflush(stdout) != 0)
		log_event(&s->log, LOG_LEVEL_WARN, "ready_not_printed", LOG_STR("why", strerror(errno)));
	/* Whoever waits for the line is left in the dark, hosts are not: it is no reason to end. */
	clearerr(stdout);
	notify("READY=1");
}

/* A path that was asked for must be had; the default one is a convenience. */
static int start_control(struct server *s, struct err *err)
{
	uint64_t drain_s = DIV_ROUND_UP(site_limits(s->site)->drain_ns, UINT64_C(1000000000));
	const char *path = site_config(s->site)->control;
	char standard[CONTROL_PATH_MAX];
	int rc;

	signalled = site_target(s->site);
	patience_s = (unsigned int)MIN(drain_s + END_GRACE_S, (uint64_t)INT32_MAX);

	s->methods = (struct methods){ .site = s->site, .load = given.config ? load : NULL, .drain = drain };
	if (!path && control_default_path(standard) == 0)
		rc = control_new(&s->methods, &s->log, standard, false, &reloaded, err);
	else if (!path || strcmp(path, "none") == 0)
		rc = control_new(&s->methods, &s->log, NULL, false, &reloaded, err);
	else
		rc = control_new(&s->methods, &s->log, path, true, &reloaded, err);
	s->control = rc == 0 ? reloaded : NULL;
	return rc;
}

static void handle(int signo, void (*fn)(int signo))
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = SA_RESTART };

	sigaction(signo, &sa, NULL);
}

static void handle_signals(void)
{
	handle(SIGALRM, on_alarm);
	handle(SIGTERM, on_term);
	handle(SIGINT, on_term);
	handle(SIGHUP, on_hangup);
}

static int flush(struct server *s, struct err *err)
{
	int rc = site_flush(s->site, END_GRACE_S * UINT64_C(1000000000), err);

	/* Its file cannot be closed as long as it works on it. */
	if (rc == -ETIMEDOUT) {
		cli_error("serve: %s", err_text(err));
		_exit(CLI_FAILED);
	}
	return rc;
}

static int serve(struct server *s, struct err *err)
{
	int rc = site_start(s->site, err);
	char line[READY_MAX] = "";

	if (rc == 0) {
		describe(s, line);
		rc = start_control(s, err);
	}
	if (rc < 0)
		return rc;
	handle_signals();
	say_ready(s, line);
	rc = target_run(site_target(s->site));
	notify("STOPPING=1");
	handle(SIGTERM, SIG_IGN);
	handle(SIGINT, SIG_IGN);
	handle(SIGHUP, SIG_IGN);
	s->control = control_free(s->control);
	if (rc < 0)
		return err_set(err, -rc, "the target failed: %s", strerror(-rc));
	return flush(s, err);
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
	rc = set_up(&s, argc, argv, &err);
	if (rc == 0)
		rc = serve(&s, &err);
	control_free(s.control);
	site_free(s.site);
	alarm(0);
	return rc == 0 ? CLI_DONE : cli_error("serve: %s", err_text(&err));
}

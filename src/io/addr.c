/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses as text and back. The parser is strict where getaddrinfo(3) is kind: "127.1", "0x7f.1",
 * port "-0" and port "4420x" are refused rather than guessed at, because an address in a
 * configuration file that means something else than it says is found on the worst day.
 */
#include "io/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"

#define SCHEME   "tcp://"
#define HOST_MAX 255 /* longest host name of DNS (RFC 1035, 2.3.4) */

static const struct sockaddr_in *v4(const struct io_addr *a)
{
	return (const struct sockaddr_in *)(const void *)&a->ss;
}

static const struct sockaddr_in6 *v6(const struct io_addr *a)
{
	return (const struct sockaddr_in6 *)(const void *)&a->ss;
}

static int parse_port(const char *text, bool allow_port0, uint16_t *ret_port, struct err *err)
{
	uint32_t port = 0;
	size_t n = strlen(text);

	if (n == 0 || n > 5 || strspn(text, "0123456789") != n || (n > 1 && text[0] == '0'))
		return err_set(err, EINVAL, "'%s' is not a port (1 to 65535)", text);
	for (; *text; text++)
		port = port * 10 + (uint32_t)(*text - '0');
	if (port > UINT16_MAX)
		return err_set(err, EINVAL, "port %u is above 65535", port);
	if (port == 0 && !allow_port0)
		return err_set(err, EINVAL, "port 0 is not usable here");
	*ret_port = (uint16_t)port;
	return 0;
}

/*
 * Cuts @text into host and port, both borrowed from @buf, a copy. @ret_port_text is NULL when there
 * is none. More than one colon outside brackets is an IPv6 address without a port.
 */
static int split(const char *text, char *buf, size_t size, char **ret_host, char **ret_port_text,
		 bool *ret_bracketed, struct err *err)
{
	char *host = buf, *colon, *end;

	if (strncmp(text, SCHEME, strlen(SCHEME)) == 0)
		text += strlen(SCHEME);
	if (strlen(text) >= size)
		return err_set(err, EINVAL, "address is too long");
	memcpy(buf, text, strlen(text) + 1);

	*ret_port_text = NULL;
	*ret_bracketed = host[0] == '[';
	if (*ret_bracketed) {
		end = strchr(host, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return err_set(err, EINVAL, "'%s': expected [IPv6]:port", text);
		if (end[1] == ':')
			*ret_port_text = end + 2;
		*end = '\0';
		host++;
	} else {
		colon = strchr(host, ':');
		if (colon && !strchr(colon + 1, ':')) {
			*colon = '\0';
			*ret_port_text = colon + 1;
		}
	}
	if (*host == '\0')
		return err_set(err, EINVAL, "'%s' names no host", text);
	*ret_host = host;
	return 0;
}

static int parse_v6(char *host, struct io_addr *a, struct err *err)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)(void *)&a->ss;
	char *scope = strchr(host, '%');
	uint64_t index = 0;

	if (scope)
		*scope++ = '\0';
	if (inet_pton(AF_INET6, host, &sin6->sin6_addr) != 1)
		return err_set(err, EINVAL, "'%s' is not an IPv6 address", host);
	if (scope) {
		index = if_nametoindex(scope);
		if (index == 0 && parse_u64_between(scope, 1, UINT32_MAX, &index) < 0)
			return err_set(err, EINVAL, "'%s%%%s': there is no network interface '%s'",
				       host, scope, scope);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_scope_id = (uint32_t)index;
	a->len = sizeof(*sin6);
	return 0;
}

static int resolve(const char *host, struct io_addr *a, struct err *err)
{
	static const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	struct addrinfo *list = NULL;
	struct in_addr loose;
	int r;

	/* What inet_aton(3) would take and inet_pton(3) did not: a mistyped IPv4 address. */
	if (inet_aton(host, &loose) || strspn(host, "0123456789.") == strlen(host))
		return err_set(err, EINVAL, "'%s' is not an IPv4 address", host);
	r = getaddrinfo(host, NULL, &hints, &list);
	if (r == EAI_SYSTEM)
		return err_set(err, errno ? errno : EIO, "cannot resolve '%s': %s", host,
			       strerror(errno));
	if (r == EAI_MEMORY)
		return err_set(err, ENOMEM, "cannot resolve '%s': %s", host, gai_strerror(r));
	if (r != 0)
		return err_set(err, ENOENT, "cannot resolve '%s': %s", host, gai_strerror(r));
	memcpy(&a->ss, list->ai_addr, list->ai_addrlen);
	a->len = list->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

static int parse_host(char *host, bool bracketed, struct io_addr *a, struct err *err)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)(void *)&a->ss;

	if (bracketed || strchr(host, ':'))
		return parse_v6(host, a, err);
	if (inet_pton(AF_INET, host, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		a->len = sizeof(*sin);
		return 0;
	}
	return resolve(host, a, err);
}

int io_addr_parse(const char *text, uint16_t default_port, bool allow_port0,
		  struct io_addr *ret_addr, struct err *err)
{
	struct io_addr a = { .len = 0 };
	char buf[HOST_MAX + sizeof("[]:65535")];
	char *host = NULL, *port_text = NULL;
	uint16_t port = default_port;
	bool bracketed = false;
	int r;

	r = split(text, buf, sizeof(buf), &host, &port_text, &bracketed, err);
	if (r < 0)
		return r;
	if (port_text) {
		r = parse_port(port_text, allow_port0, &port, err);
		if (r < 0)
			return r;
	}
	r = parse_host(host, bracketed, &a, err);
	if (r < 0)
		return r;
	io_addr_set_port(&a, port);
	*ret_addr = a;
	return 0;
}

void io_addr_host(const struct io_addr *a, char out[IO_ADDR_TEXT])
{
	char host[INET6_ADDRSTRLEN], scope[IF_NAMESIZE];

	switch (a->ss.ss_family) {
	case AF_INET:
		INVARIANT(inet_ntop(AF_INET, &v4(a)->sin_addr, host, sizeof(host)));
		snprintf(out, IO_ADDR_TEXT, "%s", host);
		return;
	case AF_INET6:
		INVARIANT(inet_ntop(AF_INET6, &v6(a)->sin6_addr, host, sizeof(host)));
		if (v6(a)->sin6_scope_id == 0)
			snprintf(out, IO_ADDR_TEXT, "%s", host);
		else if (if_indextoname(v6(a)->sin6_scope_id, scope))
			snprintf(out, IO_ADDR_TEXT, "%s%%%s", host, scope);
		else
			snprintf(out, IO_ADDR_TEXT, "%s%%%u", host, v6(a)->sin6_scope_id);
		return;
	default: /* a pair of sockets within the process */
		snprintf(out, IO_ADDR_TEXT, "local");
	}
}

void io_addr_format(const struct io_addr *a, char out[IO_ADDR_TEXT])
{
	char host[IO_ADDR_TEXT];

	io_addr_host(a, host);
	if (a->ss.ss_family == AF_INET6)
		snprintf(out, IO_ADDR_TEXT, "[%.*s]:%u", IO_ADDR_TEXT - 9, host, io_addr_port(a));
	else if (a->ss.ss_family == AF_INET)
		snprintf(out, IO_ADDR_TEXT, "%.*s:%u", IO_ADDR_TEXT - 7, host, io_addr_port(a));
	else
		snprintf(out, IO_ADDR_TEXT, "%s", host);
}

uint16_t io_addr_port(const struct io_addr *a)
{
	switch (a->ss.ss_family) {
	case AF_INET:
		return ntohs(v4(a)->sin_port);
	case AF_INET6:
		return ntohs(v6(a)->sin6_port);
	default:
		return 0;
	}
}

void io_addr_set_port(struct io_addr *a, uint16_t port)
{
	if (a->ss.ss_family == AF_INET)
		((struct sockaddr_in *)(void *)&a->ss)->sin_port = htons(port);
	else if (a->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&a->ss)->sin6_port = htons(port);
}

bool io_addr_is_v6(const struct io_addr *a)
{
	return a->ss.ss_family == AF_INET6;
}

bool io_addr_is_loopback(const struct io_addr *a)
{
	const struct in6_addr *in6 = &v6(a)->sin6_addr;

	switch (a->ss.ss_family) {
	case AF_INET:
		return ntohl(v4(a)->sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(in6) ||
		       (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
	default:
		return true; /* it never leaves the process */
	}
}

bool io_addr_is_any(const struct io_addr *a)
{
	const struct in6_addr *in6 = &v6(a)->sin6_addr;

	switch (a->ss.ss_family) {
	case AF_INET:
		return v4(a)->sin_addr.s_addr == htonl(INADDR_ANY);
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(in6) ||
		       (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr32[3] == 0);
	default:
		return false;
	}
}

bool io_addr_equal(const struct io_addr *a, const struct io_addr *b)
{
	if (a->ss.ss_family != b->ss.ss_family || io_addr_port(a) != io_addr_port(b))
		return false;
	switch (a->ss.ss_family) {
	case AF_INET:
		return v4(a)->sin_addr.s_addr == v4(b)->sin_addr.s_addr;
	case AF_INET6:
		return IN6_ARE_ADDR_EQUAL(&v6(a)->sin6_addr, &v6(b)->sin6_addr) &&
		       v6(a)->sin6_scope_id == v6(b)->sin6_scope_id;
	default:
		return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel is asked rather than its tables read: a datagram socket that is connected knows the
 * address that it would send from, and that address belongs to an interface.
 */
#include "cli/route.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int resolve(const char *address, struct addrinfo **ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	const char *colon = strrchr(address, ':');
	char host[64];
	size_t n;

	if (!colon)
		return -EINVAL;
	n = (size_t)(colon - address);
	if (address[0] == '[' && n >= 2 && colon[-1] == ']') {
		address++;
		n -= 2;
	}
	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, address, n);
	host[n] = 0;
	return getaddrinfo(host, colon + 1, &hints, ret) == 0 ? 0 : -EINVAL;
}

static int source_of(const struct addrinfo *to, struct sockaddr_storage *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0 || getsockname(fd, (struct sockaddr *)ret, &len) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static bool same(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (!a || a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	if (a->sa_family == AF_INET6)
		return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
			      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	return false;
}

static int interface_with(const struct sockaddr_storage *source, char ret_name[ROUTE_NAME_MAX])
{
	struct ifaddrs *list;
	int rc = -ENOENT;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (const struct ifaddrs *i = list; i && rc < 0; i = i->ifa_next) {
		if (!same(i->ifa_addr, source))
			continue;
		snprintf(ret_name, ROUTE_NAME_MAX, "%s", i->ifa_name);
		rc = 0;
	}
	freeifaddrs(list);
	return rc;
}

int route_interface(const char *address, char ret_name[ROUTE_NAME_MAX])
{
	struct sockaddr_storage source = { .ss_family = AF_UNSPEC };
	struct addrinfo *to;
	int rc = resolve(address, &to);

	if (rc < 0)
		return rc;
	rc = source_of(to, &source);
	freeaddrinfo(to);
	return rc < 0 ? rc : interface_with(&source, ret_name);
}

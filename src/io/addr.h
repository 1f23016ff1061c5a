/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of byte streams: IPv4 and IPv6 with port and scope, as text and as sockaddr. Text
 * forms: "tcp://10.0.0.1:4420", "10.0.0.1:4420", "[fe80::1%eth0]:4420", "host.example:4420",
 * "::1" (no port: the default). The simulator uses the same addresses for its own network.
 */
#ifndef PENSTOCK_IO_ADDR_H
#define PENSTOCK_IO_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define IO_ADDR_TEXT 80 /* longest "[v6%scope]:port" with its NUL */

struct io_addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/*
 * Parses, and resolves a host name (blocking: a control-plane call). @default_port is used when
 * the text has none. Ports are 1-65535, or 0 when @allow_port0. -EINVAL/-ENOENT with a sentence.
 */
int io_addr_parse(const char *text, uint16_t default_port, bool allow_port0, struct io_addr *ret_addr,
		  struct err *err);
/* "10.0.0.1:4420" or "[::1]:4420". */
void io_addr_format(const struct io_addr *a, char out[IO_ADDR_TEXT]);
/* The host part alone, without brackets: what a discovery log calls TRADDR. */
void io_addr_host(const struct io_addr *a, char out[IO_ADDR_TEXT]);
uint16_t io_addr_port(const struct io_addr *a);
void io_addr_set_port(struct io_addr *a, uint16_t port);
bool io_addr_is_v6(const struct io_addr *a);
bool io_addr_is_loopback(const struct io_addr *a); /* also ::ffff:127.x */
bool io_addr_is_any(const struct io_addr *a);
bool io_addr_equal(const struct io_addr *a, const struct io_addr *b); /* host, scope and port */

#endif

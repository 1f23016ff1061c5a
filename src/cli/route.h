/* SPDX-License-Identifier: Apache-2.0 */
/* Through which network interface an address is reached. */
#ifndef CLI_ROUTE_H
#define CLI_ROUTE_H

#include <net/if.h>

enum { ROUTE_NAME_MAX = IF_NAMESIZE };

/* @address: "10.0.0.1:4420" or "[::1]:4420". Sends nothing. -errno. */
int route_interface(const char *address, char ret_name[ROUTE_NAME_MAX]);

#endif

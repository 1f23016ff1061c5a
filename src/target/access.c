/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access rules; the idea is in access.h.
 */
#include "target/access.h"

#include <stddef.h>
#include <string.h>

#include "target/listener.h"
#include "target/subsys.h"

bool tgt_access_host(const struct tgt_subsys *s, const char *hostnqn)
{
	if (s->discovery || s->allow_any)
		return true;
	for (size_t i = 0; i < s->host_count; i++)
		if (strcmp(s->hosts[i], hostnqn) == 0)
			return true;
	return false;
}

bool tgt_access_listener(const struct tgt_subsys *s, const struct tgt_listener *l)
{
	return !l || s->discovery || l->all || l->exports[s->index];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access rules; the idea is in access.h.
 */
#include "target/access.h"

#include <stddef.h>
#include <string.h>

#include "target/assoc.h"
#include "target/ctrl.h"
#include "target/listener.h"
#include "target/subsys.h"

bool tgt_access_host(const struct tgt_subsys *s, const char *hostnqn)
{
	if (s->leaving)
		return false;
	if (s->discovery || s->hosts.any)
		return true;
	for (size_t i = 0; i < s->hosts.count; i++)
		if (strcmp(s->hosts.nqns[i], hostnqn) == 0)
			return true;
	return false;
}

bool tgt_access_listener(const struct tgt_subsys *s, const struct tgt_listener *l)
{
	if (!l)
		return true;
	if (l->closing)
		return false;
	if (s->discovery || l->nqn_count == 0)
		return true;
	for (size_t i = 0; i < l->nqn_count; i++)
		if (strcmp(l->nqns[i], s->nqn) == 0)
			return true;
	return false;
}

bool tgt_access_still(const struct tgt_assoc *a)
{
	const struct tgt_ctrl *c = a->ctrl;

	if (!c)
		return !a->listener || !a->listener->closing;
	return tgt_access_host(c->subsys, c->host.nqn) &&
	       tgt_access_listener(c->subsys, a->listener);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants; the idea is in tenant.h.
 */
#include "target/tenant.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/core.h"

struct tgt_tenant *tgt_tenant_get(struct tgt_reactor *r, const char *hostnqn)
{
	struct tgt_tenant *t;

	/* As many as there are hosts, and only when one connects. */
	list_for_each_entry(t, &r->tenants, link) {
		if (strcmp(t->hostnqn, hostnqn) == 0) {
			t->refs++;
			return t;
		}
	}
	t = mem_zalloc(sizeof(*t));
	if (!t)
		return NULL;
	t->refs = 1;
	snprintf(t->hostnqn, sizeof(t->hostnqn), "%s", hostnqn);
	list_add_tail(&r->tenants, &t->link);
	return t;
}

struct tgt_tenant *tgt_tenant_put(struct tgt_tenant *t)
{
	if (!t || --t->refs > 0)
		return NULL;
	INVARIANT(t->arena.held[0] == 0 && t->arena.held[1] == 0);
	list_del(&t->link);
	return mem_free(t);
}

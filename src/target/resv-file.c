/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where reservations of a namespace are kept, and what was found there.
 *
 * A state file belongs to a namespace of a subsystem, by number, and says whose UUID it was: under
 * a number that is another namespace now, what an old one left is not its business. A file that is
 * damaged is not: hosts rely on what was in it, so the namespace is not served before somebody has
 * looked.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/util.h"
#include "nvme/identify.h"
#include "target/core.h"
#include "target/ns.h"
#include "target/reactor.h"
#include "target/resv-ns.h"
#include "target/resv-text.h"

void tgt_resv_init(struct tgt_resv *r)
{
	*r = (struct tgt_resv){ 0 };
	list_init(&r->jobs);
}

void tgt_resv_deinit(struct tgt_resv *r)
{
	INVARIANT(list_empty(&r->jobs));
	mem_free(r->state);
	mem_free(r->path);
}

uint8_t tgt_resv_caps(const struct tgt_ns *ns)
{
	return NVME_RESCAP_WRITE_EXCLUSIVE | NVME_RESCAP_EXCLUSIVE_ACCESS |
	       NVME_RESCAP_WRITE_EXCLUSIVE_REGISTRANTS | NVME_RESCAP_EXCLUSIVE_ACCESS_REGISTRANTS |
	       NVME_RESCAP_WRITE_EXCLUSIVE_ALL | NVME_RESCAP_EXCLUSIVE_ACCESS_ALL |
	       NVME_RESCAP_IEKEY_1_3 | (ns->backing->resv.path ? NVME_RESCAP_PTPL : 0);
}

/* A subsystem's NQN may hold what a file name may not. */
static char *path_of(const char *dir, const struct tgt_subsys *s, uint32_t nsid)
{
	size_t n = strlen(dir) + 64;
	char *path = mem_alloc(n);

	if (path)
		snprintf(path, n, "%s/reservations-%016llx-%u", dir,
			 (unsigned long long)hash_str(HASH_INIT, s->nqn), nsid);
	return path;
}

/* What a core is asked to do for the thread that opens: the seam's files need a loop. */
struct load {
	const char *path;
	char *text;
};

static int load_here(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct load *l = arg;

	return (int)io_state_load(r->loop, l->path, l->text, TGT_RESV_TEXT_MAX, err);
}

static int publish_first(struct tgt_backing *b, unsigned int cores)
{
	struct tgt_resv_view *v;
	int r = tgt_resv_view_new(b->resv.state, &v);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < cores; i++)
		b->cores[i].view = tgt_resv_view_get(v);
	tgt_resv_view_put(v);
	return 0;
}

static void log_loaded(struct tgt_subsys *s, const struct tgt_ns *ns, bool its)
{
	const struct tgt_resv_state *st = ns->backing->resv.state;

	if (!its)
		log_event(s->target->log, LOG_LEVEL_WARN, "reservations_forgotten",
			  LOG_STR("subsystem", s->nqn), LOG_U64("nsid", ns->nsid),
			  LOG_STR("file", ns->backing->resv.path),
			  LOG_STR("why", "they are of another namespace, which had this number"));
	else
		log_event(s->target->log, LOG_LEVEL_INFO, "reservations",
			  LOG_STR("subsystem", s->nqn), LOG_U64("nsid", ns->nsid),
			  LOG_U64("type", st->type), LOG_U64("registrants", st->count));
}

static int load(struct tgt_subsys *s, struct tgt_ns *ns, struct load *l, struct err *err)
{
	struct tgt_resv_owner owner = { .nqn = s->nqn, .nsid = ns->nsid, .uuid = ns->uuid };
	struct tgt_resv *resv = &ns->backing->resv;
	int n = tgt_reactor_call(&s->target->reactors[0], load_here, l, err);
	int r;

	if (n == -ENOENT)
		return 0;
	if (n < 0) {
		err_prefix(err, "namespace %u: reservations", ns->nsid);
		return n;
	}
	resv->state = mem_zalloc(sizeof(*resv->state));
	if (!resv->state)
		return err_set(err, ENOMEM, "namespace %u: no memory", ns->nsid);
	r = tgt_resv_decode(l->text, (size_t)n, &owner, resv->state, err);
	if (r < 0) {
		char why[sizeof(err->text)];

		snprintf(why, sizeof(why), "%s", err ? err->text : "");
		return err_set(
			err, -r,
			"namespace %u: its reservations in %.120s cannot be read: %.200s (whoever "
			"removes the file forgets them)",
			ns->nsid, l->path, why);
	}
	log_loaded(s, ns, r == 1);
	if (publish_first(ns->backing, s->target->reactor_count) < 0)
		return err_set(err, ENOMEM, "namespace %u: no memory", ns->nsid);
	return 0;
}

int tgt_resv_open(struct tgt_subsys *s, struct tgt_ns *ns, struct err *err)
{
	const char *dir = s->target->state_dir;
	struct tgt_resv *resv = &ns->backing->resv;
	struct load l;
	int r;

	if (!dir || resv->path)
		return 0;
	resv->path = path_of(dir, s, ns->nsid);
	l = (struct load){ .path = resv->path, .text = mem_alloc(TGT_RESV_TEXT_MAX) };
	if (resv->path && l.text)
		r = load(s, ns, &l, err);
	else
		r = err_set(err, ENOMEM, "namespace %u: no memory", ns->nsid);
	mem_free(l.text);
	return r;
}

int tgt_resv_open_all(struct tgt_subsys *s, struct err *err)
{
	int r = 0;

	for (struct tgt_ns *ns = tgt_ns_next(s->table, 0); ns && r == 0;
	     ns = tgt_ns_next(s->table, ns->nsid))
		r = tgt_resv_open(s, ns, err);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations; the idea is in resv.h. Sections are those of NVMe Base 2.0.
 */
#include "target/resv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/log.h"
#include "nvme/opcode.h"

static struct nvme_status bad(enum nvme_sc code)
{
	return nvme_status_dnr(code);
}

static struct nvme_status good(void)
{
	return nvme_status_success();
}

/* ---- registrants ----------------------------------------------------------------------------- */

int tgt_resv_find(const struct tgt_resv_state *s, const uint8_t host[NVME_HOSTID_SIZE])
{
	for (int i = 0; i < s->count; i++)
		if (memcmp(s->registrants[i].host, host, NVME_HOSTID_SIZE) == 0)
			return i;
	return -1;
}

static bool everybodys(uint8_t type)
{
	return type == NVME_RTYPE_WRITE_EXCLUSIVE_ALL || type == NVME_RTYPE_EXCLUSIVE_ACCESS_ALL;
}

static bool for_registrants(uint8_t type)
{
	return type == NVME_RTYPE_WRITE_EXCLUSIVE_REGISTRANTS ||
	       type == NVME_RTYPE_EXCLUSIVE_ACCESS_REGISTRANTS;
}

bool tgt_resv_holds(const struct tgt_resv_state *s, int i)
{
	if (s->type == NVME_RTYPE_NONE || i < 0)
		return false;
	return everybodys(s->type) || s->holder == i;
}

static void release(struct tgt_resv_state *s)
{
	s->type = NVME_RTYPE_NONE;
	s->holder = 0;
}

static void take(struct tgt_resv_state *s, int i, uint8_t type)
{
	s->type = type;
	s->holder = everybodys(type) ? 0 : (uint16_t)i;
}

/* Its reservation goes with the holder's registration; one of everybody's with the last (8.19.4). */
static void drop(struct tgt_resv_state *s, int i)
{
	bool ends = everybodys(s->type) ? s->count == 1 : tgt_resv_holds(s, i);

	s->count--;
	memmove(&s->registrants[i], &s->registrants[i + 1],
		(size_t)(s->count - i) * sizeof(s->registrants[0]));
	if (ends)
		release(s);
	else if (s->holder > i)
		s->holder--;
}

static bool add(struct tgt_resv_state *s, const uint8_t host[NVME_HOSTID_SIZE], uint64_t key)
{
	if (s->count == TGT_RESV_REGISTRANTS)
		return false;
	memcpy(s->registrants[s->count].host, host, NVME_HOSTID_SIZE);
	s->registrants[s->count++].key = key;
	return true;
}

/* @before: the state that @told goes by. */
static void tell_others(const struct tgt_resv_state *before, const struct tgt_resv_state *now,
			int but, uint8_t what, struct tgt_resv_told *told)
{
	for (int i = 0; i < before->count; i++)
		if (i != but && (!now || tgt_resv_find(now, before->registrants[i].host) >= 0))
			told->what[i] = what;
}

/* ---- Register (7.3, 8.19.3, 8.19.4) ---------------------------------------------------------- */

static struct nvme_status enroll(struct tgt_resv_state *s, int me, const struct tgt_resv_cmd *cmd)
{
	if (cmd->key == 0)
		return bad(NVME_SC_INVALID_FIELD); /* 0 names all of them in a Preempt */
	if (me >= 0) /* again is no error, but not a way to change the key */
		return s->registrants[me].key == cmd->key ? good()
							  : bad(NVME_SC_RESERVATION_CONFLICT);
	return add(s, cmd->host, cmd->key) ? good() : nvme_status(NVME_SC_INTERNAL_ERROR);
}

static struct nvme_status replace(struct tgt_resv_state *s, int me, const struct tgt_resv_cmd *cmd)
{
	if (cmd->key == 0)
		return bad(NVME_SC_INVALID_FIELD);
	/* "Without regard to its registration status": with IEKEY a host may have none. */
	if (me < 0 && cmd->ignore_key)
		return add(s, cmd->host, cmd->key) ? good() : nvme_status(NVME_SC_INTERNAL_ERROR);
	if (me < 0 || (!cmd->ignore_key && s->registrants[me].key != cmd->crkey))
		return bad(NVME_SC_RESERVATION_CONFLICT);
	s->registrants[me].key = cmd->key;
	return good();
}

static struct nvme_status unregister(struct tgt_resv_state *s, int me,
				     const struct tgt_resv_cmd *cmd, struct tgt_resv_told *told)
{
	bool tells = for_registrants(s->type) && tgt_resv_holds(s, me);

	if (me < 0 || (!cmd->ignore_key && s->registrants[me].key != cmd->crkey))
		return bad(NVME_SC_RESERVATION_CONFLICT);
	if (tells)
		tell_others(s, NULL, me, NVME_RESV_RELEASED, told);
	drop(s, me);
	return good();
}

static bool cptpl_right(const struct tgt_resv_cmd *cmd)
{
	return cmd->cptpl != 1 && (cmd->cptpl != NVME_CPTPL_SET || cmd->may_persist);
}

static void set_ptpl(struct tgt_resv_state *s, const struct tgt_resv_cmd *cmd)
{
	if (cmd->cptpl != NVME_CPTPL_KEEP)
		s->ptpl = cmd->cptpl == NVME_CPTPL_SET;
}

static struct nvme_status do_register(struct tgt_resv_state *s, int me,
				      const struct tgt_resv_cmd *cmd, struct tgt_resv_told *told)
{
	struct nvme_status st;

	if (!cptpl_right(cmd))
		return bad(NVME_SC_INVALID_FIELD);
	if (cmd->action == NVME_RREGA_REGISTER)
		st = enroll(s, me, cmd);
	else if (cmd->action == NVME_RREGA_UNREGISTER)
		st = unregister(s, me, cmd, told);
	else if (cmd->action == NVME_RREGA_REPLACE)
		st = replace(s, me, cmd);
	else
		st = bad(NVME_SC_INVALID_FIELD);
	if (!nvme_status_ok(st))
		return st;
	set_ptpl(s, cmd);
	s->generation++;
	return st;
}

/* ---- Acquire (7.2, 8.19.5, 8.19.7) ----------------------------------------------------------- */

static struct nvme_status acquire(struct tgt_resv_state *s, int me, const struct tgt_resv_cmd *cmd)
{
	if (s->type == NVME_RTYPE_NONE) {
		take(s, me, cmd->type);
		return good();
	}
	/* What one has one may acquire again, and nothing else. */
	return tgt_resv_holds(s, me) && s->type == cmd->type ? good()
							     : bad(NVME_SC_RESERVATION_CONFLICT);
}

/* Unregisters who has @key, or, with 0, everybody; but @spare. How many there were. */
static int expel(struct tgt_resv_state *s, uint64_t key, const uint8_t *spare)
{
	int n = 0;

	for (int i = s->count - 1; i >= 0; i--) {
		if (key != 0 && s->registrants[i].key != key)
			continue;
		if (spare && memcmp(s->registrants[i].host, spare, NVME_HOSTID_SIZE) == 0)
			continue;
		drop(s, i);
		n++;
	}
	return n;
}

/* The reservation becomes the host's own, and whoever has the key of the holder is unregistered. */
static void usurp(struct tgt_resv_state *s, const struct tgt_resv_cmd *cmd, uint64_t key)
{
	release(s);
	expel(s, key, cmd->host);
	take(s, tgt_resv_find(s, cmd->host), cmd->type);
}

static struct nvme_status preempt_state(struct tgt_resv_state *s, const struct tgt_resv_cmd *cmd,
					bool *ret_usurped)
{
	bool all = everybodys(s->type);
	bool none = s->type == NVME_RTYPE_NONE;

	*ret_usurped = false;
	if (all ? cmd->key == 0 : !none && s->registrants[s->holder].key == cmd->key) {
		usurp(s, cmd, cmd->key);
		*ret_usurped = true;
		return good();
	}
	if (cmd->key == 0 && !none)
		return bad(NVME_SC_INVALID_FIELD);
	/* Only registrations then; the host's own is no exception. */
	if (cmd->key == 0 || expel(s, cmd->key, NULL) == 0)
		return bad(NVME_SC_RESERVATION_CONFLICT);
	return good();
}

static struct nvme_status preempt(struct tgt_resv_state *s, int me, const struct tgt_resv_cmd *cmd,
				  struct tgt_resv_told *told)
{
	struct tgt_resv_state *before = mem_alloc(sizeof(*before));
	struct nvme_status st;
	bool usurped;

	if (!before)
		return nvme_status(NVME_SC_INTERNAL_ERROR);
	*before = *s;
	st = preempt_state(s, cmd, &usurped);
	if (nvme_status_ok(st)) {
		/* Those who stay hear of another type, the others that they are out. */
		tell_others(before, NULL, me, NVME_RESV_REGISTRATION_PREEMPTED, told);
		tell_others(before, s, me,
			    usurped && before->type != s->type ? NVME_RESV_RELEASED
							       : NVME_RESV_LOG_EMPTY,
			    told);
		s->generation++;
	}
	mem_free(before);
	return st;
}

static struct nvme_status do_acquire(struct tgt_resv_state *s, int me,
				     const struct tgt_resv_cmd *cmd, struct tgt_resv_told *told)
{
	/* IEKEY is not for this command since revision 1.3, which RESCAP says. */
	if (cmd->ignore_key || cmd->type < NVME_RTYPE_WRITE_EXCLUSIVE ||
	    cmd->type > NVME_RTYPE_EXCLUSIVE_ACCESS_ALL ||
	    cmd->action > NVME_RACQA_PREEMPT_AND_ABORT)
		return bad(NVME_SC_INVALID_FIELD);
	if (me < 0 || s->registrants[me].key != cmd->crkey)
		return bad(NVME_SC_RESERVATION_CONFLICT);
	return cmd->action == NVME_RACQA_ACQUIRE ? acquire(s, me, cmd) : preempt(s, me, cmd, told);
}

/* ---- Release (7.4, 8.19.6, 8.19.8) ----------------------------------------------------------- */

static struct nvme_status do_release(struct tgt_resv_state *s, int me,
				     const struct tgt_resv_cmd *cmd, struct tgt_resv_told *told)
{
	if (cmd->ignore_key || cmd->action > NVME_RRELA_CLEAR)
		return bad(NVME_SC_INVALID_FIELD);
	if (me < 0 || s->registrants[me].key != cmd->crkey)
		return bad(NVME_SC_RESERVATION_CONFLICT);
	if (cmd->action == NVME_RRELA_CLEAR) {
		tell_others(s, NULL, me, NVME_RESV_PREEMPTED, told);
		s->count = 0;
		release(s);
		s->generation++;
		return good();
	}
	if (!tgt_resv_holds(s, me))
		return good(); /* "shall have no effect" */
	if (s->type != cmd->type)
		return bad(NVME_SC_INVALID_FIELD);
	if (for_registrants(s->type) || everybodys(s->type))
		tell_others(s, NULL, me, NVME_RESV_RELEASED, told);
	release(s);
	return good();
}

struct nvme_status tgt_resv_apply(struct tgt_resv_state *s, const struct tgt_resv_cmd *cmd,
				  struct tgt_resv_told *told)
{
	int me = tgt_resv_find(s, cmd->host);

	memset(told, 0, sizeof(*told));
	switch (cmd->opc) {
	case NVME_NVM_RESV_REGISTER:
		return do_register(s, me, cmd, told);
	case NVME_NVM_RESV_ACQUIRE:
		return do_acquire(s, me, cmd, told);
	case NVME_NVM_RESV_RELEASE:
		return do_release(s, me, cmd, told);
	case TGT_RESV_SET_PTPL:
		if (!cptpl_right(cmd))
			return bad(NVME_SC_INVALID_FIELD);
		set_ptpl(s, cmd);
		return good();
	default:
		return bad(NVME_SC_INVALID_OPCODE);
	}
}

/* ---- access ---------------------------------------------------------------------------------- */

/* NVM Command Set 1.0, figure "Command Behavior in the Presence of a Reservation". */
#define R (1 << TGT_ACCESS_READ)
#define W (1 << TGT_ACCESS_WRITE)

static const uint8_t allowed[][3] = {
	/* stranger, registrant, holder */
	[NVME_RTYPE_NONE] = { R | W, R | W, R | W },
	[NVME_RTYPE_WRITE_EXCLUSIVE] = { R, R, R | W },
	[NVME_RTYPE_EXCLUSIVE_ACCESS] = { 0, 0, R | W },
	[NVME_RTYPE_WRITE_EXCLUSIVE_REGISTRANTS] = { R, R | W, R | W },
	[NVME_RTYPE_EXCLUSIVE_ACCESS_REGISTRANTS] = { 0, R | W, R | W },
	[NVME_RTYPE_WRITE_EXCLUSIVE_ALL] = { R, R | W, R | W },
	[NVME_RTYPE_EXCLUSIVE_ACCESS_ALL] = { 0, R | W, R | W },
};

bool tgt_resv_allows(enum nvme_resv_type type, enum tgt_resv_role role, enum tgt_access access)
{
	INVARIANT(type < ARRAY_SIZE(allowed));
	return access == TGT_ACCESS_OTHER || (allowed[type][role] >> access & 1);
}

static int by_host(const void *a, const void *b)
{
	return memcmp(a, b, NVME_HOSTID_SIZE);
}

int tgt_resv_view_new(const struct tgt_resv_state *s, struct tgt_resv_view **ret_view)
{
	struct tgt_resv_view *v = NULL;

	if (s && s->type != NVME_RTYPE_NONE) {
		v = mem_zalloc(sizeof(*v) + (size_t)s->count * NVME_HOSTID_SIZE);
		if (!v)
			return -ENOMEM;
		atomic_init(&v->refs, 1);
		v->type = s->type;
		v->count = s->count;
		memcpy(v->holder, s->registrants[s->holder].host, NVME_HOSTID_SIZE);
		for (uint32_t i = 0; i < v->count; i++)
			memcpy(v->hosts[i], s->registrants[i].host, NVME_HOSTID_SIZE);
		qsort(v->hosts, v->count, NVME_HOSTID_SIZE, by_host);
	}
	*ret_view = v;
	return 0;
}

struct tgt_resv_view *tgt_resv_view_get(struct tgt_resv_view *v)
{
	if (v)
		atomic_fetch_add(&v->refs, 1);
	return v;
}

void tgt_resv_view_put(struct tgt_resv_view *v)
{
	if (v && atomic_fetch_sub(&v->refs, 1) == 1)
		mem_free(v);
}

bool tgt_resv_view_allows(const struct tgt_resv_view *v, const uint8_t host[NVME_HOSTID_SIZE],
			  enum tgt_access access)
{
	enum tgt_resv_role role = TGT_ROLE_STRANGER;

	if (!everybodys(v->type) && memcmp(v->holder, host, NVME_HOSTID_SIZE) == 0)
		role = TGT_ROLE_HOLDER;
	else if (bsearch(host, v->hosts, v->count, NVME_HOSTID_SIZE, by_host))
		role = everybodys(v->type) ? TGT_ROLE_HOLDER : TGT_ROLE_REGISTRANT;
	return tgt_resv_allows(v->type, role, access);
}

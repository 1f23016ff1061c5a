/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of reservations: the figures of the standard row by row, each rule of Register, Acquire
 * and Release, and a model check by random commands against a second, dumber implementation.
 */
#include "target/resv.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "nvme/log.h"
#include "nvme/opcode.h"
#include "tests/tap.h"

static struct tgt_resv_state s;
static struct tgt_resv_told told;

static void host_of(char name, uint8_t host[NVME_HOSTID_SIZE])
{
	memset(host, name, NVME_HOSTID_SIZE);
}

/* A command of host @name ('A', 'B', ...). */
static uint16_t run(char name, uint8_t opc, uint8_t action, uint64_t crkey, uint64_t key,
		    uint8_t type, unsigned int more)
{
	struct tgt_resv_cmd cmd = {
		.opc = opc,
		.action = action,
		.type = type,
		.cptpl = more & 3,
		.ignore_key = more & 8,
		.may_persist = !(more & 16),
		.crkey = crkey,
		.key = key,
	};

	host_of(name, cmd.host);
	return nvme_status_code(tgt_resv_apply(&s, &cmd, &told));
}

enum { IEKEY = 8, NO_PTPL = 16 };

static uint16_t reg(char name, uint64_t key)
{
	return run(name, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, 0, key, 0, 0);
}

static uint16_t unreg(char name, uint64_t key)
{
	return run(name, NVME_NVM_RESV_REGISTER, NVME_RREGA_UNREGISTER, key, 0, 0, 0);
}

static uint16_t acquire(char name, uint64_t key, uint8_t type)
{
	return run(name, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_ACQUIRE, key, 0, type, 0);
}

static uint16_t preempt(char name, uint64_t key, uint64_t prkey, uint8_t type)
{
	return run(name, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_PREEMPT, key, prkey, type, 0);
}

static uint16_t release(char name, uint64_t key, uint8_t type)
{
	return run(name, NVME_NVM_RESV_RELEASE, NVME_RRELA_RELEASE, key, 0, type, 0);
}

static uint16_t clear(char name, uint64_t key)
{
	return run(name, NVME_NVM_RESV_RELEASE, NVME_RRELA_CLEAR, key, 0, 0, 0);
}

static int at(char name)
{
	uint8_t host[NVME_HOSTID_SIZE];

	host_of(name, host);
	return tgt_resv_find(&s, host);
}

static bool holds(char name)
{
	return tgt_resv_holds(&s, at(name));
}

static void start(const char *names)
{
	memset(&s, 0, sizeof(s));
	for (; *names; names++)
		INVARIANT(reg(*names, (uint64_t)*names) == 0);
}

/* ---- the figure ------------------------------------------------------------------------------ */

/* Command Behavior in the Presence of a Reservation: a line for a type, A allowed, C conflict. */
static void matrix(void)
{
	static const struct {
		uint8_t type;
		const char *name;
		/* Read group and Write group, of a stranger, a registrant, the holder. */
		const char *read, *write;
		/* Acquire, Release, Preempt of the same three. */
		const char *acquire, *release, *preempt;
	} rows[] = {
		{ 1, "Write Exclusive", "AAA", "CCA", "CCA", "CAA", "CAA" },
		{ 2, "Exclusive Access", "CCA", "CCA", "CCA", "CAA", "CAA" },
		{ 3, "Write Exclusive - Registrants Only", "AAA", "CAA", "CCA", "CAA", "CAA" },
		{ 4, "Exclusive Access - Registrants Only", "CAA", "CAA", "CCA", "CAA", "CAA" },
		/* Every registrant holds it. */
		{ 5, "Write Exclusive - All Registrants", "AAA", "CAA", "CAA", "CAA", "CAA" },
		{ 6, "Exclusive Access - All Registrants", "CAA", "CAA", "CAA", "CAA", "CAA" },
	};
	static const char names[] = "CBA"; /* C is no registrant, A acquired it */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tgt_resv_view *v;

		for (int who = 0; who < 3; who++) {
			static const char *const roles[] = { "a stranger", "a registrant",
							     "the holder" };
			uint8_t host[NVME_HOSTID_SIZE];
			char name = names[who];
			uint64_t key = (uint64_t)name;
			bool conflict;

			start("AB");
			INVARIANT(acquire('A', 'A', rows[i].type) == 0);
			INVARIANT(tgt_resv_view_new(&s, &v) == 0);
			host_of(name, host);
			ok(tgt_resv_view_allows(v, host, TGT_ACCESS_READ) ==
				   (rows[i].read[who] == 'A'),
			   "%s: read group of %s", rows[i].name, roles[who]);
			ok(tgt_resv_view_allows(v, host, TGT_ACCESS_WRITE) ==
				   (rows[i].write[who] == 'A'),
			   "%s: write group of %s", rows[i].name, roles[who]);
			ok(tgt_resv_view_allows(v, host, TGT_ACCESS_OTHER), "%s: others of %s",
			   rows[i].name, roles[who]);
			tgt_resv_view_put(v);
			conflict = acquire(name, key, rows[i].type) == NVME_SC_RESERVATION_CONFLICT;
			ok(conflict == (rows[i].acquire[who] == 'C'), "%s: Acquire of %s",
			   rows[i].name, roles[who]);
			start("AB");
			INVARIANT(acquire('A', 'A', rows[i].type) == 0);
			conflict = release(name, key, rows[i].type) == NVME_SC_RESERVATION_CONFLICT;
			ok(conflict == (rows[i].release[who] == 'C'), "%s: Release of %s",
			   rows[i].name, roles[who]);
			start("AB");
			INVARIANT(acquire('A', 'A', rows[i].type) == 0);
			conflict = preempt(name, key, 'A', 1) == NVME_SC_RESERVATION_CONFLICT;
			ok(conflict == (rows[i].preempt[who] == 'C'), "%s: Preempt of %s",
			   rows[i].name, roles[who]);
		}
	}
	start("AB");
	{
		struct tgt_resv_view *v;

		ok(tgt_resv_view_new(&s, &v) == 0 && !v, "registrations alone keep nobody out");
		ok(tgt_resv_view_new(NULL, &v) == 0 && !v, "nor does nothing at all");
	}
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void registering(void)
{
	start("");
	is_u64(reg('A', 0), NVME_SC_INVALID_FIELD, "Register: a key of 0");
	is_u64(reg('A', 7), 0, "Register");
	is_u64(s.generation, 1, "GEN goes up");
	is_u64(reg('A', 7), 0, "the same key again is no error");
	is_u64(reg('A', 8), NVME_SC_RESERVATION_CONFLICT, "another key is");
	is_u64(run('A', NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, 0, 8, 0, IEKEY),
	       NVME_SC_RESERVATION_CONFLICT, "... with IEKEY as well");
	is_u64(s.generation, 2, "GEN goes up with commands that succeed");
	is_u64(reg('B', 7), 0, "two hosts may have the same key");
	is_u64(unreg('A', 8), NVME_SC_RESERVATION_CONFLICT, "Unregister: another key");
	is_u64(run('A', NVME_NVM_RESV_REGISTER, NVME_RREGA_UNREGISTER, 9, 0, 0, IEKEY), 0,
	       "... with IEKEY it does not count");
	is_u64(unreg('A', 7), NVME_SC_RESERVATION_CONFLICT,
	       "who is no registrant cannot unregister");
	is_u64(at('B'), 0, "the other is still there");
	is_u64(run('B', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 7, 9, 0, 0), 0, "Replace");
	is_u64(s.registrants[0].key, 9, "... takes the new key");
	is_u64(run('B', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 7, 10, 0, 0),
	       NVME_SC_RESERVATION_CONFLICT, "... not with the old one");
	is_u64(run('B', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 7, 10, 0, IEKEY), 0,
	       "... but with IEKEY");
	is_u64(run('B', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 10, 0, 0, 0),
	       NVME_SC_INVALID_FIELD, "... never with 0");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 0, 3, 0, 0),
	       NVME_SC_RESERVATION_CONFLICT, "Replace of who is no registrant");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 0, 3, 0, IEKEY), 0,
	       "... registers it with IEKEY");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, 3, 3, 3, 0, 0), NVME_SC_INVALID_FIELD,
	       "RREGA 3 is reserved");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, 0, 3, 3, 0, 1), NVME_SC_INVALID_FIELD,
	       "CPTPL 1 is reserved");
	ok(!s.ptpl, "nothing persists by itself");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, 0, 3, 3, 0, NVME_CPTPL_SET | NO_PTPL),
	       NVME_SC_INVALID_FIELD, "CPTPL 3 where nothing can persist");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, 0, 3, 3, 0, NVME_CPTPL_SET), 0, "CPTPL 3");
	ok(s.ptpl, "... sets PTPL");
	is_u64(run('D', NVME_NVM_RESV_REGISTER, 1, 3, 3, 0, NVME_CPTPL_CLEAR),
	       NVME_SC_RESERVATION_CONFLICT, "a command that fails");
	ok(s.ptpl, "... leaves it");
	is_u64(reg('C', 3), 0, "CPTPL 0");
	ok(s.ptpl, "... leaves it too");
	is_u64(run('C', NVME_NVM_RESV_REGISTER, 0, 3, 3, 0, NVME_CPTPL_CLEAR | NO_PTPL), 0,
	       "CPTPL 2");
	ok(!s.ptpl, "... clears it");
}

static void many(void)
{
	struct tgt_resv_cmd cmd = { .opc = NVME_NVM_RESV_REGISTER, .key = 1 };
	struct tgt_resv_view *v;
	bool good = true;

	start("");
	for (int i = 0; i < TGT_RESV_REGISTRANTS; i++) {
		cmd.host[0] = (uint8_t)(i * 7);
		cmd.host[1] = (uint8_t)(i >> 8);
		cmd.host[2] = (uint8_t)i;
		good = good && nvme_status_ok(tgt_resv_apply(&s, &cmd, &told));
	}
	ok(good && s.count == TGT_RESV_REGISTRANTS, "as many registrants as there is room for");
	is_u64(reg('Z', 1), NVME_SC_INTERNAL_ERROR, "one more");
	is_u64(run('Z', NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, 0, 3, 0, IEKEY),
	       NVME_SC_INTERNAL_ERROR, "one more by Replace");
	is_u64(s.count, TGT_RESV_REGISTRANTS, "... is not there");
	cmd = (struct tgt_resv_cmd){ .opc = NVME_NVM_RESV_ACQUIRE, .crkey = 1, .type = 4 };
	memcpy(cmd.host, s.registrants[100].host, sizeof(cmd.host));
	ok(nvme_status_ok(tgt_resv_apply(&s, &cmd, &told)), "one of them acquires");
	INVARIANT(tgt_resv_view_new(&s, &v) == 0);
	for (int i = 0; i < s.count; i++)
		good = good && tgt_resv_view_allows(v, s.registrants[i].host, TGT_ACCESS_WRITE);
	ok(good, "the view finds each of them");
	memset(cmd.host, 0x55, sizeof(cmd.host));
	ok(!tgt_resv_view_allows(v, cmd.host, TGT_ACCESS_READ), "and nobody else");
	tgt_resv_view_put(v);
}

static void acquiring(void)
{
	start("AB");
	is_u64(acquire('C', 'C', 1), NVME_SC_RESERVATION_CONFLICT, "Acquire of a stranger");
	is_u64(acquire('A', 'B', 1), NVME_SC_RESERVATION_CONFLICT, "Acquire with another key");
	is_u64(acquire('A', 'A', 0), NVME_SC_INVALID_FIELD, "RTYPE 0");
	is_u64(acquire('A', 'A', 7), NVME_SC_INVALID_FIELD, "RTYPE 7");
	is_u64(run('A', NVME_NVM_RESV_ACQUIRE, 0, 'A', 0, 1, IEKEY), NVME_SC_INVALID_FIELD,
	       "IEKEY");
	is_u64(run('A', NVME_NVM_RESV_ACQUIRE, 3, 'A', 0, 1, 0), NVME_SC_INVALID_FIELD,
	       "RACQA 3 is reserved");
	is_u64(acquire('A', 'A', 1), 0, "Acquire");
	is_u64(s.generation, 2, "GEN stays");
	is_u64(acquire('A', 'A', 1), 0, "the same again is no error");
	is_u64(acquire('A', 'A', 2), NVME_SC_RESERVATION_CONFLICT, "another type is");
	is_u64(acquire('B', 'B', 1), NVME_SC_RESERVATION_CONFLICT, "and so is another host");
	ok(holds('A') && !holds('B'), "one holds it");
	start("AB");
	is_u64(acquire('B', 'B', 5), 0, "All Registrants");
	ok(holds('A') && holds('B'), "... all hold it");
	is_u64(acquire('A', 'A', 5), 0, "... any may acquire it again");
	is_u64(acquire('A', 'A', 6), NVME_SC_RESERVATION_CONFLICT, "... not as another type");
	reg('C', 'C');
	ok(holds('C'), "... who registers later holds it too");
	unreg('B', 'B');
	unreg('A', 'A');
	ok(s.type == 5 && holds('C'), "... it lasts while there is one");
	unreg('C', 'C');
	ok(s.type == 0, "... and no longer");
}

static void releasing(void)
{
	start("AB");
	is_u64(release('A', 'A', 1), 0, "Release of nothing has no effect");
	acquire('A', 'A', 3);
	is_u64(release('C', 'C', 3), NVME_SC_RESERVATION_CONFLICT, "Release of a stranger");
	is_u64(release('A', 'B', 3), NVME_SC_RESERVATION_CONFLICT, "Release with another key");
	is_u64(release('B', 'B', 3), 0, "Release of who does not hold it has no effect");
	ok(s.type == 3, "... it is still there");
	is_u64(release('A', 'A', 4), NVME_SC_INVALID_FIELD, "Release of another type");
	is_u64(run('A', NVME_NVM_RESV_RELEASE, 0, 'A', 0, 3, IEKEY), NVME_SC_INVALID_FIELD,
	       "IEKEY");
	is_u64(run('A', NVME_NVM_RESV_RELEASE, 2, 'A', 0, 3, 0), NVME_SC_INVALID_FIELD,
	       "RRELA 2 is reserved");
	is_u64(release('A', 'A', 3), 0, "Release");
	ok(s.type == 0 && s.count == 2, "... the registrations stay");
	is_u64(told.what[1], NVME_RESV_RELEASED, "... the other registrant is told");
	is_u64(told.what[0], 0, "... the host itself is not");
	is_u64(s.generation, 2, "... GEN stays");
	acquire('A', 'A', 1);
	release('A', 'A', 1);
	is_u64(told.what[1], 0, "of Write Exclusive nobody is told");
	acquire('B', 'B', 6);
	is_u64(release('A', 'A', 6), 0, "All Registrants: any may release it");
	is_u64(told.what[1], NVME_RESV_RELEASED, "... and the others are told");
	acquire('A', 'A', 2);
	is_u64(clear('C', 'C'), NVME_SC_RESERVATION_CONFLICT, "Clear of a stranger");
	is_u64(clear('B', 'A'), NVME_SC_RESERVATION_CONFLICT, "Clear with another key");
	is_u64(clear('B', 'B'), 0, "Clear");
	ok(s.type == 0 && s.count == 0, "... nothing is left");
	is_u64(told.what[0], NVME_RESV_PREEMPTED, "... the other is told");
	is_u64(told.what[1], 0, "... the host itself is not");
	is_u64(s.generation, 3, "... GEN goes up");
	start("AB");
	acquire('A', 'A', 4);
	unreg('A', 'A');
	ok(s.type == 0 && s.count == 1, "a reservation goes with its holder");
	is_u64(told.what[1], NVME_RESV_RELEASED, "... of Registrants Only the others are told");
	start("AB");
	acquire('A', 'A', 2);
	unreg('A', 'A');
	is_u64(told.what[1], 0, "... of Exclusive Access they are not");
	start("ABC");
	acquire('C', 'C', 1);
	unreg('A', 'A');
	ok(holds('C') && !holds('B'), "who unregisters before it leaves the holder be");
}

static void preempting(void)
{
	start("ABC");
	is_u64(preempt('D', 'D', 'A', 1), NVME_SC_RESERVATION_CONFLICT, "Preempt of a stranger");
	is_u64(preempt('A', 'A', 'X', 1), NVME_SC_RESERVATION_CONFLICT,
	       "no reservation, no such key");
	is_u64(preempt('A', 'A', 0, 1), NVME_SC_RESERVATION_CONFLICT, "no reservation, a key of 0");
	is_u64(preempt('A', 'A', 'B', 1), 0, "no reservation: who has the key is unregistered");
	ok(s.count == 2 && at('B') < 0 && s.type == 0, "... and nothing is acquired");
	is_u64(told.what[1], NVME_RESV_REGISTRATION_PREEMPTED, "... who is out is told");
	is_u64(told.what[2], 0, "... others are not");
	is_u64(s.generation, 4, "... GEN goes up");
	is_u64(preempt('A', 'A', 'A', 1), 0, "a host may unregister itself like that");
	ok(s.count == 1 && told.what[0] == 0, "... and is not told");

	start("ABC");
	acquire('A', 'A', 1);
	is_u64(preempt('B', 'B', 'A', 1), 0, "the holder is preempted");
	ok(holds('B') && at('A') < 0 && s.count == 2, "... it is out, the other holds it");
	is_u64(told.what[0], NVME_RESV_REGISTRATION_PREEMPTED, "... it is told");
	is_u64(told.what[2], 0, "... the third is not, as the type is the same");
	is_u64(preempt('C', 'C', 'B', 4), 0, "the same with another type");
	ok(s.type == 4 && holds('C'), "... is that type");
	is_u64(preempt('C', 'C', 0, 4), NVME_SC_INVALID_FIELD, "a key of 0 names nobody here");

	start("ABC");
	acquire('A', 'A', 1);
	preempt('B', 'B', 'A', 3);
	is_u64(told.what[2], NVME_RESV_RELEASED, "who stays is told of another type");
	is_u64(told.what[1], 0, "... but for the host itself");

	start("ABC");
	acquire('A', 'A', 1);
	is_u64(preempt('B', 'B', 'C', 2), 0, "another than the holder is preempted");
	ok(holds('A') && s.type == 1 && at('C') < 0, "... the reservation is as it was");
	is_u64(preempt('B', 'B', 'X', 2), NVME_SC_RESERVATION_CONFLICT, "nobody has that key");
	is_u64(preempt('A', 'A', 'A', 2), 0, "the holder preempts itself");
	ok(holds('A') && s.type == 2 && s.count == 2, "... which changes the type");
	is_u64(preempt('B', 'B', 'B', 1), 0, "a registrant unregisters itself");
	ok(holds('A') && s.count == 1, "... and leaves the holder be");

	start("A");
	reg('B', 'A');
	reg('C', 'A');
	reg('D', 'D');
	acquire('B', 'A', 2);
	is_u64(preempt('C', 'A', 'A', 2), 0, "many have the holder's key, the host itself too");
	ok(holds('C') && s.count == 2 && at('D') >= 0, "... all but the host are out");

	start("ABC");
	acquire('A', 'A', 5);
	is_u64(preempt('B', 'B', 'X', 1), NVME_SC_RESERVATION_CONFLICT,
	       "All Registrants: no such key");
	is_u64(preempt('B', 'B', 'A', 1), 0, "All Registrants: a key");
	ok(s.type == 5 && s.count == 2 && holds('B') && holds('C'), "... unregisters, no more");
	is_u64(preempt('B', 'B', 0, 2), 0, "All Registrants: 0");
	ok(s.type == 2 && s.count == 1 && holds('B'), "... all others are out, the host holds it");
	start("AB");
	acquire('A', 'A', 6);
	preempt('A', 'A', 'B', 6);
	preempt('A', 'A', 'A', 6);
	ok(s.type == 0 && s.count == 0, "the last one may go like that as well");
	s.generation = UINT32_MAX;
	reg('A', 1);
	is_u64(s.generation, 0, "GEN wraps to 0");
}

/* ---- the model ------------------------------------------------------------------------------- */

/*
 * The same rules once more, as sets over six hosts: key 0 is no registration; holder -1 nobody, 99
 * everybody. It says what the state must be, not how to get there.
 */
enum { HOSTS = 6, EVERYBODY = 99 };

struct model {
	uint64_t key[HOSTS];
	int holder;
	uint8_t type;
	uint32_t generation;
	bool ptpl;
};

static int registrants(const struct model *m)
{
	int n = 0;

	for (int i = 0; i < HOSTS; i++)
		n += m->key[i] != 0;
	return n;
}

static void settle(struct model *m)
{
	if ((m->holder >= 0 && m->holder < HOSTS && m->key[m->holder] == 0) || registrants(m) == 0)
		m->holder = -1;
	if (m->holder < 0)
		m->type = 0;
}

static void gives(struct model *m, int who, uint8_t type)
{
	m->type = type;
	m->holder = type >= 5 ? EVERYBODY : who;
}

static uint16_t model_preempt(struct model *m, int me, const struct tgt_resv_cmd *c)
{
	bool everybody = m->holder == EVERYBODY;
	bool reservation = everybody ? c->key == 0 : m->holder >= 0 && m->key[m->holder] == c->key;
	int hit = 0;

	if (c->key == 0 && m->holder >= 0 && !everybody)
		return NVME_SC_INVALID_FIELD;
	for (int i = 0; i < HOSTS; i++) {
		bool named = m->key[i] != 0 && (m->key[i] == c->key || (c->key == 0 && everybody));

		hit += named;
		if (named && !(reservation && i == me))
			m->key[i] = 0;
	}
	if (hit == 0 && !reservation)
		return NVME_SC_RESERVATION_CONFLICT;
	if (reservation)
		gives(m, me, c->type);
	m->generation++;
	return 0;
}

static uint16_t model_register(struct model *m, int me, const struct tgt_resv_cmd *c)
{
	bool match = c->ignore_key || m->key[me] == c->crkey;

	if (c->cptpl == 1 || (c->cptpl == 3 && !c->may_persist) || c->action > 2)
		return NVME_SC_INVALID_FIELD;
	if (c->action != NVME_RREGA_UNREGISTER && c->key == 0)
		return NVME_SC_INVALID_FIELD;
	if (c->action == NVME_RREGA_REGISTER && m->key[me] != 0 && m->key[me] != c->key)
		return NVME_SC_RESERVATION_CONFLICT;
	if (c->action == NVME_RREGA_UNREGISTER && (m->key[me] == 0 || !match))
		return NVME_SC_RESERVATION_CONFLICT;
	if (c->action == NVME_RREGA_REPLACE && !(c->ignore_key || (m->key[me] != 0 && match)))
		return NVME_SC_RESERVATION_CONFLICT;
	m->key[me] = c->action == NVME_RREGA_UNREGISTER ? 0 : c->key;
	m->generation++;
	if (c->cptpl != 0)
		m->ptpl = c->cptpl == 3;
	return 0;
}

static uint16_t model_run(struct model *m, int me, const struct tgt_resv_cmd *c)
{
	bool holding = m->key[me] != 0 && (m->holder == me || m->holder == EVERYBODY);

	if (c->opc == NVME_NVM_RESV_REGISTER)
		return model_register(m, me, c);
	if (c->ignore_key)
		return NVME_SC_INVALID_FIELD;
	if (c->opc == NVME_NVM_RESV_ACQUIRE && (c->type < 1 || c->type > 6 || c->action > 2))
		return NVME_SC_INVALID_FIELD;
	if (c->opc == NVME_NVM_RESV_RELEASE && c->action > 1)
		return NVME_SC_INVALID_FIELD;
	if (m->key[me] == 0 || m->key[me] != c->crkey)
		return NVME_SC_RESERVATION_CONFLICT;
	if (c->opc == NVME_NVM_RESV_ACQUIRE && c->action > 0)
		return model_preempt(m, me, c);
	if (c->opc == NVME_NVM_RESV_ACQUIRE) {
		if (m->holder >= 0)
			return holding && m->type == c->type ? 0 : NVME_SC_RESERVATION_CONFLICT;
		gives(m, me, c->type);
		return 0;
	}
	if (c->action == NVME_RRELA_CLEAR) {
		memset(m->key, 0, sizeof(m->key));
		m->generation++;
		return 0;
	}
	if (holding && m->type != c->type)
		return NVME_SC_INVALID_FIELD;
	if (holding)
		m->holder = -1;
	return 0;
}

static bool same(const struct model *m)
{
	struct tgt_resv_view *v;
	bool good = m->type == s.type && m->generation == s.generation && m->ptpl == s.ptpl &&
		    registrants(m) == s.count;

	if (tgt_resv_view_new(&s, &v) < 0)
		return false;
	for (int i = 0; i < HOSTS; i++) {
		uint8_t host[NVME_HOSTID_SIZE];
		int k = at((char)('A' + i));
		bool holder = m->key[i] != 0 && (m->holder == i || m->holder == EVERYBODY);
		bool in = m->key[i] != 0;
		/* Odd types keep writes away, even ones everything; 3 and up let registrants in. */
		bool writes = m->type == 0 || holder || (m->type >= 3 && in);

		host_of((char)('A' + i), host);
		good = good && (k >= 0) == in && (!in || s.registrants[k].key == m->key[i]);
		good = good && tgt_resv_holds(&s, k) == holder;
		good = good && (!v || tgt_resv_view_allows(v, host, TGT_ACCESS_WRITE) == writes);
		good = good && (!v || tgt_resv_view_allows(v, host, TGT_ACCESS_READ) ==
					      (writes || m->type % 2 == 1));
	}
	tgt_resv_view_put(v);
	return good;
}

/* Who lost its registration to another, by the two states; and nobody else is told that it has. */
static bool told_right(const struct tgt_resv_state *before, int me, const struct tgt_resv_cmd *c)
{
	bool preempts = c->opc == NVME_NVM_RESV_ACQUIRE && c->action > 0;
	bool clears = c->opc == NVME_NVM_RESV_RELEASE && c->action == NVME_RRELA_CLEAR;
	bool ended = before->type != 0 && s.type != before->type && before->type > 2 && !preempts;
	uint8_t host[NVME_HOSTID_SIZE];
	bool good = true;

	host_of((char)('A' + me), host);
	for (int i = 0; i < before->count; i++) {
		bool out = tgt_resv_find(&s, before->registrants[i].host) < 0;
		uint8_t want = 0;

		if (memcmp(before->registrants[i].host, host, sizeof(host)) == 0)
			want = 0;
		else if (out)
			want = clears ? NVME_RESV_PREEMPTED : NVME_RESV_REGISTRATION_PREEMPTED;
		else if (ended ||
			 (preempts && before->type != 0 && s.type != 0 && s.type != before->type))
			want = NVME_RESV_RELEASED;
		good = good && told.what[i] == want;
	}
	return good;
}

static void random_commands(void)
{
	static const uint8_t opcs[] = { NVME_NVM_RESV_REGISTER, NVME_NVM_RESV_ACQUIRE,
					NVME_NVM_RESV_RELEASE };
	struct tgt_resv_state before;
	struct model m = { .holder = -1 };
	uint64_t done = 0, all = 400000;
	struct rng rng;

	rng_init(&rng, 8);
	memset(&s, 0, sizeof(s));
	for (uint64_t i = 0; i < all; i++) {
		int me = (int)rng_below(&rng, HOSTS);
		struct tgt_resv_cmd c = {
			.opc = opcs[rng_below(&rng, 3)],
			.action = (uint8_t)rng_below(&rng, 4),
			.type = (uint8_t)rng_below(&rng, 8),
			.cptpl = (uint8_t)(rng_below(&rng, 4) ? 0 : rng_below(&rng, 4)),
			.ignore_key = rng_below(&rng, 8) == 0,
			.may_persist = rng_below(&rng, 2),
			.key = rng_below(&rng, 5),
		};
		struct model next = m;
		uint16_t want, got;

		/* The right key nearly always, or else little would happen. */
		c.crkey = rng_below(&rng, 8) ? m.key[me] : rng_below(&rng, 5);
		if (rng_below(&rng, 4) && m.type)
			c.type = m.type;
		host_of((char)('A' + me), c.host);
		want = model_run(&next, me, &c);
		before = s;
		got = nvme_status_code(tgt_resv_apply(&s, &c, &told));
		if (want == 0) {
			m = next;
			settle(&m);
			done++;
		}
		if (got != want || !same(&m) || (want == 0 && !told_right(&before, me, &c)) ||
		    (want != 0 && memcmp(&before, &s, sizeof(s)) != 0)) {
			diag("command %llu: opc %02x action %u type %u of %c",
			     (unsigned long long)i, c.opc, c.action, c.type, 'A' + me);
			is_u64(got, want, "the model and the code agree");
			return;
		}
	}
	ok(done > all / 10, "%llu random commands, %llu of them succeed, model and code agree",
	   (unsigned long long)all, (unsigned long long)done);
}

int main(void)
{
	matrix();
	registering();
	many();
	acquiring();
	releasing();
	preempting();
	random_commands();
	return tap_done();
}

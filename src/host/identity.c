/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding out who this host is. The files are nvme-cli's, so that a machine is the same host to a
 * target through the kernel and through here. Without them the machine's own identifier is used, in
 * a form from which it cannot be told (machine-id(5) asks for that), so the name stays the same over
 * restarts and nothing has to be written.
 */
#include "host/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "io/small.h"

/* Longer than any line that is right, so that one too long is seen as such. */
enum { LINE_MAX_BYTES = 512 };

/* Ours alone: the same machine gives other programs other names. */
#define MACHINE_SALT "penstock host identity 1:"

/* First line of @etc/@name, without the white space around it. -ENOENT also when there is none. */
static int read_line(const char *etc, const char *name, char *buf, size_t cap, const char **ret_text)
{
	char path[4096];
	char *text = buf;
	size_t n;
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", etc, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	rc = io_read_small_file(path, buf, cap);
	if (rc < 0)
		return rc;
	text += strspn(text, " \t\r\n");
	text[strcspn(text, "\r\n")] = 0;
	n = strlen(text);
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		text[--n] = 0;
	if (n == 0)
		return -ENOENT;
	*ret_text = text;
	return 0;
}

static int take_nqn(struct host_identity *h, const char *nqn, const char *from, struct err *err)
{
	const char *fault = nvme_nqn_fault(nqn);

	if (fault)
		return err_set(err, EINVAL, "host NQN (%s): \"%.80s\": %s", from, nqn, fault);
	snprintf(h->nqn, sizeof(h->nqn), "%s", nqn);
	return 0;
}

static int take_id(struct host_identity *h, const char *id, const char *from, struct err *err)
{
	struct uuid uuid;

	if (uuid_parse(id, &uuid) < 0 || uuid_is_nil(&uuid))
		return err_set(err, EINVAL,
			       "host identifier (%s): \"%.80s\": expected a UUID that is not all zero",
			       from, id);
	memcpy(h->id, uuid.b, sizeof(h->id));
	return 0;
}

/* The UUID that is part of the NQN, or one that is made from it. */
static void id_from_nqn(struct host_identity *h)
{
	size_t prefix = strlen(NVME_NQN_UUID_PREFIX);
	struct uuid uuid;

	if (strncmp(h->nqn, NVME_NQN_UUID_PREFIX, prefix) ||
	    uuid_parse(h->nqn + prefix, &uuid) < 0 || uuid_is_nil(&uuid))
		uuid_from_name(h->nqn, strlen(h->nqn), &uuid);
	memcpy(h->id, uuid.b, sizeof(h->id));
}

static void nqn_from_id(struct host_identity *h)
{
	struct uuid uuid;

	memcpy(uuid.b, h->id, sizeof(uuid.b));
	nvme_nqn_from_uuid(&uuid, h->nqn);
}

/* A name for a machine that was given none. */
static void make(struct io_loop *loop, const char *etc, struct host_identity *h)
{
	char salted[sizeof(MACHINE_SALT) + LINE_MAX_BYTES];
	char buf[LINE_MAX_BYTES];
	const char *machine;
	uint8_t random[16];
	struct uuid uuid;
	int n;

	if (read_line(etc, "machine-id", buf, sizeof(buf), &machine) == 0) {
		n = snprintf(salted, sizeof(salted), MACHINE_SALT "%s", machine);
		uuid_from_name(salted, (size_t)n, &uuid);
		h->source = "/etc/machine-id";
	} else {
		io_random(loop, random, sizeof(random));
		uuid_from_random(random, &uuid);
		h->source = "generated";
	}
	memcpy(h->id, uuid.b, sizeof(h->id));
	nqn_from_id(h);
}

/*
 * What the files say. A file that is there and wrong is an error: a host that is silently somebody
 * else would be looked for at the target.
 */
static int from_files(struct io_loop *loop, const char *etc, struct host_identity *h,
		      struct err *err)
{
	char nqn_buf[LINE_MAX_BYTES], id_buf[LINE_MAX_BYTES];
	const char *nqn = NULL, *id = NULL;
	int rc;

	rc = read_line(etc, "nvme/hostnqn", nqn_buf, sizeof(nqn_buf), &nqn);
	if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
		return err_set(err, -rc, "%s/nvme/hostnqn: %s", etc, strerror(-rc));
	rc = read_line(etc, "nvme/hostid", id_buf, sizeof(id_buf), &id);
	if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
		return err_set(err, -rc, "%s/nvme/hostid: %s", etc, strerror(-rc));
	rc = 0;
	if (nqn)
		rc = take_nqn(h, nqn, "/etc/nvme/hostnqn", err);
	if (rc == 0 && id)
		rc = take_id(h, id, "/etc/nvme/hostid", err);
	if (rc < 0)
		return rc;
	if (nqn || id)
		h->source = nqn ? "/etc/nvme/hostnqn" : "/etc/nvme/hostid";
	if (nqn && !id)
		id_from_nqn(h);
	else if (id && !nqn)
		nqn_from_id(h);
	else if (!nqn)
		make(loop, etc, h);
	return 0;
}

int host_identity_get_in(struct io_loop *loop, const char *etc, const char *nqn, const char *id,
			 struct host_identity *ret_identity, struct err *err)
{
	struct host_identity h = { .source = "given" };
	int rc = 0;

	if (!nqn && !id) {
		rc = from_files(loop, etc, &h, err);
	} else {
		if (nqn)
			rc = take_nqn(&h, nqn, "given", err);
		if (rc == 0 && id)
			rc = take_id(&h, id, "given", err);
		if (rc == 0 && !id)
			id_from_nqn(&h);
		if (rc == 0 && !nqn)
			nqn_from_id(&h);
	}
	if (rc == 0)
		*ret_identity = h;
	return rc;
}

int host_identity_get(struct io_loop *loop, const char *nqn, const char *id,
		      struct host_identity *ret_identity, struct err *err)
{
	return host_identity_get_in(loop, "/etc", nqn, id, ret_identity, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/uri.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "nvme/nqn.h"

#define NVME_TCP "nvme+tcp://"

enum value { VALUE_COUNT, VALUE_FLAG, VALUE_TIME, VALUE_SAMPLE };

static const struct option {
	const char *name;
	enum value value;
	size_t offset;
	uint64_t max;
	enum uri_kind kind;
} options[] = {
	{ "queues", VALUE_COUNT, offsetof(struct uri, queues), URI_QUEUES_MAX, URI_NVME_TCP },
	{ "depth", VALUE_COUNT, offsetof(struct uri, depth), URI_DEPTH_MAX, URI_NVME_TCP },
	{ "hdgst", VALUE_FLAG, offsetof(struct uri, hdgst), 1, URI_NVME_TCP },
	{ "ddgst", VALUE_FLAG, offsetof(struct uri, ddgst), 1, URI_NVME_TCP },
	{ "sample", VALUE_SAMPLE, offsetof(struct uri, sample_every), URI_SAMPLE_MAX, URI_NVME_TCP },
	{ "kato", VALUE_TIME, offsetof(struct uri, kato_ns), 0, URI_NVME_TCP },
	{ "io_timeout", VALUE_TIME, offsetof(struct uri, io_timeout_ns), 0, URI_NVME_TCP },
	{ "connect_timeout", VALUE_TIME, offsetof(struct uri, connect_timeout_ns), 0, URI_NVME_TCP },
	{ "loss_timeout", VALUE_TIME, offsetof(struct uri, loss_timeout_ns), 0, URI_NVME_TCP },
	{ "direct", VALUE_FLAG, offsetof(struct uri, direct), 1, URI_FILE },
	{ "gds", VALUE_FLAG, offsetof(struct uri, gds), 1, URI_FILE },
};

static int bad(struct err *err, const char *what, const char *given, const char *expected)
{
	return err_set(err, EINVAL, "%s: '%s': expected %s", what, given, expected);
}

static int set_option(struct uri *u, const struct option *o, const char *value, struct err *err)
{
	uint8_t *field = (uint8_t *)u + o->offset;
	uint64_t v;

	switch (o->value) {
	case VALUE_COUNT:
		if (parse_u64_between(value, 1, o->max, &v) < 0)
			return err_set(err, EINVAL, "%s: '%s': expected a number from 1 to %llu", o->name, value,
				       (unsigned long long)o->max);
		*(uint32_t *)field = (uint32_t)v;
		return 0;
	case VALUE_SAMPLE:
		v = UINT32_MAX;
		if (strcmp(value, "off") != 0 && parse_u64_between(value, 1, o->max, &v) < 0)
			return err_set(err, EINVAL, "%s: '%s': expected off or a number from 1 to %llu", o->name,
				       value, (unsigned long long)o->max);
		*(uint32_t *)field = (uint32_t)v;
		return 0;
	case VALUE_FLAG:
		if (parse_u64_between(value, 0, 1, &v) < 0)
			return bad(err, o->name, value, "0 or 1");
		*(bool *)field = v == 1;
		u->has_direct |= o->offset == offsetof(struct uri, direct);
		u->has_gds |= o->offset == offsetof(struct uri, gds);
		return 0;
	case VALUE_TIME:
		if (parse_duration_ns(value, &v) < 0 || v == 0)
			return bad(err, o->name, value, "a time such as 500ms or 10s");
		*(uint64_t *)field = v;
		return 0;
	}
	return -EINVAL;
}

static const struct option *find_option(enum uri_kind kind, const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].kind == kind && strcmp(options[i].name, name) == 0)
			return &options[i];
	}
	return NULL;
}

/* "a=1&b=2" */
static int parse_query(struct uri *u, char *query, struct err *err)
{
	unsigned int seen = 0, bit;
	char *next;

	for (char *word = query; word; word = next) {
		const struct option *o;
		char *value;
		int rc;

		next = strchr(word, '&');
		if (next)
			*next++ = 0;
		value = strchr(word, '=');
		if (!value)
			return bad(err, "option", word, "NAME=VALUE");
		*value++ = 0;
		o = find_option(u->kind, word);
		if (!o)
			return bad(err, "option", word,
				   u->kind == URI_FILE
					   ? "one of direct, gds"
					   : "one of queues, depth, hdgst, ddgst, sample, kato, io_timeout, "
					     "connect_timeout, loss_timeout");
		bit = 1u << (o - options);
		if (seen & bit)
			return bad(err, "option", word, "it once");
		seen |= bit;
		rc = set_option(u, o, value, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int parse_nvme(struct uri *u, char *rest, struct err *err)
{
	char *path = strchr(rest, '/'), *nsid;
	uint64_t v;

	if (!path || path == rest)
		return bad(err, "address", rest, "HOST[:PORT]/SUBNQN[/NSID]");
	*path++ = 0;
	if (strlen(rest) >= sizeof(u->address))
		return bad(err, "address", rest, "a shorter host name");
	memcpy(u->address, rest, strlen(rest) + 1);
	/* An NQN may hold slashes; a last part of digits only is the namespace. */
	nsid = strrchr(path, '/');
	u->nsid = 1;
	if (nsid && nsid[1] && strspn(nsid + 1, "0123456789") == strlen(nsid + 1)) {
		if (parse_u64_between(nsid + 1, 1, UINT32_MAX - 1, &v) < 0)
			return bad(err, "namespace", nsid + 1, "a number from 1 to 4294967294");
		u->nsid = (uint32_t)v;
		*nsid = 0;
	}
	if (!nvme_nqn_valid(path))
		return bad(err, "subsystem", path, "an NQN such as nqn.2026-11.io.penstock:default");
	memcpy(u->subnqn, path, strlen(path) + 1);
	return 0;
}

static int parse_file(struct uri *u, const char *path, struct err *err)
{
	/* file:///path and file:/path are the same; file://host/path is not ours to serve. */
	if (strncmp(path, "///", 3) == 0)
		path += 2;
	if (path[0] == 0 || (path[0] == '/' && path[1] == '/'))
		return bad(err, "path", path, "file:/path");
	if (strlen(path) >= sizeof(u->path))
		return err_set(err, ENAMETOOLONG, "path: longer than %zu bytes", sizeof(u->path) - 1);
	memcpy(u->path, path, strlen(path) + 1);
	return 0;
}

int uri_parse(const char *text, struct uri *ret_uri, struct err *err)
{
	char copy[sizeof(ret_uri->path) + 64], *query;
	static const char schemes[] = "nvme+tcp://HOST[:PORT]/SUBNQN[/NSID] or file:/path";
	struct uri u;
	int rc;

	if (strlen(text) >= sizeof(copy))
		return err_set(err, ENAMETOOLONG, "URI: longer than %zu bytes", sizeof(copy) - 1);
	memcpy(copy, text, strlen(text) + 1);
	memset(&u, 0, sizeof(u));
	query = strchr(copy, '?');
	if (query)
		*query++ = 0;
	if (strncmp(copy, NVME_TCP, strlen(NVME_TCP)) == 0) {
		u.kind = URI_NVME_TCP;
		rc = parse_nvme(&u, copy + strlen(NVME_TCP), err);
	} else if (strncmp(copy, "file:", 5) == 0) {
		u.kind = URI_FILE;
		rc = parse_file(&u, copy + 5, err);
	} else {
		rc = bad(err, "URI", text, schemes);
	}
	if (rc == 0 && query && *query)
		rc = parse_query(&u, query, err);
	if (rc == 0)
		*ret_uri = u;
	return rc;
}

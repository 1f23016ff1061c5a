/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults and bounds of a configuration, as a table: a new limit is a line.
 */
#include "target/config.h"

#include <errno.h>
#include <stddef.h>

#include "base/util.h"
#include "nvme/fabrics.h"
#include "target/arena.h"
#include "target/assoc.h"

#define SECOND UINT64_C(1000000000)

enum {
	REACTORS_MAX = 1024,
	IN_CAPSULE_MAX = 128 * 1024,
	PAGE = 4096, /* the unit of MDTS: CAP.MPSMIN is 0 */
};

void target_config_init(struct target_config *c)
{
	*c = (struct target_config){ 0 };
	c->limits = (struct target_limits){
		.subsystems = 256,
		.connections = 4096,
		.controllers = 1024,
		.controllers_per_host = 64,
		.io_queues = 64,
		.queue_depth = 128,
		.namespaces = 256,
		.mdts = 1 << 20,
		.in_capsule = 8192,
		.maxh2cdata = 1 << 20,
		.c2h_chunk = 256 << 10,
		.arena = 128 << 20,
		.icreq_ns = 10 * SECOND,
		.connect_ns = 10 * SECOND,
		.first_command_ns = 60 * SECOND,
		.transfer_ns = 60 * SECOND,
		.send_ns = 30 * SECOND,
		.linger_ns = 2 * SECOND,
		.keep_alive_grace_ns = 2 * SECOND,
		.fence_ns = 30 * SECOND,
		.drain_ns = 5 * SECOND,
		.tcp_keepalive_ns = 60 * SECOND,
	};
}

/* clang-format off */
#define LIMIT(field, low, high) { #field, offsetof(struct target_limits, field), low, high }
/* clang-format on */

static const struct {
	const char *name;
	size_t offset; /* of a uint32_t in struct target_limits */
	uint32_t min;
	uint32_t max;
} bounds[] = {
	LIMIT(subsystems, 1, 4096),
	LIMIT(connections, 1, 1 << 20),
	LIMIT(controllers, 1, NVME_CNTLID_MAX),
	LIMIT(controllers_per_host, 1, NVME_CNTLID_MAX),
	LIMIT(io_queues, 1, 1024),
	LIMIT(queue_depth, 2, TGT_QUEUE_DEPTH_MAX),
	LIMIT(namespaces, 1, 1 << 20),
	LIMIT(mdts, PAGE, TGT_BUF_MAX),
	LIMIT(in_capsule, 0, IN_CAPSULE_MAX),
	LIMIT(maxh2cdata, TCP_MAXH2CDATA_MIN, 1 << 30),
	LIMIT(c2h_chunk, PAGE, 1 << 30),
};

static int check_limits(const struct target_limits *l, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		uint32_t v = *(const uint32_t *)(const void *)((const char *)l + bounds[i].offset);

		if (v < bounds[i].min || v > bounds[i].max)
			return err_set(err, EINVAL, "%s is %u; %u to %u are possible",
				       bounds[i].name, v, bounds[i].min, bounds[i].max);
	}
	if (!is_power_of_two(l->mdts))
		return err_set(err, EINVAL, "mdts is %u, which is no power of two", l->mdts);
	/* The standard counts these in dwords and in 16 bytes. */
	if (l->maxh2cdata % 4 != 0)
		return err_set(err, EINVAL, "maxh2cdata is %u, which is no multiple of 4",
			       l->maxh2cdata);
	if (l->in_capsule % 16 != 0)
		return err_set(err, EINVAL, "in_capsule is %u, which is no multiple of 16",
			       l->in_capsule);
	return 0;
}

int tgt_config_check(const struct target_config *c, size_t reactors, struct err *err)
{
	const struct target_limits *l = &c->limits;
	uint64_t least;
	int r = check_limits(l, err);

	if (r < 0)
		return r;
	if (reactors == 0 || reactors > REACTORS_MAX)
		return err_set(err, EINVAL, "%zu reactors; 1 to %d are possible", reactors,
			       REACTORS_MAX);
	if (c->subsystem_count > l->subsystems)
		return err_set(err, EINVAL, "%zu subsystems, and limits.subsystems is %u",
			       c->subsystem_count, l->subsystems);
	if (c->listener_count > UINT16_MAX - 1)
		return err_set(err, EINVAL, "%zu listeners are too many", c->listener_count);
	/* The largest command must find room in an empty arena, and leave more than it takes. */
	least = MAX((uint64_t)TGT_ARENA_MIN, 4 * (uint64_t)l->mdts) * reactors;
	if (l->arena < least)
		return err_set(err, EINVAL,
			       "arena is %llu bytes; with this mdts and %zu reactors %llu are "
			       "needed",
			       (unsigned long long)l->arena, reactors, (unsigned long long)least);
	return 0;
}

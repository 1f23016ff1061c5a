/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UUIDs of stores; see identity.h. The only state a process shares between stores is the list of
 * volatile ones that are open. Numbers are given out from the lowest free one, so that a process
 * that opens, closes and opens again (a simulated restart) names them as it did before.
 */
#include "store/identity.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/uuid.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct list open_stores = LIST_INIT(open_stores); /* volatile_identity.link, by index */

static void uuid_set(struct store_info *info, const struct store_spec *spec, const char *name)
{
	struct uuid uuid = spec->uuid;

	if (!spec->has_uuid)
		uuid_from_name(name, strlen(name), &uuid);
	_Static_assert(sizeof(info->uuid) == sizeof(uuid.b), "a UUID is 16 bytes");
	memcpy(info->uuid, uuid.b, sizeof(uuid.b));
}

void volatile_identity_take(struct volatile_identity *v, struct store_info *info,
			    const struct store_spec *spec)
{
	struct volatile_identity *other;
	char name[128];

	v->hash = hash_u64(hash_u64(hash_str(HASH_INIT, info->kind), info->size), info->block);
	v->index = 0;
	pthread_mutex_lock(&mutex);
	list_for_each_entry(other, &open_stores, link) {
		if (other->hash != v->hash)
			continue;
		if (other->index != v->index)
			break;
		v->index++;
	}
	list_add_before(&other->link, &v->link);
	pthread_mutex_unlock(&mutex);
	v->taken = true;

	snprintf(name, sizeof(name), "penstock %s %llu %u %u", info->kind,
		 (unsigned long long)info->size, info->block, v->index);
	uuid_set(info, spec, name);
}

void volatile_identity_drop(struct volatile_identity *v)
{
	if (!v->taken)
		return;
	pthread_mutex_lock(&mutex);
	list_del(&v->link);
	pthread_mutex_unlock(&mutex);
	v->taken = false;
}

void file_identity(struct store_info *info, const struct store_spec *spec,
		   const struct io_file_info *file)
{
	char name[sizeof(spec->path) + 64];

	if (file->block_device || (file->birth_ns == 0 && file->inode == 0))
		snprintf(name, sizeof(name), "penstock path %s", spec->path);
	else if (file->birth_ns)
		snprintf(name, sizeof(name), "penstock file %llu born %llu",
			 (unsigned long long)file->inode, (unsigned long long)file->birth_ns);
	else
		snprintf(name, sizeof(name), "penstock file %llu on %llu",
			 (unsigned long long)file->inode, (unsigned long long)file->device);
	uuid_set(info, spec, name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in memory: "memory:4G". Gone when the process is. */
#ifndef PENSTOCK_STORE_MEMORY_H
#define PENSTOCK_STORE_MEMORY_H

#include "store/spec.h"
#include "store/store.h"

/* -ENOMEM when there is not that much address space. */
int store_memory_new(const struct store_spec *spec, struct store **ret_store, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* "null:1T": keeps nothing, reads as zeroes. For measuring everything but the store. */
#ifndef PENSTOCK_STORE_NULL_H
#define PENSTOCK_STORE_NULL_H

#include "store/spec.h"
#include "store/store.h"

/* -ENOMEM */
int store_null_new(const struct store_spec *spec, struct store **ret_store, struct err *err);

#endif

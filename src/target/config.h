/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a configuration may say. Bounds are checked here, once, so that all other files may rely on
 * them; names and namespaces are checked where they are used.
 */
#ifndef PENSTOCK_TARGET_CONFIG_H
#define PENSTOCK_TARGET_CONFIG_H

#include <stddef.h>

#include "base/err.h"
#include "target/target.h"

/* @reactors: how many there will be. -EINVAL with a sentence. */
int tgt_config_check(const struct target_config *c, size_t reactors, struct err *err);

#endif

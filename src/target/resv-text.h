/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations of a namespace as the text of its state file, for those that persist through power
 * loss. Lines, so that a person can read it, and a checksum at the end, so that nobody takes half a
 * file, or one that was edited, for what hosts agreed on.
 */
#ifndef PENSTOCK_TARGET_RESV_TEXT_H
#define PENSTOCK_TARGET_RESV_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/uuid.h"
#include "target/resv.h"

enum {
	TGT_RESV_TEXT_MAX = 32 * 1024,
};

/* Whose they are: what a file is named by, and the namespace's identity. */
struct tgt_resv_owner {
	const char *nqn;
	uint32_t nsid;
	struct uuid uuid;
};

/* Into @text, which has TGT_RESV_TEXT_MAX bytes. Returns how many. */
size_t tgt_resv_encode(const struct tgt_resv_state *s, const struct tgt_resv_owner *owner,
		       char *text);
/*
 * 1: they are those of @owner. 0: of another namespace, which had this number before. -EINVAL with
 * a sentence: the text is damaged, or not such a text. @ret_state is written only for 1.
 */
int tgt_resv_decode(const char *text, size_t n, const struct tgt_resv_owner *owner,
		    struct tgt_resv_state *ret_state, struct err *err);

#endif

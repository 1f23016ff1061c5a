/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block that says what it is: a head with its place, version and run, and contents that follow
 * from those and a seed. Who wrote it knows which version to expect, and so finds a write that was
 * acknowledged and lost; who only has the seed still finds what is torn, shifted, misplaced or
 * never written. The head costs 32 bytes of each block.
 */
#ifndef BENCH_STAMP_H
#define BENCH_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STAMP_HEAD = 32, STAMP_MIN = 64 }; /* bytes; of a block at least */

struct stamp {
	uint64_t offset;  /* where the block lies, bytes */
	uint64_t version; /* of this place, from 1 in each run */
	uint64_t run;	  /* tells the runs of one seed apart */
};

enum stamp_verdict {
	STAMP_GOOD,
	STAMP_FOREIGN,	 /* no block written with this seed (and size) */
	STAMP_MISPLACED, /* one that belongs elsewhere */
	STAMP_CORRUPT,	 /* its head is right, its contents are not */
	STAMP_STALE,	 /* a whole block, of another version or run than expected */
};

void stamp_fill(uint64_t seed, const struct stamp *s, void *buf, size_t n);

/*
 * Checks a block that was read at @offset. @expect NULL: any version of any run. @ret_found: what
 * its head says, for messages; @ret_wrong: index within @buf of the first wrong byte. Both are
 * written in any case.
 */
enum stamp_verdict stamp_check(uint64_t seed, uint64_t offset, const struct stamp *expect, const void *buf,
			       size_t n, struct stamp *ret_found, size_t *ret_wrong);

#endif

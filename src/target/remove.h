/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a subsystem of a running target, in steps: nobody finds it any more; its connections
 * end; the last of its controllers is freed; every core lets go of its view of it; it is freed, and
 * its place can be taken by another. Only the beginning waits for anything.
 */
#ifndef PENSTOCK_TARGET_REMOVE_H
#define PENSTOCK_TARGET_REMOVE_H

struct target_settled;
struct tgt_subsys;

/*
 * Begins it; the caller sees to the connections (tgt_reactors_enforce()). -ENOMEM. Takes the lock.
 */
int tgt_subsys_begin_end(struct tgt_subsys *s, struct target_settled *settled);
/* Perhaps its last controller is gone. The lock is held. */
void tgt_subsys_step_end(struct tgt_subsys *s);

#endif

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: a dataset of ours is a tar archive on a disk, for a host that has
# never heard of us.
#
#   dataset.sh NAME=VALUE...
#     ADDR, PORT, NQN, NSID   where it is
#     SUMS    sha256sum's list of all members with contents (default: none)
#     COUNT   how many members there must be

. /vmkit/lib.sh
for a in "$@"; do export "${a?}"; done
NSID=${NSID:-1}

connect() {
	modprobe nvme-tcp && nvme connect -t tcp -a "$ADDR" -s "$PORT" -n "$NQN" &&
		wait_for 10 nvme_dev "$NQN" "$NSID" || return 1
	DEV=/dev/$(nvme_dev "$NQN" "$NSID")
}
list() {	# regular files; folders may be members too
	tar -tvf "$DEV" >/tmp/list 2>/tmp/list.err || { cat /tmp/list.err; return 1; }
	head -n 3 /tmp/list; tail -n 3 /tmp/list
	[ -s /tmp/list.err ] && { cat /tmp/list.err; return 1; }
	n=$(grep -c '^-' /tmp/list)
	[ "$n" = "$COUNT" ] || { echo "$n members, not $COUNT"; return 1; }
}
sums() {
	rm -rf /tmp/x && mkdir /tmp/x && tar -C /tmp/x -xf "$DEV" || return 1
	cd /tmp/x && sha256sum -c --quiet --strict "$SUMS"; rc=$?
	cd / && [ "$(find /tmp/x -type f | wc -l)" = "$COUNT" ] && rm -rf /tmp/x && return $rc
}
disconnect() { nvme disconnect -n "$NQN" && wait_for 10 nvme_none "$NQN"; }

if t connect connect; then
	t list list
	[ -z "$SUMS" ] || t sums sums
	t disconnect disconnect
fi
t_end

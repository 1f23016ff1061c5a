#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: a host at work while its target comes and goes.
#
#   busy.sh start ADDR PORT NQN SECONDS KATO   connect, and write for that long in the
#                              background; returns at once
#   busy.sh state live|connecting  wait until the controller is in that state
#   busy.sh finish NQN         wait for the writers, disconnect
#   busy.sh compare ADDR PORT NQN  nothing may be lost
#
# Two writers share the namespace: fio verifies what it wrote, and dd leaves a known
# pattern that is compared over a new connection, with nothing cached.  No write may
# fail: the kernel holds them back until the target is there again.

. /vmkit/lib.sh

# 8 MiB at offset 64 MiB, over and over; /tmp/pat is what the last round wrote.  The
# base is random, and each round begins with its number.
pattern() {
	local round=0
	while [ "$(now_cs)" -lt "$1" ]; do
		round=$((round + 1))
		printf '%08d' $round | dd of=/tmp/pat conv=notrunc status=none
		dd if=/tmp/pat of="$2" bs=32k seek=2048 oflag=direct conv=notrunc status=none || return 1
	done
	echo "$round rounds"
}

start() {
	local dev
	modprobe nvme-tcp && nvme connect -t tcp -a "$1" -s "$2" -n "$3" --keep-alive-tmo="$5" \
		--reconnect-delay=1 --ctrl-loss-tmo=60 && wait_for 10 nvme_dev "$3" 1 || return 1
	dev=/dev/$(nvme_dev "$3" 1)
	rm -f /tmp/busy.*
	nvme_ctrls "$3" >/tmp/busy.ctrl
	dd if=/dev/urandom of=/tmp/pat bs=1M count=8 status=none
	(
		# at such a rate that it takes that long; with --time_based it would not verify
		fio --name=busy --filename="$dev" --direct=1 --ioengine=libaio --rw=randwrite \
			--bsrange=4k-64k --iodepth=16 --size="$(($4 * 2))M" --rate=,2m \
			--verify=crc32c --verify_fatal=1 --verify_dump=0 >/tmp/busy.fio 2>&1
		echo $? >/tmp/busy.fio.rc
	) &
	(
		pattern $(($(now_cs) + $4 * 100)) "$dev" >/tmp/busy.dd 2>&1
		echo $? >/tmp/busy.dd.rc
	) &
	sleep 1
}

state() {
	local c
	read -r c </tmp/busy.ctrl
	wait_for 20 nvme_is "$c" "$1"
}

finish() {
	local dev
	wait_for 60 test -s /tmp/busy.fio.rc && wait_for 10 test -s /tmp/busy.dd.rc || return 1
	cat /tmp/busy.fio /tmp/busy.dd
	[ "$(cat /tmp/busy.fio.rc /tmp/busy.dd.rc | tr '\n' ' ')" = "0 0 " ] &&
		grep -q 'READ: ' /tmp/busy.fio || return 1	# fio did verify
	nvme disconnect -n "$1" && wait_for 10 nvme_none "$1" && echo 3 >/proc/sys/vm/drop_caches
}

# The pattern must be there for a host that connects anew.
compare() {	# ADDR PORT NQN
	local dev
	nvme connect -t tcp -a "$1" -s "$2" -n "$3" && wait_for 10 nvme_dev "$3" 1 || return 1
	dev=/dev/$(nvme_dev "$3" 1)
	dd if="$dev" of=/tmp/back bs=1M skip=64 count=8 iflag=direct status=none &&
		cmp /tmp/pat /tmp/back && nvme disconnect -n "$3"
}

"$@"

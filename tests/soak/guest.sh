#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: a stock host that writes and verifies for hours while its connections come to harm.
#
#   soak.sh start ADDR PORT NQN PORT2 NQN2   connect, without digests and with both; begin
#   soak.sh stop                            let the last rounds end, disconnect, say what was done
#
# On each namespace fio writes blocks of many sizes in rounds, each with a seed of its own and verified as
# it goes: a block that was lost, is torn or is of another round has a wrong head or sum.  Beside it dd leaves
# a pattern that is compared.  No I/O may fail: the kernel holds it back until the connection is there again.

. /vmkit/lib.sh
D=/tmp/soak

fio_rounds() {	# NAME DEVICE
	local round=0
	while [ ! -e $D/stop ]; do
		round=$((round + 1))
		fio --name="$1" --filename="$2" --direct=1 --ioengine=libaio --rw=randwrite --bsrange=4k-64k \
			--iodepth=8 --size=24m --io_size=12m --randseed=$round --rate_iops=80,80 --verify=crc32c \
			--verify_backlog=48 --verify_fatal=1 --verify_dump=0 --output-format=json \
			--output="$D/$1.json" >"$D/$1.said" 2>&1 ||
			{ cat "$D/$1.said" "$D/$1.json"; echo "round $round failed"; return 1; }
		sed -n 's/^ *"io_bytes" : \([0-9]*\),/\1/p; s/^ *"total_ios" : \([0-9]*\),/ios \1/p' "$D/$1.json" >>"$D/$1.sums"
		echo "$round" >"$D/$1.rounds"
	done
}

# 1 MiB at 32 MiB, which nobody else writes; the kernel's page cache has no part in it.
pattern_rounds() {	# NAME DEVICE
	local round=0
	dd if=/dev/urandom of="$D/$1.pat" bs=1M count=1 status=none
	while [ ! -e $D/stop ]; do
		round=$((round + 1))
		printf '%08d' $round | dd of="$D/$1.pat" conv=notrunc status=none
		dd if="$D/$1.pat" of="$2" bs=64k seek=512 oflag=direct conv=notrunc,fsync status=none &&
			dd if="$2" of="$D/$1.back" bs=64k skip=512 count=16 iflag=direct status=none &&
			cmp "$D/$1.pat" "$D/$1.back" || { echo "pattern round $round failed"; return 1; }
		echo $round >"$D/$1.rounds"
		sleep 1
	done
}

run() {	# FUNCTION NAME DEVICE
	(
		"$@" >"$D/$2.out" 2>&1
		echo $? >"$D/$2.rc"
	) &
}

start() {
	local dev n
	mkdir -p $D && rm -f $D/*
	# Silence is found after 10 s; a command may meet many losses.
	modprobe nvme_core io_timeout=10 max_retries=100 && modprobe nvme-tcp || return 1
	nvme connect -t tcp -a "$1" -s "$2" -n "$3" --keep-alive-tmo=5 --reconnect-delay=1 --ctrl-loss-tmo=600 &&
		nvme connect -t tcp -a "$1" -s "$4" -n "$5" -g -G --keep-alive-tmo=5 --reconnect-delay=1 \
			--ctrl-loss-tmo=600 || return 1
	echo "$3 $5" >$D/nqns
	for n in 1 2; do
		wait_for 10 nvme_dev "$3" $n && wait_for 10 nvme_dev "$5" $n || return 1
		dev=/dev/$(nvme_dev "$3" $n)
		run fio_rounds "plain$n" "$dev"
		dev=/dev/$(nvme_dev "$5" $n)
		run fio_rounds "digest$n" "$dev"
	done
	run pattern_rounds patplain "/dev/$(nvme_dev "$3" 1)"
	run pattern_rounds patdigest "/dev/$(nvme_dev "$5" 1)"
	sleep 1
}

stop() {
	local f name rc=0 nqn
	touch $D/stop
	for name in plain1 plain2 digest1 digest2 patplain patdigest; do
		wait_for 60 test -s $D/$name.rc || { echo "$name does not end"; cat $D/$name.out; return 1; }
		[ "$(cat $D/$name.rc)" = 0 ] || { echo "$name:"; cat $D/$name.out; rc=1; }
	done
	for nqn in $(cat $D/nqns); do
		nvme disconnect -n "$nqn" && wait_for 20 nvme_none "$nqn" || rc=1
	done
	cat $D/plain?.sums $D/digest?.sums | awk '/^ios/ { ios += $2; next } { bytes += $1 }
		END { printf "ios %d\nbytes %d\n", ios, bytes }'
	cat $D/*.rounds | awk '{ n += $1 } END { print "rounds", n }'
	return $rc
}

"$@"

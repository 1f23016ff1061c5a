#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: the stock kernel as an NVMe-oF HOST against a target.
#
#   vm.sh run host.sh [NAME=VALUE...]	or in a started guest (idle.sh)
#   vm.sh exec D '/vmkit/host.sh [NAME=VALUE...]'
#
# The target listens on 127.0.0.1:PORT of the outer machine, which the guest
# reaches as 10.0.2.2:PORT; no --hostfwd is needed for that.  All data on the
# namespace is overwritten.
#
#   ADDR     default 10.0.2.2; fec0::2 is ::1 of the outer machine
#   PORT     default 14420
#   PORT2    a second port of the same subsystem, for the multipath tests
#            (default: none, tests skipped)
#   DPORT    port to ask for discovery (default: PORT)
#   NQN      default nqn.2014-08.org.nvmexpress:vmkit
#   NSID     the namespace to use (default 1)
#   TRTYPE   tcp (default) or rdma (the image must have been made with --rdma)
#   PRE      commands to run once the modules are there and, with TRTYPE=rdma, a
#            soft-RoCE link.  With a target in this same guest (vm.sh --add) and
#            ADDR=10.0.2.15 they start it; the tests that cut the wire are then
#            left out
#   MB       how much fio writes in each job (default 8)
#   ONLY     names of tests, to run those alone; connect and disconnect go along
#   SKIP     names of tests to leave out
#   QUICK=1  leave out the tests that wait for timeouts (keepalive, reconnect,
#            ctrl-loss)
#   VERBOSE=1  show the output of passed tests too
#   STRICT=1   ask for more than the kernel's own target gives

. /vmkit/lib.sh
for a in "$@"; do
	case $a in
	[A-Z]*=*) export "${a?}" ;;
	*) echo "host: NAME=VALUE wanted, not '$a'"; exit 2 ;;
	esac
done
TRTYPE=${TRTYPE:-tcp} PORT=${PORT:-14420} MB=${MB:-8}
ADDR=${ADDR:-10.0.2.2}
DPORT=${DPORT:-$PORT}
NQN=${NQN:-nqn.2014-08.org.nvmexpress:vmkit} NSID=${NSID:-1}
NETDEV=$(ip -o route get "$ADDR" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
# shellcheck disable=SC2086 # white space of any kind parts the names
[ -z "$ONLY" ] || ONLY=$(echo modules connect $ONLY disconnect)

# what a host logs when it loses and regains a connection
RECOVERY='nvme nvme[0-9]+: (long keepalive RTT|failed nvme_keep_alive_end_io|'
RECOVERY=$RECOVERY'starting error recovery|Reconnecting in|Successfully reconnected|'
RECOVERY=$RECOVERY'Failed reconnect attempt|failed to connect (socket|queue)|queue [0-9]+: timeout|'
RECOVERY=$RECOVERY'rdma connection establishment failed|RECV for CQE|SEND for CQE|'
RECOVERY=$RECOVERY'Property (Set|Get) error|I/O [0-9]+.* timeout|failed to send request|'
RECOVERY=$RECOVERY'Connect command failed|resetting controller)|nvme_keep_alive|'
RECOVERY=$RECOVERY'nvme[0-9]+n[0-9]+: no usable path - requeuing|nvme_tcp: queue [0-9]+: timeout|'
RECOVERY=$RECOVERY'block nvme[0-9n]+: no (usable|available) path'
LOSS="$RECOVERY|Removing controller|Buffer I/O error|I/O error|no available path"
PAST_END='LBA Out of Range|critical target error|blk_update_request|I/O error'
NOT_THERE='Connect Invalid|Connect for subsystem|Connect command failed|failed to connect queue'

# connect [PORT [OPTION...]] and wait for the controller and its namespace
connect() {
	local port=${1:-$PORT}
	[ $# -eq 0 ] || shift
	nvme connect -t "$TRTYPE" -a "$ADDR" -s "$port" -n "$NQN" "$@" || return 1
	wait_for 10 nvme_dev "$NQN" "$NSID" || return 1
	DEV=/dev/$(nvme_dev "$NQN" "$NSID")
	CTRL=$(nvme_ctrls "$NQN" | head -n 1)
	wait_for 5 nvme_is "$CTRL" live
}
disconnect() {
	nvme disconnect -n "$NQN" && wait_for 10 nvme_none "$NQN"
}
field() { sed -n "s/^$1 *: *//p" | head -n 1; }		# a field of nvme-cli's text

# ---- tests --------------------------------------------------------------------
modules() {
	if [ "$TRTYPE" = rdma ]; then rxe_for "$ADDR" || return 1; fi
	modprobe -a "nvme-$TRTYPE" && [ -c /dev/nvme-fabrics ] &&
		cat /dev/nvme-fabrics /etc/nvme/hostnqn || return 1	# options this kernel knows
	eval "$PRE"
}
discover() {
	nvme discover -t "$TRTYPE" -a "$ADDR" -s "$DPORT" >/tmp/disc || { cat /tmp/disc; return 1; }
	cat /tmp/disc
	grep -q "^subnqn: *$NQN\$" /tmp/disc && grep -q "^trsvcid: *$PORT\$" /tmp/disc &&
		grep -q "^traddr: *$ADDR\$" /tmp/disc
}
list() {
	nvme list && nvme list | grep -q "^$DEV " && nvme list -v &&
		nvme list-subsys | tee /tmp/ls && grep -q "NQN=$NQN" /tmp/ls && grep -q live /tmp/ls
}
id_ctrl() {
	nvme id-ctrl "/dev/$CTRL" >/tmp/idc || { cat /tmp/idc; return 1; }
	cat /tmp/idc
	[ "$(field subnqn </tmp/idc)" = "$NQN" ] || { echo "wrong subnqn"; return 1; }
	[ "$(field kas </tmp/idc)" -gt 0 ] && [ "$(field ioccsz </tmp/idc)" -ge 4 ] &&
		[ "$(field maxcmd </tmp/idc)" -gt 0 ]
}
id_ns() {
	nvme list-ns "/dev/$CTRL" && nvme id-ns "$DEV" >/tmp/idn || { cat /tmp/idn; return 1; }
	cat /tmp/idn
	# nsze is in blocks of the format in use, blockdev counts 512-byte sectors
	[ $(($(field nsze </tmp/idn) * $(blockdev --getss "$DEV") / 512)) -eq \
		"$(blockdev --getsz "$DEV")" ] && nvme ns-descs "$DEV"
}
# The counters count what was read since; asked for by STRICT=1, as the kernel's
# target takes them from the block device, which may have none.
smart_log() {
	local was now
	nvme smart-log "/dev/$CTRL" && was=$(units_read) &&
		dd if="$DEV" of=/dev/null bs=512k count=4 iflag=direct status=none && now=$(units_read) ||
		return 1
	echo "units read: $was, then $now"
	[ -z "$STRICT" ] || [ "$now" -gt "$was" ]
}
units_read() {
	nvme smart-log "/dev/$CTRL" | sed -n 's/^Data Units Read[^0-9]*\([0-9,]*\).*/\1/p' | tr -d ,
}
error_log() { nvme error-log "/dev/$CTRL"; }
features() {
	local o
	nvme get-feature "/dev/$CTRL" -f 7 -H && nvme get-feature "/dev/$CTRL" -f 0xb -H &&
		nvme get-feature "/dev/$CTRL" -f 0xf -H || return 1
	# Property Get of CAP, VS, CC, CSTS ('nvme show-regs' of nvme-cli 2.3 also asks
	# for properties that fabrics do not have, and then prints rubbish)
	for o in 0x0 0x8 0x14 0x1c; do
		nvme get-property "/dev/$CTRL" -o $o -H || return 1
	done
}
# logs that a target may do without: reported, never a failure
optional() {
	local l
	for l in fw-log changed-ns-list-log effects-log ana-log; do
		nvme $l "/dev/$CTRL" >/tmp/opt 2>&1 && echo "$l: yes" ||
			echo "$l: no ($(head -n 1 /tmp/opt))"
	done
	return 0
}

# write SRC to byte offset $2 in blocks of $3, read back in blocks of $4, compare
rw_one() {
	dd if="$1" of="$DEV" bs="$3" seek="$2" oflag=direct,seek_bytes conv=notrunc status=none &&
		dd if="$DEV" of=/tmp/back bs="$4" skip="$2" count="$(stat -c %s "$1")" \
			iflag=direct,skip_bytes,count_bytes status=none &&
		cmp "$1" /tmp/back
}
rw_dd() {
	local bs
	bs=$(blockdev --getss "$DEV")
	dd if=/dev/urandom of=/tmp/src bs=64k count=4 status=none &&
		dd if=/dev/urandom of=/tmp/big bs=64k count=32 status=none &&
		head -c $((bs * 33)) /tmp/src >/tmp/odd || return 1
	rw_one /tmp/src 0 4k 64k &&		# in-capsule data
		rw_one /tmp/src 1048576 64k 4k &&	# R2T, or keyed SGLs
		rw_one /tmp/big $((3145728 + bs)) 1M 2M &&	# larger than MDTS may be
		rw_one /tmp/odd $((bs * 7)) "$bs" $((bs * 3)) &&
		# the last blocks of the namespace
		rw_one /tmp/odd $(($(blockdev --getsize64 "$DEV") - bs * 33)) $((bs * 11)) $((bs * 33))
}
rw_quick() {
	dd if=/dev/urandom of=/tmp/src bs=4k count=32 status=none && rw_one /tmp/src 8192 4k 64k &&
		rw_one /tmp/src 262144 64k 4k
}
nvme_cmds() {
	local bs
	bs=$(blockdev --getss "$DEV")
	rm -f /tmp/blk2
	head -c "$bs" /dev/urandom >/tmp/blk
	nvme write "$DEV" -s 100 -c 0 -z "$bs" -d /tmp/blk &&
		nvme read "$DEV" -s 100 -c 0 -z "$bs" -d /tmp/blk2 && cmp /tmp/blk /tmp/blk2 &&
		nvme flush "$DEV" || return 1
	nvme write-zeroes "$DEV" -s 100 -c 0 && nvme read "$DEV" -s 100 -c 0 -z "$bs" -d /tmp/blk2 &&
		head -c "$bs" /dev/zero | cmp - /tmp/blk2 || return 1
	nvme dsm "$DEV" -d -s 100 -b 8 || return 1
	# compare is optional in a target
	nvme write "$DEV" -s 100 -c 0 -z "$bs" -d /tmp/blk || return 1
	if nvme compare "$DEV" -s 100 -c 0 -z "$bs" -d /tmp/blk; then
		refused 'Compare' nvme compare "$DEV" -s 101 -c 0 -z "$bs" -d /tmp/blk
	else
		echo "compare: not supported"
		[ -z "$STRICT" ]
	fi
}
# What is no command, log page, feature, namespace or structure of ours is refused
# with the right status, and the controller lives on.
refused() {	# STATUS COMMAND...
	local want=$1; shift
	if "$@" >/tmp/ref 2>&1; then
		echo "succeeded: $*"
		[ -z "$STRICT" ]; return
	fi
	head -n 1 /tmp/ref
	[ -z "$STRICT" ] || grep -qiE "$want" /tmp/ref || { echo "not '$want': $*"; return 1; }
}
errors() {
	refused 'Invalid Command Opcode' nvme admin-passthru "/dev/$CTRL" --opcode=0xd5 &&
		refused 'Invalid Command Opcode' nvme io-passthru "$DEV" --opcode=0x9d -n "$NSID" &&
		refused 'Invalid Log Page' nvme get-log "/dev/$CTRL" --log-id=0xbf --log-len=512 &&
		refused 'Invalid Field' nvme get-feature "/dev/$CTRL" -f 0x7e &&
		refused 'Invalid Field' nvme admin-passthru "/dev/$CTRL" --opcode=6 --cdw10=0x7f -r -l 4096 &&
		refused 'Invalid Namespace' nvme id-ns "/dev/$CTRL" -n 0xfffffff0 &&
		nvme_is "$CTRL" live && rw_quick
}
# Deallocated blocks read as zeroes if the namespace says so (DLFEAT); blocks
# beside them are untouched.
trim() {
	dd if=/dev/urandom of=/tmp/src bs=64k count=4 status=none &&
		dd if=/tmp/src of="$DEV" bs=64k oflag=direct conv=notrunc status=none &&
		blkdiscard -o 65536 -l 65536 "$DEV" && dd if="$DEV" of=/tmp/back bs=64k count=4 \
		iflag=direct status=none && cmp -n 65536 /tmp/src /tmp/back &&
		cmp -i 131072 /tmp/src /tmp/back || return 1
	if [ $(($(nvme id-ns "$DEV" | field dlfeat) & 7)) = 1 ]; then
		cmp -n 65536 -i 65536:0 /tmp/back /dev/zero || return 1
	fi
	blkdiscard -z -o 131072 -l 65536 "$DEV" && dd if="$DEV" of=/tmp/back bs=64k count=4 \
		iflag=direct status=none && cmp -n 65536 -i 131072:0 /tmp/back /dev/zero &&
		cmp -i 196608 /tmp/src /tmp/back && blkdiscard "$DEV"
}
# A read behind the end must fail, and do no harm.  The status should be LBA Out
# of Range (asked for by STRICT=1); the kernel's own target says Internal Error.
out_of_range() {
	local bs nsze
	bs=$(blockdev --getss "$DEV")
	nsze=$(nvme id-ns "$DEV" | field nsze)
	if nvme read "$DEV" -s $((nsze)) -c 0 -z "$bs" -d /tmp/blk2 >/tmp/oor 2>&1; then
		echo "a read behind the end succeeded"; return 1
	fi
	cat /tmp/oor
	[ -z "$STRICT" ] || grep -qi 'LBA' /tmp/oor || return 1
	nvme read "$DEV" -s 0 -c 0 -z "$bs" -d /tmp/blk2
}

FIO="fio --direct=1 --group_reporting --output-format=normal --verify_fatal=1 --verify_dump=0"
fio_verify() {	# ENGINE RW
	$FIO --name="$1-$2" --filename="$DEV" --ioengine="$1" --rw="$2" --iodepth=16 \
		--bsrange=4k-256k --bs_unaligned=0 --size="${MB}M" --verify=crc32c --do_verify=1
}
fio_write() { fio_verify libaio write; }
fio_randwrite() { fio_verify libaio randwrite; }
fio_uring() { fio_verify io_uring randwrite; }
fio_mixed() {	# small and large at once, read/write/trim from two jobs
	$FIO --filename="$DEV" --ioengine=libaio --iodepth=16 --size="${MB}M" \
		--name=small --offset=0 --rw=randrw --bs=4k --io_size="$((MB / 2))M" \
		--name=large --offset="$((MB * 2))M" --rw=randrw --bs=512k --io_size="${MB}M"
}

xfs() {
	# --unsupported: lets it make file systems under 300 MB
	mkfs.xfs -q -f -l size=16m --unsupported "$DEV" && mount -t xfs "$DEV" /mnt || return 1
	dd if=/dev/urandom of=/mnt/big bs=1M count=4 status=none &&
		mkdir /mnt/d && cp -r /usr/sbin/nvme /usr/lib/modules /mnt/d/ &&
		seq 1 20000 >/mnt/d/seq && sync &&
		(cd /mnt && find . -type f -exec sha256sum {} + | sort >/tmp/sums) &&
		rm -r /mnt/d/nvme && sed -i '/nvme$/d' /tmp/sums && fstrim -v /mnt &&
		umount /mnt || return 1
	xfs_repair -n "$DEV" >/tmp/repair 2>&1 || { cat /tmp/repair; return 1; }
	# another connection, nothing cached
	disconnect && echo 3 >/proc/sys/vm/drop_caches && connect || return 1
	mount -t xfs -o ro "$DEV" /mnt && (cd /mnt && sha256sum -c /tmp/sums) && umount /mnt
}

# a bit of everything, from as many processes as there are queues
fio_load() {
	$FIO --name=v --filename="$DEV" --ioengine=libaio --rw=randwrite --iodepth=8 \
		--bsrange=4k-64k --size=1M --offset_increment=4M --numjobs=4 --thread \
		--verify=crc32c
}
# connect with the given options, do some I/O, disconnect; v-both-digests, v-4-queues
# and v-disable-sqflow do more of it
variant() {
	connect "$PORT" "$@" || return 1
	cat "/sys/class/nvme/$CTRL/queue_count" "/sys/class/nvme/$CTRL/sqsize"
	rw_quick || return 1
	case $* in
	*hdr*data*|*sqflow*) fio_load >/dev/null || return 1 ;;
	esac
	disconnect
}
v_hdr() { variant --hdr-digest; }
v_data() { variant --data-digest; }
v_both() { variant --hdr-digest --data-digest; }
# v_queues N OPTION...: N I/O queues beside the admin queue, with data on each
v_queues() {
	local n=$1; shift
	connect "$PORT" "$@" || return 1
	[ "$(cat "/sys/class/nvme/$CTRL/queue_count")" = $((n + 1)) ] && rw_quick || return 1
	[ "$n" = 1 ] || fio_load >/dev/null || return 1
	disconnect
}
v_1_queue() { v_queues 1 --nr-io-queues=1; }
v_4_queues() {	# the kernel makes one for each CPU, and as many again for writes alone
	if [ "$(nproc)" -ge 4 ]; then v_queues 4 --nr-io-queues=4; else
		v_queues 4 --nr-io-queues=2 --nr-write-queues=2
	fi
}
v_qsize() {
	connect "$PORT" --queue-size=16 --nr-io-queues=1 || return 1
	[ "$(cat "/sys/class/nvme/$CTRL/sqsize")" = 15 ] && rw_quick && disconnect
}
v_poll() {	# separate queues for writes and for polled I/O
	connect "$PORT" --nr-io-queues=1 --nr-write-queues=1 --nr-poll-queues=1 || return 1
	[ "$(cat "/sys/class/nvme/$CTRL/queue_count")" = 4 ] && rw_quick &&
		$FIO --name=p --filename="$DEV" --ioengine=io_uring --hipri --rw=randwrite \
			--iodepth=4 --bs=4k --size=1M --verify=crc32c >/dev/null && disconnect
}
v_sqflow() { variant --disable-sqflow; }
connect_all() {
	nvme connect-all -t "$TRTYPE" -a "$ADDR" -s "$DPORT" &&
		wait_for 10 nvme_dev "$NQN" "$NSID" || return 1
	DEV=/dev/$(nvme_dev "$NQN" "$NSID")
	nvme list-subsys && rw_quick && nvme disconnect-all && wait_for 10 nvme_none "$NQN"
}
bad_nqn() {	# a subsystem that is not there must be refused, cleanly
	if nvme connect -t "$TRTYPE" -a "$ADDR" -s "$PORT" -n "$NQN.missing"; then
		echo "connected to a subsystem that does not exist"; return 1
	fi
	nvme_none "$NQN.missing"
}
cycles() {	# connect and disconnect
	local i=0
	while [ $i -lt 5 ]; do
		connect && disconnect || return 1
		i=$((i + 1))
	done
}

reset() {
	nvme reset "/dev/$CTRL" && wait_for 10 nvme_is "$CTRL" live && rw_quick
}
rescan() { nvme ns-rescan "/dev/$CTRL" && sleep 0.2 && rw_quick; }
keepalive() {	# idle for 2.5 times the keep-alive timeout
	disconnect && connect "$PORT" --keep-alive-tmo=2 || return 1
	sleep 5
	nvme_is "$CTRL" live && ! klog_has 'Reconnecting|error recovery' && rw_quick
}
reconnect() {	# cut the wire under load until the host notices; no I/O may fail
	disconnect && connect "$PORT" --keep-alive-tmo=2 --reconnect-delay=1 --ctrl-loss-tmo=60 ||
		return 1
	$FIO --name=r --filename="$DEV" --ioengine=libaio --rw=randwrite --bs=4k --iodepth=4 \
		--size="$((MB * 3 / 4))M" --rate=,1500k --verify=crc32c >/tmp/fio.re 2>&1 &
	job=$!
	sleep 1
	ip link set "$NETDEV" down
	wait_for 20 nvme_is "$CTRL" connecting; was=$?
	sleep 1
	ip link set "$NETDEV" up
	wait_for 20 nvme_is "$CTRL" live || { echo "not live again"; return 1; }
	wait $job && grep -q 'READ: ' /tmp/fio.re || { cat /tmp/fio.re; return 1; }	# it verified
	[ $was -eq 0 ] && klog_has 'Successfully reconnected' && rw_quick
}
ctrl_loss() {	# cut the wire for longer than ctrl-loss-tmo: the device goes away
	disconnect && connect "$PORT" --keep-alive-tmo=1 --reconnect-delay=1 --ctrl-loss-tmo=2 ||
		return 1
	ip link set "$NETDEV" down
	wait_for 30 nvme_none "$NQN"; rc=$?
	ip link set "$NETDEV" up
	[ $rc -eq 0 ] && sleep 0.5 && connect && rw_quick
}
paths_live() {
	[ "$(nvme_ctrls "$NQN" | while read -r c; do nvme_state "$c"; done | grep -c live)" = "$1" ]
}
multipath() {	# two paths; one is taken away under load, then comes back
	local devices
	disconnect && connect "$PORT" && devices=$(nvme list | grep "^/dev/nvme") &&
		connect "$PORT2" && wait_for 5 paths_live 2 || return 1
	nvme list-subsys
	[ "$(nvme list | grep "^/dev/nvme")" = "$devices" ] ||
		{ nvme list; echo "other devices than by one path"; return 1; }
	second=$(nvme_ctrls "$NQN" | tail -n 1)
	echo round-robin >"$(grep -lx "$NQN" /sys/class/nvme-subsystem/*/subsysnqn | head -n 1 |
		sed 's/subsysnqn$/iopolicy/')"
	$FIO --name=m --filename="$DEV" --ioengine=libaio --rw=randwrite --bs=4k --iodepth=8 \
		--size="$((MB * 3 / 4))M" --rate=,2m --verify=crc32c >/tmp/fio.mp 2>&1 &
	job=$!
	sleep 1; nvme disconnect -d "$second"; sleep 1
	connect "$PORT2"; back=$?
	wait $job && grep -q 'READ: ' /tmp/fio.mp || { cat /tmp/fio.mp; return 1; }
	[ $back -eq 0 ] && wait_for 5 paths_live 2 && rw_quick && nvme list-subsys
}

# ---- run ------------------------------------------------------------------------
note "host $(uname -r), $(nproc) CPU; target $TRTYPE $ADDR:$PORT $NQN"
t modules modules || { t_end; exit 1; }
t discover discover
if t connect connect; then
	t list list
	t id-ctrl id_ctrl
	t id-ns id_ns
	t smart-log smart_log
	t error-log error_log
	t features features
	VERBOSE=1 t optional optional
	t rw-dd rw_dd
	t nvme-cmds nvme_cmds
	t errors errors
	t trim trim
	t -e "$PAST_END" out-of-range out_of_range
	t fio-write fio_write
	t fio-randwrite fio_randwrite
	t fio-io_uring fio_uring
	t fio-mixed fio_mixed
	t xfs xfs
	t -e 'resetting controller' reset reset
	t rescan rescan
	[ -n "$QUICK" ] || t keepalive keepalive
	if [ -n "$QUICK" ] || [ "$NETDEV" = lo ]; then
		t_skip "reconnect, ctrl-loss" "QUICK, or no wire to cut"
	else
		t -e "$RECOVERY" reconnect reconnect
		t -e "$LOSS" ctrl-loss ctrl_loss
	fi
	if [ -n "$PORT2" ]; then
		t -e "$RECOVERY" multipath multipath
	else
		t_skip multipath "no PORT2"
	fi
	t disconnect disconnect
	if [ "$TRTYPE" = tcp ]; then
		t v-hdr-digest v_hdr
		t v-data-digest v_data
		t v-both-digests v_both
	fi
	t v-1-queue v_1_queue
	if [ "$(nproc)" -ge 2 ]; then t v-4-queues v_4_queues; else
		t_skip v-4-queues "one CPU"
	fi
	t v-queue-size v_qsize
	t v-poll-queues v_poll
	t v-disable-sqflow v_sqflow
	t connect-all connect_all
	t -e "$NOT_THERE" bad-nqn bad_nqn
	t cycles cycles
fi
t_end

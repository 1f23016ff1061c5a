# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# lib.sh - functions for guest scripts: '. /vmkit/lib.sh' (sh is dash, bash is
# there too).  It shall be small and cheap: every process costs milliseconds under
# software emulation.

# ---- results: TAP-like lines -------------------------------------------------
T_COUNT=0 T_FAILED=0 T_SKIPPED=0

# seconds since boot with two decimals; now_cs: the same in hundredths
now() { local up; read -r up _ </proc/uptime; echo "$up"; }
now_cs() { local up; read -r up _ </proc/uptime; echo "${up%.*}${up#*.}"; }

note() { echo "# $*"; }

# t [-e ERE] NAME COMMAND...: run COMMAND, print 'ok' or 'not ok' with the time
# it took; its output is shown only when it failed (or when VERBOSE is set).
# COMMAND may be a function; it runs in this shell.  The test also fails when the
# kernel log got suspicious lines meanwhile (klog_bad), other than those that
# match ERE or $EXPECT.  With ONLY="a b" in the environment the tests not named there
# are left out, with SKIP="a b" those that are.
t() {
	local expect='' name start rc ms
	[ "$1" = -e ] && { expect=$2; shift 2; }
	name=$1; shift
	case " ${ONLY-} " in
	"  "|*" $name "*) ;;
	*) T_SKIPPED=$((T_SKIPPED + 1)); return 0 ;;
	esac
	case " ${SKIP-} " in
	*" $name "*) t_skip "$name" "by SKIP"; return 0 ;;
	esac
	T_COUNT=$((T_COUNT + 1))
	start=$(now_cs)
	echo "<6>vmkit: test $name" >/dev/kmsg
	klog_mark
	"$@" >/tmp/t.out 2>&1
	rc=$?
	ms=$((($(now_cs) - start) * 10))
	[ -z "${EXPECT-}" ] || expect="${expect:+$expect|}$EXPECT"
	if ! klog_bad "$expect" >>/tmp/t.out; then
		[ $rc -ne 0 ] || rc=klog
	fi
	if [ $rc = 0 ]; then
		echo "ok $T_COUNT - $name ($ms ms)"
		[ -z "${VERBOSE-}" ] || sed 's/^/    /' /tmp/t.out
		return 0
	fi
	T_FAILED=$((T_FAILED + 1))
	echo "not ok $T_COUNT - $name ($ms ms, $rc)"
	sed 's/^/    /' /tmp/t.out
	return 1
}

# t_skip NAME WHY: a test that does not apply here
t_skip() { T_SKIPPED=$((T_SKIPPED + 1)); echo "ok - $1 # SKIP $2"; }

# last line of a test script; its status is the script's result
t_end() {
	echo "1..$T_COUNT"
	echo "$((T_COUNT - T_FAILED)) passed, $T_FAILED failed, $T_SKIPPED skipped"
	[ $T_FAILED -eq 0 ] && [ $T_COUNT -gt 0 ]
}

# ---- waiting -------------------------------------------------------------------
# wait_for SECONDS COMMAND...: until COMMAND succeeds, tried every 50 ms.  SECONDS is
# what an idle machine needs at most; a busy one is given five times that.
wait_for() {
	local end=$(($(now_cs) + $1 * 500)); shift
	until "$@" >/dev/null 2>&1; do
		[ "$(now_cs)" -lt $end ] || { echo "wait_for: gave up on: $*"; return 1; }
		sleep 0.05
	done
}

# tell 'vm.sh start' that the guest is ready (fd 9 comes from init)
vm_ready() { echo ready >&9; }

# ---- kernel log ------------------------------------------------------------------
# Failures show up in two ways:
#  - by level: nvme, nvmet and the rest of the kernel report trouble at level
#    warning (4) or worse, and normal work at notice or info;
#  - by text: a few tell-tale lines come at level info.
# klog_mark starts a new section; klog_bad prints what is suspicious since then
# and returns 1 if there was any.  $1 of klog_bad: an ERE of lines that are
# expected (a reconnect test expects 'starting error recovery', and so on).

# Normal lines in spite of their level.
KLOG_HARMLESS='speed is unknown, defaulting|keep_alive_tmo 0 won|I/O fail on reconnect|'
KLOG_HARMLESS=$KLOG_HARMLESS'will reconnect forever|(hrtimer|perf): interrupt took'
KLOG_TEXT='nvme.*(error|fail|timeout|timed out|reset|reconnect|abort|mismatch|protocol|malformed|'
KLOG_TEXT=$KLOG_TEXT'invalid|unexpected|unsupported|bad |bogus|duplicate|not found|could not|'
KLOG_TEXT=$KLOG_TEXT'Removing controller)|I/O error|Buffer I/O|Call Trace|BUG:|WARNING:|Oops|hung task|'
KLOG_TEXT=$KLOG_TEXT'blocked for more than|soft lockup|rcu.*stall|general protection|'
KLOG_TEXT=$KLOG_TEXT'XFS.*(error|corrupt|Metadata)'

# Each record of /dev/kmsg: "PRIO,SEQ,USEC,-;TEXT", continuation lines by ' '.
# (coreutils' dd: busybox' has no iflag=nonblock)
KLOG_ID=0
klog_mark() {
	KLOG_ID=$((KLOG_ID + 1))
	echo "<6>vmkit: mark $$.$KLOG_ID" >/dev/kmsg
}

# klog_since: the records since the mark as "<LEVEL> TEXT"
klog_since() {
	dd if=/dev/kmsg iflag=nonblock bs=8192 2>/dev/null |
		awk -v mark="vmkit: mark $$.$KLOG_ID" '
		/^[0-9]+,[0-9]+,/ {
			i = index($0, ";"); text = substr($0, i + 1)
			if (text == mark) { seen = 1; next }
			if (seen) { split($0, h, ","); printf "<%d> %s\n", h[1] % 8, text }
		}
		END { if (!seen) print "<0> klog: the mark is not in /dev/kmsg" }'
}

klog_bad() {
	klog_since >/tmp/klog.all
	awk -v text="$KLOG_TEXT" -v harmless="$KLOG_HARMLESS" -v expect="${1-}" '
		/^<6> vmkit:/ { next }
		$0 ~ harmless { next }
		expect != "" && $0 ~ expect { next }
		substr($0, 2, 1) + 0 <= 4 || $0 ~ text { print }
	' /tmp/klog.all >/tmp/klog.bad
	[ -s /tmp/klog.bad ] || return 0
	cat /tmp/klog.bad
	return 1
}

# klog_has ERE: is there such a line since the mark?
klog_has() { klog_since | grep -aqE -- "$1"; }

# ---- RDMA ---------------------------------------------------------------------------
# rxe_for ADDR: a soft-RoCE link on the network device that has ADDR or, if none
# has, that leads to it; nothing is done if the device has a link already
rxe_for() {
	local dev
	dev=$(ip -o addr | awk -v a="$1/" 'index($4, a) == 1 { print $2; exit }')
	[ -n "$dev" ] || dev=$(ip -o route get "$1" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
	[ -n "$dev" ] || { echo "rxe_for: no device for $1"; return 1; }
	modprobe -a rdma_rxe ib_uverbs rdma_ucm || return 1
	rdma link show | grep -q "netdev $dev " || rdma link add "rxe_$dev" type rxe netdev "$dev"
}

# ---- NVMe host -------------------------------------------------------------------
# nvme_ctrls NQN: the controllers (nvme0 ...) connected to NQN
nvme_ctrls() {
	local c n
	for c in /sys/class/nvme/nvme*; do
		[ -r "$c/subsysnqn" ] || continue
		read -r n <"$c/subsysnqn" 2>/dev/null || continue
		[ "$n" = "$1" ] && echo "${c##*/}"
	done
}

# nvme_state CTRL: live, connecting, resetting, deleting ...
nvme_state() { cat "/sys/class/nvme/$1/state" 2>/dev/null; }
nvme_is() { [ "$(nvme_state "$1")" = "$2" ]; }
nvme_none() { [ -z "$(nvme_ctrls "$1")" ]; }

# nvme_dev NQN [NSID]: the block device (nvme0n1), multipath or not
nvme_dev() {
	local s b n id
	for s in /sys/class/nvme-subsystem/nvme-subsys*; do
		[ -r "$s/subsysnqn" ] || continue
		read -r n <"$s/subsysnqn"
		[ "$n" = "$1" ] || continue
		for b in "$s"/nvme*n* "$s"/nvme*/nvme*n*; do
			b=${b##*/}
			[ -e "/sys/block/$b/nsid" ] || continue
			read -r id <"/sys/block/$b/nsid"
			[ "$id" = "${2:-1}" ] && [ -b "/dev/$b" ] && { echo "$b"; return 0; }
		done
	done
	return 1
}

# ---- NVMe target (nvmet) ----------------------------------------------------------
NVMET=/sys/kernel/config/nvmet

# nvmet_backend KIND ID SIZE_MB BLOCKSIZE: print the device made
nvmet_backend() {
	local n
	case $1 in
	null)	# RAM-backed null_blk; memory is taken when written
		modprobe null_blk nr_devices=0 || return 1
		n=/sys/kernel/config/nullb/nullb$2
		mkdir "$n" && echo 1 >"$n/memory_backed" && echo "$3" >"$n/size" &&
			echo "$4" >"$n/blocksize" && echo "${NULL_QUEUES:-1}" >"$n/submit_queues" &&
			echo 1 >"$n/discard" && echo "${NULL_IRQMODE:-0}" >"$n/irqmode" &&
			echo 1 >"$n/power" && echo "/dev/nullb$2" ;;
	brd)	# RAM disk, 4096-byte pages; all of one size
		modprobe brd rd_nr=16 rd_size=$(($3 * 1024)) && echo "/dev/ram$2" ;;
	loop)	# loop device over a sparse file in the root tmpfs
		modprobe loop && truncate -s "$3M" "/run/loop$2.img" &&
			losetup --sector-size "$4" -f --show "/run/loop$2.img" ;;
	file)	# a plain file (nvmet's file backend)
		truncate -s "$3M" "/run/file$2.img" && echo "/run/file$2.img" ;;
	*)	echo "unknown backend $1" >&2; return 1 ;;
	esac
}

# nvmet_subsys NQN: a subsystem that any host may use
nvmet_subsys() {
	mkdir "$NVMET/subsystems/$1" && echo 1 >"$NVMET/subsystems/$1/attr_allow_any_host"
}

# nvmet_ns NQN NSID DEVICE [UUID]
nvmet_ns() {
	local d=$NVMET/subsystems/$1/namespaces/$2
	mkdir "$d" && printf %s "$3" >"$d/device_path" &&
		{ [ -z "${4-}" ] || printf %s "$4" >"$d/device_uuid"; } && echo 1 >"$d/enable"
}

# nvmet_port ID TRTYPE TRADDR TRSVCID; then nvmet_link ID NQN to open it
nvmet_port() {
	local fam p=$NVMET/ports/$1
	case $3 in *:*) fam=ipv6 ;; *) fam=ipv4 ;; esac
	mkdir "$p" && echo "$2" >"$p/addr_trtype" && echo $fam >"$p/addr_adrfam" &&
		echo "$3" >"$p/addr_traddr" && echo "$4" >"$p/addr_trsvcid"
}
nvmet_link() { ln -s "$NVMET/subsystems/$2" "$NVMET/ports/$1/subsystems/$2"; }
# unlinking drops every connection of that port and stops listening
nvmet_unlink() { rm "$NVMET/ports/$1/subsystems/$2"; }

# nvmet_teardown: remove everything, in the order that configfs wants
nvmet_teardown() {
	local l p n s
	for l in "$NVMET"/ports/*/subsystems/*; do [ -L "$l" ] && rm "$l"; done
	for p in "$NVMET"/ports/*; do [ -d "$p" ] && rmdir "$p"; done
	for n in "$NVMET"/subsystems/*/namespaces/*; do
		[ -d "$n" ] && { echo 0 >"$n/enable"; rmdir "$n"; }
	done
	for s in "$NVMET"/subsystems/*; do [ -d "$s" ] && rmdir "$s"; done
	for n in /sys/kernel/config/nullb/nullb*; do
		[ -d "$n" ] && { echo 0 >"$n/power"; rmdir "$n"; }
	done
	return 0
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: the stock kernel as an NVMe-oF TARGET (nvmet), until stopped.
#
#   vm.sh start --dir D --hostfwd 14420 --ip 10.0.2.2 target.sh [NAME=VALUE...]
#   ...
#   vm.sh stop D		status 0: the kernel log of the target is clean
#
# Settings (as arguments or by vm.sh --env):
#   NQN       subsystem (default nqn.2014-08.org.nvmexpress:vmkit)
#   TRTYPE    tcp (default) or rdma (a soft-RoCE link is made on the device that
#             has TRADDR; the image must have been made with --rdma, and the host
#             be in this guest, since QEMU's user network forwards no RoCE)
#   TRADDR    address to listen on.  Default: the guest's own.  nvmet puts this
#             address in its discovery log (0.0.0.0: that of the connection), so
#             it should be the one that hosts use:
#               10.0.2.2   for other guests (vm.sh --ip 10.0.2.2 --hostfwd P)
#               127.0.0.1  for programs on the outer machine
#                          (vm.sh --hostfwd P-127.0.0.1:P)
#   PORTS     ports to listen on (default "14420"); same numbers on both sides of
#             --hostfwd, as the discovery log gives the guest's
#   NAMESPACES  one word each (default "null:512:512"): BACKEND:MB:BLOCKSIZE, or a
#             device or file as it is, /dev/vdb.  BACKEND: null (RAM-backed
#             null_blk), brd, loop, file, or flakey (dm-flakey over null_blk, for
#             errors: see below)
#   INLINE    in-capsule data size in bytes (default: the kernel's, 16384)
#   EXPECT    ERE of kernel-log lines that are no failure here
#   UUID      of namespace 1 (default ...-000000010001; the others count on from
#             it).  Fixed, so that a host finds its namespace again after the
#             target was restarted; two targets used by one host need different ones
#   SERIAL, MODEL
#
# While it runs ('vm.sh exec D CMD', after '. /vmkit/lib.sh'):
#   nvmet_unlink 1 $NQN      drop every connection of port 1 and refuse new ones
#   nvmet_link 1 $NQN        open it again
#   echo 0 >$NVMET/subsystems/$NQN/namespaces/1/enable      take a namespace away
#   echo inaccessible >$NVMET/ports/1/ana_groups/1/ana_state   (ANA; optimized,
#                            non-optimized, inaccessible, persistent-loss, change)
#   ip link set eth0 down    cut the wire
#   tc qdisc add dev eth0 root netem delay 20ms loss 1%     a bad wire
#   flaky up|down|corrupt    flakey backend: normal / every I/O fails / a wrong
#                            byte gets into each write

. /vmkit/lib.sh
for a in "$@"; do
	case $a in
	[A-Z]*=*) export "${a?}" ;;
	*) echo "target: NAME=VALUE wanted, not '$a'"; exit 2 ;;
	esac
done
. /vmkit/net
NQN=${NQN:-nqn.2014-08.org.nvmexpress:vmkit}
TRTYPE=${TRTYPE:-tcp} TRADDR=${TRADDR:-$IP} PORTS=${PORTS:-14420}
UUID=${UUID:-f0f0f0f0-0000-4000-8000-000000010001}
NAMESPACES=${NAMESPACES:-null:512:512}

fail() { echo "target: $*"; dmesg | tail -n 20; exit 1; }

klog_mark
modprobe -a nvmet "nvmet-$TRTYPE" || fail "no nvmet-$TRTYPE"
if [ "$TRTYPE" = rdma ]; then
	rxe_for "$TRADDR" || fail "no soft-RoCE link"
fi
nvmet_subsys "$NQN" || fail "subsystem"
s=$NVMET/subsystems/$NQN
echo "${SERIAL:-VMKIT0001}" >"$s/attr_serial"
echo "${MODEL:-vmkit kernel target}" >"$s/attr_model"

# backend ID KIND:MB:BLOCKSIZE: make it, print the device
backend() {
	local kind mb bs base
	case $2 in /*) echo "$2"; return ;; esac
	IFS=: read -r kind mb bs <<-E
		$2
	E
	[ "$kind" = flakey ] || { nvmet_backend "$kind" "$1" "$mb" "$bs"; return; }
	base=$(nvmet_backend null "$1" "$mb" "$bs") && modprobe dm-flakey &&
		dmsetup create "flakey$1" --table "0 $((mb * 2048)) flakey $base 0 3600 0" >&2 &&
		echo "/dev/mapper/flakey$1"
}

n=0
for ns in $NAMESPACES; do
	n=$((n + 1))
	dev=$(backend $n "$ns") || fail "backend $ns"
	uuid=$(printf '%s%04x' "${UUID%????}" $((0x${UUID#"${UUID%????}"} + n - 1)))
	nvmet_ns "$NQN" $n "$dev" "$uuid" || fail "namespace $n on $dev"
done

cat >/usr/bin/flaky <<'E'
#!/bin/sh
# flaky up|down|corrupt: let dm-flakey devices pass I/O, fail all of it, or put a
# wrong byte into each write (into reads does not work in this kernel)
case $1 in
up) new="3600 0" ;;
down) new="0 3600" ;;
corrupt) new="0 3600 5 corrupt_bio_byte 100 w 1 0" ;;
*) echo "flaky up|down|corrupt"; exit 2 ;;
esac
for d in /dev/mapper/flakey*; do
	d=${d##*/}
	t=$(dmsetup table "$d") || exit 1
	set -- $t			# START LENGTH flakey DEV OFFSET UP DOWN ...
	dmsetup suspend "$d" && dmsetup load "$d" --table "$1 $2 flakey $4 $5 $new" &&
		dmsetup resume "$d" || exit 1
done
E
chmod 755 /usr/bin/flaky

n=1
for port in $PORTS; do
	nvmet_port $n "$TRTYPE" "$TRADDR" "$port" || fail "port $n"
	[ -z "$INLINE" ] || echo "$INLINE" >"$NVMET/ports/$n/param_inline_data_size" ||
		fail "inline data size"
	nvmet_link $n "$NQN" || fail "cannot listen on $TRADDR:$port"
	echo "target: $TRTYPE $TRADDR:$port $NQN ($NAMESPACES)"
	n=$((n + 1))
done

over=0
trap 'over=1' TERM
vm_ready
while [ $over = 0 ]; do sleep 1 & wait $!; done 2>/dev/null

nvmet_teardown
for d in /dev/mapper/flakey*; do [ ! -e "$d" ] || dmsetup remove "${d##*/}"; done
bad=0
klog_bad "${EXPECT-}" || bad=1
[ $bad = 0 ] && echo "target: kernel log clean" ||
	echo "target: the kernel log has the lines above"
exit $bad

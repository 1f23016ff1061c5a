#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# /init of the guest.  Sets the machine up, unpacks the payload that vm.sh
# attached (a tar on the read-only disk /dev/vda), runs the guest script and
# powers off.  Talks to vm.sh over named virtio-serial ports:
#
#   vmkit.out     the script's stdout and stderr
#   vmkit.status  one word a line: 'up', 'ready', 'rc N'  (fd 9 of the script)
#   vmkit.ctl     commands of 'vm.sh exec' and 'vm.sh stop'
#   vmkit.files   a tar of /out, written after the script has ended
#
# The kernel's console (ttyS0) is a file of its own, so script output is clean.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
export DM_DISABLE_UDEV=1	# there is no udev: dmsetup makes /dev/mapper/* itself
umask 022
mount -t proc -o nosuid,nodev proc /proc
mount -t sysfs -o nosuid,nodev sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t debugfs debugfs /sys/kernel/debug
exec </dev/null >/dev/kmsg 2>&1		# until the ports are there

# Power off at once; a bare exit of init would panic the kernel.
die() { echo "<3>vmkit: init: $*"; sync; poweroff -f; sleep 10; }

modprobe -a virtio_pci virtio_console virtio_net virtio_blk configfs ||
	die "modprobe failed"
mount -t configfs configfs /sys/kernel/config

# /dev/virtio-ports/NAME -> /dev/vportNpM (what udev would do)
mkdir -p /dev/virtio-ports
i=0
while [ ! -e /dev/virtio-ports/vmkit.files ]; do
	for p in /sys/class/virtio-ports/vport*; do
		[ -s "$p/name" ] || continue
		read -r n <"$p/name"
		[ -c "/dev/${p##*/}" ] && ln -sf "../${p##*/}" "/dev/virtio-ports/$n"
	done
	i=$((i + 1))
	[ $i -gt 500 ] && die "no virtio ports"
	[ -e /dev/virtio-ports/vmkit.files ] || usleep 10000
done
exec 8>/dev/virtio-ports/vmkit.out 9>/dev/virtio-ports/vmkit.status \
	7<>/dev/virtio-ports/vmkit.ctl

# Payload: /vmkit/{script,args,env,net} and what 'vm.sh --add' brought.
tar -C / -xf /dev/vda || die "cannot unpack the payload"

# ---- network: static, no DHCP (saves a second) ------------------------------
hostname vmkit
. /vmkit/net			# IP, PREFIX, GW
ip link set lo up
# IPv6: fec0::2 is ::1 of the outer machine; no waiting for advertisements
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_ra
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
# ... and no forgetting of the address when a test cuts the wire
echo 1 >/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down
ip link set eth0 up
ip addr add "$IP/$PREFIX" dev eth0
ip addr add fec0::15/64 dev eth0
ip route add default via "$GW"
# lets 'vm.sh --hostfwd H-127.0.0.1:P' reach a service bound to 127.0.0.1
echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet
ulimit -l unlimited		# RDMA memory registration
ulimit -c unlimited
ulimit -n 65536
echo '/out/core.%e.%p' >/proc/sys/kernel/core_pattern

# ---- 'vm.sh exec' / 'vm.sh stop' --------------------------------------------
# request: ID SECONDS BASE64(command)   answer: ID RC BASE64(output)
# 'stop' as the command ends the guest script by SIGTERM (SIGKILL after 10 s).
# Commands run beside this loop: one that hangs does not keep 'stop' from working.
ctl_run() {	# ID SECONDS FILE
	timeout -k 2 "$2" sh "$3" >"$3.out" 2>&1 </dev/null 7<&- 8>&-
	echo "$1 $? $(base64 -w0 <"$3.out")" >&7
	rm -f "$3" "$3.out"
}
ctl_loop() {
	while read -r id secs b64 <&7; do
		[ -n "$b64" ] || continue
		f=/run/ctl.$id
		echo "$b64" | base64 -d >"$f"
		if [ "$(cat "$f")" = stop ]; then
			touch /run/vmkit.stop
			read -r spid </run/vmkit.pid
			kill -TERM "-$spid" 2>/dev/null
			(
				sleep 10
				kill -KILL "-$spid" 2>/dev/null
			) &
			echo "$id 0 " >&7
		else
			ctl_run "$id" "$secs" "$f" &
		fi
	done
}

# ---- run --------------------------------------------------------------------
cd /root || die "no /root"
set -a
. /vmkit/env
set +a
if [ -n "$VMKIT_HOSTID" ]; then
	echo "nqn.2014-08.org.nvmexpress:uuid:$VMKIT_HOSTID" >/etc/nvme/hostnqn
	echo "$VMKIT_HOSTID" >/etc/nvme/hostid
fi
. /vmkit/args			# set -- ...
echo up >&9
echo "<6>vmkit: start of the guest script"		# a mark in the kernel log
[ -x /vmkit/script ] || die "no script"
setsid /vmkit/script "$@" >&8 2>&8 7<&- 8>&- &
spid=$!
echo $spid >/run/vmkit.pid
ctl_loop &
wait $spid
rc=$?
echo "<6>vmkit: end of the guest script, rc $rc"

if [ -n "$VMKIT_WANT_OUT" ]; then
	dmesg >/out/dmesg.txt
	tar -C /out -cf /dev/virtio-ports/vmkit.files . ||
		echo "<4>vmkit: tar of /out failed"
fi
echo "rc $rc" >&9
sync
poweroff -f
sleep 60

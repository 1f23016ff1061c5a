#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: two hosts on one namespace, and reservations between them.
#
#   resv.sh ADDR PORT NQN
#
# The kernel makes one device of all paths to a namespace, whoever they belong to, so
# its modules are loaded again without that: then each controller, with a host NQN and
# a host identifier of its own, has a device of its own.

. /vmkit/lib.sh
ADDR=$1 PORT=$2 NQN=$3
uuid=5e5e5e5e-0000-4000-8000-00000000000

step() { echo "-- $*"; "$@" || { echo "failed: $*"; exit 1; }; }
fails() { ! "$@"; }
join() {	# NUMBER: prints the controller
	local before new
	before=$(nvme_ctrls "$NQN")
	# As nvme-cli does it, which takes two hosts of one machine for one.
	printf 'transport=tcp,traddr=%s,trsvcid=%s,nqn=%s,nr_io_queues=2,hostnqn=%s,hostid=%s' "$ADDR" "$PORT" "$NQN" \
		nqn.2014-08.org.nvmexpress:uuid:$uuid"$1" $uuid"$1" >/dev/nvme-fabrics || return 1
	for new in $(nvme_ctrls "$NQN"); do
		case " $before " in *"$new"*) ;; *) break ;; esac
	done
	wait_for 10 nvme_is "$new" live >&2 && wait_for 10 test -b "/dev/${new}n1" >&2 && echo "$new"
}
put() { dd if=/dev/zero of="$1" bs=4k count=1 seek="$2" oflag=direct conv=notrunc 2>/dev/null; }
look() { dd if="$1" of=/dev/null bs=4k count=1 skip="$2" iflag=direct 2>/dev/null; }
report() { nvme resv-report "$1" -n 1 --eds --numd=63 -o normal; }
says() {	# DEVICE TYPE REGISTRANTS
	report "$1" >/tmp/report; cat /tmp/report
	grep -qE "rtype *: *$2\$" /tmp/report && grep -qE "regctl *: *$3\$" /tmp/report
}

nvme disconnect-all
modprobe -r nvme-tcp nvme-fabrics nvme-core || exit 1
modprobe nvme-core multipath=N && modprobe nvme-tcp || exit 1
# B first, and it stays: without multipath this kernel keeps looking into the effects
# log of a namespace's first controller, also when that is gone.
b=$(join 2) && a=$(join 1) || exit 1
A=/dev/${a}n1 B=/dev/${b}n1
echo "hosts: $A and $B"
step sh -c "nvme id-ns $A -H | grep -A9 '^rescap' | grep -c 'Supported'"
step nvme resv-register $A -n 1 --nrkey=0xa --rrega=0
step nvme resv-register $B -n 1 --nrkey=0xb --rrega=0
step nvme resv-acquire $A -n 1 --crkey=0xa --rtype=1 --racqa=0
step says $B 1 2
step put $A 1
step fails put $B 1
step look $B 1
step fails nvme resv-acquire $B -n 1 --crkey=0xb --rtype=1 --racqa=0
step nvme resv-release $A -n 1 --crkey=0xa --rtype=1 --rrela=0
step put $B 2
step nvme resv-acquire $B -n 1 --crkey=0xb --rtype=4 --racqa=0
step put $A 2
step nvme resv-acquire $A -n 1 --crkey=0xa --prkey=0xb --rtype=2 --racqa=2
step says $B 2 1
step fails look $B 2
step look $A 2
# The host goes away and comes back, as another controller: it still holds it.
step nvme disconnect -d "$a"
step fails look $B 2
a=$(join 1) || exit 1
A=/dev/${a}n1
step put $A 3
step nvme resv-register $B -n 1 --nrkey=0xc --rrega=0
step nvme resv-release $A -n 1 --crkey=0xa --rrela=1
step says $A 0 0
step put $B 3
nvme disconnect-all
modprobe -r nvme-tcp nvme-fabrics nvme-core && modprobe nvme-tcp

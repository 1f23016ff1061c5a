#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# linux-host.sh - the stock Linux kernel as NVMe/TCP host on our target.
#
# One guest of 2 CPUs, for 1 to 4 I/O queues, sees all targets: two cores and io_uring
# with everything asked for, then the epoll engine with a subset.  The target is
# killed under I/O, and a dataset is read by tar as a plain disk.  After each check
# the guest's kernel log must have no line that the check does not explain.

# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
interop_start linux-host

# STRICT= (empty) leaves out what the stand-in cannot do (see selftest), and asks no
# more of a target than the kernel's own gives.
STRICT=${STRICT-1}
nqn=nqn.2026-11.io.penstock:interop
hostnqn=nqn.2014-08.org.nvmexpress:uuid:f0f0f0f0-0000-4000-8000-000000000001
uri="nvme+tcp://127.0.0.1:$port/$nqn"
[ -n "$STRICT" ] || uri="file:$work/v1"
tests() {	# LABEL SETTINGS SECONDS
	guest_tests host "$1" "/vmkit/host.sh ADDR=10.0.2.2 NQN=$nqn STRICT=$STRICT $2" "$3"
}

# ---- the target, and the kernel on it -------------------------------------------
# Two subsystems behind three listeners; the IPv6 one is announced as fec0::2, which
# is ::1 for the guest as 10.0.2.2 is 127.0.0.1.
configure() {
	local cpus
	cpus=$(python3 -c 'import os
print(",".join(map(str, sorted(os.sched_getaffinity(0))[:2])))')
	cat >"$work/main.yaml" <<-YAML
		cores: "$cpus"
		listeners:
		  - address: tcp://127.0.0.1:$port
		    advertise: 10.0.2.2
		  - address: tcp://127.0.0.1:$((port + 1))
		    advertise: 10.0.2.2
		  - address: tcp://[::1]:$port
		    advertise: "[fec0::2]"
		subsystems:
		  - nqn: $nqn
		    allow: [any]
		    namespaces:
		      - store: file:$work/v1,size=512M
		      - store: file:$work/v2,size=256M,block=4096
		      - store: file:$work/v3,ro
		  - nqn: $nqn.second
		    allow: [$hostnqn]
		    namespaces:
		      - store: memory:64M
	YAML
}
serve_main() {	# ENGINE
	if [ -n "$STRICT" ]; then
		PENSTOCK_IO=$1 serve main -c "$work/main.yaml" --control "$work/main.sock"
	else
		serve main --nqn $nqn --listen "tcp://127.0.0.1:$port" \
			--listen "tcp://127.0.0.1:$((port + 1))" "file:$work/v1,size=512M" \
			"file:$work/v2,size=256M,block=4096" "file:$work/v3"
	fi
}
# Every subsystem at every address, of either family, and all of them at once.
everywhere() {
	guest_quiet host "nvme discover -t tcp -a 10.0.2.2 -s $port | tee /tmp/d
		[ \$(grep -cxE 'subnqn: +$nqn(.second)?' /tmp/d) = 6 ] &&
		[ \$(grep -cxE 'traddr: +fec0::2' /tmp/d) = 2 ] &&
		nvme connect-all -t tcp -a 10.0.2.2 -s $port && wait_for 10 nvme_dev $nqn.second &&
		nvme list-subsys | tee /tmp/d && [ \$(grep -c ' live' /tmp/d) = 6 ] &&
		dd if=/dev/zero of=/dev/\$(nvme_dev $nqn.second) bs=64k count=16 oflag=direct &&
		nvme disconnect-all"
}
read_only() {	# the kernel sees what must not be written
	guest_quiet host "nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn &&
		wait_for 5 nvme_dev $nqn 3 || exit 1
		d=/dev/\$(nvme_dev $nqn 3); cat /sys/block/\${d#/dev/}/ro
		sha256sum <\$d
		nvme disconnect -n $nqn" >"$work/ro.out"
	cat "$work/ro.out"
	grep -qx 1 "$work/ro.out" && grep -q "^$(sha256sum <"$work/v3" | cut -d' ' -f1)" "$work/ro.out"
}

# ---- changes while it is connected -------------------------------------------------
ctl() { "$PENSTOCK" ctl --socket "$work/main.sock" "$@"; }
# In the guest: namespace 4's disk has what is said of it, which the kernel finds out by itself,
# from the event.
becomes() {	# CONDITION
	guest host "seen() { d=\$(nvme_dev $nqn 4) && [ -n \"\$d\" ] && $1; }; wait_for 10 seen" 30
}
live_changes() {
	guest_quiet host "modprobe nvme-tcp && nvme connect -t tcp -a 10.0.2.2 -s $port -n $nqn &&
		wait_for 10 nvme_dev $nqn 1" &&
		ctl ns add "file:$work/v4,size=32M" --nsid 4 --nqn $nqn && becomes '[ $(cat /sys/block/$d/size) = 65536 ]' &&
		guest host "dd if=/dev/urandom of=/dev/\$(nvme_dev $nqn 4) bs=64k count=16 oflag=direct status=none" &&
		truncate -s 48M "$work/v4" && ctl ns resize 4 --nqn $nqn &&
		becomes '[ $(cat /sys/block/$d/size) = 98304 ]' &&
		ctl ns set 4 --read-only --nqn $nqn && becomes '[ $(cat /sys/block/$d/ro) = 1 ]' &&
		ctl ns set 4 --writable --nqn $nqn && becomes '[ $(cat /sys/block/$d/ro) = 0 ]' &&
		ctl ns remove 4 --nqn $nqn &&
		guest host "gone() { ! nvme_dev $nqn 4 >/dev/null; }; wait_for 10 gone && nvme_dev $nqn 1" &&
		guest_quiet host "nvme disconnect -n $nqn"
}

# ---- who may connect --------------------------------------------------------------
serve_epoll() {	# ALLOWED
	PENSTOCK_IO=epoll serve epoll --cores 1 --nqn $nqn.epoll --advertise 10.0.2.2 --allow "$1" \
		--listen "tcp://127.0.0.1:$((port + 2))" --listen "tcp://127.0.0.1:$((port + 3))" \
		memory:256M
}
not_allowed() {
	local rc
	serve_epoll "${hostnqn%1}2" || return 1
	guest_quiet host "! nvme connect -t tcp -a 10.0.2.2 -s $((port + 2)) -n $nqn.epoll" 20 \
		'Connect|connect'; rc=$?
	serve_stop epoll && return $rc
}

# ---- two hosts on one namespace -----------------------------------------------------
reserved() {	# by nvme-cli; the kernel says which commands were forbidden
	guest_quiet host "/vmkit/resv.sh 10.0.2.2 $port $nqn" 120 \
		'[Rr]eservation [Cc]onflict|critical nexus error|I/O [Ee]rror|shared namespace'
}

# ---- the target dies under I/O ------------------------------------------------------
busy() { guest host "/vmkit/busy.sh $*" 300; }
reconnects() { guest host 'dmesg | grep -c "Successfully reconnected"'; }
nothing_lost() {	# RECONNECTS-BEFORE HOW-MANY
	busy finish $nqn && busy compare 10.0.2.2 "$port" $nqn || return 1
	[ $(($(reconnects) - $1)) -ge "$2" ] || fail "no reconnect"
}
restarts() {
	local engine was
	was=$(reconnects)
	busy start 10.0.2.2 "$port" $nqn 6 5 || return 1
	for engine in epoll uring; do
		serve_kill main && sleep 0.3 && serve_main $engine && busy state live || return 1
		sleep 1
	done
	nothing_lost "$was" 2
}
# The host gives up on a target that hangs, and retries over new connections; what it
# had sent over the old ones is still there when the target goes on, and must not
# overwrite what comes after it.
hang() {
	local was
	was=$(reconnects)
	busy start 10.0.2.2 "$port" $nqn 4 2 || return 1
	kill -STOP "${server[main]}"
	busy state connecting; local rc=$?
	sleep 1
	kill -CONT "${server[main]}"
	[ $rc = 0 ] && busy state live && nothing_lost "$was" 1
}

# ---- datasets -------------------------------------------------------------------------
# 5,500 small files of this machine, from all over it, and their sums
make_tree() {
	find /usr/include /usr/share /usr/lib /etc/alternatives -xdev -type f -size -24k -readable \
		2>/dev/null | sort | awk 'length($0) < 240 && !/\\/ { f[++n] = $0 }
		END { step = n > 5500 ? n / 5500 : 1; for (i = 1; i < n + 1; i += step) print f[int(i)] }' \
		>"$work/files"
	mkdir "$work/tree" && tar -C / -cf - -T <(sed 's:^/::' "$work/files") |
		tar -C "$work/tree" -xf - && rm "$work/files" || return 1
	(cd "$work/tree" && find . -type f | sed 's:^\./::' | sort >"$work/files" &&
		tr '\n' '\0' <"$work/files" | xargs -0 sha256sum >"$work/sums")
	count=$(wc -l <"$work/sums")
	echo "$count files, $(du -sh "$work/tree" | cut -f1)"
	[ "$count" -ge 5000 ] || fail "too few on this machine"
}
pack() {	# through the target, while it runs
	local files
	mapfile -t files <"$work/files"
	(cd "$work/tree" && "$PENSTOCK" dataset pack "$uri" "${files[@]}")
}
create() { "$PENSTOCK" dataset create "$uri/2" --workload resnet50 --samples-per-file 1 --samples 32 --seed 7; }
in_guest() {	# LABEL NSID COUNT [SUMS]
	guest_tests host "$1" "/vmkit/dataset.sh ADDR=10.0.2.2 PORT=$port NQN=$nqn NSID=$2 \
		COUNT=$3 SUMS=${4-}" 300
}
# The same archive by our own host side: member by member, by its index, and as bytes.
through_client() {
	local bytes
	"$PENSTOCK" dataset verify "$uri?queues=2" --check "$work/sums" || return 1
	"$PENSTOCK" dataset list "$uri" >"$work/list" || return 1
	head -n 3 "$work/list"
	bytes=$(stat -c %s "$work/v1")
	rm -rf "$work/x" && mkdir "$work/x" &&
		"$PENSTOCK" read "$uri?hdgst=1&ddgst=1" --length "$bytes" | tar -C "$work/x" -xf - || return 1
	(cd "$work/x" && sha256sum -c --quiet --strict "$work/sums" &&
		find . -type f | wc -l) >"$work/x.out"
	cat "$work/x.out"
	[ "$(tail -n 1 "$work/x.out")" = "$count" ]
}

# ---- run ----------------------------------------------------------------------------------
t "a tree of at least 5,000 files" make_tree || interop_end
head -c 16M /dev/urandom >"$work/v3"
configure

if t "target: io_uring, two cores, two subsystems, three listeners" serve_main uring &&
	t "guest boots" guest_start host --smp 2 --timeout 1500 --env EXPECT=. \
		--add "$interop/guest/host.sh" --add "$interop/guest/busy.sh" \
		--add "$interop/guest/dataset.sh" --add "$interop/guest/resv.sh" \
		--add "$work/sums" "$interop/vmkit/idle.sh"; then
	tests "io_uring" "PORT=$port PORT2=$((port + 1))" 600
	tests "4096-byte blocks" "PORT=$port NSID=2 QUICK=1 \
		ONLY=\"id-ns rw-dd nvme-cmds trim out-of-range fio-randwrite xfs\"" 300
	if [ -n "$STRICT" ]; then
		t "all subsystems, by all addresses" everywhere
		t "read-only namespace" read_only
		t "namespace added, resized, made read-only and removed while it is connected" live_changes
		tests "IPv6" "ADDR=fec0::2 PORT=$port QUICK=1 ONLY=\"rw-dd v-both-digests\"" 300
		t "a host that is not named may not connect" not_allowed
	fi
	if t "target: epoll, one core, memory, one host named" serve_epoll "$hostnqn"; then
		tests "epoll" "NQN=$nqn.epoll PORT=$((port + 2)) QUICK=1 ONLY=\"discover list \
			id-ctrl smart-log rw-dd nvme-cmds errors trim fio-randwrite reset v-both-digests \
			connect-all\"" 300
		t "target ends when told" serve_stop epoll
	fi

	t "target killed twice under I/O, another engine each time" restarts

	[ -z "$STRICT" ] || t "target hangs under I/O until the host has given it up" hang

	t "dataset pack: $count files" pack
	in_guest "packed" 1 "$count" /vmkit/sums
	if [ -n "$STRICT" ]; then
		t "packed: every member through our client" through_client
		t "dataset create" create
		in_guest "created" 2 33		# the samples and their manifest
		t "dataset verify" "$PENSTOCK" dataset verify "$uri/2"
	fi

	[ -z "$STRICT" ] || t "reservations between two hosts" reserved

	t "guest stops" guest_stop host
	t "target ends when told" serve_stop main
fi
interop_end

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# vm.sh - run a script in a throw-away Linux guest (QEMU, software CPU).
#
#   vm.sh run   [options] SCRIPT [ARG...]   run it, print its output, and exit
#                                           with its status ('run' may be left out)
#   vm.sh start [options] --dir DIR SCRIPT [ARG...]
#                                           the same in the background; returns
#                                           once the guest says ready (vm_ready)
#   vm.sh exec  DIR COMMAND                 run a shell command in a started guest,
#                                           for $VMKIT_EXEC_TIMEOUT s (60) at most;
#                                           124 if it took longer
#   vm.sh stop  DIR                         end a started guest, print what its
#                                           script said, exit with its status
#   vm.sh kill  DIR                         end it at once, by its pid
#
# Exit status: the guest script's, or
#   124  the guest was ended at --timeout
#   125  no status came back (kernel panic, QEMU failed, killed, bad usage);
#        a line on stderr tells which
#
# options:
#   --timeout SEC    wall-clock limit for the guest's life (default 120)
#   --ready SEC      'start': how long to wait for ready (default 60)
#   --mem MB         guest memory (default 1024; the host only pays for what is
#                    touched, about 600 MB)
#   --smp N          CPUs (default 1; each busy one takes a core here)
#   --cpu MODEL      default max,la57=off (SSE4.2, AES, AVX2 ... are there)
#   --hostfwd H[:G]  127.0.0.1:H on this machine -> port G (default: H) of the
#                    guest.  H-ADDR:G goes to the guest's address ADDR: with
#                    14420-127.0.0.1:14420 a service in the guest that is bound
#                    to 127.0.0.1 is reached.  May be repeated.
#   --ip ADDR        the guest's address (default 10.0.2.15, /24)
#                    The gateway, 10.0.2.2, is how the guest reaches 127.0.0.1
#                    of this machine; with --ip 10.0.2.2 it becomes 10.0.2.254:
#                    such a guest announces the address under which other guests
#                    reach it.  IPv6: the guest is fec0::15, and fec0::2 is ::1
#                    of this machine.
#   --env K=V        environment of the guest script.  May be repeated.
#   --add SRC[:DEST] copy a file or folder into the guest (default: /vmkit/NAME;
#                    DEST ending in '/' is a folder), with the shared libraries
#                    if it is a program.  May be repeated.
#   --out OUTDIR     copy the guest's /out (and its dmesg.txt) there at the end
#   --dir DIR        where to keep the run's files; default: a temporary folder,
#                    removed afterwards.  DIR: out.log (script's output),
#                    console.log (kernel log), usage (wall and CPU time, memory),
#                    qemu.log, status, qemu.pid, result (exit status)
#   --pcap FILE      record eth0's traffic
#   --console        kernel log to stderr, live
#   --detach         'start': do not tie the guest's life to the calling process
#   --image IMGDIR   the files of mkinitramfs.sh (default: ./out beside this
#                    script, or $VMKIT_IMAGE)
#   --append WORDS   more kernel command line
#   --qemu-arg WORD  one more argument for QEMU.  May be repeated.
#
# Clean-up: QEMU is always ended by its pid: when the guest powers off, at the
# timeout, when vm.sh is interrupted, when the process that called 'start' is
# gone, and (by PR_SET_PDEATHSIG) even when vm.sh itself is killed by SIGKILL.

set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
self=$here/$(basename "$0")

say() { echo "vm.sh: $*" >&2; }
die() { say "$*"; exit 125; }
usage() { sed -n '4,/^set -/p' "$self" | sed -n 's/^# \{0,1\}//p'; }
# 'text' in single quotes for the guest's shell
quote() { printf "'%s'" "${1//\'/\'\\\'\'}"; }
# sleep without a process: a read that times out
exec {nap_fd}<> <(:)
nap() { read -r -t "$1" -u "$nap_fd" _ || :; }

# ---- a started guest, by its folder -------------------------------------------
# qemu.pid is trusted only while that process names our folder in its arguments.
qemu_pid() {
	local pid
	pid=$(cat "$1/qemu.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
	[ -r "/proc/$pid/cmdline" ] || return 1
	tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "path=$1/out.log" || return 1
	echo "$pid"
}

cmd_exec() {	# DIR COMMAND
	local dir id line part='' gid rc b64 end limit=${VMKIT_EXEC_TIMEOUT:-60}
	[ $# -eq 2 ] || die "usage: vm.sh exec DIR COMMAND"
	dir=$(realpath "$1") || exit 125
	qemu_pid "$dir" >/dev/null || die "exec: no guest runs in $dir"
	exec {lock}>"$dir/ctl.lock"; flock "$lock"
	exec {w}<>"$dir/ctl.in" {r}<>"$dir/ctl.out"
	id=$$.$RANDOM
	printf '%s %s %s\n' "$id" "$limit" "$(printf %s "$2" | base64 -w0)" >&"$w"
	# the guest ends the command in time, so that its output comes back
	end=$((SECONDS + limit + 10))
	while [ $SECONDS -lt $end ]; do
		# a read that times out has taken what was there of a line
		if ! IFS= read -r -t 1 -u "$r" line; then
			part+=$line
			qemu_pid "$dir" >/dev/null || die "exec: the guest is gone"
			continue
		fi
		read -r gid rc b64 <<<"$part$line"
		part=''
		[ "$gid" = "$id" ] || continue			# a stale answer
		base64 -d <<<"${b64-}"
		return "$rc"
	done
	die "exec: no answer"
}

wait_gone() {	# DIR SECONDS
	local i
	for ((i = 0; i < $2 * 20; i++)); do
		[ -e "$1/result" ] && return 0
		nap 0.05
	done
	return 1
}

cmd_stop() {	# DIR
	local dir rc
	[ $# -eq 1 ] || die "usage: vm.sh stop DIR"
	dir=$(realpath "$1") || exit 125
	[ -e "$dir/result" ] || (cmd_exec "$dir" stop) || :
	if ! wait_gone "$dir" 30; then
		say "stop: the guest did not power off in 30 s; killing it"
		cmd_kill "$dir" >/dev/null
	fi
	cat "$dir/out.log" 2>/dev/null
	rc=$(cat "$dir/result" 2>/dev/null) || rc=125
	[ "$rc" = 143 ] && rc=0		# the script had no TERM trap: stopped as told
	return "$rc"
}

cmd_kill() {	# DIR
	local dir pid
	[ $# -eq 1 ] || die "usage: vm.sh kill DIR"
	dir=$(realpath "$1") || exit 125
	pid=$(qemu_pid "$dir") && kill -KILL "$pid" 2>/dev/null
	wait_gone "$dir" 5
}

# ---- options --------------------------------------------------------------------
timeout=120 ready_wait=60 mem=1024 smp=1 cpu=max,la57=off
ip=10.0.2.15 gw=10.0.2.2 out='' dir='' pcap='' console=0 detach=0 append=''
image=${VMKIT_IMAGE:-$here/out}
fwds=() envs=() files=() qemu_args=()

need() { [ $# -ge 2 ] || die "option $1 needs a value"; }
parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--console|--detach|-h|--help|--) ;;
		--*) need "$@" ;;
		esac
		case $1 in
		--timeout) timeout=$2; shift ;;
		--ready) ready_wait=$2; shift ;;
		--mem) mem=$2; shift ;;
		--smp) smp=$2; shift ;;
		--cpu) cpu=$2; shift ;;
		--hostfwd) fwds+=("$2"); shift ;;
		--ip) ip=$2; shift ;;
		--env) envs+=("$2"); shift ;;
		--add) files+=("$2"); shift ;;
		--out) out=$2; shift ;;
		--dir) dir=$2; shift ;;
		--pcap) pcap=$2; shift ;;
		--image) image=$2; shift ;;
		--append) append=$2; shift ;;
		--qemu-arg) qemu_args+=("$2"); shift ;;
		--console) console=1 ;;
		--detach) detach=1 ;;
		-h|--help) usage; exit 0 ;;
		--) shift; break ;;
		-*) die "unknown option '$1' (-h tells)" ;;
		*) break ;;
		esac
		shift
	done
	[ $# -gt 0 ] || die "no guest script given (-h tells)"
	script=$1; shift
	[ -r "$script" ] || die "cannot read guest script '$script'"
	args=("$@")
	[ "$ip" != "$gw" ] || gw=10.0.2.254
}

# a program's shared libraries, as ldd finds them, into the payload
add_libs() {
	local lib
	for lib in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]* (0x' | sed 's/ (0x$//'); do
		case $lib in /lib/*|/lib64/*) lib=/usr$lib ;; esac
		mkdir -p "$pay$(dirname "$lib")"
		[ -e "$pay$lib" ] || cp -L "$lib" "$pay$lib"
		case $(dirname "$lib") in
		/usr/lib|/usr/lib64|/usr/lib/x86_64-linux-gnu) ;;
		*)	mkdir -p "$pay/usr/lib/x86_64-linux-gnu"
			ln -sf "$lib" "$pay/usr/lib/x86_64-linux-gnu/${lib##*/}" ;;
		esac
	done
}

make_payload() {	# -> $dir/payload.tar
	local e f src dest
	pay=$dir/payload
	mkdir -p "$pay/vmkit"
	install -m 755 "$script" "$pay/vmkit/script" || return 1
	for e in ${envs[@]+"${envs[@]}"}; do
		[[ $e =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || die "--env wants NAME=VALUE, not '$e'"
		echo "${e%%=*}=$(quote "${e#*=}")"
	done >"$pay/vmkit/env"
	[ -n "$out" ] && echo VMKIT_WANT_OUT=1 >>"$pay/vmkit/env"
	{
		printf 'set --'
		for e in ${args[@]+"${args[@]}"}; do printf ' %s' "$(quote "$e")"; done
		echo
	} >"$pay/vmkit/args"
	printf 'IP=%s\nPREFIX=24\nGW=%s\n' "$ip" "$gw" >"$pay/vmkit/net"
	for f in ${files[@]+"${files[@]}"}; do
		src=${f%%:*}; dest=/vmkit/${src##*/}
		[ "$f" != "$src" ] && dest=${f#*:}
		case $dest in */) dest=$dest${src##*/} ;; esac
		case $dest in /*) ;; *) dest=/$dest ;; esac
		[ -e "$src" ] || die "--add: no $src"
		mkdir -p "$pay$(dirname "$dest")"
		cp -RL --preserve=mode "$src" "$pay$dest" || return 1
		while IFS= read -r e; do add_libs "$e"; done < <(find -L "$src" -type f -perm /111)
	done
	# /lib, /bin ... are symbolic links in the guest (merged /usr): do not ship
	# folders of those names, tar would replace the links
	for e in bin sbin lib lib64; do
		[ -d "$pay/$e" ] || continue
		mkdir -p "$pay/usr/$e" && cp -R "$pay/$e/." "$pay/usr/$e/" && rm -r "${pay:?}/$e"
	done
	# padded to 1 MiB: the guest's partition scan complains about tiny disks
	tar -C "$pay" --owner=0 --group=0 --numeric-owner --record-size=1M \
		-cf "$dir/payload.tar" . && rm -r "$pay"
}

# ---- run: QEMU's command line, the wait for its end, the report ------------------
qpid='' tailpid='' contail='' own_dir=0
cleanup() {
	[ -n "$qpid" ] && kill -KILL "$qpid" 2>/dev/null && wait "$qpid" 2>/dev/null
	[ -n "$tailpid" ] && kill "$tailpid" 2>/dev/null
	[ -n "$contail" ] && kill "$contail" 2>/dev/null
	[ "$own_dir" = 1 ] && rm -rf "$dir"
}

make_dir() {	# -> $dir, empty but for what the caller keeps there
	if [ -z "$dir" ]; then
		dir=$(mktemp -d "${TMPDIR:-/tmp}/vmkit.XXXXXX") || exit 125
		own_dir=1
	else
		mkdir -p "$dir" || exit 125
		dir=$(realpath "$dir")
		if qemu_pid "$dir" >/dev/null; then die "a guest already runs in $dir"; fi
	fi
	case $dir in *,*) die "no comma in --dir, please" ;; esac
	trap cleanup EXIT
	trap 'say "interrupted"; echo 125 >"$dir/result"; exit 125' INT TERM HUP
	rm -rf "${dir:?}"/{payload,payload.tar,out.log,console.log,qemu.log,usage,status,result} \
		"${dir:?}"/{qemu.pid,files.tar,ctl.in,ctl.out}
	make_payload || die "cannot make the payload"
	mkfifo "$dir/ctl.in" "$dir/ctl.out" || exit 125
	: >"$dir/out.log"; : >"$dir/status"; : >"$dir/console.log"
}

netdev() {	# QEMU's user network with the forwarded ports
	local f h g a
	printf 'user,id=n0,net=%s.0/24,host=%s,dns=%s.253,dhcpstart=%s' \
		"${gw%.*}" "$gw" "${gw%.*}" "$ip"
	for f in ${fwds[@]+"${fwds[@]}"}; do
		case $f in
		*-*) h=${f%%-*}; a=${f#*-}; g=${a##*:}; a=${a%:*} ;;
		*:*) h=${f%%:*}; g=${f#*:}; a=$ip ;;
		*)   h=$f; g=$f; a=$ip ;;
		esac
		printf ',hostfwd=tcp:127.0.0.1:%s-%s:%s' "$h" "$a" "$g"
	done
}

# The rate of this machine's time stamp counter, which QEMU hands to the guest as it
# is.  The guest's kernel would measure it against an emulated timer and, when this
# machine is busy, be wrong by factors: all its timeouts would then be, too.
tsc_khz() {
	[ "$(uname -m)" = x86_64 ] || return
	python3 - 2>/dev/null <<-'PY'
		import ctypes, mmap, time
		page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
		page.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; rax |= rdx << 32; ret
		addr = ctypes.addressof(ctypes.c_char.from_buffer(page))
		rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(addr)
		def both():  # counter and clock, the closest pair of some
		    pairs = [(time.monotonic_ns(), rdtsc(), time.monotonic_ns()) for _ in range(50)]
		    a, t, b = min(pairs, key=lambda p: p[2] - p[0])
		    return t, (a + b) // 2
		t0, n0 = both()
		time.sleep(0.05)
		t1, n1 = both()
		print((t1 - t0) * 1000000 // (n1 - n0))
	PY
}

qemu_line() {	# -> the array q
	local khz
	# panic=-1 with -no-reboot: a panic ends QEMU at once
	local words="console=ttyS0 panic=-1 oops=panic nokaslr mitigations=off no_timer_check"
	words+=" tsc=reliable random.trust_cpu=on audit=0 cryptomgr.notests log_buf_len=1M"
	khz=$(tsc_khz) && [ -n "$khz" ] && words+=" tsc_early_khz=$khz"
	words+=" printk.devkmsg=on $append"
	# ioeventfd=off: a guest's write is in the file when it returns
	# shellcheck disable=SC2054,SC2207
	q=(qemu-system-x86_64
		-accel tcg,tb-size=256 -M pc -cpu "$cpu" -m "$mem" -smp "$smp"
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$image/vmlinux" -initrd "$image/initramfs.cpio" -append "$words"
		-chardev "file,id=console,path=$dir/console.log" -serial chardev:console
		-device virtio-serial-pci,id=vs,ioeventfd=off,max_ports=8
		-chardev "file,id=out,path=$dir/out.log"
		-device virtserialport,bus=vs.0,chardev=out,name=vmkit.out
		-chardev "file,id=status,path=$dir/status"
		-device virtserialport,bus=vs.0,chardev=status,name=vmkit.status
		-chardev "pipe,id=ctl,path=$dir/ctl"
		-device virtserialport,bus=vs.0,chardev=ctl,name=vmkit.ctl
		-chardev "file,id=files,path=$dir/files.tar"
		-device virtserialport,bus=vs.0,chardev=files,name=vmkit.files
		-drive "if=none,id=pay,file=$dir/payload.tar,format=raw,readonly=on"
		-device virtio-blk-pci,drive=pay
		-netdev "$(netdev)"
		-device virtio-net-pci,netdev=n0,speed=10000,duplex=full,romfile=)
	[ -z "$pcap" ] || q+=(-object "filter-dump,id=dump0,netdev=n0,file=$pcap")
	q+=(${qemu_args[@]+"${qemu_args[@]}"})
}

follow() {	# FILE: copy what it gets to stdout for as long as QEMU lives
	exec tail -s 0.05 --pid="$qpid" -c +1 -f "$1" 2>/dev/null
}

# Wait for QEMU's end; -> $why, $rc when we end it, and $hwm, its memory in kB
watch() {
	local end=$((SECONDS + timeout)) last=$((SECONDS + timeout + 1)) grace=0 n=0 key val
	hwm=0
	while kill -0 "$qpid" 2>/dev/null; do
		if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
			why="the process $owner that started this guest is gone"; break
		fi
		if [ $SECONDS -ge $end ]; then
			why="timeout after $timeout s"; rc=124; break
		fi
		# the status is there but QEMU does not end: do not wait for ever
		if [ $grace = 0 ] && grep -q '^rc ' "$dir/status"; then
			grace=1; end=$((SECONDS + 15))
			[ $end -le $last ] || end=$last
		fi
		if [ $((n++ % 8)) = 0 ]; then
			while read -r key val _; do
				[ "$key" = VmHWM: ] && hwm=$val && break
			done 2>/dev/null <"/proc/$qpid/status"
		fi
		nap 0.05
	done
	[ -z "$why" ] || kill -KILL "$qpid" 2>/dev/null
	wait "$qpid" 2>/dev/null; qrc=$?
	qpid=
	[ -z "$tailpid" ] || wait "$tailpid" 2>/dev/null
	[ -z "$contail" ] || wait "$contail" 2>/dev/null
	tailpid='' contail=''
}

# The script's status, or why there is none; -> $rc
verdict() {
	local line
	line=$(sed -n 's/^rc //p' "$dir/status" | tail -n 1)
	if [ -n "$line" ]; then
		rc=$line
		[ -z "$why" ] || say "the script ended with $rc, but the guest did not power off"
		return
	fi
	rc=${rc:-125}
	if [ -n "$why" ]; then
		say "$why; last kernel messages:"
		tail -n 15 "$dir/console.log" >&2
	elif grep -q 'Kernel panic' "$dir/console.log"; then
		say "the guest's kernel panicked:"
		grep -A 30 -m1 -E 'BUG:|Oops|WARNING:|Kernel panic' "$dir/console.log" >&2
	else
		say "the guest ended without a status (QEMU's status $qrc)"
		tail -n 5 "$dir/qemu.log" "$dir/console.log" >&2
	fi
}

cmd_run() {
	local q start=$SECONDS qrc='' hwm='' rc='' why='' owner=${VMKIT_OWNER-} u
	parse "$@"
	if ! [ -r "$image/vmlinux" ] || ! [ -r "$image/initramfs.cpio" ]; then
		die "no guest image in $image: run mkinitramfs.sh first"
	fi
	make_dir
	qemu_line
	setpriv --pdeathsig KILL -- "${q[@]}" </dev/null >"$dir/qemu.log" 2>&1 &
	qpid=$!
	echo "$qpid" >"$dir/qemu.pid"
	if [ "${VMKIT_QUIET-}" != 1 ]; then
		follow "$dir/out.log" & tailpid=$!
	fi
	if [ $console = 1 ]; then
		follow "$dir/console.log" >&2 & contail=$!
	fi
	watch
	verdict
	if [ -n "$out" ]; then
		mkdir -p "$out"
		[ -s "$dir/files.tar" ] && tar -C "$out" -xf "$dir/files.tar" --no-same-owner
		cp "$dir/console.log" "$out/console.log"
	fi
	# the second line of 'times' counts the ended children: QEMU, mostly
	times >"$dir/usage"
	u=$(tail -n 1 "$dir/usage")
	echo "wall $((SECONDS - start)) s, cpu user ${u% *} sys ${u#* }," \
		"memory $((hwm / 1024)) MB" >"$dir/usage"
	rm -f "$dir/payload.tar" "$dir/files.tar"
	echo "$rc" >"$dir/result.tmp" && mv "$dir/result.tmp" "$dir/result"
	return "$rc"
}

cmd_start() {
	local sup owner=$PPID i
	parse "$@"
	[ -n "$dir" ] || die "start needs --dir"
	mkdir -p "$dir" || exit 125
	dir=$(realpath "$dir")
	if qemu_pid "$dir" >/dev/null; then die "a guest already runs in $dir"; fi
	rm -f "$dir/result" "$dir/status"
	[ $detach = 1 ] && owner=
	VMKIT_QUIET=1 VMKIT_OWNER=$owner setsid "$self" run "$@" </dev/null >"$dir/vm.log" 2>&1 &
	sup=$!
	for ((i = 0; i < ready_wait * 20; i++)); do
		grep -qx ready "$dir/status" 2>/dev/null && return 0
		if [ -e "$dir/result" ] || ! kill -0 "$sup" 2>/dev/null; then
			wait "$sup" 2>/dev/null
			cat "$dir/vm.log" "$dir/out.log" >&2 2>/dev/null
			i=$(cat "$dir/result" 2>/dev/null) || i=125
			say "start: the guest ended (status $i) before it was ready"
			[ "$i" = 0 ] && i=125
			return "$i"
		fi
		nap 0.05
	done
	say "start: not ready after $ready_wait s"
	cat "$dir/vm.log" "$dir/out.log" >&2
	cmd_kill "$dir"
	return 124
}

case ${1-} in
run) shift; cmd_run "$@" ;;
start) shift; cmd_start "$@" ;;
exec) shift; cmd_exec "$@" ;;
stop) shift; cmd_stop "$@" ;;
kill) shift; cmd_kill "$@" ;;
''|-h|--help) usage ;;
*) cmd_run "$@" ;;
esac

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# mkinitramfs.sh - build the guest image (kernel + initramfs) used by vm.sh.
#
# Everything comes from installed Debian packages; nothing is downloaded
# (except by apt-get, and only with --install).  Two files are written:
#
#   OUTDIR/vmlinux         the uncompressed ELF kernel out of /boot/vmlinuz-KVER.
#                          QEMU boots it through its PVH entry; this saves
#                          ~3.2 s per boot, since unpacking a bzImage is slow
#                          under TCG.
#   OUTDIR/initramfs.cpio  an uncompressed newc archive (unpacking a compressed
#                          one is slow under TCG too).
#
# Same packages + same options => same bytes (sorted names, mtime 0, uid/gid 0,
# inodes renumbered); the sha256 of both is printed at the end.
#
# usage: mkinitramfs.sh [-o OUTDIR] [-k KVER] [--rdma] [--install] [-f]
#                       [--add SRC[:DEST]]... [--module NAME]... [-h]
#
#   -o OUTDIR        default: ./out beside this script
#   -k KVER          default: newest /boot/vmlinuz-* that has /lib/modules/*
#   --rdma           also soft-RoCE (rdma_rxe), the kernel's RDMA host and target,
#                    and the programs of rdma-core and perftest
#   --install        apt-get install the missing packages first
#   --add SRC[:DEST] also copy SRC (file or directory) to DEST (default: the
#                    same path; a DEST that ends in / is a folder).  ELF files
#                    bring their shared libraries along.  May be repeated.
#                    For a binary that is rebuilt often use 'vm.sh --add'.
#   --module NAME    also copy that kernel module and its dependencies
#   -f               rebuild even when the inputs have not changed
#
# Two thirds of the image are fio's libraries: Debian's fio is linked with ceph,
# gluster and, through them, icu.

set -euo pipefail
export LC_ALL=C
umask 022

here=$(cd "$(dirname "$0")" && pwd)
outdir=$here/out
kver=
want_rdma=0
install=0
force=0
adds=()
extra_modules=()

# Debian packages that own the files below; tests/interop/packages has them too.
PACKAGES=(linux-image-amd64 busybox-static kmod cpio xz-utils qemu-system-x86
          nvme-cli iproute2 xfsprogs util-linux mount dmsetup coreutils diffutils
          dash bash tar fio)

# Programs.  The ones marked by a leading '?' may be missing.
PROGRAMS=(
	# dash is /bin/sh: busybox' own shell would run its applets in place of the
	# programs below
	dash bash kmod '?strace'
	# coreutils: busybox' dd has no iflag=nonblock, among others
	dd sha256sum timeout stat truncate cmp tail cp mv sort tee
	# the archive reader that datasets must suit
	tar
	mount umount
	# util-linux
	blkdiscard blockdev fstrim losetup setsid
	# network
	ip ss tc
	# NVMe
	nvme fio
	# file systems and device mapper
	mkfs.xfs xfs_repair dmsetup
)
RDMA_PROGRAMS=(rdma ibv_devices ibv_devinfo ibv_rc_pingpong rping udaddy
	       ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat)

# Kernel modules; dependencies and soft dependencies follow by modprobe.
MODULES=(
	# the guest's own devices
	virtio_pci virtio_console virtio_net virtio_blk
	# NVMe
	nvme-tcp nvme-fabrics nvmet nvmet-tcp
	# backing stores and fault injection
	null_blk loop brd dm-mod dm-flakey
	# file system, a bad wire
	xfs sch_netem
	# digests and checksums that are asked for by alias only
	crc32c_generic crc32c-intel crct10dif-pclmul crc32-pclmul
)
RDMA_MODULES=(rdma_rxe ib_uverbs rdma_ucm ib_umad nvme-rdma nvmet-rdma)

die() { echo "mkinitramfs: $*" >&2; exit 1; }
usage() { sed -n '4,/^set -/p' "$0" | sed -n 's/^# \{0,1\}//p'; }

while [ $# -gt 0 ]; do
	case $1 in
	-o) outdir=$2; shift ;;
	-k) kver=$2; shift ;;
	--rdma) want_rdma=1 ;;
	--install) install=1 ;;
	--add) adds+=("$2"); shift ;;
	--module) extra_modules+=("$2"); shift ;;
	-f) force=1 ;;
	-h|--help) usage; exit 0 ;;
	*) die "unknown option '$1' (-h tells)" ;;
	esac
	shift
done
if [ $want_rdma = 1 ]; then
	PACKAGES+=(rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest)
	PROGRAMS+=("${RDMA_PROGRAMS[@]}")
	MODULES+=("${RDMA_MODULES[@]}")
fi
export PATH=$PATH:/usr/sbin:/sbin

# ---- packages --------------------------------------------------------------
missing=()
for p in "${PACKAGES[@]}"; do
	dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed ||
		missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
	if [ $install = 1 ]; then
		echo "mkinitramfs: installing ${missing[*]}" >&2
		apt-get update -q >&2
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends "${missing[@]}" >&2
	else
		die "missing packages: ${missing[*]}
  (run with --install, or: apt-get install -y --no-install-recommends ${missing[*]})"
	fi
fi

# ---- which kernel ----------------------------------------------------------
if [ -z "$kver" ]; then
	for v in $(ls -1 /boot | sed -n 's/^vmlinuz-//p' | sort -V); do
		[ -e "/lib/modules/$v/modules.dep" ] && kver=$v
	done
	[ -n "$kver" ] || die "no kernel in /boot with modules in /lib/modules"
fi
vmlinuz=/boot/vmlinuz-$kver
[ -r "$vmlinuz" ] || die "cannot read $vmlinuz"

mkdir -p "$outdir"
exec {lock}>"$outdir/.lock"; flock "$lock"

# ---- up to date? (options, package versions, our own and the added files) ---
# An added folder counts by its own mtime only; pass -f after a change inside.
stamp=$(
	{
		echo "$kver $want_rdma ${adds[*]-} ${extra_modules[*]-}"
		dpkg-query -W
		cat "$here/${0##*/}" "$here/init.sh" "$here/lib.sh"
		for a in ${adds[@]+"${adds[@]}"}; do stat -L -c '%n %s %Y' "${a%%:*}"; done
	} | sha256sum | cut -d' ' -f1
)
if [ $force = 0 ] && [ -s "$outdir/initramfs.cpio" ] && [ -s "$outdir/vmlinux" ] &&
	[ "$(cat "$outdir/stamp" 2>/dev/null)" = "$stamp" ]; then
	echo "mkinitramfs: $outdir is up to date"
	exit 0
fi
rm -f "$outdir/stamp"

work=$(mktemp -d "$outdir/.build.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

# ---- skeleton (merged /usr as on Debian) -----------------------------------
mkdir -p "$root"/usr/{bin,sbin,lib/x86_64-linux-gnu,lib64,share} \
	"$root"/{dev,proc,sys,run,tmp,root,mnt,out,etc/nvme,etc/libibverbs.d,var/lib,vmkit}
for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
ln -s ../run "$root/var/run"
chmod 1777 "$root/tmp"

cp_into() {	# cp_into SRC DEST: SRC's content (links followed) to root/DEST
	mkdir -p "$root$(dirname "$2")"
	[ -e "$root$2" ] || cp -L --preserve=mode "$1" "$root$2"
}

# The shared libraries of an ELF file, at the path where ldd finds them.  One
# outside the loader's default folders is also linked from a default one,
# since there is no ld.so.cache in the guest.
add_libs() {
	local out lib
	out=$(ldd "$1" 2>/dev/null) || return 0		# static, or no ELF file
	if grep -q 'not found' <<<"$out"; then
		grep 'not found' <<<"$out" >&2; die "libraries of $1 are missing"
	fi
	for lib in $(grep -o '/[^ ]* (0x' <<<"$out" | sed 's/ (0x$//'); do
		case $lib in
		/lib/*|/lib64/*) lib=/usr$lib ;;
		esac
		cp_into "$lib" "$lib"
		case $(dirname "$lib") in
		/usr/lib|/usr/lib64|/usr/lib/x86_64-linux-gnu) ;;
		*) [ -e "$root/usr/lib/x86_64-linux-gnu/${lib##*/}" ] ||
			ln -s "$lib" "$root/usr/lib/x86_64-linux-gnu/${lib##*/}" ;;
		esac
	done
}

add_prog() {
	local opt=0 name=$1 path
	[ "${name#\?}" != "$name" ] && { opt=1; name=${name#\?}; }
	path=$(command -v -- "$name" || true)
	# a shell builtin (e.g. "test") answers without a slash
	case $path in /*) ;; *) path=$(type -P -- "$name" || true) ;; esac
	if [ -z "$path" ]; then
		[ $opt = 1 ] && return 0
		die "program $name not found (no package of ${PACKAGES[*]} has it?)"
	fi
	case $path in /bin/*|/sbin/*) path=/usr$path ;; esac
	cp_into "$path" "$path"
	add_libs "$path"
}

# ---- programs --------------------------------------------------------------
cp_into "$(type -P busybox)" /usr/bin/busybox
ldd "$root/usr/bin/busybox" >/dev/null 2>&1 && die "busybox is not static (busybox-static?)"
for p in "${PROGRAMS[@]}"; do add_prog "$p"; done
for l in modprobe insmod rmmod lsmod depmod modinfo; do
	ln -sf ../bin/kmod "$root/usr/sbin/$l"
done
ln -sf dash "$root/usr/bin/sh"
# busybox applets for all the rest
for a in $(busybox --list); do
	[ -e "$root/usr/bin/$a" ] || [ -L "$root/usr/sbin/$a" ] ||
		[ -e "$root/usr/sbin/$a" ] || ln -s busybox "$root/usr/bin/$a"
done
# dlopen()ed: libgcc_s by pthread_exit/pthread_cancel, the rxe provider by libibverbs
cp_into /usr/lib/x86_64-linux-gnu/libgcc_s.so.1 /usr/lib/x86_64-linux-gnu/libgcc_s.so.1
if [ $want_rdma = 1 ]; then
	for so in /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so; do
		cp_into "$so" "$so"; add_libs "$so"
	done
	cp_into /etc/libibverbs.d/rxe.driver /etc/libibverbs.d/rxe.driver
fi

# ---- configuration ---------------------------------------------------------
cat >"$root/etc/passwd" <<-'E'
	root:x:0:0:root:/root:/bin/sh
	nobody:x:65534:65534:nobody:/:/bin/false
E
cat >"$root/etc/group" <<-'E'
	root:x:0:
	nogroup:x:65534:
E
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
printf 'hosts: files\npasswd: files\ngroup: files\n' >"$root/etc/nsswitch.conf"
echo vmkit >"$root/etc/hostname"
ln -s /proc/self/mounts "$root/etc/mtab"
# nvme-cli's host identity: fixed, so that runs are alike.  A second guest can
# be given another one: vm.sh --env VMKIT_HOSTID=<uuid> rewrites both files.
uuid=f0f0f0f0-0000-4000-8000-000000000001
echo "nqn.2014-08.org.nvmexpress:uuid:$uuid" >"$root/etc/nvme/hostnqn"
echo "$uuid" >"$root/etc/nvme/hostid"

# ---- kernel modules --------------------------------------------------------
moddir=/lib/modules/$kver
for m in "${MODULES[@]}" ${extra_modules[@]+"${extra_modules[@]}"}; do
	deps=$(modprobe -S "$kver" --show-depends "$m") || die "no module $m in $kver"
	while read -r what path _; do
		[ "$what" = insmod ] || continue		# builtin
		case $path in /lib/*) path=/usr$path ;; esac
		cp_into "$path" "$path"
	done <<<"$deps"
done
for f in modules.order modules.builtin modules.builtin.modinfo; do
	cp_into "$moddir/$f" "/usr$moddir/$f"
done
depmod -b "$root" "$kver"

# ---- init, library, added files --------------------------------------------
install -m 755 "$here/init.sh" "$root/init"
install -m 644 "$here/lib.sh" "$root/vmkit/lib.sh"
for a in ${adds[@]+"${adds[@]}"}; do
	src=${a%%:*}; dest=$src
	[ "$a" != "$src" ] && dest=${a#*:}
	case $dest in */) dest=$dest${src##*/} ;; esac
	case $dest in /*) ;; *) dest=/$dest ;; esac
	[ -e "$src" ] || die "--add: no $src"
	mkdir -p "$root$(dirname "$dest")"
	cp -RL --preserve=mode "$src" "$root$dest"
	find "$src" -type f | while read -r f; do add_libs "$f"; done
done

# ---- pack ------------------------------------------------------------------
find "$root" -exec touch -h -d @0 {} +
( cd "$root" && find . -print0 | sort -z |
	cpio --null -o -H newc --reproducible -R 0:0 --quiet ) >"$work/initramfs.cpio"

# ---- kernel: cut the compressed ELF out of the bzImage ----------------------
# (what the kernel tree's scripts/extract-vmlinux does, for xz/gzip/zstd)
extract() {	# extract MAGIC(regex of bytes) DECOMPRESSOR...
	local magic=$1 off; shift
	for off in $(grep -abo -P -m1 "$magic" "$vmlinuz" | cut -d: -f1 | head -n 3); do
		# trailing bytes after the stream make the tool complain: ignore
		tail -c +$((off + 1)) "$vmlinuz" | "$@" >"$work/vmlinux" 2>/dev/null || true
		[ "$(head -c 4 "$work/vmlinux" | tail -c 3)" = ELF ] && return 0
	done
	return 1
}
extract '\xFD7zXZ\x00' xz -dc || extract '\x1f\x8b\x08' gzip -dc ||
	extract '\x28\xb5\x2f\xfd' zstd -dc || die "cannot extract vmlinux from $vmlinuz"

mv "$work/initramfs.cpio" "$work/vmlinux" "$outdir/"
echo "$kver" >"$outdir/kver"
echo "$stamp" >"$outdir/stamp"
du -h --apparent-size "$outdir/vmlinux" "$outdir/initramfs.cpio"
echo "modules: $(find "$root" -name '*.ko' | wc -l), files: $(find "$root" -type f | wc -l)"
sha256sum "$outdir/vmlinux" "$outdir/initramfs.cpio"

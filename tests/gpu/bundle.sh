#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Puts what tests/gpu/run.sh needs into one directory that runs on a machine without this one's packages.
#
#	tests/gpu/bundle.sh BUILD-DIRECTORY OUT
#
# Programs and the shared libraries they need, all but the C library's: bin/NAME starts libexec/NAME with lib/ in
# its path, and where the machine's C library is older than the one here, with the one that came along.
set -eu
build=$(realpath "$1")
out=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "${out:?}/bin" "${out:?}/libexec" "${out:?}/lib" "${out:?}/libc"
mkdir -p "$out/bin" "$out/libexec" "$out/lib" "$out/libc"
out=$(realpath "$out")

cp "$build/src/cli/penstock" "$build/tools/floor/floor" "$build/tests/gpu/gpu-limits" "$out/libexec/"
cp "$build/examples/cuda" "$out/libexec/cuda-example"
cp -L "$build/src/libpenstock.so.0" "$out/lib/"
for program in "$out"/libexec/* "$out/lib/libpenstock.so.0"; do
	LD_LIBRARY_PATH=$out/lib ldd "$program" | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p; s/^[[:space:]]*(\/lib[^ ]*ld-linux[^ ]*) .*/\1/p'
done | sort -u | while read -r library; do
	case $library in
	"$out"/*) ;;
	*/ld-linux*|*/libc.so.*|*/libm.so.*|*/libpthread.so.*|*/libdl.so.*|*/librt.so.*|*/libresolv.so.*)
		cp -L "$library" "$out/libc/" ;;
	*) cp -L "$library" "$out/lib/" ;;
	esac
done
strip "$out"/libexec/* "$out"/lib/*.so.* 2>/dev/null || true
for program in "$out"/libexec/*; do
	name=$(basename "$program")
	cat >"$out/bin/$name" <<'W'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
name=$(basename "$0")
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
if ! ldd "$here/libexec/$name" 2>&1 | grep -q 'GLIBC_.* not found'; then exec "$here/libexec/$name" "$@"; fi
exec "$here"/libc/ld-linux*.so.* --library-path "$here/libc:$LD_LIBRARY_PATH" "$here/libexec/$name" "$@"
W
	chmod +x "$out/bin/$name"
done
cp "$here/run.sh" "$here/torch-check.py" "$out/"
du -sh "$out" | cut -f1

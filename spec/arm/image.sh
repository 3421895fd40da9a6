#!/bin/sh
# spec/arm/image.sh DIR - pack DIR/initrd.gz: busybox, the libraries, this checkout's arm64 build, and its scripts and specs.
set -eu
dir=$1
root=$dir/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/dev" "$root/lib" "$root/usr/lib" "$root/usr/bin" "$root/usr/share/lua" "$root/pmlua/build"
lib=lib/aarch64-linux-gnu
cp -a "$dir/sys/bin/busybox" "$root/bin/"
cp -a "$dir/sys/usr/bin/lua5.4" "$root/usr/bin/"
mkdir -p "$root/$lib" "$root/usr/$lib"
for pattern in ld-linux* libc.so* libm.so* libdl.so* libpthread.so* libgcc_s.so* libz.so* libreadline.so* libtinfo.so* librt.so*; do
  cp -a "$dir"/sys/$lib/$pattern "$root/$lib/" 2>/dev/null || true
done
for pattern in libpfm.so.* liblua5.4.so.* libopen-trace-format2.so.* liblua5.4-cjson.so.* liblua5.4-filesystem.so.* liblua5.4-zlib.so.* libgomp.so.* libstdc++.so.* lua; do
  cp -a "$dir"/sys/usr/$lib/$pattern "$root/usr/$lib/"
done
cp -rL "$dir"/sys/usr/share/lua/5.4 "$root/usr/share/lua/"
ln -sf aarch64-linux-gnu/ld-linux-aarch64.so.1 "$root/lib/ld-linux-aarch64.so.1"
for part in pmlua preload spec workloads lua mutants compat; do cp -a "$dir/out/$part" "$root/pmlua/build/"; done
cp -a "$dir"/out/libpmlua*.so* "$root/pmlua/build/"
cp -a lua scripts plots spec "$root/pmlua/"
cp spec/arm/init "$root/init"
chmod 755 "$root/init"
mkdir -p "$root/etc"
echo "root:x:0:0:root:/tmp:/bin/sh" >"$root/etc/passwd"
mknod -m 600 "$root/dev/console" c 5 1
mknod -m 666 "$root/dev/null" c 1 3
(cd "$root" && find . -print0 | cpio -0 -o -H newc --quiet) | gzip -1 >"$dir/initrd.gz"

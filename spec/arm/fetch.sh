#!/bin/sh
# spec/arm/fetch.sh DIR - bring Debian's arm64 kernel and libraries into DIR/sys, installing nothing on this host.
#
# apt works on a package state of its own below DIR, so that the host never learns of another architecture.
# Exit status 77 with a sentence where the packages cannot be had.
set -eu
dir=$1
test "$dir/fetched" -nt "$0" && exit 0 # this list of packages is what was fetched
for tool in apt-get apt-cache dpkg-deb; do
  command -v $tool >/dev/null || { echo "no $tool on this system: Debian's arm64 packages cannot be fetched"; exit 77; }
done
mkdir -p "$dir/apt/state/lists/partial" "$dir/apt/cache/archives/partial" "$dir/sys"
dir=$(cd "$dir" && pwd)
: >"$dir/apt/status"
options="-o Dir::State=$dir/apt/state -o Dir::State::status=$dir/apt/status -o Dir::Cache=$dir/apt/cache
  -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root -o Acquire::Languages=none"
apt-get $options -qq update || { echo "apt-get update failed: no package lists"; exit 77; }
kernel=$(apt-cache $options depends linux-image-cloud-arm64 | awk '/Depends:/ {print $2; exit}')
test -n "$kernel" || { echo "this distribution has no linux-image-cloud-arm64"; exit 77; }
runtime="busybox-static lua5.4 liblua5.4-0 libpfm4 libopen-trace-format2-10 lua-filesystem lua-cjson lua-zlib zlib1g libc6 libgcc-s1 libreadline8 libtinfo6 libgomp1 libstdc++6"
headers="liblua5.4-dev libpfm4-dev libotf2-trace-dev libopen-trace-format2-dev zlib1g-dev"
cd "$dir/apt/cache/archives"
apt-get $options -qq download $kernel $runtime $headers || { echo "the arm64 packages could not be downloaded"; exit 77; }
for package in *.deb; do dpkg-deb -x "$package" "$dir/sys"; done
mkdir -p "$dir/include" "$dir/lib"
ln -sfn ../sys/usr/include/perfmon "$dir/include/perfmon"
ln -sfn ../sys/usr/include/otf2 "$dir/include/otf2"
ln -sfn ../sys/usr/include/lua5.4 "$dir/include/lua5.4"
ln -sf ../sys/usr/include/zlib.h ../sys/usr/include/aarch64-linux-gnu/zconf.h "$dir/include/"
for lib in libpfm.so libotf2.so liblua5.4.so; do ln -sf "../sys/usr/lib/aarch64-linux-gnu/$lib" "$dir/lib/$lib"; done
ln -sf ../sys/usr/include/aarch64-linux-gnu/lua5.4-deb-multiarch.h "$dir/include/"
ln -sf ../sys/lib/aarch64-linux-gnu/libz.so.1 "$dir/lib/libz.so"
touch "$dir/fetched"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# root.sh CACHE ARCH: what another architecture's build and test machine need, from this Debian release's packages,
# unpacked into CACHE/root-ARCH. Nothing is installed on this machine, and no program of the other architecture runs.
set -euo pipefail

cache=$(realpath -m "$1")
arch=$2
into=$cache/root-$arch
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# shellcheck source=tests/kernels/apt.sh
. "$(dirname "$(realpath "$0")")/apt.sh"

# What the build needs, as make deps has it.
mapfile -t needed < <(sed -n '/^DEPS :=/,/[^\\]$/p' "$(dirname "$0")/../../Makefile" | grep -o '[a-z0-9.-]*-dev')
PACKAGES=("${needed[@]}" libgcc-12-dev linux-libc-dev bash bpftool busybox-static coreutils diffutils ethtool grep iproute2 jq mount procps python3-minimal
	libpython3-stdlib sed util-linux xdp-tools)

[ "${PACKAGES[*]}" != "$(cat "$into/packages" 2>/dev/null)" ] || exit 0
apt_open "$release"
apt "$release" apt-get install --download-only --no-install-recommends -y "${PACKAGES[@]}" >>"$(apt_log "$release")" 2>&1 ||
	apt_failed "$release"
rm -rf "$into.new"
mkdir -p "$into.new"/usr/{bin,sbin,lib,lib64}
for name in bin sbin lib lib64; do
	ln -s "usr/$name" "$into.new/$name"
done
for package in "$(apt_directory "$release")"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$into.new"
done
# What is looked for under a sysroot must not lead out of it.
find "$into.new/usr/lib" -type l -lname '/*' | while read -r link; do
	ln -sfn --relative "$into.new$(readlink "$link")" "$link"
done
apt_close "$release"
echo "${PACKAGES[*]}" >"$into.new/packages"
rm -rf "$into"
mv "$into.new" "$into"

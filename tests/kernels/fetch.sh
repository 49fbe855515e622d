#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fetch.sh CACHE ARCH RELEASE...: the kernel of each of these Debian releases, unpacked into CACHE/RELEASE-FLAVOUR-ARCH.
set -euo pipefail

cache=$(realpath -m "$1")
arch=$2
flavour=${KERNEL_FLAVOUR-cloud}
shift 2

# shellcheck source=tests/kernels/apt.sh
. "$(dirname "$(realpath "$0")")/apt.sh"

# packages RELEASE PACKAGE: what it is made of: from the one that always means the newest to the ones with the files.
packages() {
	local package

	for package in $(apt "$1" apt-cache show --no-all-versions "$2" | sed -n 's/^\(Pre-\)\?Depends: //p' | tr ',' '\n' |
		sed -n 's/^ *\(linux-\(image\|binary\|modules\)-[^ ]*\).*/\1/p'); do
		echo "$package"
		packages "$1" "$package"
	done
}

# The cloud kernel, unless asked otherwise: the same code, a tenth of the drivers.
fetch() {
	local release=$1 into=$cache/$1-$flavour-$arch state package image=linux-image-${flavour:+$flavour-}$arch
	local -a wanted

	state=$(apt_directory "$release")
	apt_open "$release"
	[ "$arch" != armhf ] || image=linux-image-armmp
	mapfile -t wanted < <(packages "$release" "$image" | sort -u)
	[ ${#wanted[@]} != 0 ] || { echo "$release has no $image" >&2 && return 1; }
	(cd "$state/archives" && apt "$release" apt-get download "${wanted[@]}" >>"$(apt_log "$release")" 2>&1) ||
		apt_failed "$release"
	rm -rf "$into.new"
	for package in "$state"/archives/*.deb; do
		dpkg-deb -x "$package" "$into.new"
	done
	apt_close "$release"
	[ -n "$(find "$into.new" -name 'vmlinu[xz]-*')" ] || { echo "no kernel in ${wanted[*]}" >&2 && return 1; }
	mv "$into.new" "$into"
}

for release; do
	[ -d "$cache/$release-$flavour-$arch" ] || fetch "$release"
done

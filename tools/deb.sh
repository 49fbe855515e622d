#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# deb.sh DIRECTORY VERSION: builds the Debian package of this tree there, from a copy.
set -eu
top=$(realpath "$(dirname "$0")/..")
to=$(realpath -m "$1")
version=$2

rm -rf "$to"
mkdir -p "$to/xdp-bloom-$version"
cd "$top"
cp -a bpf user tests tools packaging docs Makefile README.md LICENSE CONTRIBUTING.md CHANGELOG.md SECURITY.md "$to/xdp-bloom-$version/"
cd "$to/xdp-bloom-$version"
mv packaging/debian debian
chmod +x debian/rules
cat >debian/changelog <<EOF
xdp-bloom ($version) unstable; urgency=medium

  * Version $version.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -R -d "@$(git -C "$top" log -1 --format=%ct 2>/dev/null || date +%s)")
EOF
dpkg-buildpackage -us -uc -b -nc >"$to/log" 2>&1 || { tail -20 "$to/log"; exit 1; }
ls "$to"/*.deb

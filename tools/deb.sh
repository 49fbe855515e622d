#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# deb.sh DIRECTORY VERSION: the Debian packages, source and binary, there.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
to=$(realpath -m "$1") version=$2
name=xdp-bloom-$version orig=xdp-bloom_$version.orig.tar.gz

rm -rf "$to"
mkdir -p "$to"
"$top/tools/tarball.sh" "$to" "$version"
cd "$to"
mv "$name.tar.gz" "$orig"
rm -f "$name.tar.gz.sha256"
tar -xzf "$orig"
cd "$name"
cp -a packaging/debian .
cat >debian/changelog <<END
xdp-bloom ($version-1) unstable; urgency=medium

  * Version $version.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -R -d "@$(stat -c %Y CHANGELOG.md)")
END
dpkg-buildpackage -us -uc >"$to/log" 2>&1 || { tail -20 "$to/log"; exit 1; }
ls "$to"/*.{dsc,deb}

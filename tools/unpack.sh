#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# unpack.sh DIRECTORY PACKAGE...: what these Debian packages hold, below that directory, and nothing of it installed: their
# scripts would start a server on this machine, or make it known to one. Done when the packages are there already.
set -eu

to=$1
shift
command -v apt-get >/dev/null || {
	echo "not a Debian system: install what these packages hold, if its tests are to run: $*" >&2
	exit 0
}
mkdir -p "$to"
to=$(realpath "$to")
missing=
for package; do
	[ -e "$to/.$package" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

download() {
	# shellcheck disable=SC2086 # one word a package
	apt-get -o APT::Sandbox::User=root download -qq $missing >log 2>&1
}

echo "unpacking:$missing"
# Lists of packages that are missing, or old: once more with those of today.
download || { apt-get update -qq >log 2>&1 && download; } || {
	echo "apt-get cannot download$missing: $(grep -m 1 '^E:' log || tail -n 1 log)" >&2
	exit 1
}
for file in *.deb; do
	dpkg-deb -x "$file" "$to"
done
for package in $missing; do
	: >"$to/.$package"
done

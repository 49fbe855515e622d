#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# deps.sh PACKAGE...: installs those of the Debian packages that are missing; does nothing, quickly, when none is. Of A,B
# one is enough, the first that this release has.
set -eu

if ! command -v dpkg-query >/dev/null; then
	echo "not a Debian system: make sure that what these packages hold is installed: $*" >&2
	exit 0
fi
missing=
for package; do
	# shellcheck disable=SC2046 # one word a package
	state=$(dpkg-query -W -f '${db:Status-Status}\n' $(echo "$package" | tr , ' ') 2>/dev/null || true)
	echo "$state" | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "missing; install them as root: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive

# What lists of packages do not know yet is the last of them.
chosen() {
	for package in $missing; do
		while [ "${package#*,}" != "$package" ] && ! apt-cache show "${package%%,*}" >/dev/null 2>&1; do
			package=${package#*,}
		done
		echo "${package%%,*}"
	done
}

install() {
	# shellcheck disable=SC2046 # one word a package
	apt-get install -y -qq --no-install-recommends $(chosen) >"$log" 2>&1
}

echo "installing:$missing"
# Lists of packages that are missing, or old: once more with those of today.
install || { apt-get update -qq >"$log" 2>&1 && install; } || {
	echo "apt-get cannot install$missing: $(grep -m 1 '^E:' "$log" || tail -n 1 "$log")" >&2
	exit 1
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# deps.sh PACKAGE...: installs those of the Debian packages that are missing; does nothing, quickly, when none is.
set -eu

if ! command -v dpkg-query >/dev/null; then
	echo "not a Debian system: make sure that what these packages hold is installed: $*" >&2
	exit 0
fi
missing=
for package; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "missing:$missing" >&2
	echo "install them as root: make deps" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # one word a package
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
echo "installed:$missing"

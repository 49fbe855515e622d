#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tarball.sh DIRECTORY VERSION: DIRECTORY/xdp-bloom-VERSION.tar.gz, for packages: what dist.sh makes of the last commit; of the files as they
# are where something is not committed, or all that lies here where there is no git.
set -euo pipefail
to=$1 version=$2
cd "$(dirname "$0")/.."

if [ "$(git rev-parse --show-toplevel 2>/dev/null)" != "$(pwd -P)" ]; then
	tar --exclude=./.git --exclude=./build --transform="s|^\.|xdp-bloom-$version|" -czf "$to/xdp-bloom-$version.tar.gz" .
elif [ -z "$(git status --porcelain)" ]; then
	tools/dist.sh "$to" "$version" >/dev/null
else
	git ls-files -z | tar --null --transform="s|^|xdp-bloom-$version/|S" -czf "$to/xdp-bloom-$version.tar.gz" -T -
fi

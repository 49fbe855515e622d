#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# rpm.sh DIRECTORY VERSION: the RPM packages, source and binary, there, by packaging/rpm/xdp-bloom.spec. On a Debian, which has rpmbuild
# but neither packages that it could ask for nor systemd's macros, it is not asked what is missing, and the macros are ours.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
to=$(realpath -m "$1") version=$2
spec=$top/packaging/rpm/xdp-bloom.spec

rm -rf "$to"
mkdir -p "$to/SOURCES"
"$top/tools/tarball.sh" "$to/SOURCES" "$version"
with=()
if [ "$(rpm --eval '%{?_unitdir}')" = "" ]; then
	cat >"$to/macros" <<-'END'
		%_unitdir /usr/lib/systemd/system
		%systemd_requires Requires: systemd
		%systemd_post() [ "$1" != 1 ] || systemctl --no-reload preset %{*} >/dev/null 2>&1 || :
		%systemd_preun() [ "$1" != 0 ] || systemctl --no-reload disable --now %{*} >/dev/null 2>&1 || :
		%systemd_postun() %{nil}
		%systemd_postun_with_restart() [ "$1" = 0 ] || systemctl try-restart %{*} >/dev/null 2>&1 || :
	END
	with=(--nodeps --load "$to/macros")
fi
rpmbuild -ba --define "_topdir $to" "${with[@]}" "$spec" >"$to/log" 2>&1 || { tail -20 "$to/log"; exit 1; }
ls "$to"/SRPMS/*.rpm "$to"/RPMS/*/*.rpm

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kselftest.sh: the tests as a part of the kernel's own selftests, under the runner of Debian's kernel source. What is
# needed of the source is kept in build/kernels; nothing on the machine changes. KSELFTESTS says which tests.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/..")
cache=$top/build/kernels
arch=$(dpkg --print-architecture)
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
source=$cache/selftests-$release

# shellcheck source=tests/kernels/apt.sh
. "$top/tests/kernels/apt.sh"

# The runner alone, not the thousands of tests.
WANTED=(scripts/subarch.include tools/scripts tools/testing/selftests/{Makefile,lib.mk,kselftest,kselftest.h})

fetch() {
	local package archives

	apt_open "$release"
	archives=$(apt_directory "$release")/archives
	package=$(apt "$release" apt-cache show --no-all-versions linux-source |
		sed -n 's/^Depends: .*\(linux-source-[0-9.]*[0-9]\).*/\1/p')
	(cd "$archives" && apt "$release" apt-get download "$package" >>"$(apt_log "$release")" 2>&1) || apt_failed "$release"
	rm -rf "$source.new"
	mkdir -p "$source.new"
	dpkg-deb --fsys-tarfile "$archives/$package"_*.deb | tar -xO --wildcards '*/linux-source-*.tar.xz' |
		xz -dc | tar -x --strip-components=1 -C "$source.new" "${WANTED[@]/#/$package/}"
	apt_close "$release"
	mv "$source.new" "$source"
}

"$here/deps.sh" xz-utils >&2
[ -d "$source" ] || fetch
selftests=$source/tools/testing/selftests
mkdir -p "$selftests/xdp_bloom"
find "$selftests/xdp_bloom" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
cp -r "$top"/tests/* "$selftests/xdp_bloom"
make --no-print-directory -s -C "$selftests" XDP_BLOOM_SRC="$top" TARGETS=xdp_bloom \
	TESTS="${KSELFTESTS:-unit_addr unit_gate unit_owned unit_parse unit_roster unit_state prog_packets prog_sets prog_shape.sh net_attach.sh cli_load.sh}" \
	run_tests | tee "$source/log"
# The runner's own status says nothing of its tests.
grep -q '^ok ' "$source/log" && ! grep -q '^not ok ' "$source/log"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The RPM packages: clean by rpmlint, installed, used, upgraded and removed. On a copy-on-write picture of this machine.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tests/support/lib.sh"
sandbox "$@"
# shellcheck source=../tests/support/picture.sh
. "$here/picture.sh"
need rpm rpmlint chroot
packages=$(ls "$top"/build/rpm/RPMS/*/*.rpm 2>/dev/null) || skip_all "no packages: make rpm"

lint() {
	# shellcheck disable=SC2086 # words
	HOME=$WORK rpmlint --strict --config "$top/packaging/rpm/rpmlint.toml" "$top"/packaging/rpm/xdp-bloom.spec \
		"$top"/build/rpm/SRPMS/*.rpm $packages >out 2>&1 || fail "$(cat out)"
}

in_root() {
	expect 0 env -i PATH="$PATH" HOME=/root chroot root "$@"
}

# Their files, with what is in them.
of_the_package() {
	find root/usr root/etc root/lib/systemd -name '*xdp-bloom*' | sort
}

installed_used_removed() {
	local before

	pictured
	# shellcheck disable=SC2086 # words
	cp $packages given/
	before=$(of_the_package)
	a_list
	cp list given/
	veth 0
	# This machine has its libraries as packages of another kind.
	in_root sh -c 'rpm -i --nodeps /mnt/*.rpm'
	in_root systemctl enable xdp-bloom xdp-bloom-restore
	in_root xdp-bloom load drop /mnt/list
	in_root xdp-bloom attach edge0
	send 0 -b banned -c clean
	in_root test -x /usr/lib/xdp-bloom/xdp-bloom-fetch -a -x /usr/lib/xdp-bloom/xdp-bloom-fleet
	# An upgrade goes on filtering.
	in_root sh -c 'rpm -U --force --nodeps /mnt/*.rpm'
	send 0 -b banned -c clean
	in_root rpm -e xdp-bloom xdp-bloom-fetch xdp-bloom-fleet
	let_go edge0
	is "$(of_the_package)" "$before" "what is left of its files"
}

run_cases lint installed_used_removed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian package: clean by lintian, installed, used and removed. On a copy-on-write picture of this machine, so that
# nothing of it stays.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tests/support/lib.sh"
sandbox "$@"
# shellcheck source=../tests/support/picture.sh
. "$here/picture.sh"
need dpkg-buildpackage lintian chroot
package=$(ls "$top"/build/deb/xdp-bloom_*.deb 2>/dev/null) || skip_all "no package: make deb"

lint() {
	expect 0 lintian --allow-root --fail-on error,warning "$top"/build/deb/*.changes
}

in_root() {
	expect 0 env -u XDP_BLOOM_STATE -u XDP_BLOOM_BPFFS chroot root "$@"
}

installed_used_removed() {
	mkdir upper
	trap 'umount -R root upper; stop_jobs' EXIT
	mount -t tmpfs tmpfs upper
	picture root upper || skip "cannot mount an overlay of /"
	cp "$package" root/root/package.deb
	find root/usr root/etc root/lib root/var/lib -xdev \( -path '*/dpkg/*' -o -path '*cache*' \) -prune -o \
		-name '*xdp-bloom*' -print 2>/dev/null | sort >before
	in_root dpkg -i /root/package.deb
	in_root sh -c 'printf "203.0.113.0/24\n" >/root/drop.txt'
	in_root xdp-bloom load drop /root/drop.txt
	in_root xdp-bloom test 203.0.113.7
	in_root test -e /usr/share/man/man8/xdp-bloom.8.gz
	[ -e root/var/lib/xdp-bloom/state.db ] || fail "no state"
	in_root xdp-bloom flush
	in_root dpkg -r xdp-bloom
	[ ! -e root/usr/sbin/xdp-bloom ] || fail "the program is still there"
	[ -e root/var/lib/xdp-bloom/state.db ] || fail "removing took the lists along"
	in_root dpkg -P xdp-bloom
	find root/usr root/etc root/lib root/var/lib -xdev \( -path '*/dpkg/*' -o -path '*cache*' \) -prune -o \
		-name '*xdp-bloom*' -print 2>/dev/null | sort >after
	is "$(comm -13 before after)" "" "what was left behind"
}

run_cases lint installed_used_removed

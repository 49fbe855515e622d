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
	lintian --allow-root --fail-on error,warning "$top"/build/deb/*.changes >out 2>&1 || fail "$(cat out)"
}

in_root() {
	expect 0 env -u XDP_BLOOM_STATE -u XDP_BLOOM_BPFFS chroot root "$@"
}

# What there is of it in all of the root, in the layer of changes: files, and directories that were not there. What dpkg and its
# triggers keep for themselves is theirs.
left() {
	(cd upper/changes && find . \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log -o -path ./etc/ld.so.cache \) -prune -o \
		-mindepth 1 \( ! -type d -print \) -o \( -type d ! -exec test -d '/{}' \; -print \))
}

pinned() {
	find root/sys/fs/bpf -mindepth 1 | sort
}

installed_used_removed() {
	local before

	pictured
	cp "$package" given/package.deb
	printf '203.0.113.0/24\n' >given/drop.txt
	a_list
	veth 0
	before=$(pinned)
	in_root dpkg -i /mnt/package.deb
	in_root systemctl enable xdp-bloom xdp-bloom-restore
	in_root xdp-bloom load drop /mnt/drop.txt
	in_root xdp-bloom attach edge0
	in_root xdp-bloom add 192.0.2.7
	in_root xdp-bloom test 203.0.113.7
	in_root test -e /usr/share/man/man8/xdp-bloom.8.gz
	[ -e root/var/lib/xdp-bloom/state.db ] || fail "no state"
	[ -e root/sys/fs/bpf/xdp-bloom/slot ] || fail "nothing is pinned"
	# An upgrade goes on filtering.
	in_root dpkg -i /mnt/package.deb
	! without_program edge0 || fail "an upgrade opened the filter"
	in_root dpkg -r xdp-bloom
	without_program edge0 || fail "edge0 is still filtered, and the program is gone"
	[ ! -e root/usr/sbin/xdp-bloom ] || fail "the program is still there"
	[ -e root/var/lib/xdp-bloom/state.db ] || fail "removing took the lists along"
	# Installed again, it has them; and purged as it is, it takes the filter along.
	in_root dpkg -i /mnt/package.deb
	in_root xdp-bloom test 203.0.113.7 192.0.2.7
	in_root xdp-bloom attach edge0
	in_root dpkg -P xdp-bloom
	let_go edge0
	is "$(left)" "" "what is left of it in all of the root"
	is "$(pinned)" "$before" "what is left pinned"
}

# From OLDER_DEB, the package of another version, and back to it: one step after the other with packets flowing, and the
# banned ones are dropped, and no other, throughout.
upgraded_under_traffic() {
	local step

	pictured
	cp "$package" given/package.deb
	cp "${OLDER_DEB:-$package}" given/older.deb
	a_list
	cp list given/list
	veth 0
	in_root dpkg -i /mnt/older.deb
	in_root xdp-bloom load drop /mnt/list
	in_root xdp-bloom add 198.51.100.7 --ttl 1h
	in_root xdp-bloom attach edge0
	echo 198.51.100.7 >>banned
	flow 0 -b banned -c clean
	for step in package older package; do
		in_root dpkg -i "/mnt/$step.deb"
		in_root xdp-bloom test 198.51.100.7 192.0.2.7
		in_root xdp-bloom rotate
		in_root xdp-bloom state check
	done
	in_root dpkg-reconfigure xdp-bloom
	stop_flow 0
	[ "$(sent .banned.sent)" -gt 100 ] || fail "too little traffic: $(cat sent)"
	sent '"# \(.banned.sent) packets of banned sources, \(.banned.arrived) passed; \(.clean.sent) of others, \(.clean.lost) lost"'
	in_root dpkg -P xdp-bloom
}

# The same where systemd is process 1 and the service runs: dpkg ends it and starts it again, each time that of the other package.
restarted_under_traffic() {
	# shellcheck source=../tests/support/systemd.sh
	. "$here/systemd.sh"
	mkdir -p upper given
	trap 'umount upper; stop_jobs' EXIT
	mount -t tmpfs tmpfs upper
	mkdir -p upper/changes/var/lib upper/changes/srv
	# Whatever this machine has of it is not there, nor what keeps packages from services, as in a container.
	mkdir -p upper/changes/usr/sbin
	mknod upper/changes/var/lib/xdp-bloom c 0 0
	mknod upper/changes/usr/sbin/policy-rc.d c 0 0
	begin_trials upper/changes
	cp "$package" upper/changes/srv/package.deb
	cp "${OLDER_DEB:-$package}" upper/changes/srv/older.deb
	cp "$TRAFFIC" upper/changes/srv/traffic
	a_list
	echo 198.51.100.7 >>banned
	cp list banned clean upper/changes/srv/
	trial <<-'SH'
		cd /srv
		runs() { main=$(state "" MainPID) && [ "$main" != 0 ] && [ "$main" != "$1" ] && [ "$(state "" ActiveState)" = active ]; }
		rm -f /etc/xdp-bloom.conf
		dpkg -i older.deb >>dpkg 2>&1
		cable
		xdp-bloom -q load drop list
		xdp-bloom -q attach edge0
		xdp-bloom -q add 198.51.100.7 --ttl 1h
		systemctl -q enable --now xdp-bloom.service
		runs 0 && said "runs"
		mkfifo flowing
		./traffic -n 0 -b banned -c clean wire0 edge0 >flowing 2>err &
		flow=$!
		exec 3<flowing
		read -r line <&3
		said "$line"
		for step in package older package; do
			before=$main
			dpkg -i $step.deb >>dpkg 2>&1 || said "dpkg: $(tail -n 5 dpkg)"
			# That of 0.1 leaves it to the operator.
			dpkg-deb --ctrl-tarfile $step.deb | tar -t ./postinst >/dev/null 2>&1 ||
				{ systemctl daemon-reload && systemctl restart xdp-bloom.service; }
			n=0
			until runs "$before" || [ $((n += 1)) = 300 ]; do sleep 0.1; done
			[ "$main" != "$before" ] && cmp -s /proc/$main/exe /usr/sbin/xdp-bloom && said "$step: started again"
			xdp-bloom -q add 198.51.100.8
			xdp-bloom -q del 198.51.100.8
		done
		kill $flow
		cat <&3 >report
		wait $flow || said "traffic: $(cat err)"
		dpkg -P xdp-bloom >>dpkg 2>&1 || said "dpkg: $(tail -n 5 dpkg)"
		said "purged: $(state "" ActiveState) $(cat /proc/$main/comm 2>&1 | grep xdp-bloom)"
		! systemctl -q is-enabled xdp-bloom.service 2>/dev/null || said "still enabled"
	SH
	is "$(cat said)" "$(printf '%s\n' runs flowing 'package: started again' 'older: started again' 'package: started again' 'purged: inactive ')" "what is said; $(tail -n 3 upper/changes/srv/dpkg)"
	cp upper/changes/srv/report sent
	[ "$(sent .banned.sent)" -gt 100 ] || fail "too little traffic: $(cat sent)"
	sent '"# \(.banned.sent) packets of banned sources, \(.banned.arrived) passed; \(.clean.sent) of others, \(.clean.lost) lost"'
}

# debian/tests of the source package, with the package that was made of it. There is no network, so nothing else can be installed.
autopkgtest_passes() {
	need autopkgtest gcc make
	pictured
	cp "$top"/build/deb/*.dsc "$top"/build/deb/*.tar.* "$package" given/
	ln -s /proc/self/fd root/dev/fd
	patience=400
	expect 0 env -i PATH="$PATH" HOME=/root chroot root sh -c 'autopkgtest /mnt/*.deb /mnt/*.dsc -- null'
	grep -qE '^installed +PASS$' out || fail "it says: $(tail -n 20 out)"
}

run_cases lint installed_used_removed upgraded_under_traffic restarted_under_traffic autopkgtest_passes

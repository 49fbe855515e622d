#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The systemd units, as systemd itself reads them; and the command under no more than the rights they give.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='units|uninstalled'
sandbox "$@"
need_sources

units() {
	local unit score

	need systemd-analyze
	local most

	mkdir -p root/sbin root/lib/xdp-bloom
	cp "$XDP_BLOOM" root/sbin/xdp-bloom
	cp "$XDP_BLOOM" root/lib/xdp-bloom/xdp-bloom-fetch
	cp "$XDP_BLOOM" root/lib/xdp-bloom/xdp-bloom-fleet
	make -s -C "$top" units PREFIX="$WORK/root" UNITS="$WORK" || fail "cannot make the units"
	for unit in xdp-bloom.service xdp-bloom-restore.service xdp-bloom-fetch@.service xdp-bloom-fleet@.service; do
		! grep '@PREFIX@\|@HARDENED@\|@NOBODY@' "$unit" >out || fail "$unit: $(cat out)"
		SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "./$unit" >out 2>&1
		! grep "$unit" out || fail "systemd-analyze verify: $(cat out)"
		systemd-analyze security --offline=true --no-pager "./$unit" >out 2>&1 || fail "security: $(cat out)"
		score=$(grep -o 'exposure level for.*: [0-9.]*' out | grep -o '[0-9.]*$')
		printf '# %s: systemd-analyze security %s\n' "$unit" "$score"
		# ProtectKernelTunables would save 0.2: packaging/systemd/hardened says what it costs. Who speaks to servers has the network.
		most=1.7
		[[ $unit != *@.service ]] || most=2.0
		awk "BEGIN { exit !($score <= $most) }" || fail "$unit: $score is too much"
	done
	SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no ./xdp-bloom-fetch.socket ./xdp-bloom-fleet.socket >out 2>&1
	! grep 'fetch\|fleet' out || fail "systemd-analyze verify: $(cat out)"
}

# generated LINE...: what the service gets beyond the unit for a config of these lines, beside $clocks.
generated() {
	sed "s|^config=.*|config=$WORK/conf|; s|^clocks=.*|clocks='${clocks:-}'|" "$top/packaging/systemd/xdp-bloom-generator" >generator
	printf '%s\n' "$@" >conf
	rm -rf drop-ins
	expect 0 sh generator drop-ins drop-ins drop-ins
	[ -e drop-ins ] && sed '1,2d' drop-ins/xdp-bloom.service.d/config.conf | paste -sd ' '
}

grants() {
	local sockets='RestrictAddressFamilies=AF_INET AF_INET6'

	is "$(generated '# run --listen 9913' ' #load x /root/x' 'allow 192.0.2.1' 'run --rotate-every 1h')" "" "what nobody asks for"
	is "$(generated 'run --rotate-every 1h --listen 9913')" "$sockets IPAddressAllow=localhost" "a port"
	is "$(generated 'run --listen=127.0.0.1:9913 --rotate-every 1h')" "$sockets IPAddressAllow=localhost" "an address of this machine"
	is "$(generated 'run --listen 0.0.0.0:9913')" "$sockets IPAddressDeny=" "any address"
	is "$(generated 'run --listen [2001:db8::1]:9913')" "$sockets IPAddressDeny=" "another address"
	is "$(generated 'run --listen 9913 --page')" \
		"$sockets IPAddressAllow=localhost RestrictAddressFamilies=AF_PACKET CapabilityBoundingSet=CAP_NET_RAW" "the page"
	is "$(generated 'run --listen 0.0.0.0:9913' 'run --listen-token=/etc/token')" \
		"$sockets IPAddressDeny= RestrictAddressFamilies=AF_PACKET CapabilityBoundingSet=CAP_NET_RAW" "the page, with a token"
	is "$(generated 'run --page')" "" "a page that nobody can ask for"
	is "$(generated 'attach edge0' 'load home /home/list')" "ProtectHome=read-only" "a list in a home directory"
	is "$(generated 'run --hook /usr/local/bin/hook --listen 9913')" \
		"$sockets IPAddressDeny= ProtectHome=read-only SystemCallFilter=@system-service" "a hook"
	is "$(clocks=no-chronyd generated)" "" "no daemon that knows time servers"
	is "$(clocks='no-chronyd sh' generated)" "$sockets IPAddressAllow=localhost" "a daemon that knows time servers"
	is "$(clocks='no-chronyd sh' generated 'run --listen 0.0.0.0:9913')" "$sockets IPAddressDeny=" "both"
	is "$(clocks='no-chronyd sh' generated 'run --listen 9913')" "$sockets IPAddressAllow=localhost" "a port, and that"
	rm conf
	expect 0 sh generator drop-ins
}

# The bounding set of the units, and of it each in turn left out.
rights() {
	local -a given
	local without

	need setpriv
	setpriv --list-caps | grep -q '^bpf' || skip "needs a setpriv that knows CAP_BPF, of a newer package util-linux"
	read -r -a given < <(sed -n 's/^CapabilityBoundingSet=//p' "$top/packaging/systemd/hardened" | tr "[:upper:]" "[:lower:]" | sed 's/cap_/+/g')
	veth 0
	echo 192.0.2.7 >banned
	echo 192.0.2.6 >clean
	held="$(IFS=,; echo "-all,${given[*]}")"
	# shellcheck disable=SC2317 # expect calls it
	unprivileged() {
		setpriv --bounding-set "$held" --inh-caps -all --no-new-privs "$XDP_BLOOM" "$@"
	}
	expect 0 unprivileged load bad banned
	expect 0 unprivileged attach edge0
	expect 0 unprivileged rotate
	expect 0 unprivileged add 192.0.2.8
	expect 0 unprivileged del 192.0.2.8
	send 0 -b banned -c clean
	expect 0 unprivileged restore
	for without in "${given[@]}"; do
		held="$(IFS=,; echo "-all,${given[*]}")"
		held=${held/,"$without"/}
		expect 2 unprivileged rotate
		send 0 -b banned -c clean
	done
}

# all_of ROOT: each file and directory, and what is in it.
all_of() {
	(cd "$1" && find . -printf '%y %m %p\n' | sort && find . -type f -exec sha256sum {} + | sort)
}

# Installed twice and taken out again: nothing is left, and nothing else is gone.
uninstalled() {
	local before

	[ -x "$top/build/xdp-bloom" ] || skip "needs build/xdp-bloom"
	mkdir -p root/opt/x/sbin root/opt/x/share/man/man8 root/opt/x/share/doc
	echo theirs >root/opt/x/share/man/man8/other.8
	before=$(all_of root)
	make -s -C "$top" units PREFIX=/opt/x UNITS="$WORK" || fail "cannot make the units"
	for _ in 1 2; do
		expect 0 make -s -C "$top" -o all install DESTDIR="$WORK/root" PREFIX=/opt/x UNITS="$WORK"
	done
	[ -x root/opt/x/sbin/xdp-bloom ] || fail "not installed: $(cat out)"
	[ "$(find root -type f | wc -l)" -gt 15 ] || fail "only this is installed: $(find root -type f)"
	is "$(sed -n 's|^ExecStart=||p' root/opt/x/lib/systemd/system/xdp-bloom.service | cut -d' ' -f1)" /opt/x/sbin/xdp-bloom \
		"what the unit starts"
	expect 0 make -s -C "$top" uninstall DESTDIR="$WORK/root" PREFIX=/opt/x UNITS="$WORK"
	is "$(all_of root)" "$before" "what there is afterwards"
	# What somebody has put among ours stays.
	expect 0 make -s -C "$top" -o all install DESTDIR="$WORK/root" PREFIX=/opt/x UNITS="$WORK"
	echo mine >root/opt/x/share/doc/xdp-bloom/mine
	expect 0 make -s -C "$top" uninstall DESTDIR="$WORK/root" PREFIX=/opt/x UNITS="$WORK"
	is "$(find root/opt/x/share/doc)" "$(printf 'root/opt/x/share/doc%s\n' '' /xdp-bloom /xdp-bloom/mine)" "what is left then"
	rm -r root/opt/x/share/doc/xdp-bloom
	is "$(all_of root)" "$before" "what there is without it"
	# Where there is nothing at all, as for a package.
	expect 0 make -s -C "$top" -o all install DESTDIR="$WORK/none" PREFIX=/usr UNITS="$WORK"
	expect 0 make -s -C "$top" uninstall DESTDIR="$WORK/none" PREFIX=/usr UNITS="$WORK"
	is "$(find none)" none "what there is where there was nothing"
}

run_cases units uninstalled grants rights

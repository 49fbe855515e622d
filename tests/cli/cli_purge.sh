#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Out again: detach --all --purge, and make uninstall behind it. Nothing of ours is left, in the kernel and in all of the root.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/screen.sh
. "$here/screen.sh"
# shellcheck source=../support/picture.sh
. "$here/picture.sh"

# Something of everything: a service has been there, an image, exceptions, what waits, what was refused.
used() {
	prepare
	ready
	send 0 -b banned -c clean
	stop
	bloom save image
	bloom load --image image --force
	bloom flush
	bloom load bad list
	bloom load other list --shadow
	bloom allow 192.0.2.77
	bloom add 198.51.100.77 --ttl 1h --reason gone
	bloom tune --headroom 20
	echo garbage >broken
	expect 2 "$XDP_BLOOM" load broken broken
	veth 1
	bloom attach edge1 --confirm 1h
	cp "$XDP_BLOOM_STATE/state.db" "$XDP_BLOOM_STATE/state.db.damaged"
}

# pinned [ROOT]: all that is pinned; some of it is the kernel's own.
pinned() {
	find "${1:-}/sys/fs/bpf" -mindepth 1 | sort
}
before=$(pinned)

nothing_is_left() {
	[ ! -e "$XDP_BLOOM_STATE" ] || fail "the state is still there: $(ls -A "$XDP_BLOOM_STATE")"
	is "$(pinned)" "$before" "what is pinned"
	! ip -o link | grep -q prog/xdp || fail "a program is still there: $(ip -o link)"
}

all_goes() {
	used
	bloom detach --all --purge --yes
	nothing_is_left
	[[ $(cat out) == "nothing is filtered, and what was loaded and pinned is gone; "* ]] || fail "it says: $(cat out)"
	is "$(cat err)" "" "what it warns of"
	cat banned >>clean
	send 0 -c clean
	# Where there is nothing there is nothing to do; and one can begin again.
	bloom -j detach --all --purge --yes
	is "$(cat out)" '{"generation":0}' "what it prints with -j"
	nothing_is_left
	bloom load bad list
	bloom attach edge0
	sed -i "$(($(wc -l <clean) - $(wc -l <banned) + 1)),\$d" clean
	send 0 -b banned -c clean
}

# Each name that anything of ours has there, whoever used it: a list, a fleet, CrowdSec.
all_names() {
	local name n=0

	need_sources
	bloom add 192.0.2.7
	while read -r name; do
		[[ $name != *. ]] || name+=7
		touch "$XDP_BLOOM_STATE/$name"
		n=$((n + 1))
	done < <(sed -n 's/^#define STATE_[A-Z_]*[ \t]*"\([^"]*\)".*/\1/p' "$top/user/base/state_path.h")
	[ $n -gt 20 ] || fail "only $n names were found"
	touch "$XDP_BLOOM_STATE"/{fleet,crowdsec,learned}.new
	bloom detach --all --purge --yes
	is "$(cat err)" "" "what it warns of"
	nothing_is_left
}

# Behind a dispatcher: libxdp's own directory is not ours.
all_goes_that_is_shared() {
	a_list
	veth 0
	bloom load bad list
	"$XDP_BLOOM" attach edge0 --shared 2>err || skip "the kernel cannot share: $(cat err)"
	bloom detach --all --purge --yes
	rmdir /sys/fs/bpf/xdp 2>/dev/null
	nothing_is_left
}

# A damaged state is no reason to stay.
damaged() {
	used
	printf 'garbage garbage garbage' | dd of="$XDP_BLOOM_STATE/state.db" conv=notrunc status=none
	bloom detach --all --purge --yes
	nothing_is_left
}

# What is not ours stays, and is named.
not_ours() {
	used
	echo mine >"$XDP_BLOOM_STATE/mine"
	echo mine >"$XDP_BLOOM_STATE/lockers"
	mkdir "$XDP_BLOOM_BPFFS/theirs"
	bloom detach --all --purge --yes
	is "$(sort err | grep -c "stays: '.*' in it is not of xdp-bloom")" 2 "the warnings"
	is "$(ls -A "$XDP_BLOOM_STATE") $(ls -A "$XDP_BLOOM_BPFFS")" "lockers
mine theirs" "what stays"
}

# Not by mistake: nobody can be asked, or says no; a service would put all in place again.
refused_first() {
	filtering bad
	refused "--purge takes away all lists, bans and settings, for good: --yes says that it may" detach --all --purge
	refused "--purge takes all away: with --all" detach edge0 --purge
	refused "--yes is an answer to --purge" detach --all --yes
	bloom --check detach --all --purge --yes
	send 0 -b banned -c clean
	echo "load bad '$WORK/banned'" >conf
	ready
	refused "the service still runs" detach --all --purge --yes
	send 0 -b banned -c clean
	stop
}

asked() {
	need tmux
	filtering bad
	terminal 80x24
	types "'$XDP_BLOOM' detach --all --purge; echo ended \$?" Enter
	shows 'Type yes:'
	types y Enter
	shows '^ended 2'
	send 0 -b banned -c clean
	types "clear; '$XDP_BLOOM' detach --all --purge; echo ended \$?" Enter
	shows 'Type yes:'
	types yes Enter
	shows '^ended 0'
	nothing_is_left
}

# As a user would: installed, units enabled, used, purged, uninstalled. On a copy-on-write picture of this machine, whose layer
# of changes has nothing in it afterwards but directories that were there.
whole_root() {
	local changes=upper/changes left there

	need_sources
	need systemctl chroot
	[ -x "$top/build/xdp-bloom" ] || skip "needs build/xdp-bloom"
	[ ! -e /var/lib/xdp-bloom ] || skip "needs a machine that has none of it: /var/lib/xdp-bloom is there"
	mkdir upper
	trap 'umount -R root upper; stop_jobs' EXIT
	mount -t tmpfs tmpfs upper
	picture root upper || skip "the kernel has no overlayfs in namespaces"
	there=$(pinned root)
	veth 0
	make -s -C "$top" units PREFIX=/usr/local UNITS="$WORK" || fail "cannot make the units"
	expect 0 make -s -C "$top" -o all install DESTDIR="$WORK/root" PREFIX=/usr/local UNITS="$WORK"
	within systemctl enable xdp-bloom xdp-bloom-restore
	[ -L root/etc/systemd/system/multi-user.target.wants/xdp-bloom.service ] || fail "the unit is not enabled"
	echo 203.0.113.0/24 | within xdp-bloom load drop -
	within xdp-bloom attach edge0
	within xdp-bloom add 192.0.2.7 --ttl 1h
	within xdp-bloom test 203.0.113.7
	[ -e root/sys/fs/bpf/xdp-bloom/slot ] || fail "nothing is pinned"
	[ -e root/var/lib/xdp-bloom/state.db ] || fail "there is no state"
	within xdp-bloom detach --all --purge --yes
	expect 0 make -s -C "$top" uninstall DESTDIR="$WORK/root" PREFIX=/usr/local UNITS="$WORK"
	left=$(cd $changes && find . -mindepth 1 \( ! -type d -print \) -o \( -type d ! -exec test -d '/{}' \; -print \))
	is "$left" "" "what is left of it in all of the root"
	is "$(pinned root)" "$there" "what is left pinned"
}

within() {
	expect 0 env -u XDP_BLOOM_STATE -u XDP_BLOOM_BPFFS PATH="/usr/local/sbin:/usr/local/bin:$PATH" chroot root "$@"
}

run_cases all_goes all_names all_goes_that_is_shared damaged not_ours refused_first asked whole_root

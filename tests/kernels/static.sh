#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# static.sh ARCH: the static command in Debian's own kernel of that machine, under QEMU: attached to a veth pair, with 100,000 addresses
# and real packets, rotated, its service killed, restored after what a reboot leaves, and with an image that this machine made.
#
#   KERNELS        which Debian release's kernel (that whose packages the command is linked with)
#   KERNEL_LIMIT   seconds for all of it (600)
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
export KERNEL_ARCH=$1 KERNEL_FLAVOUR=
# shellcheck source-path=SCRIPTDIR source=machine.sh
. "$here/machine.sh"
# shellcheck source-path=SCRIPTDIR source=apt.sh
. "$here/apt.sh"
# shellcheck source-path=SCRIPTDIR source=../../tools/static_machines.sh
. "$top/tools/static_machines.sh"
build=$top/build/static/$arch
release=${KERNELS:-$release}
limit=${KERNEL_LIMIT:-600}
export XDP_BLOOM_SEED=$((${XDP_BLOOM_SEED:-(RANDOM << 15) + RANDOM}))

# busybox: its shell and its tools, and nothing else of a distribution.
busybox() {
	local state

	[ ! -x "$cache/busybox-$arch" ] || return 0
	state=$(apt_directory "$release")
	apt_open "$release"
	(cd "$state/archives" && apt "$release" apt-get download busybox-static >>"$(apt_log "$release")" 2>&1) || apt_failed "$release" || return
	dpkg-deb -x "$state"/archives/busybox-static_*.deb "$work/busybox"
	apt_close "$release"
	mv "$(find "$work/busybox" -path '*bin/busybox')" "$cache/busybox-$arch"
}

# What is loaded, whose packets are sent, and the image.
lists() {
	local judge=$here/../support/judge.py

	mkdir -p "$root/lists"
	(
		cd "$root/lists" || exit
		# Networks for special uses are banned by force alone, and an image is made without.
		# shellcheck disable=SC2094 # the first list is a word
		python3 "$judge" list 120000 500 2000 | python3 -c 'if True:
			import ipaddress, sys
			for line in sys.stdin:
			    net = ipaddress.ip_network(line.strip(), strict=False)
			    if net[0].is_global and net[-1].is_global and not net[0].is_multicast:
			        print(line, end="")' >list
		[ "$(wc -l <list)" -gt 100000 ] || exit
		python3 "$judge" sample points 100 list
		rm points/all
		"$top/build/xdp-bloom" -q image make image list
	)
}

"$top/tools/deps.sh" "${packages[@]}" python3-minimal >&2 || skip_all "not all of ${packages[*]} can be installed"
for program in "$build/xdp-bloom" "$build/build/tests/traffic" "$top/build/xdp-bloom"; do
	[ -x "$program" ] || skip_all "$program is not built: make static-boot ARCH=$arch"
done
mkdir -p "$cache"
"$here/fetch.sh" "$cache" "$arch" "$release" >"$work/fetch.log" 2>&1 || skip_all "no kernel: $(said fetch)"
busybox >"$work/fetch.log" 2>&1 || skip_all "no busybox: $(said fetch)"

root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc,var/lib}
cp "$cache/busybox-$arch" "$root/bin/busybox"
cp "$build/xdp-bloom" "$build/build/tests/traffic" "$root/bin"
cp "$here/static_init" "$root/init"
lists >"$work/lists.log" 2>&1 || { cat "$work/lists.log" >&2 && exit 1; }
echo "${order#bpf}" >"$root/order"
(cd "$root" && find . | command busybox cpio -o -H newc -R 0:0 2>/dev/null) >"$work/tools"

printf '# seed: XDP_BLOOM_SEED=%d\n' "$XDP_BLOOM_SEED"
: >"$work/queue"
boot one "$release" "$work/queue" "$limit" 2>&1 | tee "$work/console" | grep -E '^(TAP|1\.\.|not ok|ok|#)'
grep -q '^# Totals' "$work/console" || { tail -n 20 "$work/console" | sed 's/^/# /' && exit 1; }
! grep -q '^not ok' "$work/console"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio.sh [RELEASE...]: virtio_net in the kernels of these Debian releases, under QEMU, with more queues than are in use, with just as
# many, and where the host joins packets and does not let the machine change that (virtio_cases.sh). Each is connected to another
# interface of that machine, by a bridge in a network of this script's own.
#
#   KERNEL_LIMIT   seconds that a kernel has (300)
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
if [ -z "${XDP_BLOOM_SANDBOX:-}" ] && [ "$(id -u)" = 0 ] && unshare --net true 2>/dev/null; then
	XDP_BLOOM_SANDBOX=$$ exec unshare --net "$BASH" "$0" "$@"
fi
# shellcheck source-path=SCRIPTDIR source=machine.sh
. "$here/machine.sh"
[ -n "${XDP_BLOOM_SANDBOX:-}" ] || skip_all "needs root and network namespaces"
unset XDP_BLOOM_SANDBOX
[ -c /dev/net/tun ] || skip_all "needs /dev/net/tun"
releases=("$@")
[ $# != 0 ] || releases=(bullseye bookworm trixie)
limit=${KERNEL_LIMIT:-300}
export KERNEL_FLAVOUR=${KERNEL_FLAVOUR-cloud}

# pair N QUEUES SETTINGS: virtN, with so many queues, and wireN.
pair() {
	local n=$1 queues=$2 settings=$3 end

	ip link add "bridge$n" type bridge || skip_all "no bridge can be made"
	for end in "virt$n" "wire$n"; do
		# shellcheck disable=SC2046 # none, or a word
		ip tuntap add "$end" mode tap vnet_hdr $([ "$end" = "wire$n" ] || [ "$queues" = 1 ] || echo multi_queue) || skip_all "no tap can be made"
		ip link set "$end" mtu 9000 master "bridge$n" up
	done
	ip link set "bridge$n" up
	machine+=(-netdev "tap,id=virt$n,ifname=virt$n,script=no,downscript=no,queues=$queues,vhost=off"
		-device "virtio-net-pci,netdev=virt$n,mac=52:54:00:00:0$n:00,mq=on,vectors=$((2 * queues + 2)),romfile=$settings"
		-netdev "tap,id=wire$n,ifname=wire$n,script=no,downscript=no,vhost=off"
		-device "virtio-net-pci,netdev=wire$n,mac=52:54:00:00:0$n:01,romfile=")
}

"$top/tools/deps.sh" "${packages[@]}" >&2 || skip_all "not all of ${packages[*]} can be installed"
for program in "$build/xdp-bloom" "$build/tests/traffic"; do
	[ -x "$program" ] || { echo "$program is not built: make tests" >&2 && exit 1; }
done
mkdir -p "$cache"
pair 0 4 ''
pair 1 2 ''
pair 2 1 ',ctrl_guest_offloads=off'
BUILD=$build "$here/image.sh" tools "$work/tools" || exit 1
status=4
for release in "${releases[@]}"; do
	if ! "$here/fetch.sh" "$cache" "$arch" "$release" >"$work/fetch.log" 2>&1; then
		printf 'TAP version 13\n1..1\nok 1 %s # SKIP no kernel: %s\n' "$release" "$(said fetch)"
		continue
	fi
	[ $status != 4 ] || status=0
	echo "$limit tests/kernels/virtio_cases.sh" >"$work/queue"
	rm -f "$work/one".*
	boot one "$release" "$work/queue" "$limit" >"$work/console" 2>&1
	sed -n 's/^  //p' "$work/console"
	grep -q '^ok 1 .*virtio_cases.sh$' "$work/console" || { grep -v '^  ' "$work/console" | tail -n 20 | sed 's/^/# /' && status=1; }
done
exit $status

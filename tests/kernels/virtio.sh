#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio.sh [RELEASE...]: virtio_net in the kernels of these Debian releases, under QEMU, with more queues than are in use, with just as
# many, and where the host joins packets and does not let the machine change that (virtio_cases.sh). Each is connected to another
# interface of that machine, by a bridge in a network of the machine's own.
#
#   KERNEL_LIMIT   seconds that a kernel has (300)
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
# shellcheck source-path=SCRIPTDIR source=machine.sh
. "$here/machine.sh"
if [ ! -c /dev/net/tun ] || [ "$(id -u)" != 0 ] || ! unshare --net true 2>/dev/null; then
	skip_all "needs root, network namespaces and /dev/net/tun"
fi
releases=("$@")
[ $# != 0 ] || releases=(bullseye bookworm trixie)
limit=${KERNEL_LIMIT:-300}
# So many queues has each virtN.
queues=(4 2 1)
settings=('' '' ',ctrl_guest_offloads=off')

machine=(unshare --net "$here/virtio_links.sh" "${queues[*]}" "${machine[@]}")
for n in "${!queues[@]}"; do
	machine+=(-netdev "tap,id=virt$n,ifname=virt$n,script=no,downscript=no,queues=${queues[n]},vhost=off"
		-device "virtio-net-pci,netdev=virt$n,mac=52:54:00:00:0$n:00,mq=on,vectors=$((2 * queues[n] + 2)),romfile=${settings[n]}"
		-netdev "tap,id=wire$n,ifname=wire$n,script=no,downscript=no,vhost=off"
		-device "virtio-net-pci,netdev=wire$n,mac=52:54:00:00:0$n:01,romfile=")
done

"$top/tools/deps.sh" "${packages[@]}" >&2 || skip_all "not all of ${packages[*]} can be installed"
for program in "$build/xdp-bloom" "$build/tests/traffic"; do
	[ -x "$program" ] || { echo "$program is not built: make tests" >&2 && exit 1; }
done
mkdir -p "$cache"
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

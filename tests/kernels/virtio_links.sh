#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio_links.sh 'QUEUES...' COMMAND...: the command, in whose network there are, of each number, a virtN with so many queues, a wireN,
# and a bridge between them. For virtio.sh, which says of what.
set -euo pipefail
n=0
for queues in $1; do
	ip link add "bridge$n" type bridge
	ip link set "bridge$n" up
	for end in "virt$n" "wire$n"; do
		kind=
		[ "$queues" = 1 ] || [ "$end" = "wire$n" ] || kind=multi_queue
		# shellcheck disable=SC2086 # none, or a word
		ip tuntap add "$end" mode tap vnet_hdr $kind
		ip link set "$end" mtu 9000 master "bridge$n" up
	done
	n=$((n + 1))
done
shift
exec "$@"

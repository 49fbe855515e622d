#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Frames of every kind to a socket that listens: what the stack delivers is judged by its source. FRAMES_TABLE=1 prints
# them all, FRAMES_GENERATED (150) are made up.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
frames=$(realpath "$(dirname "$0")/frames.py")
sandbox "$@"
[ -e /proc/sys/net/ipv6 ] || skip_all "needs IPv6 in the kernel"

through() {
	expect 0 python3 "$frames" "$@"
	grep '^#' "$WORK/out"
}

# judged MODE
judged() {
	local hidden

	veth 0
	through send wire0 edge0 bare
	ip link del wire0
	veth 1
	printf '%s\n' 192.0.2.66 2001:db8:77::66 >list
	bloom load list list --bogons=keep
	bloom attach edge1 --mode "$1"
	through send wire1 edge1 filtered
	through judge bare filtered
	hidden=$(jq '[.frames[]|select(.[3])]|length * 2' filtered)
	is "$(get '[.stages[]|select(.verdict=="dropped" and .stage=="parse")|.packets]|add' stats)" "$hidden" \
		"the number that the parser dropped"
}

run_cases "judged native" "judged skb"

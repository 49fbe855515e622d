#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# xdp-bloom-fleet and a real Redis or Valkey (fleet_wire.py): what it says and hears, and what becomes of that when the server
# is emptied, killed, restored, full, or hostile.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
tests=$(realpath "$(dirname "$0")")
sandbox "$@"
XDP_BLOOM_FLEET=$(realpath -m "${XDP_BLOOM_FLEET:-$(dirname "$XDP_BLOOM")/xdp-bloom-fleet}")
export XDP_BLOOM_FLEET
[ -x "$XDP_BLOOM_FLEET" ] || skip_all "$XDP_BLOOM_FLEET is not built"
need_redis

# wire CASE: one of fleet_wire.py's.
wire() {
	ip link set lo up
	chmod 755 "$WORK"
	python3 "$tests/fleet_wire.py" "$1" 2>out || fail "$(cat out)"
}

run_cases 'wire follows' 'wire gap' 'wire flushed' 'wire killed' 'wire restored' 'wire full' 'wire half' 'wire allowed' 'wire hostile' 'wire much'

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# attack.sh status|top: what that shows while packets of banned sources come, as text. A sandbox of its own, as in
# demo.sh, with three lists, some bans and the service; the picture is taken when the last minute has been counted.
. "$(dirname "$0")/../tests/support/lib.sh"
sandbox "$@"
# shellcheck source=tests/support/screen.sh
. "$here/screen.sh"
what=${1:-status}
size=100x30

veth 0
printf '%s\n' 198.51.100.{1..200} >botnet
printf '%s\n' 203.0.113.0/25 2001:db8:bad::/48 >scanners
printf '192.0.2.%d\n' {1..9} >abuse
{
	printf '198.51.100.%d\n' {1..20} {1..12} {1..7}
	printf '203.0.113.%d\n' 7 7 7 9 40
	printf '%s\n' 2001:db8:bad::1 192.0.2.3 192.0.2.4 192.0.2.77
} >banned
printf '%s\n' 192.0.3.{1..6} 2001:db8:1::7 >clean
for list in botnet scanners abuse; do
	"$XDP_BLOOM" -q load $list $list || exit 1
done
"$XDP_BLOOM" -q add 192.0.2.77 --ttl 1h --reason "ssh: 30 wrong passwords"
"$XDP_BLOOM" -q attach edge0 2>/dev/null || exit 1
"$XDP_BLOOM" -q run >service.log 2>&1 &
service=$!
trap 'kill $service; stop_flow 0 2>/dev/null; mux kill-server 2>/dev/null; stop_jobs; rm -rf "${WORK:?}" "${WORK:?}".*' EXIT
attacked $size "$what" >/dev/null
sleep 8 # of the attack
if [ "$what" = status ]; then
	counted() {
		"$XDP_BLOOM" -j status | jq -e '.packets.dropped_per_second > 0' >/dev/null
	}
	wait_until "rates by the second" counted
	printf '\033[1m$ xdp-bloom status\033[0m\n'
	"$XDP_BLOOM" status
else
	shows botnet
	# Sources come with the next samples.
	shows '198\.51\.100\.'
	cat screen
fi

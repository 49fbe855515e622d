#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What make run shows: a sandbox of its own (network namespace, veth pair, bpffs), the sample list, real packets from
# banned and innocent sources, and what became of them. Touches nothing outside, and cleans up.
. "$(dirname "$0")/../tests/support/lib.sh"
sandbox "$@"
list=$top/docs/sample-list.txt

say() {
	printf '\n\033[1m$ %s\033[0m\n' "$*"
}

show() {
	say "xdp-bloom $*"
	"$XDP_BLOOM" "$@"
}

banned=(192.0.2.1 192.0.2.255 198.51.100.7 198.51.100.100 203.0.113.127 2001:db8:bad::1 2001:db8:1::dead:beef)
innocent=(192.0.3.1 198.51.100.8 198.51.100.128 203.0.113.128 2001:db8:bae::1 2001:db8:1::dead:bee0)

veth 0
printf '%s\n' "${banned[@]}" >banned
printf '%s\n' "${innocent[@]}" >innocent

echo "A veth pair in a network namespace of its own: packets go in at wire0, and are filtered where they arrive, on edge0."
show attach edge0
say "xdp-bloom load sample docs/sample-list.txt"
"$XDP_BLOOM" load sample "$list" || exit 1
show show

say "1000 packets from each of ${#banned[@]} banned and ${#innocent[@]} innocent sources"
send 0 -b banned -c innocent -n 1000 || exit 1
echo "sent:    $(sent .banned.sent) from banned sources, $(sent .clean.sent) from innocent ones"
echo "arrived: $(sent .banned.arrived) from banned sources, $(sent .clean.arrived) from innocent ones"
show test 192.0.2.255 198.51.100.7 198.51.100.100 2001:db8:bad::1 192.0.3.1 198.51.100.8 2001:db8:bae::1
show stats
show detach edge0

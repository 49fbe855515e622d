#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# picture.sh FILE: the service's page in the first minute of an attack, made with real packets; a part of make docs.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
[ -n "${XDP_BLOOM_HOST:-}" ] || XDP_BLOOM_HOST=yes exec unshare --uts "$BASH" "$0" "$(realpath -m "$1")"
hostname gateway
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# burst FILE N: so many packets from each source in it.
burst() {
	send 0 -n "$2" -b "$1" -c visitor
}

ip link set lo up
veth 0
printf '%s\n' 203.0.113.0/24 192.0.2.128/25 >drop.txt
printf '%s\n' 198.51.100.0/24 2001:db8:bad::/48 >feed.txt
printf '%s\n' 203.0.113.9 203.0.113.{100..112} 2001:db8:bad::9 >attackers
echo 203.0.113.9 >attacker
printf '%s\n' 203.0.113.77 192.0.2.200 198.51.100.7 2001:db8:bad::5 192.0.2.66 >others
printf '%s\n' 192.0.2.1 192.0.3.9 198.18.0.7 2001:db8:1::1 >visitors
echo 192.0.3.1 >visitor
: >conf
bloom load drop drop.txt
bloom load feed feed.txt
bloom attach edge0
ready --listen 9913 --page
bloom add 192.0.2.66 --ttl 10m --reason 'ssh: 5 wrong passwords'
bloom add 2001:db8:7::/64 --ttl 1h --reason 'scan'
# It goes on while the browser looks.
traffic() {
	local second began

	began=$(date +%s)
	for ((second = 0;; second++)); do
		send 0 -n $((60 + RANDOM % 20)) -c visitors
		burst others $((4 + RANDOM % 4))
		if ((second > 21)); then
			burst attackers $((second < 30 ? (second - 21) * 6 : 45 + RANDOM % 9))
			burst attacker $((second < 30 ? (second - 21) * 20 : 160 + RANDOM % 30))
		fi
		while (($(date +%s) < began + second + 1)); do
			sleep 0.05
		done
	done
}
traffic &
sleep 58
expect 0 python3 "$top/tests/browser/browser.py" --width 1000 --picture "$1" http://127.0.0.1:9913/ \
	'document.getElementById("updated").textContent.startsWith("as of")' 'last.passing.seconds > 8' \
	'document.getElementById("span-minute").click() || true' 'document.activeElement.blur() || true'
stop

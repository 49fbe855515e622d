#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What this machine needs is let through as it starts, when nobody can answer, and what it comes to need later is said.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/machine.sh
. "$here/machine.sh"

# Nobody can answer at boot, and a refusal would leave no filter: what is needed is let through, all else is filtered.
spares_at_boot() {
	machine
	printf '%s\n' 45.0.0.254 45.0.0.10 45.9.3.1 198.51.100.0/24 >it
	bloom attach edge2
	loaded_unasked
	bloom add 45.6.0.1 --force
	reboot
	expect 2 "$XDP_BLOOM" restore
	one_line "45.0.0.254 bans 45.0.0.254, a gateway in use"
	is "$(xdp_id edge2)" none "the program on edge2"
	expect 0 "$XDP_BLOOM" restore --spare
	grep -q "45.0.0.254 bans 45.0.0.254, a gateway in use (route table 254): it is allowed now; 'disallow 45.0.0.254 --force' ends that" err ||
		fail "what it said: $(cat err)"
	# A guest, by a connection or a login, is not let in for good; what was granted stays so.
	verdicts 45.0.0.254=pass 198.51.100.7=drop 45.0.0.10=drop 45.9.3.1=drop 45.6.0.1=drop
	[ "$(xdp_id edge2)" != none ] || fail "edge2 is not filtered"
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254"]' "the exceptions"
	is "$(jq -rc 'select(.event=="guard").message' "$XDP_BLOOM_STATE/events" | tail -n 1)" \
		"45.0.0.254 bans 45.0.0.254, a gateway in use (route table 254): it is allowed now" "the event"
	bloom rotate
	verdicts 45.0.0.254=pass
	bloom disallow 45.0.0.254 --force
	verdicts 45.0.0.254=drop
	# An interface that comes is a beginning, too.
	forget_grants
	bloom detach edge2
	expect 2 "$XDP_BLOOM" attach edge1
	one_line "what is loaded bans"
	bloom attach edge1 --force
	bloom restore
}

network_up() {
	echo 'nameserver 45.6.0.1' >resolv.conf
	mount --bind resolv.conf /etc/resolv.conf
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via 45.0.0.254
}

# restored_early ADDRESS...: the machine starts with a list that bans these, and its network is not up.
restored_early() {
	veth 0
	ip link set lo up
	umount /etc/resolv.conf 2>/dev/null
	printf '%s\n' "$@" 198.51.100.{1..9} >it
	bloom attach edge0
	bloom load it it
	rm -rf "$XDP_BLOOM_BPFFS"
	ip link del edge0
	veth 0
	bloom restore --spare
	is "$(get length allow)" 0 "the exceptions before the network is up"
	: >conf
}

# Before the network is up nothing is needed: the service asks again, once, and takes back no decision.
asked_again() {
	restored_early 45.0.0.25{3,4} 45.6.0.1
	network_up
	ready
	verdicts 45.0.0.254=pass 45.6.0.1=pass 45.0.0.253=drop 198.51.100.1=drop
	stop
	is "$(jq -rc 'select(.event=="guard").message' "$XDP_BLOOM_STATE/events" | head -n 1)" \
		"what is loaded bans 45.0.0.254, a gateway in use (route table 254): it is allowed now" "the event"
	bloom disallow 45.0.0.254 --force
	ip route replace default via 45.0.0.253
	ready
	stop
	is "$(get '[.[].prefix]' allow)" '["45.6.0.1"]' "the exceptions after its next start"
	verdicts 45.0.0.254=drop 45.0.0.253=drop 45.6.0.1=pass
}

# A lease that comes behind the service: nobody was there to be asked about until then.
asked_when_it_comes() {
	restored_early 45.0.0.25{3,4} 45.6.0.1
	ready
	network_up
	wait_until "the exceptions" has_exceptions '["45.0.0.254","45.6.0.1"]'
	verdicts 45.0.0.254=pass 45.6.0.1=pass 45.0.0.253=drop 198.51.100.1=drop
	# The network is up; its gateway may have come while that was asked.
	wait_until "the end of the question" is_asked
	ip route replace default via 45.0.0.253
	kill -HUP "$service_pid"
	heard "$log" "what this machine needs is dropped: 45.0.0.253, a gateway in use"
	stop
	verdicts 45.0.0.254=pass 45.0.0.253=drop
}

# The network comes up, and nothing that it needs is banned: what is needed from then on is no more let through.
asked_no_more() {
	restored_early 45.0.0.253
	ready
	network_up
	wait_until "the end of the question" is_asked
	stop
	ip route replace default via 45.0.0.253
	ready
	stop
	is "$(get length allow)" 0 "the exceptions"
	verdicts 45.0.0.253=drop
}

is_asked() {
	python3 -c '
import sqlite3, sys
row = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("SELECT value FROM setting WHERE name = ?", ("restored early",)).fetchone()
sys.exit(bool(row and row[0]))' "$XDP_BLOOM_STATE/state.db"
}

has_exceptions() {
	[ "$(get '[.[].prefix] | sort' allow)" = "$1" ]
}

# What is needed later is said, once, and let through by nobody but the operator.
said_when_needed() {
	veth 0
	ip link set lo up
	ip addr add 45.0.0.1/24 dev edge0
	printf '%s\n' 45.0.0.25{3,4} 198.51.100.{1..9} >it
	bloom load it it
	bloom attach edge0
	: >conf
	ready --listen 9913
	ip route add default via 45.0.0.254
	kill -HUP "$service_pid" # nobody waits for a minute
	heard "$log" "what this machine needs is dropped: 45.0.0.254, a gateway in use; 'xdp-bloom allow 45.0.0.254' lets it through"
	wait_until "that it is kept" grep -q 45.0.0.254 "$XDP_BLOOM_STATE/needs"
	expect 1 "$XDP_BLOOM" status
	grep -q "what this machine needs is dropped: 45.0.0.254, a gateway in use; 'xdp-bloom allow" out ||
		fail "status says: $(cat out)"
	get_page /healthz
	grep -q "what this machine needs is dropped: 'xdp-bloom status' says what" page || fail "/healthz says: $(cat page)"
	verdicts 45.0.0.254=drop
	is "$(get length allow)" 0 "the exceptions"
	is "$(jq -rc 'select(.event=="fault").message' "$XDP_BLOOM_STATE/events")" \
		"what this machine needs is dropped: 45.0.0.254, a gateway in use; 'xdp-bloom allow 45.0.0.254' lets it through" "the event"
	# The next one, and that one no more. What the operator grants is no fault.
	bloom allow 45.0.0.254
	ip route add 192.0.2.0/24 via 45.0.0.253
	kill -HUP "$service_pid"
	heard "$log" "what this machine needs is dropped: 45.0.0.253"
	wait_until "that the other one is none" is_fault_no_more 45.0.0.254
	bloom add 45.0.0.253 --force
	kill -HUP "$service_pid"
	wait_until "that nothing is wrong" is_fault_no_more 45.0.0.253
	bloom status
	stop
	! grep -q "dropped: 45.0.0.25" unheard || fail "it said it twice: $(cat unheard)"
}

is_fault_no_more() {
	! grep -q "$1" "$XDP_BLOOM_STATE/needs" 2>/dev/null
}

run_cases spares_at_boot asked_again asked_when_it_comes asked_no_more said_when_needed

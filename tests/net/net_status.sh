#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# status: what it says, and its exit status when all is well and in each fault that is made.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# is_status EXIT WORD TROUBLE: and the plain text says the same, with the trouble in it.
is_status() {
	expect "$1" "$XDP_BLOOM" status
	case $2 in
	sound) grep -q '^sound ' out ;;
	degraded) grep -q '^DEGRADED' out ;;
	*) grep -q '^NOT FILTERING' out ;;
	esac || fail "status does not say that it is $2: $(cat out)"
	[ -z "$3" ] || grep -qF -e "$3" out || fail "no '$3' in: $(cat out)"
	expect "$1" "$XDP_BLOOM" -j status
	is "$(jq -r .status out)" "$2" "the status as JSON"
	[ -z "$3" ] || jq -r '.troubles[]' out | grep -qF -e "$3" || fail "no trouble '$3': $(cat out)"
}

prepare() {
	filtering drop
	veth 1
	bloom attach edge1
	bloom add 198.51.100.9 --ttl 1h
	is_status 0 sound ""
}

# fault FUNCTION: what it makes is seen, as the table says.
fault() {
	local exit word trouble

	IFS='|' read -r exit word trouble < <(sed -n "s/^$1|//p" <<<"$faults")
	prepare
	"$1"
	is_status "$exit" "$word" "$trouble"
}

faults='nothing_attached|2|not filtering|no interface is filtered
one_link_lost|1|degraded|edge1 is to be filtered, and is not
all_links_lost|2|not filtering|no interface is filtered
all_pins_lost|2|not filtering|nothing is loaded
interface_gone|1|degraded|edge1: the interface is gone
generation_lost|1|degraded|what is in force cannot be read
slot_unpinned|2|not filtering|nothing is loaded
root_unpinned|1|degraded|/root is gone
counters_unpinned|1|degraded|/counters is gone
state_gone|1|degraded|what is in force is not of the state
state_damaged|1|degraded|the state cannot be read
list_refused|1|degraded|its next version was refused
state_ahead|1|degraded|the last change is not in force yet
agent_silent|1|degraded|crowdsec: http://127.0.0.1:1 does not answer since
fleet_without_us|1|degraded|fleet: nobody takes part in it: xdp-bloom run
'

nothing_attached() { bloom detach --all; }
one_link_lost() { rm "$XDP_BLOOM_BPFFS/links/edge1"; }
all_links_lost() { rm "$XDP_BLOOM_BPFFS"/links/*; }
all_pins_lost() { rm -rf "$XDP_BLOOM_BPFFS"; }
interface_gone() { ip link del edge1; }
generation_lost() { rm -rf "$XDP_BLOOM_BPFFS"/generation/*; }
slot_unpinned() { rm "$XDP_BLOOM_BPFFS/slot"; }
root_unpinned() { rm "$XDP_BLOOM_BPFFS/root"; }
counters_unpinned() { rm "$XDP_BLOOM_BPFFS/counters"; }
state_gone() { rm -rf "${XDP_BLOOM_STATE:?}"; }
state_damaged() { head -c 65536 /dev/urandom >"$XDP_BLOOM_STATE/state.db" && rm -f "$XDP_BLOOM_STATE"/state.db-*; }
list_refused() { echo nonsense >list && expect 2 "$XDP_BLOOM" load drop list; }
state_ahead() {
	python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE setting SET value = value + 1 WHERE name = \"generation\"")
db.commit()' "$XDP_BLOOM_STATE/state.db"
}

agent_silent() { no_agent; }
fleet_without_us() { bloom fleet join redis://127.0.0.1:1 --as edge-1; }

# A directory of bad lists leaves room for the rest.
many_refused() {
	local n

	prepare
	echo nonsense >bad
	for n in {1..9}; do
		expect 2 "$XDP_BLOOM" load "list$n" bad --if-changed
	done
	expect 1 "$XDP_BLOOM" status
	is "$(grep -c "list 'list.*since 20" out)" 3 "lines that name a list, and say since when"
	is "$(grep -c "list 'list" out)" 3 "lines that name a list"
	grep -q '^            and 6 more lists were refused: xdp-bloom lists$' out || fail "$(cat out)"
	is "$(get '.refused|length' status)" 9 "what was refused, as JSON"
	bloom detach --all
	expect 2 "$XDP_BLOOM" status
	! grep -n ' $' out || fail "a line ends with a space"
}

# Sound, and yet nobody is kept out.
bans_nothing() {
	prepare
	bloom flush
	bloom status
	grep -q "^sound       but nothing is banned: every packet passes; 'load' or 'add' bans$" out || fail "$(cat out)"
	bloom add 198.51.100.9
	bloom status
	grep -q "^sound       all that is to be filtered is$" out || fail "$(cat out)"
}

# However much has happened since, in this log or the one before.
last_refused() {
	prepare
	expect 2 "$XDP_BLOOM" unload nosuch
	python3 -c 'print("\n".join(["{\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"add\",\"message\":\"%d\"}" % n
		for n in range(2000)]))' >>"$XDP_BLOOM_STATE/events"
	bloom detach --all
	expect 2 "$XDP_BLOOM" status
	grep -q "^last refused .*: unload nosuch" out || fail "after much: $(cat out)"
	mv "$XDP_BLOOM_STATE/events" "$XDP_BLOOM_STATE/events.1"
	expect 2 "$XDP_BLOOM" status
	grep -q "^last refused .*: unload nosuch" out || fail "of the log before: $(cat out)"
}

# The first screen.
screen() {
	prepare
	echo 203.0.113.77 | bloom load later - --shadow
	expect 2 "$XDP_BLOOM" unload nosuch
	bloom allow 203.0.113.1 --confirm 10m
	bloom status
	grep -qE '^interfaces +edge0 \((native|skb)\), edge1 \((native|skb)\)$' out || fail "the interfaces: $(cat out)"
	grep -qE '^lists +drop +ban +3 prefixes, loaded [0-9]+s ago$' out || fail "the lists: $(cat out)"
	grep -qE '^ +later +shadow +1 prefixes' out || fail "the other list: $(cat out)"
	grep -qE '^bans +1, the next ends in (1h|59m[0-9]+s)$' out || fail "the bans: $(cat out)"
	grep -qE '^waiting +\(allow\): goes back in [0-9]+ s unless you run: xdp-bloom confirm$' out ||
		fail "what waits: $(cat out)"
	grep -q "^last refused .*: unload nosuch: there is no list 'nosuch'" out || fail "what was refused: $(cat out)"
	is "$(get '[.bans,(.lists[]|.name,.kind,.refused,.age<60),(.next_end|type),(.waiting[]|.name),.service]' status)" \
		'[1,"drop","ban",null,true,"later","shadow",null,true,"(allow)","allow",null,true,"string","(allow)",false]' \
		"the same as JSON"
	send 0 -b banned -c clean
	is "$(get '.packets|[.passed>0,.dropped>0,.passed_per_second]' status)" '[true,true,null]' "what passed and dropped"
}

# Who may not look is not answered that nothing is filtered.
no_rights() {
	need setpriv
	prepare
	chmod 755 . && install -m 755 "$XDP_BLOOM" "$WORK/xdp-bloom"
	expect 2 setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/xdp-bloom" status
	grep -q '^NOT KNOWN' out || fail "status says: $(cat out)"
	grep -q 'root is needed to see' out || fail "status does not say what is needed: $(cat out)"
	! grep -qE 'NOT FILTERING|no interface is filtered' out || fail "it says what it does not know: $(cat out)"
	expect 2 setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/xdp-bloom" -j status
	is "$(jq -c '[.status,.interfaces,.generation,.lists,.bans,.waiting,.refused,.service]' out)" '["unknown",null,null,null,null,null,null,null]' "what is known, as JSON"
}

# An event of another's hand, whose time is cut within a character.
damaged_event() {
	prepare
	printf '{"time":"%s\303\244","event":"refused","message":"x"}\n' "$(printf '1%.0s' {1..30})" >>"$XDP_BLOOM_STATE/events"
	is "$(get .last_refused.message status)" x "the last event"
}

mapfile -t all < <(sed '/^$/d; s/|.*//; s/^/fault /' <<<"$faults")
run_cases many_refused bans_nothing last_refused screen no_rights damaged_event "${all[@]}"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whom the detector bans becomes a live ban: its reason, its end, each one longer than the one before, and what ends it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# Whoever sends three times the burst at once is above the limit, and after a hundredth of a second may send again.
burst=100

# banning LOUD...: those send too much from now on.
banning() {
	veth 0
	printf '198.51.100.%d\n' {1..40} >quiet
	printf '%s\n' "$@" >loud
	bloom attach edge0
	bloom detect limit packets 100/s --burst $burst --then ban
	bloom detect limit bytes none
	bloom detect limit udp none
	bloom detect proven edge0
	bloom detect on
	printf 'attach edge0\n' >conf
}

# offend: the loud ones send more than they may, and the detector bans them by itself.
offend() {
	awk -v n=$((burst * 3)) '{ for (i = 0; i < n; i++) print }' loud >many
	"$TRAFFIC" -b many -c quiet wire0 edge0 >"$WORK/sent" 2>err
}

banned() {
	get '[.[] | select(.reason | startswith("detector: ")) | .prefix | sub("/.*"; "")] | sort | join(" ")' bans
}

banned_are() {
	[ "$(banned)" = "$1" ]
}

# lasts PREFIX: how long it is banned, in seconds.
lasts() {
	get ".[] | select(.prefix | startswith(\"$1\")) | (.expires | fromdate) - (.added | fromdate)" bans
}

# takes STEP PREFIX: its ban is of that step, in seconds, a tenth longer or shorter.
takes() {
	local seconds
	seconds=$(lasts "$2")
	if [ "$seconds" -lt $(($1 * 9 / 10 - 1)) ] || [ "$seconds" -gt $(($1 * 11 / 10 + 1)) ]; then
		fail "a ban of $1 s takes $seconds s"
	fi
}

events_of() {
	grep '^{' "$XDP_BLOOM_STATE/events" 2>/dev/null | jq -c "select(.event == \"$1\") | ${2:-.message}"
}

has_event() {
	[ "$(events_of "$1" | wc -l)" -ge "$2" ]
}

# strikes SOURCE: how many are kept; "none" of it.
strikes() {
	python3 - "$XDP_BLOOM_STATE/state.db" "$1" <<-'PYTHON'
		import ipaddress, sqlite3, sys

		first = ipaddress.ip_address(sys.argv[2]).packed
		rows = sqlite3.connect(sys.argv[1]).execute("SELECT strikes FROM strike WHERE first = ?", (first,))
		print((rows.fetchone() or ["none"])[0])
	PYTHON
}

as_sql() {
	python3 - "$XDP_BLOOM_STATE/state.db" "$1" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute(sys.argv[2])
	PYTHON
}

# ended SECONDS: the last ban ended so long ago.
ended() {
	as_sql "UPDATE strike SET ended = strftime('%s', 'now') - $1"
}

# serves: its ban ends, as if its time were over.
serves() {
	as_sql "UPDATE ban SET expires = 1, due = 1"
	ended 0
	bloom add 192.0.2.1
	bloom del 192.0.2.1
	banned_are "" || fail "a ban does not end: $(banned)"
}

# alone: whom the detector bans by itself.
alone() {
	get '[.suspects[] | select(.banned_until != null) | .source | sub("/.*"; "")] | sort | join(" ")' detect
}

nobody_alone() {
	[ -z "$(alone)" ]
}

becomes_live() {
	banning 203.0.113.7 2001:db8:5:5::7
	ready
	offend
	wait_until "live bans" banned_are "2001:db8:5:5:: 203.0.113.7"
	takes 60 203.0.113.7
	takes 60 2001:db8:5:5::
	bloom bans
	grep -qE '^203\.0\.113\.7 .*  detector: packets, [0-9.]+k?/s for [0-9.]+(e-[0-9]+)?s, [0-9]+ packets$' out || fail "$(cat out)"
	bloom test 203.0.113.7
	grep -q '^  banned by live: 203.0.113.7 (detector: packets, .*) since .* until ' out || fail "$(cat out)"
	wait_until "an event" has_event ban 1
	is "$(events_of ban '[.bans, (.banned | map(.prefix, .strikes))]')" '[2,["203.0.113.7",1,"2001:db8:5:5::/64",1]]' "the event"
	wait_until "the detector's own bans to end" nobody_alone
	verdicts 203.0.113.7=drop 2001:db8:5:5::1=drop 203.0.113.8=pass
	bloom del 203.0.113.7
	verdicts 203.0.113.7=pass
	is "$(strikes 203.0.113.7) $(strikes 2001:db8:5:5::)" "none 1" "strikes of one whose ban was deleted, and of another"
	bloom allow 2001:db8:5:5::/64
	verdicts 2001:db8:5:5::1=pass
}

# Each time longer; that outlives the service, and falls again.
climbs() {
	banning 203.0.113.7
	ready
	offend
	wait_until "a first ban" banned_are 203.0.113.7
	serves
	stop KILL 137
	offend
	ready
	wait_until "a second ban" banned_are 203.0.113.7
	takes 600 203.0.113.7
	bloom bans
	grep -q '; strike 2$' out || fail "$(cat out)"
	serves
	bloom rotate
	offend
	wait_until "a third ban" banned_are 203.0.113.7
	takes 3600 203.0.113.7
	serves
	# Of three, one falls in an hour, and the next after ten minutes.
	ended $((3600 + 300))
	offend
	wait_until "a ban after an hour" banned_are 203.0.113.7
	takes 3600 203.0.113.7
	serves
	ended $((3600 + 600 + 60))
	offend
	wait_until "a ban after longer" banned_are 203.0.113.7
	takes 60 203.0.113.7
	serves
	# A ladder of the operator's own.
	bloom detect ladder 20s,40s
	for step in 40 40; do
		offend
		wait_until "a ban of that ladder" banned_are 203.0.113.7
		takes $step 203.0.113.7
		serves
	done
	stop TERM
	bloom state check
}

# What this machine needs is not banned; that is said once, and the detector lets it go.
needed() {
	banning 203.0.113.7 203.0.113.9
	ip addr add 203.0.113.1/24 dev edge0
	ip route add default via 203.0.113.7
	ready
	offend
	wait_until "a live ban" banned_are 203.0.113.9
	wait_until "the detector's own bans to end" nobody_alone
	wait_until "what is said of it" has_event guard 1
	is "$(events_of guard)" \
		'"the detector does not ban 203.0.113.7: this machine needs 203.0.113.7, a gateway in use (route table 254)"' "what is said of it"
	verdicts 203.0.113.7=pass
	bloom del 203.0.113.9
	stop TERM
	offend
	is "$(alone)" 203.0.113.9 "whom the detector bans that knows it"
	is "$(events_of guard | wc -l)" 1 "how often it is said"
	# What an allow list has is not judged at all, needed or not.
	bloom allow 203.0.113.0/24
	bloom detect limit packets 99/s --burst $burst
	offend
	is "$(get '[.suspects[] | select(.above != {}) | .source] | join(" ")' detect)" "" "who is judged of those who are allowed"
}

# Whom a live ban holds already is let go, and gets no strike.
others() {
	banning 203.0.113.7
	offend
	is "$(alone)" 203.0.113.7 "whom it bans by itself"
	bloom add 203.0.113.0/29 --reason mine
	ready
	wait_until "the detector's own ban to end" nobody_alone
	is "$(get '[.[].prefix] | join(" ")' bans)" 203.0.113.0/29 "what is banned"
	is "$(strikes 203.0.113.7)" none "strikes"
}

# counted_alone N: so many the detector bans by itself, as status and metrics say.
counted_alone() {
	is "$(get '.detector.banned_sources | floor' status)" "$1" "whom it bans by itself, in status"
	bloom metrics
	grep -qx "xdp_bloom_detector_banned_sources $1" out || fail "$(grep detector out)"
}

# Without the service the detector bans by itself, and says so; what changes its limits takes those along.
alone_in_the_kernel() {
	banning 203.0.113.7
	offend
	is "$(alone)" 203.0.113.7 "whom it bans by itself"
	bloom bans
	grep -qx "and 1 that the detector bans by itself: 'xdp-bloom detect' shows them" out || fail "$(cat out)"
	bloom detect
	grep -q '^banned    1 by the detector alone' out || fail "$(cat out)"
	grep -qE '^203\.0\.113\.7 .*; banned until 20[0-9TZ:-]+[;)]' out || fail "$(cat out)"
	bloom status
	grep -qx "            1 banned by the detector alone; 'xdp-bloom bans' has the others" out || fail "$(cat out)"
	grep -q '^sound       all that is to be filtered is$' out || fail "$(cat out)"
	expect 0 "$XDP_BLOOM" test 203.0.113.7
	grep -qx '203.0.113.7: drop (detector)' out || fail "$(cat out)"
	counted_alone 1
	is "$(get '.[].detector.banned_until | fromdate > now' test 203.0.113.7 || true)" true "what test says"
	bloom del 203.0.113.7
	is "$(alone)" "" "whom it bans by itself behind del"
	counted_alone 0
	refused "is not banned" del 203.0.113.7
	offend
	bloom allow 203.0.113.7
	is "$(alone)" "" "whom it bans by itself behind allow"
	bloom disallow 203.0.113.7
	offend
	is "$(alone)" 203.0.113.7 "whom it bans by itself"
	bloom detect limit packets 99/s --burst $burst
	is "$(alone) $(banned)" " 203.0.113.7" "who is banned by a detector with other limits"
	takes 60 203.0.113.7
	verdicts 203.0.113.7=drop
}

# Who is above the limits of two interfaces has one ban, and one strike.
by_two_interfaces() {
	banning 203.0.113.7
	veth 1
	bloom attach edge1
	bloom detect proven edge1
	bloom detect limit packets 90/s --burst $burst --then ban --on edge1
	offend
	"$TRAFFIC" -b many -c quiet wire1 edge1 >"$WORK/sent" 2>err
	is "$(get '[.suspects[] | select(.banned_until != null) | .source] | join(" ")' detect)" "203.0.113.7 203.0.113.7" \
		"whom it bans by itself, by each interface"
	bloom detect limit packets 99/s --burst $burst
	is "$(banned) $(strikes 203.0.113.7)" "203.0.113.7 1" "who is banned, and how often"
	takes 60 203.0.113.7
	is "$(events_of ban '.bans')" 1 "bans in the event"
}

# A service that is stopped comes back to what the kernel did meanwhile.
stopped() {
	banning 203.0.113.7
	ready
	kill -STOP "$service_pid"
	offend
	is "$(alone)" 203.0.113.7 "whom the detector bans without the service"
	is "$(banned)" "" "what the state bans without the service"
	kill -CONT "$service_pid"
	wait_until "a live ban" banned_are 203.0.113.7
	wait_until "the detector's own bans to end" nobody_alone
	is "$(strikes 203.0.113.7)" 1 "strikes"
	is "$(events_of ban | wc -l)" 1 "events"
}

count_is() {
	[ "$(get .count bans --count)" = "$1" ]
}

# All of them in one change.
many() {
	burst=20
	# None of them is to end while others begin.
	bloom detect ladder 1h
	banning 203.0.{1..5}.{1..200}
	offend
	local n
	n=$(alone | wc -w)
	[ "$n" -ge 900 ] || fail "it bans $n of 1000"
	ready
	wait_until "live bans" count_is "$n"
	is "$(events_of ban '.bans, (.banned | length)')" "$n"$'\n8' "what is said of it"
}

# A trusted address within the /64 of what this machine needs is needed, too.
needed_and_trusted() {
	banning 2001:db8:5:5::7
	sysctl -qw net.ipv6.conf.edge0.disable_ipv6=0
	ip addr add 2001:db8:5:5::1/64 dev edge0 nodad
	ip -6 route add default via 2001:db8:5:5::7 dev edge0
	echo 2001:db8:5:5::7 >partners
	bloom load partners partners --trust
	bloom detect trust partners x2
	offend
	offend
	is "$(alone)" "" "whom the detector bans"
	[ "$(get .dropped detect)" -gt 0 ] || fail "it is not policed"
}

# Of a /64 one host is trusted: as that one, though another of them was seen first.
trusted_host() {
	banning 2001:db8:5:5::7
	echo 2001:db8:5:5::7 >partners
	bloom load partners partners --trust
	bloom detect trust partners x10
	echo 2001:db8:5:5::8 >other
	"$TRAFFIC" -b other -c quiet wire0 edge0 >sent 2>err
	offend
	is "$(alone) $(get .dropped detect)" " 0" "whom the detector bans, and what it drops"
	cp other loud
	offend
	[ "$(get .dropped detect)" -gt 0 ] || fail "the other host may send as much"
}

# Beside an image that has no place for one, the others are banned all the same.
beside_an_image() {
	printf '%s\n' 2001:db8::1 2001:db8::2 45.0.0.1 >image_of
	bloom image make image image_of
	banning 2001:db8:5:5::7 192.0.2.5 192.0.2.6
	bloom load --image image --force
	ready
	offend
	wait_until "the bans" banned_are "192.0.2.5 192.0.2.6"
	heard "$log" "whom the detector bans: the image in force has no place for the ban of 2001:db8:5:5::/64"
	offend
	is "$(alone | tr ' ' '\n' | grep -c 2001:db8:5:5::)" 1 "whom the detector bans alone: $(alone)"
}

# forgotten: a generation that knows no need is in force, and the detector bans what this machine needs again.
forgotten() {
	local before
	ip route del default
	bloom rotate
	ip route add default via 203.0.113.7
	before=$(get .banned detect)
	offend
	[ "$(get .banned detect)" -gt "$before" ] || fail "not banned where the generation does not know it"
	wait_until "the detector's own bans to end" nobody_alone
}

# A need that the generation did not know is let go, and not banned a second time; it is said once an hour.
needed_again() {
	banning 203.0.113.7
	ip addr add 203.0.113.1/24 dev edge0
	ip route add default via 203.0.113.7
	ready
	offend
	wait_until "the detector's own bans to end" nobody_alone
	local of
	forgotten
	of=$(get .banned detect)
	offend
	is "$(get .banned detect)" "$of" "packets that it lost as one that is banned"
	is "$(events_of guard | wc -l)" 1 "how often it is said"
	ended 3500
	forgotten
	is "$(events_of guard | wc -l)" 1 "how often it is said within an hour"
	ended 3601
	forgotten
	wait_until "that it is said again" has_event guard 2
}

# shown_as VERDICT: that is what guards says of the need.
shown_as() {
	[ "$("$XDP_BLOOM" guards | awk '$1 == "203.0.113.7" { print $2 }')" = "$1" ]
}

# Until a service runs, guards says whom the detector bans.
guards_says_it() {
	banning 203.0.113.7
	ip addr add 203.0.113.1/24 dev edge0
	ip route add default via 203.0.113.7
	shown_as no || fail "before: $("$XDP_BLOOM" guards)"
	offend
	is "$(alone)" 203.0.113.7 "whom the detector bans"
	shown_as yes || fail "without a service: $("$XDP_BLOOM" guards)"
	is "$(get '.needs[] | select(.address == "203.0.113.7").dropped' guards)" true "what guards says, as JSON"
	bloom flush
	shown_as no || fail "afterwards: $("$XDP_BLOOM" guards)"
}

# Where no service lets it go, a command that builds or restores the filter does, and says so.
let_go_alone() {
	local verb

	banning 203.0.113.7
	ip addr add 203.0.113.1/24 dev edge0
	for verb in rotate restore; do
		bloom rotate
		ip route add default via 203.0.113.7
		offend
		is "$(alone)" 203.0.113.7 "whom the detector bans before $verb"
		bloom "$verb"
		grep -q '^xdp-bloom: 203.0.113.7: the detector banned it, and this machine needs it: it is let go$' err ||
			fail "$verb does not say it: $(cat err)"
		is "$(alone)" "" "whom the detector bans after $verb"
		offend
		is "$(alone)" "" "whom it bans again"
		ip route del default
	done
}

# It is let go while another command holds the lock, and said when that is over.
needed_at_once() {
	banning 203.0.113.7
	ip addr add 203.0.113.1/24 dev edge0
	ip route add default via 203.0.113.7
	ready
	hold_lock
	offend
	wait_until "the detector's own bans to end" nobody_alone
	is "$(events_of guard)" "" "what is said of it without the lock"
	kill -KILL "$holder"
	wait "$holder" || true
	wait_until "what is said of it" has_event guard 1
	banned_are "" || fail "it has a ban: $(banned)"
	offend
	is "$(alone)" "" "whom the detector bans again"
	stop TERM
}

# Whoever lets everybody in, or takes back that the detector bans, lets these go, too.
let_go_with_all() {
	banning 203.0.113.7 2001:db8:5:5::7
	offend
	is "$(alone)" "2001:db8:5:5:: 203.0.113.7" "whom the detector bans"
	bloom flush
	is "$(alone)" "" "whom it bans after a flush"
	offend
	is "$(alone)" "2001:db8:5:5:: 203.0.113.7" "whom the detector bans"
	bloom detect limit packets 100/s --burst $burst --then watch
	is "$(alone)" "" "whom it bans that only watches"
	is "$(get length bans)" 0 "live bans"
}

# asks: a name server's answer is waited for at 203.0.113.7, by a resolver's socket, until the asker is ended.
asks() {
	python3 - <<-'PYTHON' &
		import signal, socket

		asking = open("asking", "w")
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.connect(("203.0.113.7", 53))
		print("now", file=asking, flush=True)
		signal.pause()
	PYTHON
	asker=$!
	wait_until "that it asks" test -s asking
}

is_said_of() {
	events_of guard | grep -qF "this machine needs 203.0.113.7, $1"
}

# is_banned_for_more SOURCES: they send too much once more, and have bans now.
is_banned_for_more() {
	offend
	banned_are "$1"
}

# For as long as it is needed, it is not banned; then as any other, whether the generation was built with the need or it
# came later, and again when it has come back.
needed_for_a_moment() {
	local i

	banning 203.0.113.7 2001:db8:5:5::7
	sysctl -qw net.ipv6.conf.edge0.disable_ipv6=0
	ip link set lo up
	ip addr add 203.0.113.1/24 dev edge0
	ip -6 route add 2001:db8:5:5::/64 dev edge0
	ip route add default via 203.0.113.7
	ip -6 route add default via 2001:db8:5:5::7 dev edge0
	# Within what is needed, it has an entry of its own.
	echo 2001:db8:5:5::7 >partners
	bloom load partners partners --trust
	bloom detect trust partners x2
	ready
	ip route del default
	ip -6 route del default
	wait_until "bans of who is needed no more" is_banned_for_more "2001:db8:5:5:: 203.0.113.7"
	bloom del 2001:db8:5:5::/64
	echo 203.0.113.7 >loud
	for i in 1 2; do
		bloom del 203.0.113.7
		asks
		offend
		wait_until "the detector's own bans to end" nobody_alone
		for _ in 1 2 3; do
			offend
			is "$(alone) $(banned)" " " "whom it bans that is asked"
		done
		kill "$asker"
		wait "$asker" || true
		rm asking
		wait_until "ban $i of who is asked no more" is_banned_for_more 203.0.113.7
	done
	is_said_of "a name server in use" || fail "what is said of it: $(events_of guard)"
	stop TERM
}

waits_no_more() {
	[ "$(get '.waiting | length' show)" = 0 ]
}

# A ban on trial has ended by itself, and its trial waits: what the detector bans of it meanwhile stays.
beside_a_trial() {
	banning 203.0.113.7
	ready
	bloom add 203.0.113.7 --ttl 1s --confirm 8s
	wait_until "the end of that ban" has_event expired 1
	offend
	wait_until "a live ban" banned_are 203.0.113.7
	wait_until "the end of the trial" waits_no_more
	is "$(banned)" 203.0.113.7 "whom the detector bans"
	verdicts 203.0.113.7=drop
}

# By the kernel it is banned already when comes what bans it for less, or bans it or lets it through on trial: its ban stays.
behind_others() {
	local all="192.0.2.7 198.51.101.7 203.0.113.7 203.0.114.7"
	# shellcheck disable=SC2086 # each is one
	banning $all
	offend
	is "$(alone)" "$all" "whom it bans by itself"
	bloom add 192.0.2.0/24 --ttl 3s
	bloom add 198.51.101.0/24 203.0.113.7 --confirm 5s
	bloom allow 203.0.114.7 --confirm 5s
	verdicts 192.0.2.7=drop 198.51.101.7=drop 203.0.113.7=drop 203.0.114.7=pass
	ready
	wait_until "the detector's own bans to end" nobody_alone
	wait_until "the end of the shorter ban" has_event expired 1
	wait_until "the end of the trials" waits_no_more
	is "$(banned)" "$all" "whom the detector bans"
	verdicts 192.0.2.7=drop 198.51.101.7=drop 203.0.113.7=drop 203.0.114.7=drop
	is "$(strikes 192.0.2.7) $(strikes 198.51.101.7) $(strikes 203.0.113.7) $(strikes 203.0.114.7)" "1 1 1 1" "strikes"
}

run_cases becomes_live climbs needed others alone_in_the_kernel by_two_interfaces stopped many needed_and_trusted trusted_host beside_an_image needed_again needed_at_once needed_for_a_moment guards_says_it let_go_alone let_go_with_all beside_a_trial behind_others

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# announce: this machine's bans as routes of a table of the kernel. They come and go with the bans, whatever else is in
# that table stays, and a neighbour gets them by BIRD with the configuration of docs/recipes.md.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

announces() {
	"$XDP_BLOOM" announce --table 667 "$@" 2>>said &
	announcer=$!
}

ends() {
	kill -TERM "$announcer"
	end_of "$announcer" || fail "SIGTERM: $(cat said)"
}

# Ours, of both families.
routes() {
	local family

	for family in -4 -6; do
		ip -N $family route show table 667 proto 153 2>/dev/null
	done | sed -n 's/^\(blackhole\|6\|dev lo\)* *\([0-9a-f.:/]*\) .*/\2/p' | sort | xargs
}

# until_routes PREFIX...: in the order of sort.
until_routes() {
	local end=$((SECONDS + 2 * patience))

	while [ "$(routes)" != "$*" ]; do
		[ $SECONDS -le $end ] || fail "routes are '$(routes)', not '$*'; $(ip -N route show table 667); $(cat said)"
		moment
	done
}

what_it_does() {
	ip link set lo up
	# Somebody else's, one of them where ours would be.
	ip route add blackhole 45.9.0.1 table 667
	ip route add 45.9.0.2 dev lo table 667 proto 18
	bloom add 45.0.0.1 45.0.1.0/24 2001:db8:7::/48 45.9.0.1
	announces --verbose
	until_routes 2001:db8:7::/48 45.0.0.1 45.0.1.0/24
	wait_until "that one is taken" grep -qs "table 667: 1 ban is not announced: somebody else has a route" said
	bloom add 45.0.0.2 --ttl 5s
	bloom del 45.0.1.0/24
	wait_until "that it came" grep -qs " routes, 1 came" said
	# Nobody takes it out of the state.
	until_routes 2001:db8:7::/48 45.0.0.1
	# What is allowed here must not be closed elsewhere.
	bloom add 45.0.2.0/24
	until_routes 2001:db8:7::/48 45.0.0.1 45.0.2.0/24
	bloom allow 45.0.2.9
	until_routes 2001:db8:7::/48 45.0.0.1
	grep -q "1 ban is not announced: .* allowed here" said || fail "of the allowed one: $(cat said)"
	# A member's ban is the member's.
	bloom fleet accept edge-7
	printf '@edge-7 +45.0.3.1 1h\n@edge-7 +45.0.0.1 1h\n+45.0.0.4 1h\n' | expect 0 "$XDP_BLOOM" follow -
	until_routes 2001:db8:7::/48 45.0.0.1 45.0.0.4
	# Reading the state is no change of it.
	rounds=$(grep -c ' routes, ' said)
	for _ in 1 2 3 4 5; do
		"$XDP_BLOOM" bans >/dev/null
	done
	bloom del 45.0.0.4
	until_routes 2001:db8:7::/48 45.0.0.1
	[ $(($(grep -c ' routes, ' said) - rounds)) -le 8 ] || fail "$(grep -c ' routes, ' said) rounds, $rounds before: $(tail -n 5 said)"
	refused "is held by process $announcer, " announce --table 667
	# Killed; what ends meanwhile ends at the next start.
	kill -9 "$announcer"
	end_of "$announcer"
	bloom del 45.0.0.1
	bloom add 45.0.0.5
	is "$(routes)" "2001:db8:7::/48 45.0.0.1" "routes of one that was killed"
	announces --max-entries 2
	until_routes 2001:db8:7::/48 45.0.0.5
	bloom add 45.0.0.3
	wait_until "that there are too many" grep -qs "not announced: there are too many" said
	is "$(routes)" "2001:db8:7::/48 45.0.0.5" "routes beyond the limit"
	ends
	is "$(routes)" "2001:db8:7::/48 45.0.0.5" "routes after its end"
	announces --family 4 --clean
	until_routes 2001:db8:7::/48 45.0.0.3 45.0.0.5
	ends
	is "$(routes)" 2001:db8:7::/48 "routes after the end of one that cleans"
	is "$(ip -N route show table 667 | wc -l)" 2 "routes of others"
	refused "finds its own ways" announce --table 254
	refused "into which table" announce
	refused "4 or 6" announce --table 667 --family 5
	bloom --check announce --table 667
}

# A slow disk: a ban that is written, and not yet committed, has no route; it has one as soon as it is committed.
slow_disk() {
	local bans=45.0.0.1 n

	need strace
	bloom add 45.0.0.1
	announces
	until_routes 45.0.0.1
	for n in 2 3 4; do
		stopped_under calls -D -e trace=fdatasync,fsync -e inject=fdatasync,fsync:signal=STOP:when=1 "$XDP_BLOOM" add "45.0.0.$n"
		moment 0.3
		is "$(routes)" "$bans" "routes before it is committed"
		kill -CONT $!
		end_of $!
		bans="$bans 45.0.0.$n"
		# shellcheck disable=SC2086 # a word each
		until_routes $bans
	done
	ends
}

many() {
	seq 5000 | awk '{ printf "+45.%d.%d.%d 1h\n", $1 % 3, $1 / 256, $1 % 256 }' | expect 0 "$XDP_BLOOM" follow -
	announces --clean
	wait_until "all of them" has 5000
	seq 2 2 5000 | awk '{ printf "-45.%d.%d.%d\n", $1 % 3, $1 / 256, $1 % 256 }' | expect 0 "$XDP_BLOOM" follow -
	wait_until "half of them" has 2500
	ends
	has 0 || fail "$(routes | wc -w) routes are left"
}

has() {
	[ "$(routes | wc -w)" = "$1" ]
}

in_the_service() {
	bloom add 45.0.0.1
	printf 'announce --table 667\n' >conf
	ready
	until_routes 45.0.0.1
	bloom add 45.0.0.2
	until_routes 45.0.0.1 45.0.0.2
	bloom del 45.0.0.2
	until_routes 45.0.0.1
	stop
	is "$(routes)" 45.0.0.1 "routes after the end of the service"
	# With its line they go, but not where another line says the same table.
	ip route replace blackhole 45.9.0.1 table 667
	others=$(ip -N route show table 667 | grep -vc "proto 153")
	ready
	printf 'announce --table 667 --family 4\n' >conf
	kill -HUP "$service_pid"
	heard "$notes" READY=1
	bloom add 45.0.0.3 2a00::1
	until_routes 45.0.0.1 45.0.0.3
	"$XDP_BLOOM" events | grep -q "announce .*table 667: 1 routes, from now on" || fail "no event: $("$XDP_BLOOM" events)"
	! "$XDP_BLOOM" events | grep -q "are taken out" || fail "they were taken out: $("$XDP_BLOOM" events)"
	echo "allow 203.0.113.9" >conf
	kill -HUP "$service_pid"
	until_routes
	stop
	# Purged, nothing of ours stays.
	announces
	until_routes 2a00::1 45.0.0.1 45.0.0.3
	ends
	bloom detach --all --purge --yes
	is "$(routes)" "" "routes after a purge"
	is "$(ip -N route show table 667 | wc -l)" "$others" "routes of others"
}

recipe() {
	awk -v name="$1:" '$0 == name { on = 1; next } on && /^    / { on = 2 } on == 2 && /^[^ ]/ { exit }
		on == 2 { print substr($0, 5) }' "$top/docs/recipes.md"
}

there() {
	local family

	for family in -4 -6; do
		nsenter --net="/proc/$neighbour/ns/net" ip $family route show table 666 2>/dev/null
	done | sed -n 's/^blackhole \([^ ]*\).*/\1/p' | sort | xargs
}

until_there() {
	local end=$((SECONDS + 6 * patience))

	while [ "$(there)" != "$*" ]; do
		[ $SECONDS -le $end ] || fail "the neighbour has '$(there)', not '$*'; $(tail -n 3 ours.log theirs.log)"
		moment
	done
}

# A neighbour of its own, who takes bans by source as the recipe has it.
bird() {
	type -P bird >/dev/null || skip "no bird on this machine: make routes-test has it"
	unshare --net sleep infinity &
	neighbour=$!
	wait_until "the neighbour's namespace" apart
	ip link add to-them type veth peer name to-us netns "$neighbour"
	ip addr add 192.0.2.2/24 dev to-them
	ip -6 addr add 2001:db8::2/64 dev to-them nodad
	ip link set to-them up
	nsenter --net="/proc/$neighbour/ns/net" sh -ec 'ip link set lo up; ip addr add 192.0.2.1/24 dev to-us
		ip -6 addr add 2001:db8::1/64 dev to-us nodad; ip link set to-us up'
	recipe /etc/bird/bird.conf >theirs.conf
	recipe "/etc/bird/bird.conf of who announces" | sed 's/scan time 10/scan time 1/' >ours.conf
	echo "log \"$WORK/theirs.log\" all;" >>theirs.conf
	echo "log \"$WORK/ours.log\" all;" >>ours.conf
	nsenter --net="/proc/$neighbour/ns/net" bird -f -c theirs.conf -s theirs.ctl -P theirs.pid &
	theirs=$!
	"$(type -P bird)" -f -c ours.conf -s ours.ctl -P ours.pid &
	ours=$!
	ip route add blackhole 45.9.0.1 table 667
	bloom add 45.0.0.1 45.0.1.0/24 2a00:db8:7::/48
	announces
	until_there 2a00:db8:7::/48 45.0.0.1 45.0.1.0/24
	bloom del 45.0.0.1
	bloom add 45.0.0.2 2a00::9
	until_there 2a00::9 2a00:db8:7::/48 45.0.0.2 45.0.1.0/24
	ends
	kill -TERM "$ours" "$theirs" "$neighbour"
	end_of "$ours"
	end_of "$theirs"
	! end_of "$neighbour" || fail "the namespace was not ended by its signal"
}

apart() {
	[ "$(readlink "/proc/$neighbour/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

run_cases what_it_does slow_disk many in_the_service bird

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guard rails beside what goes back by itself: what is granted, let through or put into force for a while, or with
# --confirm, opens no way to ban what this machine needs, and takes nothing away that was granted.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/machine.sh
. "$here/machine.sh"

is_let_in() {
	"$XDP_BLOOM" bans &>/dev/null
	! is_banned "$1"
}

has_gone_back() {
	"$XDP_BLOOM" bans &>/dev/null
	[ "$(get '.waiting' show)" = '[]' ]
}

# What is spared while exceptions wait to be confirmed is spared behind that, too.
spares_beside_a_trial() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	echo 45.0.0.254 >it
	bloom load it it
	bloom attach edge0
	bloom allow 198.51.100.1 --confirm 2
	ip route add default via 45.0.0.254
	rm "$XDP_BLOOM_BPFFS"/links/*
	bloom restore --spare
	grep -q "it is allowed now" err || fail "what it said: $(cat err)"
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254","198.51.100.1"]' "the exceptions on trial"
	wait_until "they have gone back" has_gone_back
	verdicts 45.0.0.254=pass
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254"]' "the exceptions"
	bloom disallow 45.0.0.254 --force
	verdicts 45.0.0.254=drop
}

waits_alone() {
	"$XDP_BLOOM" bans &>/dev/null
	[ "$(get '[.waiting[].name]' show)" = "[\"$1\"]" ]
}

granted_after_a_start() {
	is "$(get '[.needs[]|select(.granted and .dropped)|.address]' guards)" "[\"$1\"]" "what is granted behind it"
	rm -r "$XDP_BLOOM_BPFFS"
	bloom restore
	verdicts "$1"=drop
	bloom flush
	bloom load other other
}

# What was granted is granted when a trial has gone back that had taken its ban out, or that was another one: whoever
# starts the machine then is not refused.
grants_come_back() {
	local address=45.0.0.254 first trial

	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	echo 198.51.100.1 >other
	printf '%s\n' "add $address --force" 'add 198.51.100.2 --confirm 2' >lines
	bloom load other other
	while IFS='|' read -r first trial; do
		# shellcheck disable=SC2086 # words
		bloom $first
		# shellcheck disable=SC2086
		[ -z "$trial" ] || bloom $trial --confirm 2
		wait_until "it has gone back" has_gone_back
		granted_after_a_start $address
	done <<-TRIALS
		load g it --force|unload g
		add $address --force|allow $address
		add $address --force|add $address --replace --ttl 1
		batch lines|
	TRIALS
	bloom flush
	bloom image make it.image it
	bloom image make other.image other
	bloom load --image it.image --force
	bloom load --image other.image --confirm 2
	wait_until "the image has gone back" has_gone_back
	granted_after_a_start $address
	bloom load g it --force --confirm 1h
	bloom add 198.51.100.2 --confirm 2
	wait_until "the other has gone back" waits_alone g
	bloom confirm
	granted_after_a_start $address
	# What a list has, too, stays granted where an edit takes out the ban.
	bloom load g it --force
	bloom add $address --force
	bloom del $address
	granted_after_a_start $address
}

# A trial that is ended by hand takes what was granted for it along, and no other one makes that good.
trials_ended() {
	local address=45.0.0.254 trial end

	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip link add edgetop type bridge
	ip link set edge1 down
	ip link set edge1 master edgetop
	echo $address >it
	bloom load g it
	bloom load tried it --shadow
	ip route add default via $address
	while IFS='|' read -r trial end; do
		# shellcheck disable=SC2086 # words
		bloom $trial --force --confirm 1h
		bloom add 198.51.100.2 --confirm 2h
		is "$(get '[.needs[]|select(.granted)]|length' guards)" 1 "what is granted to: $trial"
		# shellcheck disable=SC2086
		bloom $end
		bloom confirm
		is "$(get '[.needs[]|select(.granted)]' guards)" '[]' "what is granted behind: $end"
		refused "$address, a gateway in use" attach edge0
		bloom del 198.51.100.2
	done <<-TRIALS
		attach edge0|detach edge0
		attach edge0|detach --all
		attach edgetop --ports|detach edgetop --ports
		load h it|unload h
		enforce tried|unload tried
	TRIALS
	ip link del edgetop
}

how_many_are_granted() {
	get '[.needs[]|select(.granted)]|length' guards
}

# One that ends while another one waits as long: what is left of the grant is what that bans.
trials_ended_beside_others() {
	local it="45.0.0.254, a gateway in use"

	veth 0 1 2
	ip addr add 45.0.0.1/24 dev edge0
	echo 45.0.0.254 >it
	echo 99.1.1.1 >other
	bloom load a it
	ip route add default via 45.0.0.254
	printf '%s\n' 'load b it --force --confirm 1h' 'load c other --confirm 1h' >lines
	bloom batch lines
	bloom unload b
	is "$(how_many_are_granted)" 0 "how many are granted beside the other list"
	bloom confirm
	refused "$it" attach edge1
	bloom unload c
	bloom batch lines
	bloom unload c
	is "$(how_many_are_granted)" 1 "how many are granted to the list"
	bloom confirm
	bloom attach edge1
	bloom detach edge1
	bloom unload b
	forget_grants
	printf '%s\n' 'load b it --force --confirm 30m' 'load c other --confirm 2h' >lines
	bloom batch lines
	refused "$it" attach edge1 --confirm 1h
	bloom confirm
	bloom unload b
	forget_grants
	bloom attach edge0 edge1 --force --confirm 1h
	bloom detach edge0
	is "$(how_many_are_granted)" 1 "how many are granted beside the other interface"
	bloom load b it --force --confirm 2h
	refused "$it" attach edge2
	bloom unload b
	refused "$it" attach edge2 --confirm 90m
	bloom attach edge2 --confirm 30m
	bloom detach edge2
	bloom detach edge1
	is "$(how_many_are_granted)" 0 "how many are granted behind all of it"
}

# Each line of a batch for itself, where the address has been banned for as long already.
grants_by_lines() {
	local address=45.0.0.254 force

	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	echo $address >it
	echo 198.51.100.1 >other
	bloom load g it
	bloom load s it --shadow
	bloom load b it
	bloom load other other
	bloom allow 45.0.0.255
	ip route add default via $address
	for force in "load h it" "enforce s" "unload b" "disallow $address/31"; do
		echo "$force --force --confirm 2"
	done >lines
	echo 'add 198.51.100.2 --force' >>lines
	bloom batch lines
	is "$(get '[.needs[]|select(.granted and .dropped)|.address]' guards)" "[\"$address\"]" "what is granted on trial"
	wait_until "it has gone back" has_gone_back
	is "$(get '[.needs[]|select(.granted)]' guards)" '[]' "what is granted behind it"
	printf '%s\n' "load h it --force" 'add 198.51.100.3 --confirm 2' "add $address --force" >lines
	bloom batch lines
	wait_until "it has gone back" has_gone_back
	granted_after_a_start $address
}

# What is granted for a while, or for what waits to be confirmed, is granted for that: what stays longer is asked about.
for_a_while() {
	local address=45.0.0.254 it="bans 45.0.0.254, a gateway in use (route table 254)" in=''

	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	printf '%s\n' 198.51.100.{1..9} >other
	bloom image make it.image it
	for in in '' scoped; do
		[ -z "$in" ] || bloom load scoped other --only tcp/22
		bloom add $address --ttl 1h --force
		bloom load other other
		bloom rotate
		# Nor for a moment longer: each could be asked for anew.
		refused "$it" add $address --ttl 3601s
		refused "$it" add 45.0.0.254/31 --ttl 3601s
		bloom add $address --ttl 50m
		refused "$it" load second it
		refused "$it" load second it --only tcp/22
		# What is put on trial may be confirmed.
		refused "$it" load second it --confirm 30m
		refused "$it" add 45.0.0.254/31 --confirm 30m
		refused "$it" add $address --ttl 2h
		refused "$it" add $address
		refused "$it" add 45.0.0.254/31 --ttl 2h
		echo "+$address 2h" >lines
		expect 1 "$XDP_BLOOM" follow - <lines
		grep -q "$it" err || fail "what follow says: $(cat err)"
		printf 'load other other\nload second it\n' >commands
		refused "$it" batch commands
		bloom load second it --shadow
		refused "$it" enforce second
		refused "$it" enforce second --confirm 30m
		bloom enforce second --force
		bloom rotate
		bloom add $address --ttl 2h
		bloom del $address
		bloom load third it
		verdicts $address=drop
		bloom unload second third
		is "$(get "[.needs[]|select(.granted)]|length" guards)" 0 "what is granted without a ban"
		# What waits goes back, and leaves nothing behind it.
		bloom load second it --confirm 1h --force
		bloom rotate
		refused "$it" load third it --confirm 1h
		bloom load third it --confirm 30m
		refused "$it" load fourth it --confirm 2h
		refused "$it" load fourth it
		refused "$it" add $address
		bloom confirm
		bloom load fourth it
		bloom unload second third fourth
		bloom add $address --confirm 1h --force
		refused "$it" load second it
		bloom confirm
		bloom load second it
		bloom unload second
		bloom del $address
		bloom load second it --confirm 2 --force
		# It may just go back.
		expect 2 "$XDP_BLOOM" load third it
		grep -q "$it" err || fail "what load says: $(cat err)"
		wait_until "$address passes" is_let_in $address
		bloom unload other ${in:+scoped}
	done
	bloom image make other.image other
	bloom load --image other.image
	bloom add $address --ttl 1h --force
	bloom rotate
	refused "$it" add $address
	refused "$it" load --image it.image
	refused "$it" load --image it.image --confirm 30m
	bloom load --image it.image --force
	bloom rotate
	bloom add $address
}

is_no_ban() {
	! "$XDP_BLOOM" bans | grep -q "^$1"
}

# The last exception that lasts is not taken away beside a trial behind which the address is banned: what waits may be
# another exception, or a ban or list that comes back.
taken_beside_a_trial() {
	local address=45.0.0.254 back trial
	local trials=("load b other --confirm 1h --big-change" "unload b --confirm 1h" "shadow b --confirm 1h"
		"add $address --replace --ttl 1 --confirm 1h" "load a it --allow --confirm 1h")

	back="$address, a gateway in use (route table 254), would be banned when what waits for confirmation goes back"
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	echo 198.51.100.1 >other
	bloom load other other
	for trial in "${trials[@]}"; do
		bloom allow $address
		if [ "${trial#* b }" != "$trial" ]; then bloom load b it; else bloom add $address; fi
		# shellcheck disable=SC2086 # words
		bloom $trial
		[ "${trial#add}" = "$trial" ] || wait_until "the ban is over" is_no_ban $address
		refused "$back" disallow $address
		bloom rotate
		bloom load other other
		bloom disallow $address --force
		bloom flush
		bloom load other other
	done
	# Of two exceptions one is enough, as long as it stays.
	bloom allow $address
	bloom load a it --allow --confirm 1h
	bloom load c it --allow
	bloom add $address
	bloom disallow $address
	refused "$back" unload c
	bloom flush
	bloom image make it.image it
	bloom image make other.image other
	bloom load --image other.image
	bloom allow $address
	bloom load --image it.image
	bloom load --image other.image --confirm 1h
	refused "$back" disallow $address
	bloom allow 198.51.100.7
	bloom disallow 198.51.100.7
}

# The gateway 45.0.0.254 is in the file `it`; another list is loaded.
gateway_in_a_list() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via 45.0.0.254
	echo 45.0.0.254 >it
	printf '%s\n' 198.51.100.{1..9} >other
	bloom load other other
}

# What is out on trial comes back, and is granted then: that is not now, and no other packets.
beside_a_trial() {
	local address=45.0.0.254 it="bans 45.0.0.254, a gateway in use (route table 254)" first trial line

	gateway_in_a_list
	while IFS='|' read -r first trial line; do
		# shellcheck disable=SC2086 # words
		bloom $first --force
		# shellcheck disable=SC2086
		bloom $trial --confirm 1h
		bloom load other other
		# shellcheck disable=SC2086
		refused "$it" $line
		bloom rotate
		bloom add 198.51.100.77
		# shellcheck disable=SC2086
		bloom $line --force
		bloom rotate
		bloom flush
		bloom load other other
	done <<-TRIALS
		load a it|unload a|load b it
		load a it|shadow a|add $address
		load a it|load a other --big-change|load b it --only tcp/22
		load a it --only tcp/80|unload a|load b it --only tcp/22
		add $address|add $address --replace --ttl 1|load b it
	TRIALS
	bloom flush
	bloom image make other.image other
	bloom add $address --force
	bloom load --image other.image --force --confirm 1h
	refused "$it" add $address
	bloom add 198.51.100.78
	bloom flush
	# What nobody was asked about: it became a need later.
	ip route del default
	bloom load a it --only tcp/80
	ip route add default via $address
	bloom allow $address --confirm 1h
	refused "$address, a gateway in use (route table 254), would be banned when what waits" load b it --only tcp/22
	bloom load b it --only tcp/80
	bloom flush
	# Nothing is in force.
	bloom load a it --only tcp/80 --force
	rm -r "$XDP_BLOOM_BPFFS"
	refused "$it" load b it --only tcp/22
	bloom load b it --only tcp/80
	bloom restore
	verdicts $address=drop
}

# What was forced for a trial ends with it, whatever date that has.
date_set_beside_a_trial() {
	local address=45.0.0.254 ahead

	[ -e "${TRAFFIC%/*}/clock.so" ] || skip "clock.so is not built"
	gateway_in_a_list
	for ahead in 86400 -86400; do
		echo $ahead >ahead
		expect 0 env LD_PRELOAD="${TRAFFIC%/*}/clock.so" CLOCK_AHEAD="$WORK/ahead" "$XDP_BLOOM" load g it --force --confirm 1h
		refused "bans $address, a gateway in use" add $address --ttl 12h
		bloom add $address --ttl 10m
		bloom flush
		bloom load other other
	done
}

# Where the filter begins, what comes back as a trial goes back is asked about, too.
begins_beside_a_trial() {
	local address=45.0.0.254 back trial

	back="$address, a gateway in use (route table 254), would be banned when what waits for confirmation goes back"
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip link add edgetop type bridge
	ip link set edgetop up
	echo $address >it
	bloom attach edgetop --ports
	bloom load a it
	ip route add default via $address
	for trial in "allow $address" "unload a" "shadow a"; do
		# shellcheck disable=SC2086 # words
		bloom $trial --confirm 2
		refused "$back" attach edge0
		[ "${trial% a}" != "$trial" ] || refused "$back" tune --inner on
		wait_until "it has gone back" has_gone_back
	done
	bloom allow $address --confirm 2
	ip link set edge1 master edgetop
	bloom add 198.51.100.1
	grep -q "$back" err || fail "what it said of a port that came: $(cat err)"
	wait_until "it has gone back" has_gone_back
	is "$(xdp_id edge1)" none "the program on the port"
	bloom detach edgetop --ports
	ip route del default
	bloom attach edge0
	ip route add default via $address
	rm "$XDP_BLOOM_BPFFS"/links/*
	bloom unload a --confirm 2
	refused "$back" restore
	bloom restore --spare
	grep -q "$back: it is allowed now; 'disallow $address --force' ends that" err || fail "what it said: $(cat err)"
	wait_until "it has gone back" has_gone_back
	verdicts $address=pass
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	bloom disallow $address --force
	rm "$XDP_BLOOM_BPFFS"/links/*
	bloom allow $address --confirm 2
	bloom restore
	wait_until "it has gone back" has_gone_back
	verdicts $address=drop
}

# What was granted on trial is none for what begins to filter for good beside it; with it, or for no longer, it is.
begins_by_a_grant_on_trial() {
	local it="45.0.0.254, a gateway in use" trial

	need sqlite3
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge1
	echo 45.0.0.254 >it
	bloom load a it
	ip route add default via 45.0.0.254
	for trial in "attach edge0" "load b it"; do
		# shellcheck disable=SC2086 # words
		bloom $trial --force --confirm 1h
		refused "$it" attach edge1
		refused "$it" tune --inner on
		[ "$trial" = "load b it" ] || bloom attach edge1 --confirm 30m
		all_over
	done
	refused "$it" attach edge1
}

# What comes for good beside a trial, or a batch begins, is not granted by that: a port, an interface that is made again.
# Nor by a command that fails.
comes_beside_a_trial() {
	local it="what is loaded bans 45.0.0.254, a gateway in use"

	need sqlite3
	veth 0 1 2
	ip addr add 45.0.0.1/24 dev edge2
	ip link add edgetop type bridge
	ip link set edgetop up
	echo 45.0.0.254 >it
	bloom attach edgetop --ports
	bloom load a it
	ip route add default via 45.0.0.254
	ip link set edge1 master edgetop
	expect 2 "$XDP_BLOOM" attach nosuch --force
	grep -q "ports that have come are not filtered.*$it" err || fail "what a command that failed said: $(cat err)"
	bloom attach edge0 --force --confirm 1h
	grep -q "ports that have come are not filtered.*$it" err || fail "what it said of a port that came: $(cat err)"
	is "$(xdp_id edge1)" none "the program on the port"
	printf '%s\n' 'tune --inner on' 'add 198.51.100.2 --confirm 30m' >lines
	expect 2 "$XDP_BLOOM" batch lines
	grep -q "45.0.0.254, a gateway in use" err || fail "what it said of the batch: $(cat err)"
	all_over
	is "$(get '[.needs[]|select(.granted)]' guards)" '[]' "what is granted behind it"
	bloom detach edgetop --ports
	ip link set edge1 nomaster
	bloom attach edge1 --force
	ip link del edge1
	forget_grants
	veth 1
	bloom attach edge0 --force --confirm 1h
	refused "$it" restore
	bloom restore --spare
	grep -q "$it (route table 254): it is allowed now" err || fail "what it said: $(cat err)"
	verdicts 45.0.0.254=pass
	[ "$(xdp_id edge1)" != none ] || fail "edge1 is not filtered"
}

# What is filtered again that was so, on trial or by what is banned on trial alone, is granted as long.
begins_again_by_a_grant() {
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge1
	echo 45.0.0.254 >it
	bloom load a it
	ip route add default via 45.0.0.254
	bloom attach edge0 --force --confirm 1h
	rm "$XDP_BLOOM_BPFFS"/links/*
	let_go edge0
	bloom restore
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	bloom detach edge0
	bloom unload a
	bloom attach edge0
	bloom load b it --force --confirm 1h
	rm "$XDP_BLOOM_BPFFS"/links/*
	let_go edge0
	bloom attach edge1
	bloom restore --spare
	[ ! -s err ] || fail "it warns: $(cat err)"
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	verdicts 45.0.0.254=drop
	bloom load c it --shadow
	refused "45.0.0.254 bans 45.0.0.254, a gateway in use" enforce c
}

# As behind each deadline.
all_over() {
	sqlite3 -cmd '.timeout 10000' "$XDP_BLOOM_STATE/state.db" "UPDATE pending SET due = 1"
	bloom add 198.51.100.1
	is "$(get '.waiting | length' show)" 0 "how much waits"
}

# What an exception lets through, or a setting, that waits to be confirmed is not let through for good; nor is granted for
# good what --force granted for what waits.
what_goes_back() {
	local address=45.0.0.254 it="45.0.0.254, a gateway in use (route table 254)" back n

	back="$it, would be banned when what waits for confirmation goes back: 'xdp-bloom confirm' prevents that"
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	printf '%s\n' 198.51.100.{1..9} >other
	bloom load other other
	bloom attach edge1
	for n in 1 2; do
		if [ $n = 1 ]; then bloom allow $address --confirm 1h; else bloom load ok it --allow --confirm 1h; fi
		refused "$back" load second it
		refused "$back" add $address
		refused "$back" add 45.0.0.254/31 --ttl 2h
		bloom load other other
		bloom add 198.51.100.77
		bloom load second it --shadow
		refused "$back" enforce second
		bloom unload second
		bloom confirm
		bloom load second it
		bloom unload second
		[ $n = 1 ] || bloom unload ok
		[ $n = 2 ] || bloom disallow $address
	done
	# Of what is banned already, nothing new is asked.
	bloom load second it --force
	bloom allow $address --confirm 1h
	bloom add $address
	bloom rotate
	bloom confirm
	bloom unload second
	bloom disallow $address --force
	bloom del $address
	ip route del default
	bloom load second it
	ip route add default via $address
	refused "$it" attach edge0
	bloom attach edge0 --force --confirm 2
	wait_until "edge0 is open again" is_open edge0
	refused "$it" attach edge0
	bloom attach edge0 --force --confirm 1h
	bloom confirm
	bloom detach edge0
	is "$(get "[.needs[]|select(.granted)]|length" guards)" 1 "what was confirmed is granted"
	bloom unload second
	[ -e /proc/sys/net/ipv6 ] || return 0
	echo 0 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	ip -6 route add 2001:db8:1::/48 via 64:ff9b::c633:640a dev edge0 onlink
	echo 198.51.100.10 >within
	bloom tune --embedded on
	bloom tune --embedded off --confirm 1h
	refused "198.51.100.10, a gateway in use (it is within 64:ff9b::c633:640a)" load within within
	bloom confirm
	bloom load within within
}

is_open() {
	"$XDP_BLOOM" bans &>/dev/null
	[ "$(xdp_id "$1")" = none ]
}

run_cases spares_beside_a_trial grants_come_back trials_ended trials_ended_beside_others grants_by_lines for_a_while beside_a_trial date_set_beside_a_trial begins_beside_a_trial begins_by_a_grant_on_trial comes_beside_a_trial begins_again_by_a_grant what_goes_back taken_beside_a_trial

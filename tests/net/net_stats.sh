#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rates and totals while interfaces and filters come and go: every packet is counted once, wherever it is looked up.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# rates: a line every tenth of a second, from now on.
rates() {
	"$XDP_BLOOM" -j stats --interval 0.1 >rates 2>rates.err &
	stats=$! # the process
	next_rate
}

# next_rate: one that begins from now on has ended.
next_rate() {
	wait_until "two more lines of rates" has_lines $(($(wc -l <rates) + 2)) rates
}

has_lines() {
	[ "$(wc -l <"$2")" -ge "$1" ]
}

# dropped N: so many in all lines, of the whole, of all interfaces, stages and lists. What is printed has six digits:
# of many packets, lines that add up to N but for their rounding.
dropped() {
	kill -INT "$stats"
	end_of "$stats" || fail "stats ended with $?: $(cat rates.err)"
	is "$(jq -sc 'map(.seconds as $s | .rate | [.packets.dropped, (.interfaces | map(.packets.dropped) | add),
		(.stages | map(select(.verdict == "dropped").packets) | add), (.lists | map(.packets) | add // 0)] | map(. * $s)) | transpose |
		map(add | if (. - $n | fabs) < 0.5 + $n / 1e5 then $n else . end)' --argjson n "$1" rates)" "[$1,$1,$1,$1]" "all, by interface, stage and list, what the lines add up to,"
	adds_up
}

# The same in the totals; and no series of Prometheus's grows by what an interface counted before.
adds_up() {
	is "$(get '.packets.dropped - (.interfaces | map(.packets.dropped) | add)' stats)" 0 "what no interface accounts for"
	bloom metrics
	! grep -q 'interface=""' out || fail "$(grep 'interface=""' out)"
}

rotated() {
	local n

	filtering bad
	rates
	flow 0 -b banned -c clean
	for n in {1..20}; do
		bloom rotate
	done
	stop_flow 0
	dropped "$(sent .banned.sent)"
	is "$(get .packets.dropped stats)" "$(sent .banned.sent)" "what was dropped in all"
	echo "# $(sent .banned.sent) packets, $n rotations, $(wc -l <rates) lines"
}

# Another interface takes the row in which it counted.
detached() {
	local index

	filtering bad
	index=$(cat /sys/class/net/edge0/ifindex)
	rates
	send 0 -n 100 -b banned -c clean
	next_rate
	bloom detach edge0
	next_rate
	adds_up
	ip link del edge0
	ip link add edge0 index $((index + 256)) type veth peer name wire0
	ip link set edge0 up
	ip link set wire0 up
	bloom attach edge0
	next_rate
	send 0 -n 10 -b banned -c clean
	dropped 330
}

# The same while another process is in the middle of reading them.
detached_meanwhile() {
	local index reader when

	need strace
	filtering bad
	index=$(cat /sys/class/net/edge0/ifindex)
	send 0 -n 100 -b banned -c clean
	bloom detach edge0
	ip link del edge0
	ip link add edge0 index $((index + 256)) type veth peer name wire0
	# Once all rows are read but the last, which takes what others counted before; one by one they are 2,000.
	strace -o trace -e trace=bpf "$XDP_BLOOM" stats >rows
	when=$(grep -n LOOKUP_BATCH trace | sed -n '5s/:.*//p')
	stopped_under trace -e trace=bpf -e inject=bpf:signal=SIGSTOP:when="${when:-1500}" "$XDP_BLOOM" -j stats >rows 2>rows.err
	reader=$! # strace's
	bloom attach edge0
	kill -CONT "$(pgrep -P $reader)"
	end_of $reader || fail "stats ended with $?: $(cat rows.err)"
	is "$(jq -c '[.packets.dropped, (.interfaces | map(.packets.dropped) | add)]' rows)" "[300,300]" "what was read"
}

# Told to end in the middle of a look, it looks once more: what came before it was told is in a line.
ends_with_a_look() {
	local calls

	need strace
	filtering bad
	strace -o trace -e trace=bpf "$XDP_BLOOM" -j stats >rows
	calls=$(grep -c '^bpf(' trace)
	strace -o trace -e trace=bpf -e inject=bpf:signal=SIGINT:when=$((calls + 1)) "$XDP_BLOOM" -j stats --interval 0.1 >rows
	is "$(wc -l <rows)" 2 "lines, the first cut short"
}

interface_gone() {
	filtering bad
	rates
	send 0 -n 100 -b banned -c clean
	ip link del edge0
	dropped 300
}

# The counters begin again at 0: no difference is negative.
flushed() {
	filtering bad
	rates
	send 0 -n 100 -b banned -c clean
	next_rate
	bloom flush
	next_rate
	bloom load bad list
	send 0 -n 10 -b banned -c clean
	dropped 330
}

# The machine was started again: what waits to be confirmed is over.
rebooted() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE pending SET boot = ?", ("another",))' "$XDP_BLOOM_STATE/state.db"
}

# What a list dropped is not what it would have dropped, also where nobody has confirmed that it drops.
kind_goes_back() {
	veth 0
	a_list
	bloom load noted list --shadow
	bloom attach edge0
	bloom enforce noted --confirm 1h
	send 0 -n 10 -b banned -c clean
	is "$(get '.lists[0] | "\(.kind) \(.packets)"' stats)" "ban $(sent .banned.sent)" "what it dropped"
	rebooted
	expect 2 "$XDP_BLOOM" confirm
	is "$(get '.lists[0] | "\(.kind) \(.packets)"' stats)" "shadow 0" "what it would have dropped since it went back"
}

# What a list counted that then went back is not counted for the next one of its label, whoever makes that.
given_label() {
	local by

	veth 0
	a_list
	for by in load add follow; do
		bloom load "before-$by" list --confirm 1h
		[ $by != load ] || bloom attach edge0
		send 0 -n 10 -b banned -c clean
		is "$(get "[.lists[] | select(.name == \"before-$by\").packets]" stats)" "[$(sent .banned.sent)]" "what the list counted"
		rebooted
		case $by in
		load) bloom load next - <<<45.0.0.1 ;;
		add) bloom add 45.0.0.1 --only tcp/22 ;;
		follow)
			ip route add blackhole 45.0.0.1 table 666
			"$XDP_BLOOM" follow routes --table 666 2>said &
			follower=$!
			wait_until "that it is in force" gives '["routes-666"]' 'map(.name)' lists
			kill -TERM $follower
			end_of $follower || fail "SIGTERM: $(cat said)"
			;;
		esac
		is "$(get '[.lists[].packets] | add // 0' stats)" 0 "what is counted for the list that came by $by"
		bloom flush
		is "$(get length lists)" 0 "number of lists"
	done
}

# in_words: the lines that the totals as JSON come to: the same numbers, each where it belongs.
in_words() {
	"$XDP_BLOOM" -j stats | jq -r '
		def line($what; $name): "\($what)|\($name)|\(.packets)";
		. as $all |
		(("passed", "dropped", "unparsed") as $verdict |
			($all.packets[$verdict] | "\($verdict)||\(.)"),
			if $verdict == "unparsed" then empty else
				$all.stages[] | select(.verdict == $verdict and .packets > 0) | line(""; .stage) end),
		(.interfaces[] | (.name // "others before") as $name | select(.name or .packets.passed + .packets.dropped > 0) |
			("passed", "dropped") as $verdict | "\($verdict) on|\($name)|\(.packets[$verdict])"),
		(.lists[] | line(if .kind == "shadow" then "would drop" elif .name then "dropped by" else "dropped," end;
			.name // "no list named"))' | sort
}

# said: the lines of stats, in the same way.
said() {
	sed -E 's/^(.{10}) (.{20}) +([0-9]+) packets.*/\1|\2|\3/; s/ *\| */|/g' out | sort
}

says_it_in_words() {
	veth 0 1
	a_list
	printf '%s\n' 198.51.100.7 2001:db8::8 >shadowed
	echo 192.0.2.9 >allowed
	bloom load bad list
	bloom load noted shadowed --shadow
	bloom load friends allowed --allow
	bloom add 198.18.0.1 2001:db8:9::/48
	bloom attach edge0 edge1
	cat shadowed >>clean
	printf '%s\n' 198.18.0.1 2001:db8:9::1 >>banned
	send 0 -n 7 -b banned -c clean
	send 1 -n 3 -b banned -c clean
	bloom detach edge1
	bloom stats
	is "$(said)" "$(in_words)" "what stats says"
	[ "$(said | wc -l)" -ge 14 ] || fail "so few lines: $(cat out)"
}

run_cases says_it_in_words rotated detached detached_meanwhile ends_with_a_look interface_gone flushed given_label kind_goes_back

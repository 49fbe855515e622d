#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What load keeps, refuses and says: bogons, guard rails, dry runs, changes, shadow and allow lists, confirmation; and
# what test says about it.
set -u
. "$(dirname "$0")/../support/lib.sh"
no_kernel='hides_what'
sandbox "$@"

leaves_bogons_out() {
	printf '%s\n' 10.0.0.0/7 127.0.0.1 224.0.0.1 169.254.1.1 192.168.7.0/24 fc00::1 fe80::1 ff02::1 45.1.2.3 >list
	bloom load list list
	grep -q '10.0.0.0/8 left out (private' out || fail "does not say what it left out: $(cat out)"
	verdicts 11.1.1.1=drop 9.255.255.255=pass 10.0.0.1=pass 127.0.0.1=pass 224.0.0.1=pass fe80::1=pass 45.1.2.3=drop
	is "$(get '.[0].prefixes' lists)" 2 "the number of prefixes"
	refused "10.0.0.0/8 (private)" load list list --bogons=refuse
	refused "keep or refuse" load list list --bogons=maybe
	bloom load list list --bogons=keep --force
	verdicts 10.0.0.1=drop 224.0.0.1=drop fe80::1=drop
}

# Who makes a link to what he may not read does not find it in a log.
hides_what_a_link_led_to() {
	local above mode

	chmod 755 .
	mkdir private
	ln -s private/file link
	ln -s private folder
	while read -r above mode; do
		echo secret:7 >private/file
		chmod "$mode" private/file
		chmod "$above" private
		refused "private/file:1: 'secret:7': expected an address" load list private/file
		refused "link:1: expected an address" load list link
		refused "folder/file:1: expected an address" load list folder/file
		! grep secret err || fail "the link shows what it led to"
	done <<-END
		755 600
		700 644
	END
}

# Whoever may write to a list's folder could have the service wait for ever.
reads_no_file_of_the_kernel() {
	local file

	for file in /proc/version /proc/kmsg /sys/kernel/uevent_seqnum; do
		ln -sf $file link
		expect 2 timeout 20 "$XDP_BLOOM" load list link --if-changed
		[ ! -r $file ] || [ $file = /proc/kmsg ] || one_line "link: a file of the kernel's, as in /proc, not one on a disk"
		echo "load list '$WORK/link'" >conf
		expect 2 timeout 20 "$XDP_BLOOM" run --check --config conf
	done
	# By hand it is one's own affair.
	refused "link:1: " load list link
	echo 45.0.0.1 >file
	bloom load list file --if-changed
}

# To open one may do something, as a watchdog's timer begins. What leads on by no name is one's own, as is a pipe.
opens_no_device_that_another_leads_to() {
	mkdir his
	ln -s /dev/null his/link
	chown 65534 his
	for verb in "load list" plan; do
		# shellcheck disable=SC2086 # words
		refused "his/link: " $verb his/link
	done
	echo 45.0.0.1 >his/file
	bloom load list his/file
	echo 45.0.0.2 | bloom load list /dev/stdin --force
	bloom load list <(echo 45.0.0.3) --force
	mkfifo his/pipe
	echo 45.0.0.4 >his/pipe &
	bloom load list his/pipe --force
	verdicts 45.0.0.4=drop 45.0.0.3=pass
	# A file that has gone is read by its descriptor, not what another has put where its name would be.
	echo 45.0.0.5 >his/gone
	echo 45.0.0.6 >"his/gone (deleted)"
	exec 9<his/gone
	rm his/gone
	bloom load list /dev/fd/9 --force
	exec 9<&-
	verdicts 45.0.0.5=drop 45.0.0.6=pass
	# Nor does a link that another has put into a directory of all lead anywhere, as the kernel has it.
	mkdir -m 1777 all
	ln -s "$WORK/conf" all/link
	chown -h 65534 all/link
	echo 45.0.0.7 >conf
	refused "all/link: Permission denied" load list all/link --if-changed
}

# Terabytes of them cost who makes them nothing. In a frame of zstd zeros are blocks of nothing.
# What /proc/PID/root says is "/": not this machine's.
reads_what_a_process_has() {
	mkdir t
	mkfifo up
	echo 45.0.0.1 >t/list
	chmod 755 . t
	local user pid there change
	for user in 0 65534; do
		# shellcheck disable=SC2016 # its own
		unshare --mount --propagation private sh -c 'mount -t tmpfs t t && chmod 755 t && echo "45.0.0.2" >t/list &&
			exec 3>up && exec setpriv --reuid="$1" --clear-groups \
				sh -c "read -r pid rest </proc/self/stat; echo \$pid >&3; exec sleep 60"' - $user &
		pid=$!
		read -r <up
		there=/proc/$REPLY/root$PWD/t # as /proc calls it, which may be of those outside
		for change in --force --if-changed; do
			bloom load list "$there/list" $change --force
			verdicts 45.0.0.2=drop 45.0.0.1=pass
			bloom unload list
		done
		kill $pid
		wait $pid || true
	done
	# The file that is open, not what has its name by now; and still no pipe where a file is wanted.
	echo 45.0.0.3 >gone
	exec 9<gone
	rm gone
	echo 45.0.0.4 >"gone (deleted)"
	bloom load list /dev/fd/9 --if-changed
	exec 9<&-
	verdicts 45.0.0.3=drop 45.0.0.4=pass
	refused "not a regular file" load list <(echo 45.0.0.5) --if-changed
}

ends_where_a_file_has_holes() {
	local kind nothing="damaged: more than 4 MiB of it unpack to nothing"

	echo 45.0.0.1 | gzip -c >list.gz
	python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.compress(b"45.0.0.1\n"))' >list.xz
	printf '\x28\xb5\x2f\xfd\x00\x58\x48\x00\x0045.0.0.1\n' >list.zst
	printf '45.0.0.1\n#' >list.txt
	truncate -s 8T list.* 2>/dev/null || truncate -s 1T list.* || fail "no file with a hole can be made"
	for kind in gz xz zst; do
		refused "list.$kind: $nothing" load list list.$kind
		refused "list.$kind: $nothing" load list list.$kind --if-changed
	done
	refused "list.txt:2: " load list list.txt
	refused "list.txt: damaged: a line of it is longer than 4 MiB" load list list.txt --skip-bad
}

# A copy of it would fill the disk.
ends_with_what_has_no_end() {
	local device

	for device in zero full random urandom; do
		ln -sf /dev/$device link
		expect 2 timeout 60 "$XDP_BLOOM" load list link
		one_line "link: File too large"
		expect 2 timeout 60 "$XDP_BLOOM" batch link
		one_line "link: File too large"
		echo "load list '$WORK/link'" >commands
		expect 2 timeout 60 "$XDP_BLOOM" batch commands
		one_line "link: not a regular file"
	done
	bloom load list /dev/null --force
}

refuses_own_addresses() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add 46.0.0.0/8 via 45.0.0.254
	echo 45.0.0.0/25 >own
	echo 45.0.0.254 >gateway
	echo 47.0.0.0/8 >ssh
	refused "45.0.0.0/25 bans 45.0.0.1, an address of this machine" load own own
	one_line "; it is 45.0.0.0/25 in list 'own', own:"
	one_line "; 'xdp-bloom allow 45.0.0.1' first lets it through and the rest into force; --force bans it"
	refused "45.0.0.254 bans 45.0.0.254, a gateway in use" load gateway gateway
	SSH_CONNECTION='47.1.2.3 1 45.0.0.1 22' refused "47.0.0.0/8 bans 47.1.2.3, the peer of this SSH session" load ssh ssh
	bloom allow 45.0.0.1
	bloom load own own
	verdicts 45.0.0.1=pass 45.0.0.2=drop
	bloom load gateway gateway --force
	verdicts 45.0.0.254=drop
	bloom load own2 own --allow
}

# gateway ADDRESS WHERE: it is known for one, and from where.
gateway() {
	echo "$1" >gateway
	refused "$1 bans $1, a gateway in use ($2)" load gateway gateway
}

knows_all_gateways() {
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip addr add 45.1.0.1/24 dev edge1
	echo 0 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	ip -6 addr add 2001:db8:45::1/64 dev edge0 nodad
	ip route add 46.0.0.0/8 nexthop via 45.0.0.253 nexthop via 45.1.0.253 dev edge1
	ip route add 47.0.0.0/8 via 45.0.0.252 table 1234567
	ip -6 route add 2001:db8:47::/48 via 2001:db8:45::fe table 100
	ip route add 48.0.0.0/8 via inet6 2001:db8:45::fd dev edge0
	ip -6 route add 2001:db8:48::/48 nexthop via 2001:db8:45::fc nexthop via 2001:db8:45::fb
	echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode
	ip nexthop add id 7 via 45.0.0.251 dev edge0
	ip nexthop add id 8 via 45.0.0.250 dev edge0
	ip nexthop add id 9 group 7/8
	ip route add 49.0.0.0/8 nhid 9
	gateway 45.0.0.253 "route table 254"
	gateway 45.1.0.253 "route table 254"
	gateway 45.0.0.252 "route table 1234567"
	gateway 2001:db8:45::fe "route table 100"
	gateway 2001:db8:45::fd "route table 254"
	gateway 2001:db8:45::fc "route table 254"
	gateway 2001:db8:45::fb "route table 254"
	gateway 45.0.0.251 "nexthop 7"
	gateway 45.0.0.250 "nexthop 8"
	ip addr add 45.2.0.1/32 dev lo
	echo 45.2.0.0/24 >own
	refused "45.2.0.0/24 bans 45.2.0.1, an address of this machine (interface lo)" load own own
	ip addr del 45.2.0.1/32 dev lo
	# Not guarded: the peer's address, and what is only routed.
	printf '%s\n' 45.0.0.2 46.0.0.1 2001:db8:47::1 >others
	bloom load others others
	mkdir nothing
	unshare --mount --propagation private sh -c "mount --bind nothing /proc && exec '$XDP_BLOOM' add 45.0.0.250" 2>err &&
		fail "without /proc the gateway is not known"
	grep -q '45.0.0.250, a gateway in use (nexthop 8)' err || fail "without /proc: $(cat err)"
}

refuses_big_changes() {
	printf '45.0.0.%d\n' {1..100} >before
	printf '45.0.0.%d\n' {60..100} >fewer
	printf '45.0.0.%d\n' {1..151} >bigger
	printf '45.0.0.%d\n' {1..60} {101..140} >some
	bloom load list before
	refused "it lost 59 % of its IPv4 addresses" load list fewer
	refused "it gained 51 % IPv4 addresses" load list bigger
	bloom load list some
	grep -q '40 added, 40 removed, 60 kept' out || fail "does not say what changed: $(cat out)"
	verdicts 45.0.0.60=drop 45.0.0.61=pass 45.0.0.101=drop
	bloom load list fewer --force
	verdicts 45.0.0.1=pass 45.0.0.60=drop
}

# A list has no more than add takes, however it is cut up; space without hosts does not count.
refuses_wide_lists() {
	local line words

	printf '45.0.0.%d\n' {1..50} >list
	bloom load list list
	while IFS='|' read -r line words; do
		# shellcheck disable=SC2086 # a line each
		printf '%s\n' $line | cat - list >wide
		refused "list 'list': it bans $words" load list wide --big-change
		refused "list 'other': it bans $words" load other wide
		refused "list 'other': it bans $words" load other wide --dry-run
	done <<-'LINES'
		2000::/3|100 % of all IPv6 addresses
		::/0|100 % of all IPv6 addresses
		0.0.0.0/1 128.0.0.0/2 192.0.0.0/3|100 % of all IPv4 addresses
		128.0.0.0/1|43 % of all IPv4 addresses
		64.0.0.0/6|all of 64.0.0.0/6, which is very wide
		46.0.0.0/8 47.0.0.0/8|all of 46.0.0.0/7, which is very wide
		2600::/12 2610::/13 2618::/13|all of 2600::/11, which is very wide
	LINES
	seq 1 2 199 | sed 's/$/.0.0.0\/8/' | grep -vx '10.*' >wide
	refused "% of all IPv4 addresses" load other wide
	awk 'BEGIN { for (i = 32; i < 64; i += 1) printf "%02x00::/12\n", i }' >wide
	refused "6 % of all IPv6 addresses" load other wide
	# A list of space without hosts, and the widest list that is taken.
	printf '%s\n' 0.0.0.0/8 10.0.0.0/8 224.0.0.0/3 44.0.0.0/8 fc00::/6 4000::/2 8000::/1 2600::/12 >wide
	bloom load other wide --bogons=keep --ban-own
	verdicts 224.1.1.1=drop 250.1.1.1=drop 44.1.1.1=drop 45.1.1.1=pass 2600::1=drop 8000::1=drop

	# One that was let through stays as wide; another family is news, as it is in any list.
	echo 46.0.0.0/7 | cat - list >wide
	bloom load list wide --wide --big-change
	echo 45.0.1.1 >>wide
	bloom load list wide
	verdicts 47.1.1.1=drop 45.0.1.1=drop
	echo 2600::/12 >>wide
	refused "it had no IPv6 addresses, and now has 8.31e+34" load list wide
	echo 2000::/3 >>wide
	refused "it bans 100 % of all IPv6" load list wide --big-change
	bloom load list wide --force
	# Neither of these drops.
	bloom load shade wide --shadow
	refused "list 'friends': it allows 100 % of all IPv6" load friends wide --allow
	bloom load friends wide --allow --wide
	refused "list 'shade': it bans 100 % of all IPv6" enforce shade
	bloom enforce shade --force
}

# Nor does its publisher make more of a list that lets through, nor of one whose addresses have more of each limit.
refuses_more_let_through() {
	local kind

	printf '45.0.%s\n' {0,1}.{1..200} >drop
	bloom load drop drop
	for kind in allow trust; do
		# What people have: private addresses, and as much as a provider's.
		printf '%s\n' 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 20.0.0.0/8 2600::/12 >nets
		bloom load nets$kind nets --$kind
		printf '203.0.113.%d\n' 1 2 3 >friends
		refused "list '$kind': it ${kind}s all of 64.0.0.0/3, which is very wide; --force or --wide loads it" \
			load $kind - --$kind <<<64.0.0.0/3
		bloom load $kind friends --$kind
		echo 64.0.0.0/3 >>friends
		refused "list '$kind': it ${kind}s all of 64.0.0.0/3, which is very wide" load $kind friends --if-changed
		refused "list '$kind': it gained" load $kind friends --if-changed --wide
		printf '203.0.113.%d\n' 1 2 3 | cat - drop >friends
		refused "list '$kind': it gained 13333 % IPv4 addresses; --force or --big-change loads it" \
			load $kind friends --if-changed
		verdicts 45.0.0.1=drop
		# Who has another address, and others beside him.
		printf '203.0.113.%d\n' {4..9} >moved
		bloom load $kind moved
		bloom load $kind friends --big-change
		accepted "hand4 = 1, day4 = 1"
		printf '203.0.%d.0/24\n' {1..200} >>friends
		bloom load $kind friends --force
		accepted "hand4 = 1, day4 = 1"
		printf '203.1.%d.0/24\n' {1..90} >>friends
		refused "times as many IPv4 addresses as a day ago; --force or --big-change loads it" load $kind friends
		bloom unload $kind
	done
}

# so_many N: a list of N addresses.
so_many() {
	echo "44.0.0.0-$(python3 -c "import ipaddress; print(ipaddress.ip_address('44.0.0.0') + $1 - 1)")"
}

# accepted COLUMN=VALUE: as if the state said that.
accepted() {
	python3 - "state/state.db" "$1" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute("UPDATE accepted SET " + sys.argv[2])
	PYTHON
}

# Each version has less than half as many again; in sum it comes to nothing much, in a day and in a year.
refuses_slow_poison() {
	local n=256 version day=86401

	so_many $n >feed
	bloom load feed feed
	for ((version = 0; version < 20; version++)); do
		n=$((n * 149 / 100))
		so_many $n >feed
		"$XDP_BLOOM" load feed feed --if-changed >out 2>err || break
	done
	one_line "times as many IPv4 addresses as a day ago; --force or --big-change loads it"
	[ $n -le 100000 ] || fail "it came to $n addresses in a day"
	while "$XDP_BLOOM" load feed feed --if-changed 2>err; do
		n=$((n * 149 / 100))
		so_many $n >feed
		accepted day_at=day_at-$day
	done
	while grep -q "a day ago" err; do
		accepted day_at=day_at-$day
		"$XDP_BLOOM" load feed feed --if-changed 2>err || true
	done
	one_line "times as many IPv4 addresses as when it was last accepted by hand"
	[ $n -le 100000 ] || fail "it came to $n addresses in a year"
	# A reload that is not confirmed leaves the measure as it was.
	bloom load feed feed --big-change --confirm 1h
	python3 -c 'import sqlite3
with sqlite3.connect("state/state.db") as db:
    db.execute("UPDATE pending SET due = 1")'
	expect 2 "$XDP_BLOOM" confirm
	refused "accepted by hand" load feed feed
	bloom load feed feed --big-change
	so_many $((n * 5 / 4)) >feed
	bloom load feed feed --if-changed
	# Of a state that did not keep it, what is in force is the measure.
	python3 -c 'import sqlite3
with sqlite3.connect("state/state.db") as db:
    db.execute("DELETE FROM accepted")'
	so_many $((n * 5 / 3)) >feed
	bloom load feed feed --if-changed
}

# meanwhile COMMAND...: what it says, a load that stops as it has begun to read, until `goes_on STATUS`.
meanwhile() {
	stopped_under calls -D -e trace=clone -e inject=clone:signal=STOP:when=1 "$XDP_BLOOM" "$@" >out 2>said
	reading=$!
}

goes_on() {
	local status=0

	kill -CONT "$reading"
	end_of "$reading" || status=$?
	is "$status: $(tail -n 1 said)" "$1" "what a load says beside which something was done"
}

# A list is read before the lock is taken. What was done to it meanwhile is not undone, nor is its text taken for another's.
undoes_nothing() {
	local stays="2: xdp-bloom: list 'd' was loaded otherwise, or unloaded, while this was read: it stays so; nothing was loaded"
	local how

	need strace
	printf '45.0.1.%d\n' {1..9} >all
	cp all bad
	echo 46.0.0.1 >good
	for how in --renew --if-changed ""; do
		bloom load d bad
		echo 45.0.0.2 >>bad
		# shellcheck disable=SC2086 # none, or one
		meanwhile load d bad $how
		bloom unload d
		bloom load d good --allow
		goes_on "$stays"
		is "$(get '[.[]|.name,.kind,.addresses]' lists)" '["d","allow","1"]' "the list after load $how"
		bloom unload d
		bloom load d bad
		echo 45.0.0.3 >>bad
		# shellcheck disable=SC2086
		meanwhile load d bad $how
		bloom unload d
		# By hand it is asked for now.
		if [ -n "$how" ]; then
			goes_on "$stays"
			is "$(get . lists)" '[]' "the lists after load $how"
		else
			goes_on "0: "
			bloom unload d
		fi
		bloom load d good --allow
		# shellcheck disable=SC2086
		meanwhile load d good $how --skip-bad
		bloom unload d
		goes_on "$stays"
		is "$(get . lists)" '[]' "exceptions that were unloaded, after load $how"
		bloom load d bad
		echo 45.0.0.4 >>bad
		# shellcheck disable=SC2086
		meanwhile load d bad $how
		bloom shadow d
		goes_on "0: "
		is "$(get '[.[]|.kind,.addresses]' lists)" '["shadow","12"]' "a list that only counts by now, after load $how"
		bloom unload d
		cp all bad
	done
	# Others who ask for the same file meanwhile: what it holds is what both want.
	for how in --renew --if-changed; do
		cp all bad
		bloom load d bad
		echo 45.0.0.5 >>bad
		meanwhile load d bad $how
		bloom load d bad --if-changed
		goes_on "0: "
		echo 45.0.0.6 >>bad
		meanwhile load d bad $how
		echo 45.0.0.7 >>bad
		bloom load d bad
		goes_on "0: "
		is "$(get '.[].addresses' lists)" 12 "the list after load $how of an older version"
		# What goes back is not in force.
		echo 45.0.0.8 >>bad
		meanwhile load d bad $how
		bloom load d bad --confirm 1h
		goes_on "2: xdp-bloom: d: a change of it waits for confirmation: xdp-bloom confirm, or let it go back; nothing was loaded"
		bloom confirm
	done
	cp all bad
	bloom unload d
	# The service asks for what the list held as it looked.
	bloom load d good --allow
	expect 2 "$XDP_BLOOM" load d bad --renew
	one_line "list 'd' was loaded otherwise"
	expect 2 "$XDP_BLOOM" load d bad --if-changed
	one_line "list 'd' was loaded otherwise"
	bloom unload d
	expect 2 "$XDP_BLOOM" load d bad --renew
	bloom load d bad --if-changed
}

# What was granted is what was granted, not everything after.
grants_no_more_than_was_asked() {
	local eighths

	seq -f '%.0f.0.0.0/8' 128 2 223 | head -n 48 >wide
	seq -f '%.0f.0.0.0/8' 28 2 126 | head -n 37 >>wide
	refused "% of all IPv4 addresses; --force or --wide loads it" load feed wide
	bloom load feed wide --wide
	bloom load feed wide
	for eighths in 129 131 133 135 137 139; do
		echo "$eighths.0.0.0/9" >>wide
	done
	bloom load feed wide
	for eighths in 141 143 145 147 149 151; do
		echo "$eighths.0.0.0/9" >>wide
	done
	refused "% of all IPv4 addresses; --force or --wide loads it" load feed wide
	bloom load feed wide --wide
	bloom load feed wide
}

dry_run_changes_nothing() {
	local before

	printf '45.0.0.%d\n' {1..100} >list
	bloom load list list
	before=$(snapshot)
	echo 45.0.0.101 >>list
	bloom load list list --dry-run
	grep -q 'would load .*101 entries' out || fail "does not say what would happen: $(cat out)"
	is "$(get '[.dry_run,.added.ipv4,.kept.ipv4]' load list list --dry-run)" '[true,"1","100"]' "the dry run as JSON"
	bloom load other list --dry-run
	is "$(snapshot)" "$before" "what is loaded after a dry run"
	echo 45.0.0.1/24x >>list
	refused "list:102: '45.0.0.1/24x'" load list list --dry-run
}

skips_damaged_lines() {
	printf '%s\n' 45.0.0.1 45.0.0.2 45.0.0.3 45.0.0.4 45.0.0.256 45.0.0.5 45.0.0.6 45.0.0.7 nonsense 45.0.0.8 >list
	refused "list:5: '45.0.0.256'" load list list
	expect 0 "$XDP_BLOOM" load list list --skip-bad
	grep -q "list:9: 'nonsense'" err || fail "does not name the damaged line: $(cat err)"
	grep -q '2 damaged lines left out' out || fail "does not count the damaged lines: $(cat out)"
	verdicts 45.0.0.1=drop 45.0.0.8=drop 45.0.0.9=pass
}

# Six packets of banned sources: three that a list drops, three that another would drop.
shadow_only_counts() {
	veth 0
	bloom attach edge0
	printf '%s\n' 45.1.0.1 45.1.0.2 45.1.1.0/24 >ban
	printf '%s\n' 45.1.0.1 45.2.0.0/16 45.3.0.1 2001:db9::/32 >shadow
	printf '%s\n' 45.1.0.1 45.1.0.2 45.1.1.9 >banned
	printf '%s\n' 45.2.0.1 45.3.0.1 2001:db9::1 45.9.0.1 >clean
	bloom load ban ban
	bloom load shadow shadow --shadow
	send 0 -b banned -c clean -n 10
	is "$(get '[.packets.dropped,(.lists[]|.packets)]' stats)" "[30,30,30]" "dropped, and each list's count"
	is "$(get '.[0]|[.verdict,.shadow,.list]' test 45.2.0.1)" '["pass",true,"shadow"]' "what test says of a shadow"
	is "$(get '.[0]|[.verdict,.shadow,.list]' test 45.1.0.1)" '["drop",false,"ban"]' "what test says of a ban in its shadow"
	refused "a shadow list needs the roster" tune --exact=off --force
	bloom enforce shadow
	verdicts 45.2.0.1=drop 2001:db9::1=drop
	bloom shadow ban
	verdicts 45.1.0.2=pass 45.1.0.1=drop
	refused nosuch enforce nosuch
	is "$(get '[.[].kind]' lists)" '["shadow","ban"]' "the kinds"
}

# The first of several lists counts, also within one /24 that the gate answers.
counts_by_list() {
	local cpu
	local -a cpus

	veth 0
	bloom attach edge0
	printf '45.1.1.%d\n' {0..99} >one
	echo 45.1.0.0/16 >two
	printf '%s\n' 45.1.1.0/25 2001:db9::/32 >three
	for list in one two three; do
		bloom load $list $list
	done
	printf '45.1.1.%d\n' {0..255} >banned
	echo 2001:db9::7 >>banned
	echo 9.9.9.9 >clean
	# On two CPUs at once, where there are two.
	read -r -d '' -a cpus < <(python3 -c 'import os; print(*os.sched_getaffinity(0), sep="\n")')
	for cpu in "${cpus[0]}" "${cpus[-1]}"; do
		taskset -c "$cpu" "$TRAFFIC" -b banned -c clean -n 500 wire0 edge0 >>sent 2>>traffic.err &
	done
	wait
	is "$(jq -s '[.[].banned|.sent,.arrived]' -c sent)" '[128500,0,128500,0]' "banned packets sent and arrived ($(cat traffic.err))"
	is "$(get '[.packets.dropped,(.lists[]|.packets)]' stats)" "[257000,100000,156000,1000]" "dropped, and each list's count"
	is "$(get '.packets.dropped==([.lists[].packets]|add)' stats)" true "the sum of the lists"
}

explains_every_list() {
	printf '%s\n' '# a comment' 45.1.2.0/24 45.1.2.3 >nets
	printf '%s\n' 45.1.2.1-45.1.2.9 >ranges
	printf '{"prefixes":[\n{"ip_prefix":"45.1.0.0/16"}\n]}\n' >cloud.json
	bloom load nets nets
	bloom load ranges ranges
	bloom load cloud cloud.json
	is "$(get '.[0]|[.list,.prefix,.stage,(.entries[]|.list,.entry,.line)]' test 45.1.2.3)" \
		'["nets","45.1.2.0/24","gate","nets","45.1.2.0/24",2,"ranges","45.1.2.1-45.1.2.9",1,"cloud","45.1.0.0/16",2]' \
		"the explanation"
	rm nets ranges cloud.json
	is "$(get '.[0].entries[1].line' test 45.1.2.3)" 1 "a line of a file that is gone"
	bloom load allow - --allow <<<45.1.2.0/30
	is "$(get '.[0]|[.verdict,.allowed,.list]' test 45.1.2.3)" '["pass",true,"allow"]' "an exception"
	bloom unload nets ranges cloud allow
	is "$(get '.[0]|[.verdict,.list]' test 45.1.2.3)" '["pass",null]' "the verdict without lists"
}

exceptions_without_a_roster() {
	printf '45.0.%d.7\n' {0..255} >list
	printf '45.0.%d.9\n' {0..255} >allow
	bloom load list list
	bloom load allow allow --allow
	bloom tune --exact=off --fpr 0.01 --force
	is "$(get '.fpr.verdict > 0 and .memory.roster == 0' show)" true "what show says without a roster"
	expect 1 "$XDP_BLOOM" -j test - <allow
	is "$(jq -c 'map(.verdict)|unique' out)" '["pass"]' "the verdicts of what is allowed"
	expect 0 "$XDP_BLOOM" -j test - <list
	# So many neighbours of banned hosts that some would be hit, whatever the seeds.
	awk 'BEGIN { for (i = 0; i < 10000; i++) printf "46.%d.%d.7\n", i / 256, i % 256 }' >many
	sed 's/7$/128\/25/' many >wide
	bloom load many many
	refused "too wide for --exact=off" load wide wide --allow
	bloom tune --exact=on
	bloom load wide wide --allow
	refused "on or off" tune --exact=perhaps
	refused "tune" tune frobnicate
}

goes_back_unconfirmed() {
	veth 0
	printf '45.0.0.%d\n' {1..10} >before
	printf '45.0.0.%d\n' {1..12} >after
	bloom load list before
	bloom load list after --confirm 1h
	bloom attach edge0 --confirm 1h
	verdicts 45.0.0.12=drop
	refused "waits for confirmation" load list before
	# The version before is a list of its own.
	refused "there is no list" enforce "list before"
	refused "there is no list" shadow "list before"
	bloom confirm
	refused "nothing waits" confirm
	verdicts 45.0.0.12=drop
	is "$(get '[.interfaces[].name]' show)" '["edge0"]' "the interfaces after confirm"
	refused "--confirm takes a time" load list after --confirm soon
	bloom detach edge0

	# Whatever comes first, the watcher or the next command in passing: all of it goes back.
	bloom load list before
	bloom load list after --confirm 1s
	bloom load new after --confirm 1s
	bloom attach edge0 --confirm 1s
	wait_until "what was there before" gives '["list"]' '[.[].name]' lists
	wait_until "what was there before" gives '[]' '.interfaces' show
	verdicts 45.0.0.12=pass 45.0.0.1=drop
	is "$(xdp_id edge0)" none "the program on edge0"

	# The watcher stands elsewhere than who asked for it.
	(cd "${XDP_BLOOM_BPFFS%/*}" && expect 0 "$XDP_BLOOM" -B "./${XDP_BLOOM_BPFFS##*/}" attach edge0 --confirm 1s)
	wait_until "what was there before" gives '[]' '.interfaces' show
}

# No one stays shut out because the command takes long to commit...
goes_back_late() {
	need strace
	echo 45.0.0.1 >list
	bloom load list list
	expect 0 strace -o /dev/null -e trace=fdatasync -e inject=fdatasync:delay_enter=3000000:when=1 \
		"$XDP_BLOOM" load new list --confirm 1s
	wait_until "what was there before" gives '["list"]' '[.[].name]' lists
}

# watched_for SECONDS: a change of which the watcher has begun to wait, by CLOCK_BOOTTIME. Fails where it has ended already.
watched_for() {
	expect 0 env LD_PRELOAD="${TRAFFIC%/*}/clock.so" CLOCK_AHEAD="$WORK/ahead" "$XDP_BLOOM" load new list --confirm "$1s"
	wait_until "who waits for a confirmation" ended_or_watched "$1"
	gives 2 length lists
}

ended_or_watched() {
	local watcher

	gives 1 length lists || { watcher=$(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch $1") &&
		grep -qs '^[0-9]* 0x7 0x0 ' "/proc/$watcher/syscall"; }
}

# ...or because the clock is set back...
goes_back_by_its_own_clock() {
	local seconds=2

	[ -e "${TRAFFIC%/*}/clock.so" ] || skip "clock.so is not built"
	echo 45.0.0.1 >list
	bloom load list list
	until watched_for $seconds; do
		seconds=$((2 * seconds)) # a slow machine
	done
	echo -3600 >ahead
	wait_until "what was there before" gives '["list"]' '[.[].name]' lists
}

# ...or because there is room for what was in force before, but not twice as much...
goes_back_into_little_memory() {
	local needs

	seq -f '45.%.0f.0.7' 0 255 >before
	echo 45.0.0.1 >after
	bloom load list before
	needs=$(get .memory.total show)
	bloom load list after --force --confirm 1h
	printf 'MemAvailable: %d kB\n' $((needs * 3 / 2 / 1024)) >little
	mount --bind little /proc/meminfo || skip "the kernel mounts nothing over /proc/meminfo"
	refused "the limit is" load other before
	python3 - <<-'PYTHON'
		import sqlite3
		with sqlite3.connect("state/state.db") as db:
		    db.execute("UPDATE pending SET due = 1")
	PYTHON
	expect 2 "$XDP_BLOOM" confirm
	umount /proc/meminfo
	verdicts 45.9.0.7=drop
}

# ...or because nothing new can be built.
goes_back_without_a_build() {
	veth 0
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 --confirm 1h
	python3 - <<-'PYTHON'
		import sqlite3
		db = sqlite3.connect("state/state.db")
		db.execute("UPDATE chunk SET data = x'00' WHERE family > 0")
		db.execute("UPDATE pending SET due = 1")
		db.commit()
	PYTHON
	expect 2 "$XDP_BLOOM" confirm
	is "$(xdp_id edge0)" none "the program on edge0"
	is "$(get .interfaces show)" '[]' "the interfaces"
}

# What could not be taken back goes on waiting, and is not reported as gone.
goes_back_at_the_second_try() {
	local nth

	need strace
	veth 0
	echo 45.0.0.1 >list
	bloom load list list
	for nth in 0 1; do
		bloom attach edge0 --confirm 1h
		python3 - <<-'PYTHON'
			import sqlite3
			db = sqlite3.connect("state/state.db")
			db.execute("UPDATE pending SET due = 1")
			db.commit()
		PYTHON
		[ $nth != 0 ] || expect 0 strace -o calls -e trace=bpf "$XDP_BLOOM" rotate
	done
	nth=$(grep -n BPF_LINK_DETACH calls | cut -d: -f1)
	expect 0 strace -o calls -e trace=bpf -e inject="bpf:error=ENOMEM:when=${nth:?}" "$XDP_BLOOM" rotate
	one_line "edge0: was not confirmed in time, and cannot go back"
	is "$(get '.interfaces[].name' show)" edge0 "the interface that could not be taken back"
	bloom rotate
	one_line "edge0: was not confirmed in time and has gone back"
	is "$(xdp_id edge0)" none "the program on edge0"
}

# One kind at a time; and exceptions as wide as all of the internet are no slip of the hand.
one_kind() {
	echo 192.0.2.1 >list
	refused "--shadow does not go together with --allow" load list list --allow --shadow
	refused "--allow does not go together with --shadow" load list list --shadow --allow
	bloom load list list --allow --allow
}

wide_exceptions() {
	local prefix

	for prefix in 0.0.0.0/0 8.0.0.0/7 ::/0 2000::/3; do
		refused "of all $prefix nothing would be dropped any more, whatever lists say; --force allows it" \
			allow 192.0.2.1 "$prefix"
	done
	bloom allow 8.0.0.0/8 2000::/12 fc00::/7 fe80::/10 240.0.0.0/8 ff00::/8
	bloom allow 0.0.0.0/0 --force
	is "$("$XDP_BLOOM" allow | head -1)" 0.0.0.0/0 "what is allowed"
	bloom disallow 0.0.0.0/0
	seq -f '%g.0.0.0/8' 0 255 >every
	refused "of 100 % of all IPv4 addresses nothing would be dropped any more, whatever lists say; --force allows it" \
		allow - <every
	printf '%s\n' 0.0.0.0/1 128.0.0.0/1 >halves
	refused "list 'halves': it allows 100 % of all IPv4 addresses; --force or --wide loads it" load halves halves --allow
	refused "list 'halves': it allows 100 % of all IPv4" load halves every --allow
	refused "list 'halves': it allows 100 % of all IPv6" load halves - --allow <<<2000::/3
	bloom load halves every --allow --wide
	bloom load halves halves --allow # not more than before
	bloom unload halves
	bloom load halves halves --allow --force
}

asks_before_it_guesses() {
	refused "without the exact table about one innocent address in 1" tune --exact off
	is "$(get .exact tune)" true "whether it is exact"
	bloom tune --exact off --force
	bloom tune --exact off --headroom 20
	bloom tune --exact on
}

later_than() {
	[ "$(date -u +%FT%TZ)" != "$1" ]
}

# The version before stays in force; whoever looks sees that it is not the newest, since when and why.
shows_what_was_refused() {
	local since

	echo 192.0.2.1 >list
	bloom load drop list
	is "$(get '.[0].refused' lists)" null "what is refused"
	expect 2 "$XDP_BLOOM" load typo list --format nonsense
	expect 2 "$XDP_BLOOM" load typo nosuch
	[ ! -e state/failed ] || fail "a list that never was is remembered"
	echo nonsense >list
	expect 2 "$XDP_BLOOM" load drop list --dry-run
	is "$(get '.[0].refused' lists)" null "what is refused after --dry-run"
	echo 192.0.2.1 >good
	expect 2 "$XDP_BLOOM" load drop good --shadow
	is "$(get '.[0].refused' lists)" null "what is refused after another kind was asked for"
	expect 2 "$XDP_BLOOM" load drop list
	since=$(get '.[0].refused.since' lists)
	is "$(get '.[0].refused|[.why,.since==.last]' lists)" \
		'["list:1: '"'nonsense'"': expected an address, a prefix, a range, or a line of another known format",true]' "why"
	wait_until "the next second" later_than "$since"
	expect 2 "$XDP_BLOOM" load drop nosuch
	is "$(get '.[0].refused|[.why,.since]' lists)" '["nosuch: No such file or directory","'"$since"'"]' "since when"
	bloom lists
	grep -q "^drop  *its next version was refused, since $since: nosuch: No such file" out || fail "lists says: $(cat out)"
	bloom metrics
	grep -qx 'xdp_bloom_list_refused{list="drop",kind="ban"} 1' out || fail "metrics says: $(cat out)"
	grep -q '^xdp_bloom_list_last_success_seconds{list="drop",kind="ban"} [0-9]' out || fail "no time of success"
	expect 2 "$XDP_BLOOM" load later nosuch --if-changed
	bloom lists
	grep -q "^later  *never loaded, since .*: nosuch: No such file" out || fail "lists says: $(cat out)"
	echo 192.0.2.2 >list
	bloom load drop list --force
	expect 2 "$XDP_BLOOM" status
	grep -q "list 'later' is not loaded, since 20.*: nosuch: No such file" out || fail "status says: $(cat out)"
	bloom unload later
	is "$("$XDP_BLOOM" lists | grep -c later)" 0 "what is known of a list that was never loaded, after unload"
	expect 2 "$XDP_BLOOM" unload later
	bloom load later list --if-changed
	is "$(get '[.[].refused]' lists)" '[null,null]' "what is refused after a success"
	[ ! -e state/failed ] || fail "something is left: $(ls state/failed)"
	echo nonsense >list
	expect 2 "$XDP_BLOOM" load drop list
	expect 2 "$XDP_BLOOM" load later list
	bloom unload drop
	bloom flush
	[ ! -e state/failed ] || fail "something is left after unload and flush: $(ls state/failed)"
}

# All that is known of one list.
shows_one_list() {
	filtering drop
	printf '%s\n' 203.0.113.128/25 192.0.2.9 2001:db8::7 >list
	bloom load other list
	send 0 -b banned -c clean
	is "$(get '[.name,.kind,.prefixes,.source,.refused,(.overlap[]|.list,.ipv4,.ipv6),.drops.packets>0]' lists drop)" \
		'["drop","ban",3,"list",null,"other","128","1",true]' "what is known of it"
	bloom lists drop
	grep -q "^overlap  *other: 128 IPv4 and 1 IPv6 addresses of it" out || fail "lists drop says: $(cat out)"
	grep -q "^dropped  *[1-9][0-9]* packets" out || fail "lists drop says: $(cat out)"
	bloom load fine list --allow
	is "$(get '[.kind,.drops]' lists fine)" '["allow",null]' "what is known of an allow list"
	refused "there is no list 'nosuch'" lists nosuch
	bloom flush
	bloom load drop list
	bloom save image
	bloom flush
	bloom load --image image
	is "$(get '[.name,.prefixes,.overlap]' lists drop)" '["drop",3,[]]' "what is known of a list in an image"
}

# table ROWS: of networks, by country and AS number.
table() {
	printf 'start_ip,end_ip,country,asn,name\n'
	awk -v rows="$1" 'BEGIN {
		srand(7)
		split("CN US DE", countries)
		for (i = 0; i < rows; i++) {
			a = 45 * 65536 + int(i / 2)
			printf "%d.%d.%d.%d,%d.%d.%d.%d,%s,AS%d,\"Net, %d\"\n", a / 65536, a / 256 % 256, a % 256, i % 2 * 128,
				a / 65536, a / 256 % 256, a % 256, i % 2 * 128 + 127, countries[1 + int(3 * rand())], int(50 * rand()), i
		}
	}'
}

# What awk takes from a table; it is kept with the list, and a confirmation that does not come takes it back with it.
takes_rows() {
	table 20000 >table.csv
	awk -F, '$3 == "CN" && ($4 == "AS7" || $4 == "AS9") { print $1 "-" $2 }' table.csv >rows
	awk -F, '$3 == "US" { print $1 "-" $2 }' table.csv >us
	is "$("$XDP_BLOOM" set count -j table.csv --where country=CN --where asn=7,AS9 | jq -c '[.ipv4, .ipv6]')" \
		"$("$XDP_BLOOM" set count -j rows | jq -c '[.ipv4, .ipv6]')" "what is taken"
	bloom load cn table.csv --where country=CN --where asn=7,AS9
	"$XDP_BLOOM" set count -j rows | jq -r .ipv4.addresses >wanted
	is "$(get '.[0].addresses' lists)" "$(cat wanted)" "the addresses of the list"
	is "$(get '.[0].where' lists)" '["country=CN","asn=7,AS9"]' "what is kept of it"
	is "$(get .where lists cn)" '["country=CN","asn=7,AS9"]' "what is kept of it"
	bloom lists
	grep -q 'table.csv where country=CN&asn=7,AS9$' out || fail "lists says: $(cat out)"
	bloom lists cn
	grep -q '^source *table.csv where country=CN&asn=7,AS9$' out || fail "lists cn says: $(cat out)"
	# Its line in the table is the row that was taken, not another one.
	first=$(head -n 1 rows)
	line=$(awk -F, -v row="$first" '$1 "-" $2 == row { print NR }' table.csv)
	expect 0 "$XDP_BLOOM" test "${first%-*}"
	grep -q "table.csv:$line\\|line $line" out || fail "test does not name line $line: $(cat out)"
	bloom load cn table.csv --where country=US --big-change --confirm 1h
	is "$(get '.[0].where' lists)" '["country=US"]' "what is kept of the new version"
	bloom load all us --shadow
	is "$(get '.[1].where' lists)" null "what is kept of a list that is no table"
	refused "there is no column 'land', but start_ip, end_ip, country, asn, name" load other table.csv --where land=CN
	refused "--where takes COLUMN=VALUE" load other table.csv --where CN
	refused "an AS number, not an address" load other <(printf 'AS9009 # M247\n')
	is "$("$XDP_BLOOM" plan -j table.csv --where country=CN --where asn=7,9 >/dev/null && echo planned)" planned plan
	bloom compare table.csv table.csv --where country=CN
}

# Who made it and left nothing in it takes it away, just when this one has found it.
takes_the_state_away() {
	need strace
	strace -o trace -e trace=mkdir -e inject=mkdir:delay_exit=300000 "$XDP_BLOOM" add 192.0.2.1 >said 2>&1 &
	wait_until "the directory" [ -d "$XDP_BLOOM_STATE" ]
	rmdir "$XDP_BLOOM_STATE"
	end_of $! || fail "add: $(cat said)"
	verdicts 192.0.2.1=drop
}

# A typing error makes no directories.
leaves_nothing_behind() {
	local call

	echo nonsense >bad
	echo 'del 192.0.2.1' >commands
	while read -r call; do
		# shellcheck disable=SC2086 # the words of a command
		expect 2 "$XDP_BLOOM" $call
		[ ! -e "$XDP_BLOOM_STATE" ] || fail "'$call' left a state: $(find "$XDP_BLOOM_STATE")"
		[ ! -e "$XDP_BLOOM_BPFFS" ] || fail "'$call' left pins: $(find "$XDP_BLOOM_BPFFS")"
	done <<-'CALLS'
		load drop bad
		load drop nosuch
		del 192.0.2.1
		unload nosuch
		enforce nosuch
		add 0.0.0.0/0
		disallow 192.0.2.1
		tune --exact off
		batch commands
		attach nosuch0
		detach nosuch0
		capture -w file
		confirm
	CALLS
	expect 2 "$XDP_BLOOM" -S "$WORK/a/typo" del 192.0.2.1
	[ ! -e a ] || fail "a typing error made $(find a)"
	mkdir kept
	expect 2 "$XDP_BLOOM" -S "$WORK/kept" del 192.0.2.1
	[ -d kept ] || fail "a directory that was there is gone"
	# Beside one that does something, whoever is first.
	for call in {1..20}; do
		"$XDP_BLOOM" del 192.0.2.1 2>/dev/null &
		"$XDP_BLOOM" unload nosuch 2>/dev/null &
		bloom add 192.0.2.1
		wait
		[ "$("$XDP_BLOOM" bans --count)" -le 1 ] || fail "no answer"
		rm -rf "$XDP_BLOOM_BPFFS" "${XDP_BLOOM_STATE:?}"
	done
	bloom add 192.0.2.1
	verdicts 192.0.2.1=drop
}

run_cases takes_rows undoes_nothing leaves_nothing_behind takes_the_state_away shows_one_list shows_what_was_refused one_kind wide_exceptions asks_before_it_guesses leaves_bogons_out hides_what_a_link_led_to reads_no_file_of_the_kernel opens_no_device_that_another_leads_to reads_what_a_process_has ends_where_a_file_has_holes ends_with_what_has_no_end refuses_own_addresses knows_all_gateways refuses_big_changes refuses_wide_lists refuses_more_let_through \
	refuses_slow_poison grants_no_more_than_was_asked dry_run_changes_nothing skips_damaged_lines shadow_only_counts counts_by_list explains_every_list exceptions_without_a_roster goes_back_unconfirmed \
	goes_back_late goes_back_by_its_own_clock goes_back_into_little_memory goes_back_without_a_build \
	goes_back_at_the_second_try

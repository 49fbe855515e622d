#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands in other places than the filter: in a network namespace with other interfaces, or a mount namespace with other
# pins. None says that it did what is in force nowhere, and none takes the filter off what it does not see.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # stop has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need nsenter setpriv
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

elsewhere='filtered is in another network namespace'

# The other network: there is an interface of each kind that the filter asks about here, with another number.
away() {
	unshare --net sleep infinity &
	away=$!
	wait_until "another network" is_away
	nsenter --net="/proc/$away/ns/net" sh -ec 'ip link add before type veth peer name before1
		ip link add lan9 type veth peer name lan8'
}

is_away() {
	[ ! "/proc/$away/ns/net" -ef /proc/self/ns/net ]
}

# there STATUS ARGS...: a command in the other network.
there() {
	expect "$1" nsenter --net="/proc/$away/ns/net" "$XDP_BLOOM" "${@:2}"
	[ "$1" != 0 ] || grep -q "$elsewhere" err || fail "${*:2}: says nothing of where it is: $(cat err)"
}

# banned ADDRESS: it is banned from now on.
banned() {
	echo "$1" >>banned
}

# What another command does there; what each of these bans is dropped here, and all else is as it was.
by_commands_there() {
	echo 198.51.100.0/28 >wider
	there 0 add 198.51.100.77
	banned 198.51.100.77
	"$@"
	there 2 del 45.9.9.9
	"$@"
	there 0 load more wider --bogons=keep
	banned 198.51.100.7
	"$@"
	there 0 rotate
	"$@"
	there 0 tune --headroom 20
	"$@"
	there 0 unload more
	sed -i '/^198.51.100.7$/d' banned
	"$@"
}

sends_to_both() {
	send 0 -b banned -c clean
	send 1 -b banned -c clean
}

# Its ports are none there; and each command settles which there are.
ports() {
	veth 0 1
	ip link add edgetop type bridge 2>/dev/null || skip "the kernel has no bridges"
	ip link set edgetop up
	ip link set edge0 master edgetop
	ip link set edge1 master edgetop
	a_list
	bloom load bad list --bogons=keep
	bloom attach edgetop --ports
	away
	by_commands_there sends_to_both
	is "$(get '[.interfaces[].name]|sort' show)" '["edge0","edge1"]' "what is filtered"
	if [ "${1:-}" = served ]; then
		: >conf
		ready
		by_commands_there sends_to_both
		stop
	fi
	kill "$away"
}

# A bridge of that name is there, too, while the one at home has no port yet.
ports_to_come() {
	veth 0
	ip link add edgetop type bridge 2>/dev/null || skip "the kernel has no bridges"
	ip link set edgetop up
	a_list
	bloom load bad list --bogons=keep
	bloom attach edgetop --ports
	away
	nsenter --net="/proc/$away/ns/net" sh -ec 'ip link add edgetop type bridge
		ip link set lan9 master edgetop'
	there 0 add 198.51.100.77
	banned 198.51.100.77
	is "$(nsenter --net="/proc/$away/ns/net" ip -j link show lan9 | jq '.[0]|has("xdp")')" false "whether the other's port is filtered"
	ip link set edge0 master edgetop
	bloom add 198.51.100.78
	! grep -q "$elsewhere" err || fail "it is not at home: $(cat err)"
	banned 198.51.100.78
	send 0 -b banned -c clean
	ip link set edge0 nomaster
	bloom rotate
	# Who wants it there says so.
	expect 0 nsenter --net="/proc/$away/ns/net" "$XDP_BLOOM" restore
	expect 0 nsenter --net="/proc/$away/ns/net" "$XDP_BLOOM" rotate
	! grep -q "$elsewhere" err || fail "it is not at home where 'restore' was run: $(cat err)"
	is "$(get '[.interfaces[]|[.name,.moved]]' show)" '[["lan9",true]]' "what is filtered there"
	expect 0 "$XDP_BLOOM" rotate
	grep -q "$elsewhere" err || fail "it is at home here, too: $(cat err)"
	kill "$away"
}

# The number of an interface in a list's scope is one of the network here.
scope() {
	veth 0
	a_list
	bloom load bad list --bogons=keep --on edge0
	bloom attach edge0
	away
	by_commands_there send 0 -b banned -c clean
	# Which interface is meant by a name that no list has yet, nobody can tell there.
	expect 2 nsenter --net="/proc/$away/ns/net" "$XDP_BLOOM" load other wider --bogons=keep --on lan9
	one_line "lan9: which interface that is"
	kill "$away"
}

# Another interface has that name there.
names() {
	filtering bad
	away
	nsenter --net="/proc/$away/ns/net" ip link property add dev lan9 altname edge0
	by_commands_there send 0 -b banned -c clean
	is "$(get '[.interfaces[].name]' status)" '["edge0"]' "what is to be filtered"
	kill "$away"
	# All that is attached goes as at a reboot, and comes back under its own name.
	rm -rf "${bpffs:?}"
	let_go edge0
	bloom restore
	send 0 -b banned -c clean
}

# Where nothing is attached, it is at home where the next command is.
moves() {
	a_list
	away
	veth 0
	bloom load bad list --bogons=keep
	ip link set edge0 netns "$away"
	expect 0 nsenter --net="/proc/$away/ns/net" "$XDP_BLOOM" attach edge0
	! grep -q "$elsewhere" err || fail "it is not at home: $(cat err)"
	expect 0 "$XDP_BLOOM" add 198.51.100.77
	grep -q "$elsewhere" err || fail "it is at home here, too: $(cat err)"
	# It comes here, and all is at home: also what is new is known by its name.
	nsenter --net="/proc/$away/ns/net" ip link set edge0 netns $$
	kill "$away"
	ip link set edge0 up
	echo 1 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	echo 198.51.100.8 >other
	bloom load other other --bogons=keep --on edge0
	! grep -q "$elsewhere" err || fail "it has come home: $(cat err)"
	banned 198.51.100.8
	banned 198.51.100.77
	send 0 -b banned -c clean
}

# What was home has ended, while something is filtered here.
ends() {
	veth 0 1
	a_list
	away
	ip link set edge0 netns "$away"
	expect 0 nsenter --net="/proc/$away/ns/net" "$XDP_BLOOM" attach edge0
	expect 0 "$XDP_BLOOM" attach edge1
	grep -q "$elsewhere" err || fail "nothing is said of where it is: $(cat err)"
	kill "$away"
	end_of "$away"
	wait_until "the end of wire0" [ ! -e /sys/class/net/wire0 ]
	bloom load bad list --bogons=keep --on edge1
	! grep -q "$elsewhere" err || fail "it is not at home: $(cat err)"
	send 1 -b banned -c clean
}

# nowhere WORDS COMMAND...: a command where the pins are not: refused, whatever it is, and nothing was changed.
nowhere() {
	local words=$1 line before after

	before=$("$XDP_BLOOM" -j show; "$XDP_BLOOM" -j lists; "$XDP_BLOOM" -j bans)
	for line in "add 198.51.100.77" "del 46.0.0.1" "load other list --force" "unload bad --force" "allow 192.0.2.7" \
		"tune --headroom 30" rotate flush "attach edge0" "attach edge1" "batch lines"; do
		# shellcheck disable=SC2086 # a verb and its arguments
		expect 2 "${@:2}" "$XDP_BLOOM" $line
		one_line "$words"
		after=$("$XDP_BLOOM" -j show; "$XDP_BLOOM" -j lists; "$XDP_BLOOM" -j bans)
		is "$after" "$before" "what there is after $line"
		send 0 -b banned -c clean
	done
	is "$(get .status status)" sound "what status says"
}

# 'ip netns exec' mounts /sys again: a BPF file system that is mounted there goes with the command.
hidden() {
	veth 1
	filtering bad
	bloom add 46.0.0.1
	echo "add 198.51.100.77" >lines
	mount -t tmpfs run /run
	ip netns add vpn
	nowhere "not mounted in this mount namespace" ip netns exec vpn
	: >conf
	expect 2 ip netns exec vpn "$XDP_BLOOM" run --config "$WORK/conf"
	grep -q "not mounted in this mount namespace" err || fail "the service says: $(cat err)"
	send 0 -b banned -c clean
	if [ "${1:-}" = served ]; then
		ready
		nowhere "not mounted in this mount namespace" ip netns exec vpn
		stop
	fi
	ip netns del vpn
	umount -l /run
}

# Another BPF file system is in the place of the one that has the pins.
other_pins() {
	veth 1
	filtering bad
	bloom add 46.0.0.1
	echo "add 198.51.100.77" >lines
	# shellcheck disable=SC2016 # for the shell there
	nowhere "pinned elsewhere than in" unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf; "$@"' there
	if [ "${1:-}" = served ]; then
		: >conf
		ready
		# shellcheck disable=SC2016 # for the shell there
		nowhere "pinned elsewhere than in" unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf; "$@"' there
		stop
	fi
	# With the rights of the service alone nobody is told whether the other filter is there still.
	# shellcheck disable=SC2016 # for the shell there
	expect 2 unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf; exec setpriv --bounding-set -all,+bpf,+net_admin,+perfmon \
		--inh-caps -all,+bpf,+net_admin,+perfmon "$@"' there "$XDP_BLOOM" add 198.51.100.78
	one_line "pinned elsewhere than in"
	# Whose filter is gone begins anew, without a question: a container that has been started again.
	umount /sys/fs/bpf
	mount -t bpf bpf /sys/fs/bpf
	let_go edge0
	bloom add 198.51.100.77
	banned 198.51.100.77
	bloom restore
	send 0 -b banned -c clean
}

# Another directory of the same BPF file system: a container that has only that, or -B forgotten.
other_directory() {
	filtering bad
	if [ "${1:-}" = served ]; then
		: >conf
		ready
	fi
	expect 2 "$XDP_BLOOM" -B "$bpffs-2" add 198.51.100.77
	one_line "pinned elsewhere than in $bpffs-2"
	[ ! -e "$bpffs-2" ] || fail "what it has made there stays"
	# shellcheck disable=SC2016 # for the shell there
	expect 2 unshare --mount sh -c 'mount --bind "$XDP_BLOOM_BPFFS" /sys/fs/bpf; "$@"' there "$XDP_BLOOM" add 198.51.100.77
	one_line "pinned elsewhere than in $bpffs"
	[ ! -e "$bpffs/${bpffs##*/}" ] || fail "what it has made within stays"
	is "$(get . bans)" '[]' "what is banned"
	send 0 -b banned -c clean
	if [ "${1:-}" = served ]; then
		stop
	fi
	# What is gone keeps nobody out, though the kernel lets go of it a little later.
	rm -r "${bpffs:?}"
	wait_until "a filter where it was" "$XDP_BLOOM" add 198.51.100.77
	banned 198.51.100.77
	bloom restore
	send 0 -b banned -c clean
}

run_cases ports "ports served" ports_to_come scope names moves ends hidden "hidden served" other_pins "other_pins served" other_directory "other_directory served"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Three machines, each with a state and a filter of its own, that a real Redis connects: what one bans is in force on the
# others, and no fault of the server ends anything early.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need_redis

MEMBERS=(edge-1 edge-2 edge-3)

unmet() {
	printf ' (%s)' "$(tail -qn 3 edge-*.err server.log 2>/dev/null | tail -n 8 | tr '\n' ';')"
}

# server OPTIONS...: with its data in $WORK/data. Its process is $server.
server() {
	mkdir -p data
	redis-server --port 7379 --bind 127.0.0.1 --dir "$WORK/data" --save '' --aclfile "$WORK/data/users.acl" "$@" >>server.log 2>&1 &
	server=$!
	wait_until "the server" asked PING
}

asked() {
	redis-cli -p 7379 --no-auth-warning --user root --pass root "$@" 2>/dev/null | grep -q .
}

as_root() {
	redis-cli -p 7379 --no-auth-warning --user root --pass root "$@"
}

# on NAME ARGS...: the command on that machine.
on() {
	local name=$1

	shift
	XDP_BLOOM_STATE=$WORK/$name/state XDP_BLOOM_BPFFS=/sys/fs/bpf/xdp-bloom-$name "$XDP_BLOOM" "$@"
}

# takes_part NAME: its process is ${part[NAME]}.
declare -A part
takes_part() {
	# Itself, and no shell that waits for it.
	XDP_BLOOM_STATE=$WORK/$1/state XDP_BLOOM_BPFFS=/sys/fs/bpf/xdp-bloom-$1 "$XDP_BLOOM" fleet run >>"$1.out" 2>>"$1.err" &
	part[$1]=$!
}

joined() {
	local name

	ip link set lo up
	rm -rf /sys/fs/bpf/xdp-bloom-edge-*
	mkdir -p data
	# Whoever has switched the default user off loses what is in an AOF: Redis 7.0 replays as that user.
	printf 'user default on >root ~* &* +@all\nuser root on >root ~* &* +@all\n' >data/users.acl
	server "$@"
	for name in "${MEMBERS[@]}"; do
		mkdir -p "$name"
		echo "secret-$name" >"$name/password"
		chmod 600 "$name/password"
		on "$name" fleet acl "$name" | sed "s/>PASSWORD/>secret-$name/" | as_root >acl.out
		[ "$(grep -c '^OK\|^1\|^(integer) 1' acl.out)" = 2 ] || fail "the server takes no ACL: $(cat acl.out)"
		on "$name" fleet accept '*' || fail "not accepted"
		on "$name" fleet join redis://127.0.0.1:7379 --as "$name" --password-file "$name/password" || fail "not joined"
		takes_part "$name"
	done
	as_root ACL SAVE >acl.out
	for name in "${MEMBERS[@]}"; do
		wait_until "that $name is up" is_up "$name"
	done
}

is_up() {
	[ "$(on "$1" -j fleet | jq .server.up)" = true ]
}

is_down() {
	[ "$(on "$1" -j fleet | jq .server.up)" = false ]
}

waits() {
	[ "$(on "$1" -j fleet | jq .server.waiting)" = "$2" ]
}

passes() {
	on "$1" -j test "$2" | jq -e '.[0].verdict == "pass"' >/dev/null
}

drops() {
	on "$1" -j test "$2" | jq -e '.[0].verdict == "drop"' >/dev/null
}

# everywhere ADDRESS: it is banned on all of them.
everywhere() {
	local name

	for name in "${MEMBERS[@]}"; do
		wait_until "the ban of $1 on $name" drops "$name" "$1"
	done
}

nowhere() {
	local name

	for name in "${MEMBERS[@]}"; do
		wait_until "the end of $1 on $name" passes "$name" "$1"
	done
}

one_bans_all_drop() {
	joined
	on edge-1 add 45.0.0.1 --ttl 1h --reason 'SYN flood' || fail "no ban"
	on edge-2 add 2001:db8:2::/48 || fail "no ban"
	everywhere 45.0.0.1
	everywhere 2001:db8:2::1
	is "$(on edge-3 -j bans 45.0.0.1 | jq -r '.[0].reason')" "edge-1: SYN flood" "why"
	is "$(on edge-3 -j fleet | jq -c '[.members[] | select(.member == "edge-1") | .rule, .bans, (.server.p50_ms < 60000)]')" \
		'["accepted",1,true]' "what is shown"
	on edge-1 del 45.0.0.1
	nowhere 45.0.0.1
	everywhere 2001:db8:2::1
	on edge-2 fleet leave >/dev/null || fail "it cannot leave"
	end_of "${part[edge-2]}" || fail "it did not end well"
	everywhere 2001:db8:2::1
}

# server_away SIGNAL OPTIONS...: the server is gone, machines ban, it comes again.
server_away() {
	local signal=$1

	shift
	joined "$@"
	on edge-1 add 45.0.0.1 --ttl 1h
	on edge-2 add 45.0.0.2 --ttl 1h
	everywhere 45.0.0.1
	everywhere 45.0.0.2
	wait_until "that nothing waits" waits edge-1 0
	kill "$signal" $server
	wait $server 2>/dev/null
	wait_until "that it is seen" is_down edge-1
	on edge-1 add 45.0.0.3 --ttl 1h
	on edge-1 add 45.0.0.4 --ttl 1h
	on edge-1 del 45.0.0.4
	on edge-1 del 45.0.0.1
	drops edge-2 45.0.0.1 || fail "it has ended before anybody could say so"
	waits edge-1 3 || fail "three wait: $(on edge-1 -j fleet)"
	server "$@"
	everywhere 45.0.0.3
	everywhere 45.0.0.2
	nowhere 45.0.0.1
	nowhere 45.0.0.4
	wait_until "that nothing waits" waits edge-1 0
}

# Its word stays until its owner says all of it again.
emptied() {
	local name

	joined
	on edge-1 add 45.0.0.1 --ttl 1h
	on edge-2 add 45.0.0.2 --ttl 1h
	everywhere 45.0.0.1
	everywhere 45.0.0.2
	as_root FLUSHALL >flushed
	for name in "${MEMBERS[@]}"; do
		as_root SADD xdp-bloom:members "$name" >flushed
	done
	wait_until "that it is said" lost edge-1
	on edge-3 add 45.0.0.3 --ttl 1h
	everywhere 45.0.0.3
	everywhere 45.0.0.1
	everywhere 45.0.0.2
}

lost() {
	[ "$(on "$1" -j fleet | jq '.server.lost != null')" = true ]
}

# What a member could do with its own name and password.
nobody_speaks_for_others() {
	local command

	joined
	on edge-1 add 45.0.0.1
	everywhere 45.0.0.1
	as_edge_2() {
		redis-cli -p 7379 --no-auth-warning --user edge-2 --pass secret-edge-2 "$@" 2>&1
	}
	set -f
	for command in 'XADD xdp-bloom:edge-1:log * e 0 n 1' 'ZADD xdp-bloom:edge-1:now 1 9.9.9.9' 'DEL xdp-bloom:edge-1:now' \
		'SADD xdp-bloom:members rogue' 'SREM xdp-bloom:members edge-1' 'KEYS *' 'CONFIG GET *' FLUSHALL 'GET other' \
		'ACL LIST' 'EVAL return 0'; do
		# shellcheck disable=SC2086 # words
		as_edge_2 $command | grep -q 'NOPERM' || fail "it may: $command"
	done
	set +f
	everywhere 45.0.0.1
}

# Processes are killed at any moment, the command's and those that speak to the server, while all ban and take back: what
# stays banned never passes, and in the end all agree with who says what.
killed_at_random() {
	local i name at kept=0
	declare -A says

	joined
	RANDOM=$XDP_BLOOM_SEED
	for i in 1 2 3 4 5; do
		on edge-$((1 + RANDOM % 3)) add "45.2.0.$i" --ttl 1h || fail "no ban"
		everywhere "45.2.0.$i"
	done
	for ((i = 0; i < 60; i++)); do
		name=edge-$((1 + RANDOM % 3)) at=45.1.0.$((RANDOM % 20))
		if [ -n "${says[$name $at]:-}" ]; then
			on "$name" del "$at" >/dev/null || fail "$name cannot take $at back"
			unset "says[$name $at]"
		else
			on "$name" add "$at" --ttl 1h >/dev/null || fail "$name cannot ban $at"
			says[$name $at]=yes
		fi
		name=edge-$((1 + RANDOM % 3))
		case $((RANDOM % 4)) in
		0)
			kill -9 "${part[$name]}"
			{ wait "${part[$name]}"; } 2>/dev/null
			takes_part "$name"
			;;
		1) pkill_child "${part[$name]}" ;;
		esac
		drops "edge-$((1 + RANDOM % 3))" "45.2.0.$((1 + RANDOM % 5))" || fail "what was banned has passed, at step $i"
	done
	for ((i = 0; i < 20; i++)); do
		at=45.1.0.$i
		if [ -n "${says[edge-1 $at]:-}${says[edge-2 $at]:-}${says[edge-3 $at]:-}" ]; then
			everywhere "$at"
			kept=$((kept + 1))
		else
			nowhere "$at"
		fi
	done
	echo "# $kept of 20 are banned in the end"
	for name in "${MEMBERS[@]}"; do
		wait_until "that nothing waits" waits "$name" 0
		on "$name" state check >/dev/null || fail "the state of $name"
	done
}

# pkill_child PID: its child, if it has one now.
pkill_child() {
	local child children=()

	read -ra children 2>/dev/null <"/proc/$1/task/$1/children"
	for child in "${children[@]}"; do
		kill -9 "$child" 2>/dev/null
	done
}

# Another user listens in the server's place while it is down: he hears no password. Named, he is the server.
whose_server_it_is() {
	local fd

	ip link set lo up
	mkdir e
	echo the-secret >e/password
	chmod 600 e/password
	on e fleet join redis://127.0.0.1:7379 --as edge-7 --password-file e/password || fail "not joined"
	exec {fd}< <(without_rights python3 -uc '
import socket
server = socket.create_server(("127.0.0.1", 7379))
print("listens")
print(server.accept()[0].recv(4096))')
	read -r -t 20 -u "$fd" || fail "nobody listens"
	takes_part e
	wait_until "that he is refused" has_reason e "listens user 65534 "
	wait_until "that it is said" grep -q 'listens user 65534 .*--server-user NAME' e.err
	read -r -t 0 -u "$fd" && fail "he hears something"
	kill "${part[e]}"
	wait "${part[e]}"
	on e fleet join redis://127.0.0.1:7379 --as edge-7 --password-file e/password --server-user nobody || fail "not joined again"
	takes_part e
	read -r -t 20 -u "$fd" || fail "who was named is not asked"
	[[ $REPLY = *the-secret* ]] || fail "he heard '$REPLY'"
}

# He was bound to the port before, and has the connection, though root's server listens.
who_was_there_before() {
	local was

	ip link set lo up
	read -ra was </proc/sys/net/ipv4/ip_local_port_range
	echo 45000 45003 >/proc/sys/net/ipv4/ip_local_port_range
	mkdir before
	echo the-secret >before/password
	chmod 600 before/password
	on before fleet join redis://127.0.0.1:7379 --as edge-7 --password-file before/password || fail "not joined"
	python3 "$here/../net/fleet_before.py" 7379 >heard 2>heard.err &
	takes_part before
	wait_until "that he is refused" has_reason before "listens user 65534 "
	echo "${was[@]}" >/proc/sys/net/ipv4/ip_local_port_range
	! grep secret heard || fail "he hears the password"
}

has_reason() {
	[[ $(on "$1" -j fleet | jq -r .server.why) = *$2* ]]
}

run_cases one_bans_all_drop 'server_away -9' 'server_away -9 --appendonly yes' 'server_away -TERM --appendonly yes' emptied \
	nobody_speaks_for_others killed_at_random whose_server_it_is who_was_there_before

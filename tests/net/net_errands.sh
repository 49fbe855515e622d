#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# add, del and batch where the service runs: the process that it keeps does them, with the same words, statuses and
# guarantees, or leaves them to the command. XDP_BLOOM_KILLS: how often that process is killed.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # stop has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need strace

# shellcheck source=../support/service.sh
. "$here/service.sh"

here_it='run by the process of the service'

serves() {
	ip link set lo up
	: >conf
	bloom add 46.0.0.1 # so that there is a generation
	ready
	wait_until "the socket" [ -S "$XDP_BLOOM_STATE/errands.sock" ]
	is "$(stat -c %a "$XDP_BLOOM_STATE/errands.sock")" 600 "who may speak to it"
}

# by_it ARGS...: done by the process of the service.
by_it() {
	local tries=50

	"$XDP_BLOOM" -v "$@" >out 2>&1 || fail "$*: $(cat out)"
	# The service may be at work itself, as behind a state that is new; what is added twice is added once.
	while [ "$1" = add ] && [ $((tries--)) -gt 0 ] && grep -q "another command is at work" out; do
		moment
		"$XDP_BLOOM" -v "$@" >out 2>&1 || fail "$*: $(cat out)"
	done
	grep -q "$here_it" out || fail "$* was not done by the process of the service: $(cat out)"
}

# by_us WHY ARGS...: it was left to the command, which did it.
by_us() {
	local why=$1

	shift
	"$XDP_BLOOM" -v "$@" >out 2>&1 || fail "$*: $(cat out)"
	grep -q "leaves it to this one: .*$why" out || fail "$*: not for '$why': $(cat out)"
}

helper() {
	pgrep -f "^xdp-bloom run --state $XDP_BLOOM_STATE .*--errands"
}

# What is said, to which of the two, and the status, of each: with the service and without it.
words_and_statuses() {
	local line n=0

	serves
	echo 45.9.0.0/24 | bloom load listed -
	bloom allow 45.8.0.0/24
	ip addr add 45.7.0.1/32 dev lo
	cat >lines <<-'LINES'
		add 45.0.0.1
		add 45.0.0.1
		add 45.0.0.1 --json
		add 45.0.0.1 --ttl 1h
		add 45.0.0.1 --ttl 1h --replace --reason first
		add 45.0.0.1 --ttl 2h --reason second --json
		add 45.0.0.1 45.0.0.2 --reason third --pretty
		add 45.0.0.300
		add 45.0.0.1/8
		add 45.0.0.1 --tll 1h
		add
		add 45.7.0.1
		add 45.8.0.3
		add 45.8.0.4 -q
		add 0.0.0.0/0
		add 2001:db8::/48 45.3.0.0/16
		del 45.0.0.2
		del 45.0.0.2
		del 45.3.0.1
		del 45.9.0.1
		del 45.0.0.1 --reason other
		del 45.0.0.1 --reason second --json
		del 2001:db8::/48 45.3.0.0/16 45.9.0.1
		add --log=json 45.0.0.300
		batch commands
		batch commands --json
		batch wrong
		batch nowhere
		batch -
		add -
		add - -
		del -
	LINES
	printf 'add 45.1.0.%d --ttl 1h\n' {1..50} >commands
	printf 'del 45.1.0.1\nadd 45.1.0.1 45.8.0.9\n' >>commands
	printf 'add 45.1.1.1\nadd nonsense\n' >wrong
	printf 'add 45.1.2.1\n' >input-batch
	printf '45.1.3.1 45.1.3.2 # two\n45.1.3.3\n' >input-add
	cp input-add input-del
	while read -ra line; do
		n=$((n + 1))
		[ -e "input-${line[0]}" ] || : >"input-${line[0]}"
		said with "${line[@]}"
	done <lines
	get '[.[] | del(.added, .expires, .seconds_left)]' bans >bans.with
	helper >/dev/null || fail "there is no process that did them"
	stop
	[ ! -e "$XDP_BLOOM_STATE/errands.sock" ] || fail "the socket is left"
	bloom flush
	bloom add 46.0.0.1
	echo 45.9.0.0/24 | bloom load listed -
	bloom allow 45.8.0.0/24
	while read -ra line; do said without "${line[@]}"; done <lines
	get '[.[] | del(.added, .expires, .seconds_left)]' bans >bans.without
	cmp bans.with bans.without || fail "other bans: $(diff bans.with bans.without)"
	diff said.without said.with >difference || fail "with the service other words: $(cat difference)"
	[ "$(grep -c '^status 2' said.with)" -ge 8 ] || fail "few of them were refused: $(grep -c '^status 2' said.with)"
}

# What differs by the hour, the generation and the run is left out.
said() {
	local into=$1 status

	shift
	{
		echo "--- $*"
		"$XDP_BLOOM" "$@" <"input-$1" >said.out 2>said.err
		status=$?
		sed 's/^/1: /' said.out
		sed 's/^/2: /' said.err
		# Once more; in the same second its end is the same, and a second later it is not.
		"$XDP_BLOOM" "$@" <"input-$1" 2>&1 | sed 's/"renewed":1,"kept":0/"renewed":0,"kept":1/'
		echo "status $status"
	} | sed -E 's/20[0-9]{2}-[0-9T:-]+Z/DATE/g; s/"generation":[ 0-9]+/GENERATION/; s/"seconds":[0-9.e-]+/SECONDS/' >>"said.$into"
}

what_it_keeps() {
	serves
	by_it add 45.0.0.1 45.0.0.2
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=pass
	by_it del 45.0.0.2
	verdicts 45.0.0.1=drop 45.0.0.2=pass
	is "$(events_of 'add 45.0.0.1 45.0.0.2')" "$(id -u)" "who did it, in the event log"
	# Others change the state in between, and the filter, and the file itself.
	bloom rotate
	by_it add 45.0.0.4
	echo 45.2.0.1 | bloom load other -
	bloom del 45.0.0.1
	by_it add 45.0.0.5
	verdicts 45.0.0.1=pass 45.0.0.4=drop 45.0.0.5=drop 45.2.0.1=drop
	bloom state recover
	bloom restore
	by_it add 45.0.0.6
	verdicts 45.0.0.4=drop 45.0.0.6=drop 45.2.0.1=drop
	is "$(get 'map(.prefix) | join(" ")' bans)" '45.0.0.4 45.0.0.5 45.0.0.6 46.0.0.1' "the bans"
	# From another directory, by another name of the state.
	mkdir -p elsewhere && ln -sfn "$XDP_BLOOM_STATE" link
	(cd elsewhere && echo 'add 45.0.0.7' >file && by_it --state ../link batch file) || fail "from another directory"
	verdicts 45.0.0.7=drop
	stop
	bloom add 45.0.0.8
	verdicts 45.0.0.8=drop
}

# Of a large filter it keeps what it has touched, while that is in force: each ban gets into the one that is.
generations() {
	local turn n all=()

	serves
	awk 'BEGIN { for (n = 0; n < 200000; n++) printf "11.%d.%d.%d\n", n / 1000, n / 4 % 250, n % 4 * 64 }' >list
	bloom load large list
	for turn in "bloom rotate" "bloom shadow large" "bloom enforce large" "bloom tune --exact off --force" \
		"bloom tune --exact on" "bloom restore" "bloom unload large" "bloom load large list"; do
		for n in {1..40}; do
			all+=("45.$((RANDOM % 256)).$((RANDOM % 256)).$((RANDOM % 256))")
			"$XDP_BLOOM" -q add "${all[-1]}" || fail "add ${all[-1]}"
		done
		wait_until "it is added by the process of the service" added_by_it "${all[-1]}"
		bloom del "${all[0]}" # without a roster by a new generation
		verdicts "${all[0]}=pass"
		all=("${all[@]:1}")
		all_drop "after $turn"
		$turn
		all_drop "$turn"
	done
	# Of those before nothing is mapped any more.
	wait_until "it keeps some of that in force" keeps_some
	[ $((n - 65536)) -le "$(get .memory.total show)" ] || fail "$n bytes are mapped, $(get .memory.total show) are in force"
	stop
}

# Not while the service itself changes something.
added_by_it() {
	"$XDP_BLOOM" -v add "$1" >out 2>&1 || fail "add $1: $(cat out)"
	grep -q "$here_it" out
}

keeps_some() {
	local from to

	added_by_it "44.$((RANDOM % 256)).$((RANDOM % 256)).1"
	n=0
	while IFS='- ' read -r from to _; do n=$((n + 16#$to - 16#$from)); done < <(grep bpf-map "/proc/$(helper)/maps")
	[ "$n" -gt 0 ]
}

all_drop() {
	printf '%s\n' "${all[@]}" | "$XDP_BLOOM" -j test - | jq -e 'all(.[]; .verdict == "drop")' >/dev/null ||
		fail "$1: $(printf '%s\n' "${all[@]}" | "$XDP_BLOOM" -j test - | jq -c '[.[] | select(.verdict != "drop").address]') pass"
}

events_of() {
	"$XDP_BLOOM" -j events | jq -r --arg words "$1" 'select(.message == $words) | .uid' | tail -n 1
}

what_it_leaves() {
	serves
	by_it add 45.0.0.1
	echo 45.0.1.1 >list
	printf 'add 45.0.0.2\nload other %s\n' "$WORK/list" >mixed
	by_us "more than bans" batch mixed
	# So many would keep it from others, and a new generation is likely: by a file and by a pipe.
	seq 30000 | awk '{ printf "add 47.1.%d.%d\n", $1 / 250, $1 % 250 }' >large
	"$XDP_BLOOM" -v batch large >out 2>&1 || fail "a large batch: $(cat out)"
	! grep -q "process of the service" out || fail "a large batch was given to it: $(cat out)"
	sed 's/add 47/48/' large | cat | "$XDP_BLOOM" -v add - >out 2>&1 || fail "many in a pipe: $(cat out)"
	! grep -q "process of the service" out || fail "many in a pipe were given to it: $(cat out)"
	verdicts 47.1.0.1=drop 47.1.120.0=drop 48.1.0.1=drop 48.1.120.0=drop 48.1.120.1=pass
	verdicts 45.0.0.2=drop 45.0.1.1=drop
	# The first ban that ends takes another program.
	by_us "a new generation" add 45.0.0.3 --ttl 1h
	by_it add 45.0.0.4 --ttl 1h
	# It must not wait in the place of others.
	hold_lock
	"$XDP_BLOOM" -v --wait 1 add 45.0.0.5 >out 2>&1 && fail "added beside the lock"
	grep -q "leaves it to this one: another command" out || fail "did not leave it: $(cat out)"
	grep -q "another command has held .* for 1 s: process $holder" out || fail "who holds it: $(cat out)"
	kill "$holder"
	end_of "$holder"
	by_it add 45.0.0.5
	# Another network: what this machine needs is another thing there.
	unshare --net "$XDP_BLOOM" -v add 45.0.0.6 >out 2>&1 || fail "in another network: $(cat out)"
	grep -q "leaves it to this one: .*another network" out || fail "in another network: $(cat out)"
	"$XDP_BLOOM" -v add 45.0.0.7 --confirm 1h >out 2>&1 || fail "--confirm: $(cat out)"
	grep -q "$here_it" out && fail "--confirm was done elsewhere"
	bloom confirm
	stop
}

# Whom this SSH session comes from, and who has another, the command knows and not the service.
sessions() {
	serves
	by_it add 45.0.0.1
	SSH_CONNECTION='45.0.0.2 50000 192.0.2.2 22' "$XDP_BLOOM" add 45.0.0.2 >out 2>&1 && fail "its own session was banned"
	grep -q "the peer of this SSH session" out || fail "why not: $(cat out)"
	SSH_CONNECTION='45.0.0.2 50000 192.0.2.2 22' bash -c '"$XDP_BLOOM" add 45.0.0.2; exit $?' >out 2>&1 &&
		fail "the session of a process above was banned"
	grep -q "the peer of this SSH session" out || fail "why not: $(cat out)"
	verdicts 45.0.0.1=drop 45.0.0.2=pass
	# What is not known of its own the command says itself, once in a day.
	by_it add 45.0.0.3
	! grep -q "tunnel" out || fail "another's session: $(cat out)"
	SSH_CONNECTION='127.0.0.1 50000 127.0.0.1 22' by_us "session comes through a tunnel" add 45.0.0.4
	is "$(grep -c "comes through a tunnel of a process" out)" 1 "what it says of its session"
	SSH_CONNECTION='127.0.0.1 50000 127.0.0.1 22' by_it add 45.0.0.5
	! grep -q "tunnel" out || fail "it is said again: $(cat out)"
	# A connection that may be a session.
	ip addr add 45.6.0.1/32 dev lo
	ip addr add 45.6.0.2/32 dev lo
	python3 - <<-'PYTHON' >connected &
		import socket, time

		server = socket.create_server(("45.6.0.2", 22022))
		client = socket.create_connection(("45.6.0.2", 22022), source_address=("45.6.0.1", 0))
		accepted = server.accept()
		print("connected", flush=True)
		time.sleep(600)
	PYTHON
	wait_until "a connection" grep -q . connected
	ip addr del 45.6.0.1/32 dev lo
	by_us "an SSH session" add 45.6.0.1
	stop
}

only_root() {
	serves
	by_it add 45.0.0.1
	chmod 755 "$WORK" "$XDP_BLOOM_STATE"
	chmod 666 "$XDP_BLOOM_STATE/errands.sock"
	python3 - "$XDP_BLOOM_STATE/errands.sock" "$XDP_BLOOM_BPFFS" "$("$XDP_BLOOM" -V)" <<-'PYTHON' ||
		import os, socket, struct, sys

		path, pins, version = sys.argv[1:]
		places = [(is_it.st_dev, is_it.st_ino) for is_it in map(os.stat, ("/proc/self/ns/net", pins))]
		words = b"add\0" + b"45.0.0.3\0"
		request = struct.pack("=32sIIIi128s4Q", version.split()[1].encode(), len(words), 2, 0, 0, b"", *places[0], *places[1])


		def asks(goes_on=True):
		    s = socket.socket(socket.AF_UNIX)
		    s.settimeout(60)
		    s.connect(path)
		    try:
		        s.sendall(request + words)
		        ready = s.recv(8)
		        if not ready or not goes_on:
		            return ready
		        s.sendall(b"x")
		        return s.recv(1)
		    except (BrokenPipeError, ConnectionResetError):
		        return b""


		if not asks():
		    sys.exit("root is not answered")
		# Who is told that it is his turn, and does not want any more, has not been heard.
		words = words.replace(b".3", b".5")
		asks(goes_on=False)
		words = words.replace(b".5", b".4")
		os.setgroups([])
		os.setgid(65534)
		os.setuid(65534)
		sys.exit(1 if asks() else 0)
	PYTHON
		fail "somebody else was answered"
	# Rubbish, and half of a question: it answers others.
	python3 - "$XDP_BLOOM_STATE/errands.sock" <<-'PYTHON'
		import os, socket, sys

		for part in os.urandom(100), os.urandom(5000), bytes(300), b"\0" * 32 + b"\xff" * 400:
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    try:
		        s.sendall(part)
		    except BrokenPipeError:
		        pass
		    s.close()
	PYTHON
	chmod 700 "$XDP_BLOOM_STATE"
	by_it add 45.0.0.2
	verdicts 45.0.0.2=drop 45.0.0.3=drop 45.0.0.4=pass 45.0.0.5=pass
	# A service that hangs is waited for no longer than a moment: its process has ended, and none is begun.
	pkill -P "$service_pid" -f errands
	kill -STOP "$service_pid"
	expect 0 timeout 20 "$XDP_BLOOM" add 45.0.0.6
	kill -CONT "$service_pid"
	verdicts 45.0.0.6=drop
	stop
}

# Whatever has been acknowledged is in force and in the state.
killed() {
	local kills=${XDP_BLOOM_KILLS:-12} n=0 pid

	serves
	: >acknowledged
	(
		for ((i = 0; ; i++)); do
			address=45.$((100 + i / 65536)).$((i / 256 % 256)).$((i % 256))
			"$XDP_BLOOM" -q add "$address" 2>>said || exit 1
			echo "$address" >>acknowledged
		done
	) &
	adder=$!
	while [ $n -lt "$kills" ]; do
		pid=$(helper) || {
			jobs %% >/dev/null 2>&1 || fail "no more is added: $(cat said)"
			continue
		}
		kill -KILL "$pid" 2>/dev/null && n=$((n + 1))
		wait_until "more" more_than "$n"
	done
	kill "$adder"
	wait "$adder" 2>/dev/null
	"$XDP_BLOOM" -j test - <acknowledged | jq -e 'all(.[]; .verdict == "drop")' >/dev/null || fail "one passes"
	get 'map(.prefix) | .[]' bans | tr -d '"' | sort >there
	sort acknowledged | comm -23 - there >lost
	is "$(cat lost)" "" "what is not in the state"
	stop
}

# A command whose input does not end keeps nobody else waiting.
slow_input() {
	local slow

	serves
	mkfifo slow
	"$XDP_BLOOM" -v --wait 0 add - <slow >slow.out 2>&1 &
	slow=$!
	exec 7>slow
	echo 45.5.0.1 >&7
	wait_until "that it reads" is_read_from
	for n in {1..5}; do
		by_it --wait 1 add "45.5.1.$n"
	done
	exec 7>&-
	end_of $slow
	grep -q "$here_it" slow.out || fail "the slow one: $(cat slow.out)"
	"$XDP_BLOOM" test 45.5.0.1 45.5.1.5 >out || fail "$(cat out)"
	stop
}

# Who waits for no lock waits for what has been begun; and where no more is heard of that, it is not said that nothing happened.
begun() {
	local pid tracer n

	serves
	for n in {1..20}; do
		by_it --wait 0 add "45.4.0.$n"
	done
	pid=$(helper)
	strace -p "$pid" -o /dev/null -e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_enter=60s 2>traced &
	tracer=$!
	wait_until "that its syncs take a minute" grep -qs attached traced
	expect 2 "$XDP_BLOOM" --wait 0 add 45.4.1.1
	one_line "has begun it, and has not answered for 10 s"
	kill $tracer
	wait $tracer 2>/dev/null
	wait_until "that it is done" drops 45.4.1.1
	stop
}

drops() {
	"$XDP_BLOOM" test "$1" >/dev/null
}

# It waits for more of it.
is_read_from() {
	grep -qs pipe_read /proc/"$slow"/wchan
}

# Where what is read cannot be kept, nothing of it is done: not what comes behind the part that could be.
no_room() {
	serves
	echo 'MemAvailable: 64 kB' >little
	# shellcheck disable=SC2016 # that shell's own
	for n in {1..9999}; do
		echo "45.6.$((n / 250)).$((n % 250))"
	done | expect 2 unshare --mount sh -c 'mount --bind "$1" /mnt && mount --bind "${2%/*}" /media &&
		mount --bind little /proc/meminfo && mount -t tmpfs -o size=64k tmpfs /tmp && mkdir -p "$1" &&
		mount --bind /mnt "$1" &&
		exec "/media/${2##*/}" add -' sh "$WORK" "$XDP_BLOOM"
	grep -q "standard input: No space left on device" err || fail "it says: $(cat err out)"
	is "$(get length bans)" 1 "the bans"
	stop
}

more_than() {
	[ "$(wc -l <acknowledged)" -gt $(($1 * 3)) ]
}

run_cases words_and_statuses what_it_keeps generations what_it_leaves sessions only_root slow_input no_room begun killed

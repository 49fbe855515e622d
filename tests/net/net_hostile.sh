#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service among the hostile and the broken: web clients, hooks, listeners, names. It goes on doing what it is for.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# What the service is there for goes on: a ban runs out.
still_works() {
	bloom add 192.0.2.6 --ttl 1s
	heard "$log" "what ran out of time: done"
	send 0 -b banned -c clean
}

cat >"$WORK.crowd" <<'PYTHON'
import resource, socket, sys

PORT, CROWD = 9913, 10000


def ask(data, close=False):
    """The first line of what comes back, b'' where nothing does."""
    try:
        with socket.create_connection(("127.0.0.1", PORT), 10) as s:
            s.sendall(data)
            if close:
                s.shutdown(socket.SHUT_WR)
            return s.recv(65536).split(b"\r\n")[0]
    except (BrokenPipeError, ConnectionResetError, TimeoutError):
        return b""


def status(data, wanted, close=False):
    line = ask(data, close)
    if not any(line.startswith(b"HTTP/1.1 " + code) or line == code for code in wanted):
        sys.exit("%r is answered with %r" % (data[:60], line))


get = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"
status(get + b"\r\n", [b"200"], close=True)
status(b"HEAD /metrics HTTP/1.0\r\n\r\n", [b"200"])
for method in b"POST", b"DELETE", b"CONNECT", b"PROPFIND", b"X" * 300:
    status(method + b" /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\nbody", [b"405"])
status(b"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 9999999, [b"405", b""])
status(b"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", [b"405", b"400"])
for path in b"/../../etc/passwd", b"/%2e%2e/metrics", b"/metrics/../healthz", b"//metrics", b"*":
    status(b"GET " + path + b" HTTP/1.0\r\n\r\n", [b"404"])
status(get + b"A: b\r\n" * 200000 + b"\r\n", [b"431", b""])
status(get + b"A: " + b"a" * 3000000 + b"\r\n\r\n", [b"431", b""])
status(b"GET /" + b"a" * 3000000 + b" HTTP/1.0\r\n\r\n", [b"414", b""])
status(bytes(range(256)) * 100, [b"400", b""])
status(b"GET /met", [b""], close=True)
# By an address or a name of its own, not by that of a page from elsewhere that leads here.
for host in b"127.0.0.1:9913", b"[::1]:9913", b"localhost", b"LOCALHOST.", socket.gethostname().encode(), b"one.example":
    status(b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", [b"200"])
for host in b"evil.example", b"x", b"127.0.0.1.evil.example", b"one.example.evil", b"one", b"[::1", b"", b"[]":
    for page in b"/metrics", b"/healthz", b"/", b"/page.json":
        status(b"GET " + page + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", [b"421", b"400"])

# A crowd that says half of something and stays.
room = min(CROWD + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (room, room))
crowd = []
for _ in range(room - 100):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", PORT))
    crowd.append(s)
for s in crowd:
    try:
        s.send(get)
    except OSError:
        pass
print(len(crowd), flush=True)
sys.stdin.readline()
# Whoever asks properly is answered while they stay, and while no time passes: he waits for none of them.
status(get + b"\r\n", [b"200"])
print("answered", flush=True)
sys.stdin.readline()
# The crowd goes, half of it before the service has looked at it; the next client is answered.
for s in crowd:
    s.close()
while ask(b"GET /healthz HTTP/1.0\r\n\r\n") != b"HTTP/1.1 200 OK":
    pass
PYTHON

web() {
	local crowd before

	prepare
	LD_PRELOAD=${TRAFFIC%/*}/clock.so CLOCK_STOPPED=$WORK/stopped ready --listen 9913 --host two.example,one.example
	before=$(ps -o rss= -p "$service_pid")
	mkfifo go told
	timeout 300 python3 "$WORK.crowd" <go >told 2>crowd.err &
	crowd=$!
	exec {go}>go {told}<told
	read -r line <&"$told" || fail "$(cat crowd.err)"
	printf '# %s connections; %s kB of memory before, %s kB with them\n' "$line" "$before" "$(ps -o rss= -p "$service_pid")"
	still_works
	[ "$(ps -o rss= -p "$service_pid")" -lt $((before + 8192)) ] || fail "it has grown"
	: >stopped
	echo >&"$go"
	read -r line <&"$told" || fail "nobody is answered beside the crowd: $(cat crowd.err)"
	rm stopped
	echo >&"$go"
	wait "$crowd" || fail "no client is answered after the crowd: $(cat crowd.err)"
	stop
}

# Twice as many as there are places each say a byte a second, and come back when they are put out. A client that asks properly
# is answered.
cat >"$WORK.drips" <<'PYTHON'
import select, socket

clients = {}


def come():
    s = socket.create_connection(("127.0.0.1", 9913))
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    clients[s.fileno()] = s


for _ in range(32):
    come()
print("dripping", flush=True)
poll = select.poll()
for fd in clients:
    poll.register(fd, select.POLLIN)
while True:
    for fd, _ in poll.poll(1000):
        clients.pop(fd).close()
        poll.unregister(fd)
        come()
        poll.register(list(clients)[-1], select.POLLIN)
    for s in clients.values():
        try:
            s.send(b"A")
        except OSError:
            pass
PYTHON

drips() {
	prepare
	ready --listen 9913
	mkfifo told
	python3 "$WORK.drips" >told 2>drips.err &
	exec {told}<told
	heard "$told" dripping
	for page in /metrics /healthz /metrics; do
		get_page $page
		is "$code" 200 "$page among those who drip ($(cat page drips.err))"
	done
	still_works
	kill %?drips
	stop
}

# hook LINES: a program for events.
hook() {
	printf '#!/bin/sh\n%s\n' "$1" >hook.new
	chmod +x hook.new
	mv hook.new hook
}

# shellcheck disable=SC2016 # what no shell may read
hooks_run() {
	prepare
	hook 'ls /proc/$$/fd >'"$WORK/open"'; read -r line; echo "$XDP_BLOOM_EVENT|$XDP_BLOOM_MESSAGE|$XDP_BLOOM_TIME $XDP_BLOOM_GENERATION|$line" >>'"$WORK/got"
	ready --hook "$WORK/hook" 3</dev/null
	bloom add 192.0.2.66 --reason '$(touch pwned) `touch pwned`; "'"'"
	wait_until "the event that the hook gets" grep -qs '^add|' got
	is "$(grep '^add|' got | cut -d'|' -f2)" 'add 192.0.2.66 --reason $(touch pwned) `touch pwned`; "'"'" "the message"
	is "$(grep '^add|' got | cut -d'|' -f4- | jq -r .event)" add "what came on standard input"
	is "$(grep '^add|' got | cut -d'|' -f3)" "$(grep '^add|' got | cut -d'|' -f4- | jq -r '"\(.time) \(.generation)"')" \
		"the time and the generation"
	[ ! -e pwned ] || fail "a shell has read the message"
	is "$(grep -x '[3-9]' open)" "" "what of the service is open in the hook"
	stop
}

# One that neither ends nor listens: bans run out meanwhile, and when the service ends, it ends, with what it started.
hooks_hang() {
	local one other pid

	prepare
	hook "trap '' TERM INT; sleep 1000 & echo \$\$ \$! >$WORK/pids.new; mv $WORK/pids.new $WORK/pids; while :; do wait; done"
	ready --hook "$WORK/hook"
	bloom add 192.0.2.66
	wait_until "the hook" [ -e pids ]
	still_works
	stop
	read -r one other <pids
	# Killed, they may take a moment to go.
	for pid in "$one" "$other"; do
		wait_until "the end of process $pid" gone "$pid"
	done
}

# Behind thousands of bans it hears of what is refused at once; and that it is behind is said.
# shellcheck disable=SC2016 # the hook's own
hooks_are_slow() {
	local ban='{"time":"2026-01-01T00:00:00Z","event":"ban","message":"192.0.2.1","generation":1,"uid":0}'

	prepare
	hook 'echo "$XDP_BLOOM_EVENT $XDP_BLOOM_MESSAGE" >>'"$WORK/told"'; [ "$XDP_BLOOM_EVENT" != ban ] || sleep 1'
	ready --hook "$WORK/hook"
	bloom add 192.0.2.66
	wait_until "the first event" grep -qs '^add' told
	for _ in {1..4000}; do echo "$ban"; done >>"$XDP_BLOOM_STATE/events"
	expect 2 "$XDP_BLOOM" load drop nosuch
	wait_until "that it is told" grep -qs '^refused .*nosuch' told
	[ "$(grep -c '^ban' told)" -lt 60 ] || fail "it has waited"
	wait_until "that it is behind" [ -e "$XDP_BLOOM_STATE/behind" ]
	expect 1 "$XDP_BLOOM" status
	grep -q "the hook is behind: " out || fail "status says: $(cat out)"
	wait_until "that it is told that it is behind" grep -qs '^fault the hook is behind' told
	stop
	[ ! -e "$XDP_BLOOM_STATE/behind" ] || fail "it is behind, and there is none"
}

hooks_fail() {
	prepare
	hook 'exit 1'
	ready --hook "$WORK/hook"
	bloom add 192.0.2.66
	still_works
	rm hook
	bloom add 192.0.2.67
	heard "$log" "hook: cannot be run"
	still_works
	stop
}

# A place is free again without another packet of the client.
listeners() {
	local n

	prepare
	ready
	for ((n = 0; n < 40; n++)); do
		bloom watch --duration 0.01
	done
	stop
}

# Interfaces may be called nearly anything. No terminal obeys it, and every page is still one.
names() {
	local name=$'\xff\xc2\x9b\e[1m"<b>' verb

	ip link set lo up
	ip link add "$name" type veth peer name wire9 || skip "the kernel takes no such name for an interface"
	ip link set "$name" up
	echo 192.0.2.7 >list
	bloom load bad list
	bloom attach "$name"
	grep -aqP '^\?\?\?\?\[1m"<b>: filtering' out || fail "attach says: $(cat -v out)"
	for verb in show stats "stats -j" "show -j" metrics; do
		# shellcheck disable=SC2086 # a verb and its options
		bloom $verb
		! LC_ALL=C grep -aqP '[\x00-\x09\x0b-\x1f\x7f-\xff]' out || fail "$verb says: $(cat -v out)"
	done
	if command -v promtool >/dev/null; then
		expect 0 promtool check metrics <out
	fi
	expect 2 "$XDP_BLOOM" detach "$name" $'x\xc2\x9b2J'
	! LC_ALL=C grep -aqP '[\x00-\x09\x0b-\x1f\x7f-\xff]' err || fail "it says: $(cat -v err)"
	bloom add 198.51.100.66 --reason $'\e[2J\xc2\x9b2J\xff\n"\\é'
	for verb in bans "bans -j" "test 198.51.100.66"; do
		# shellcheck disable=SC2086 # a verb and its options
		bloom $verb
		! LC_ALL=C.UTF-8 grep -qP '[\x00-\x09\x0b-\x1f\x7f-\x9f]' out || fail "$verb says: $(cat -v out)"
	done
	is "$(get '.[].reason' bans)" '?[2J??2J??"\é' "the reason"
	bloom detach "$name"
	bloom -j attach "$name"
	is "$(jq -r '.[].name' out)" '????[1m"<b>' "the name in JSON"
	bloom detach "$name"
	ip link del wire9
}

run_cases web drips hooks_run hooks_hang hooks_are_slow hooks_fail listeners names

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service, and the files of its lists and lines: what it does while one is read, fails, or has somebody else behind it.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

status_has() {
	"$XDP_BLOOM" status >said
	grep -q "$1" said
}

# While a list is read, which takes as long as it takes, bans end in time and interfaces come back.
beside_a_load() {
	need strace
	prepare
	echo 203.0.113.1-203.0.113.16 >other
	bloom load bad "$WORK/list"
	bloom load other "$WORK/other"
	under=(strace -f -D -o calls -e trace=read -e inject=read:signal=STOP:when=1 -P "$WORK/list")
	ready
	sed -i 's/192.0.2.7/198.51.100.1/' list
	stopped_by_strace calls
	child_of "xdp-bloom load"
	is "$(cat "/proc/$child/oom_score_adj")" 500 "how much sooner than others it ends where memory does"
	bloom add 192.0.2.6 --ttl 1s
	heard "$log" "what ran out of time: done"
	is "$(get '[.[].prefix]' bans)" '[]' "the bans"
	ip link del edge0
	veth 0
	restored
	send 0 -b banned -c clean
	# Not even those that have their turn behind it wait for ever.
	echo 203.0.113.1-203.0.113.17 >other
	heard "$log" "load bad: takes long; others do not wait for it"
	heard "$log" "load other: done"
	kill -KILL "$child"
	heard "$log" "load bad: it was ended by signal 9 (memory?)"
	wait_until "status to say it" status_has "list 'bad': its next version was refused, since .*: it was ended by signal 9 (memory?)"
	"$XDP_BLOOM" lists | grep -q "its next version was refused" || fail "lists does not say it"
	grep -q '"event":"refused".*"message":"load bad: it was ended by signal 9 (memory?)"' "$XDP_BLOOM_STATE/events" ||
		fail "there is no event: $(tail -n 2 "$XDP_BLOOM_STATE/events")"
	bloom load bad "$WORK/list"
	expect 0 "$XDP_BLOOM" status
	stop
}

# A line that is to go on and fails, or is ended, is told wherever other troubles are.
line_fails() {
	prepare
	echo "follow bans" >>conf
	expect 2 "$XDP_BLOOM" run --check --config conf
	grep -q "conf:4: follow: bans: No such file or directory" err || fail "$(cat err)"
	ready --listen 9753
	wait_until "status and /healthz to say it" is_told "line 4, 'follow', fails since "
	mkfifo bans
	bloom run --check --config conf
	heard "$log" "it begins again in"
	child_of "xdp-bloom follow"
	wait_until "nothing to be said of it" says_no_more "line 4, 'follow', fails"
	child_of "xdp-bloom follow"
	kill -KILL "$child"
	wait_until "status and /healthz to say it" is_told ": it was ended by signal 9 (memory?)"
	grep -q '"message":"line 4: it was ended by signal 9 (memory?)"' "$XDP_BLOOM_STATE/events" ||
		fail "there is no event: $(tail -n 2 "$XDP_BLOOM_STATE/events")"
	wait_until "nothing to be said of it" says_no_more "line 4, 'follow', fails"
	stop
}

# So is one that has an end, and cannot be done yet.
line_is_refused() {
	prepare
	veth 1
	ready --listen 9753
	is "$("$XDP_BLOOM" status | grep -c DEGRADED)" 0 "troubles at first"
	bloom add 192.0.2.254
	ip addr add 192.0.2.1/24 dev edge1
	ip route add 198.51.100.0/24 via 192.0.2.254
	echo "attach edge1" >>conf
	kill -HUP "$service_pid"
	wait_until "status and /healthz to say it" is_told "line 4, 'attach', failed; the log says why"
	heard "$log" "bans 192.0.2.254, a gateway in use"
	bloom del 192.0.2.254
	kill -HUP "$service_pid"
	wait_until "edge1 to be filtered" is_filtered edge1
	wait_until "nothing to be said of it" says_no_more "line 4"
	stop
}

# Whoever takes all inodes where the state lies hides no fault by that: its files cannot be made.
says_without_room() {
	mkdir small
	mount -t tmpfs -o nr_inodes=120 tmpfs small || skip "the kernel has no tmpfs"
	export XDP_BLOOM_STATE=$WORK/small/state
	ip link set lo up
	veth 0
	a_list
	echo "load bad '$WORK/list'" >conf
	ready --listen 9753
	is "$(healthz)" ok "what /healthz says at first"
	python3 -c '
import itertools
for n in itertools.count():
    open("small/%d" % n, "x").close()' 2>/dev/null
	echo 0.0.0.0/0 >>list
	heard "$log" "will not show that the list was refused"
	wait_until "status and /healthz to say so" is_told "something that is wrong is not shown: at 20"
	expect 1 "$XDP_BLOOM" doctor
	grep -q "something that is wrong is not shown" out || fail "doctor says: $(cat out)"
	bloom metrics
	grep -q "^xdp_bloom_unshown_timestamp_seconds [1-9]" out || fail "metrics say nothing"
	stop
	umount -l small
}

theirs_is_refused() {
	healthz >page
	grep -qx "list 'theirs': refused since 20[^ ]*Z" page
}

# Who publishes a list learns by a link there neither what a file holds nor whether there is one.
says_nothing_of_a_link() {
	local told

	prepare
	mkdir -m 700 private
	echo secret:7 >private/there
	echo 203.0.113.1 >theirs
	echo "load theirs '$WORK/theirs'" >>conf
	ready --listen 9753
	is "$(healthz)" ok "what /healthz says"
	ln -s private/absent new
	mv -T new theirs
	wait_until "/healthz to say it" theirs_is_refused
	told=$(healthz)
	heard "$log" "the link leads nowhere"
	ln -s private/there new
	mv -T new theirs
	heard "$log" "theirs:1: expected an address"
	is "$(healthz)" "$told" "what /healthz says of a file that is there"
	! "$XDP_BLOOM" status | grep secret || fail "status shows it"
	! grep -r secret "$XDP_BLOOM_STATE" || fail "it is written down"
	echo 203.0.113.1 >new
	mv -T new theirs
	wait_until "nothing to be said of it" says_no_more "list 'theirs'"
	stop
}

# To look at what his link leads to lasts for ever; so the service does not look there, and goes on.
waits_for_no_link() {
	local process stalls

	prepare
	chmod 755 "$WORK"
	mkdir slow his
	trap 'stop_jobs; umount -l slow' EXIT
	python3 "$top/tests/cli/stalls.py" slow 60001 >stalls.said & stalls=$!
	wait_until "who stalls" grep -qs . stalls.said
	! grep -q refused stalls.said || skip "needs FUSE: $(cat stalls.said)"
	read -r process _ <<<"$(cat "/proc/$stalls/task/$stalls/children")"
	printf '203.0.113.%d\n' {1..9} >his/theirs
	chown -R 60001 his
	echo "load theirs '$WORK/his/theirs'" >>conf
	ready
	rm his/theirs # what renames looks where it leads
	ln -s "/proc/$process/map_files/400000-401000" his/theirs
	heard "$log" "list 'theirs': $WORK/his/theirs: another user's link leads to /proc, where a look may last for ever; its new versions are not loaded: put the file itself there"
	sed -i 's/192.0.2.7/198.51.100.1/' list
	turned
	ip link del edge0
	veth 0
	wait_until "what came back to be filtered" is_filtered edge0
	"$XDP_BLOOM" status | grep -q "list 'theirs': its next version was refused" || fail "status does not say it"
	rm his/theirs
	printf '203.0.113.%d\n' {1..8} >his/theirs
	heard "$log" "load theirs: done"
	stop
}

# A list on a file system of a user's, who does not answer: whoever looks there waits for ever, and the service does not.
waits_for_no_file_system() {
	prepare
	mkdir far
	trap 'kill -KILL $silent; stop_jobs; umount -l far' EXIT
	printf '203.0.113.%d\n' {1..9} >theirs
	python3 "$top/tests/net/silent.py" far theirs 60001 >silent.said & silent=$!
	wait_until "a file system" grep -qs . silent.said
	! grep -q refused silent.said || skip "needs FUSE: $(cat silent.said)"
	ready
	bloom load theirs "$WORK/far/list"
	heard "$log" "list 'theirs': $WORK/far is of a file system that may not answer; a new version is noticed a minute or two later"
	# Nobody reports it: it is looked at.
	printf '203.0.113.%d\n' {1..8} >theirs
	kill -HUP "$service_pid"
	heard "$log" "load theirs: done"
	kill -STOP "$silent"
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	ip link del edge0
	veth 0
	wait_until "what came back to be filtered" is_filtered edge0
	sed -i 's/192.0.2.7/198.51.100.1/' list
	turned
	heard "$log" "list 'theirs': $WORK/far/list: whoever answers for its file system does not answer; its new versions are not loaded: have them copied to a disk of this machine"
	"$XDP_BLOOM" status | grep -q "list 'theirs': its next version was refused" || fail "status does not say it"
	printf '203.0.113.%d\n' {1..7} >theirs
	kill -CONT "$silent"
	kill -HUP "$service_pid"
	heard "$log" "load theirs: done"
	! "$XDP_BLOOM" status | grep "list 'theirs': its next" || fail "status says it on"
	kill -STOP "$silent"
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	stop
}

# begin_writing NAME LINE: new versions of that file, all the time.
begin_writing() {
	while echo "$2$SECONDS" >"$1.new"; do
		mv "$1.new" "$1"
	done &
	writers+=($!)
}

is_last() {
	"$XDP_BLOOM" test 203.0.113.16 | grep -q "banned by theirs"
}

# Whoever may write to the file of a list, or of a line that fails, has others wait for no more than his own.
written_all_the_time() {
	local writers=() writer

	prepare
	printf '%s\n' "load theirs '$WORK/theirs'" "load broken '$WORK/broken'" "follow bans" >>conf
	echo 203.0.113.0-203.0.113.15 >theirs
	echo 'no address' >broken
	mkfifo bans
	begin_writing theirs "203.0.113.0-203.0.113.15 # "
	begin_writing broken 'no address '
	ready
	child_of "xdp-bloom follow"
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	for writer in "${writers[@]}"; do
		kill "$writer"
		end_of "$writer"
	done
	echo 203.0.113.0-203.0.113.16 >theirs.new
	mv theirs.new theirs
	wait_until "the last version" is_last
	stop
}

run_cases beside_a_load line_fails line_is_refused says_without_room says_nothing_of_a_link waits_for_no_link waits_for_no_file_system written_all_the_time

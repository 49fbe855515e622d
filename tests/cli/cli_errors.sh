#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What goes wrong is said in one line, ends with 2, and changes nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# Something is loaded and attached, so that there is something to change.
prepare() {
	veth 0
	printf '%s\n' 192.0.2.7 198.51.100.0/24 2001:db8::/48 >good
	bloom load good good
	bloom attach edge0
}

malformed_lines() {
	local line

	prepare
	for line in 10.0.0.0/33 10.0.0.256 10.0.0 2001:db8::/129 2001:db8:::1 300.1.2.3/8 1.2.3.4/ /8 1.2.3.4/-1 1.2.3.4/+8 \
		1.2.3.4/8/8 1.2.3.4x ::g nonsense 0x0a000001 1..2.3 10.0.0.1-10.0.0.0; do
		printf '192.0.2.1\n# comment\n%s\n192.0.2.3\n' "$line" >list
		refused "list:3: '$line'" load new list
		refused "nothing was loaded" load good list
		refused ":3: '$line'" load new - <list
	done
}

legal_lists() {
	prepare
	: >empty
	bloom load empty empty
	is "$(get '.[]|select(.name=="empty")|.prefixes,.addresses' lists)" $'0\n0' "what lists says of an empty one"
	printf '# nothing\r\n; either\n\n   \t\n' >comments
	bloom load comments comments
	is "$(get '.[]|select(.name=="comments")|.prefixes' lists)" 0 "the prefixes of a list of comments"
	printf ' \t203.0.113.9 \r\n203.0.113.77/28 # a host with a prefix length\n203.0.113.200;x\n203.0.113.201' >blanks
	bloom load blanks blanks
	bloom test 203.0.113.9 203.0.113.64 203.0.113.79 203.0.113.200 203.0.113.201
	expect 1 "$XDP_BLOOM" test 203.0.113.80
	expect 1 "$XDP_BLOOM" test 203.0.113.63
	bloom load from-stdin - <good
}

files_that_cannot_be_read() {
	prepare
	refused nosuch load new nosuch
	mkdir directory
	refused directory load new directory
	refused nosuch load good nosuch
	bloom load empty /dev/null
}

line_of_10_MB() {
	prepare
	head -c 10000000 /dev/zero | tr '\0' 1 >long
	refused long:1: load new long
	[ "$(wc -c <err)" -lt 500 ] || fail "the error itself is long"
	{
		printf '192.0.2.1\n# '
		cat long
	} >comment
	refused comment:2: load new comment
}

nul_bytes() {
	prepare
	printf '192.0.2.1\n192.0.2.2\0\n192.0.2.3\n' >nul
	refused nul:2: load new nul
	head -c 4096 /dev/zero >zeros
	refused zeros:1: load new zeros
	head -c 65536 /dev/urandom >noise
	refused noise: load new noise
}

wrong_usage() {
	local name

	prepare
	refused frobnicate frobnicate
	refused --frobnicate --frobnicate show
	refused --frobnicate load --frobnicate new good
	refused frobnicate attach edge0 --mode frobnicate
	expect 2 "$XDP_BLOOM"
	one_line "which verb?"
	refused load load
	refused load load new
	refused unload unload
	refused nosuch unload nosuch
	refused nosuch unload good nosuch
	refused test test
	refused nonsense test nonsense
	refused nonsense test 192.0.2.7 nonsense
	refused -S show -S
	refused "there is no verb 'statsu' (did you mean 'status'?)" statsu
	refused "there is no verb 'ban' (did you mean 'add'?)" ban 192.0.2.1
	refused "there is no option '-A' (did you mean 'add'?)" -A 192.0.2.1
	refused "(to ban it: add; to ask about it: test)" 192.0.2.1
	refused "(to filter there: attach)" edge0
	refused "unknown option '--bantime' (did you mean '--ttl'?)" add --bantime 1h 192.0.2.1
	refused "unknown option '-reason' (did you mean '--reason'?)" add -reason x 192.0.2.1
	refused "there is no list 'godo' (did you mean 'good'?)" unload godo
	refused "there is no list 'godo' (did you mean 'good'?)" lists godo
	refused "there is no list 'nosuch'; see xdp-bloom lists" lists nosuch
	refused "edge: there is no such interface (did you mean 'edge0'?)" attach edge
	refused "egde0: the filter is not attached there (did you mean 'edge0'?)" detach egde0
	refused "this option takes no value" unload --force=yes good
	refused "a time such as 90s, 10m, 1h30m or 2w (without it, a ban stays), not '10min'" add --ttl 10min 192.0.2.1
	for name in '' . .. a/b "$(printf 'a\nb')" "$(printf '%0300d' 0)"; do
		refused "" load "$name" good
	done
}

statuses_of_test() {
	prepare
	bloom test 192.0.2.7
	bloom test 192.0.2.7 198.51.100.255 2001:db8::1
	expect 1 "$XDP_BLOOM" test 192.0.2.8
	expect 1 "$XDP_BLOOM" test 192.0.2.7 192.0.2.8
	printf '192.0.2.7\n198.51.100.1\n' | expect 0 "$XDP_BLOOM" test -
	printf '192.0.2.7\n192.0.2.8\n' | expect 1 "$XDP_BLOOM" test -
	printf '192.0.2.7\nnonsense\n' | expect 2 "$XDP_BLOOM" test -
	is "$(get '.[0]|[.address,.verdict,.list,.prefix]' test 198.51.100.9)" \
		'["198.51.100.9","drop","good","198.51.100.0/24"]' "what test says"
	bloom flush
	expect 1 "$XDP_BLOOM" test 192.0.2.7
}

nothing_there_yet() {
	is "$(get . lists)" "[]" "lists"
	is "$(get .interfaces show)" "[]" "the interfaces of show"
	is "$(get .packets stats)" '{"passed":0,"dropped":0,"unparsed":0}' "stats"
	refused "nothing is loaded" test 192.0.2.7
	refused edge7 detach edge7
	bloom tune
	bloom detach --all
	bloom flush
	bloom rotate
}

# as_nobody ARGS...: the command without root; a copy of it, where everybody may read.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/xdp-bloom" "$@"
}

without_root() {
	local before command

	prepare
	before=$(snapshot)
	chmod 755 "$WORK"
	cp "$XDP_BLOOM" xdp-bloom
	echo 192.0.2.9 >list
	for command in "load new list" "unload good" "attach edge0" "detach edge0" lists "test 192.0.2.7" show stats rotate flush; do
		# shellcheck disable=SC2086 # a verb and its arguments
		expect 2 as_nobody $command
		one_line ""
		grep -qi 'root\|permi\|privilege' err || fail "does not say that root is needed: $(cat err)"
	done
	expect 0 as_nobody --help
	expect 0 as_nobody --version
	is "$(snapshot)" "$before" "what is loaded and attached"
}

unreadable_for_want_of_root() {
	prepare
	chmod 755 "$WORK"
	cp "$XDP_BLOOM" xdp-bloom
	mkdir -m 700 closed
	cp good closed/list
	XDP_BLOOM_STATE=$WORK/other expect 2 as_nobody load new closed/list
	one_line ""
}

without_bpffs() {
	local what

	prepare
	mkdir plain
	for what in "attach edge0" "detach edge0" "load new good" "unload good" rotate flush; do
		# shellcheck disable=SC2086 # a verb and its arguments
		expect 2 "$XDP_BLOOM" -B "$WORK/plain/here" $what
		one_line "mount -t bpf"
		[ ! -e plain/here ] || fail "'$what' made a directory where no bpffs is"
	done
}

# In its usual place it is mounted by the command itself.
mounts_bpffs() {
	prepare
	umount /sys/fs/bpf
	let_go edge0
	bloom attach edge0
	bloom load good good
	echo 192.0.2.7 >banned
	echo 192.0.2.8 >clean
	send 0 -b banned -c clean
}

# It looks whether its three descriptors are there: not forever, where there is nothing to take their place.
without_dev_null() {
	mkdir empty
	(
		mount --bind empty /dev || exit 4
		timeout 10 "$XDP_BLOOM" --version >out
	) || fail "ended with $?"
	umount /dev
}

# An instance with directories of its own neither sees nor touches the other.
two_instances() {
	local before

	prepare
	before=$(snapshot)
	veth 1
	echo 192.0.2.99 >other
	set -- -S "$WORK/state2" -B /sys/fs/bpf/xdp-bloom-test-2
	bloom "$@" load other other
	bloom "$@" attach edge1
	is "$(get 'map(.name)' "$@" lists)" '["other"]' "the lists of the second instance"
	bloom "$@" detach --all
	bloom "$@" flush
	ip link del edge1
	is "$(snapshot)" "$before" "what is loaded and attached in the first"
	bloom test 192.0.2.7
	rm -rf /sys/fs/bpf/xdp-bloom-test-2
}

# Who owns a directory, or may write to it, decides what is read and written there.
directories_of_others() {
	local how

	prepare
	: >victim
	mkdir theirs
	ln -s "$WORK/victim" theirs/events
	for how in "chown 65534" "chmod 777"; do
		chown 0 theirs
		chmod 700 theirs
		${how} theirs
		XDP_BLOOM_STATE=$WORK/theirs refused "$([ "${how%% *}" = chown ] && echo "belongs to user 65534" || echo "others may write")" \
			add 192.0.2.1
	done
	[ ! -s victim ] || fail "wrote to $(cat victim)"
	XDP_BLOOM_BPFFS=/sys/fs/bpf/one.two refused "no names with a dot" load new good
}

# A file is no directory: a bpffs mounted there would hide all that is pinned, and filters on.
bpffs_below_a_pin() {
	local mounts what

	prepare
	mounts=$(grep -c ' bpf ' /proc/mounts)
	for what in "detach edge0" "add 192.0.2.1" "load new good" rotate; do
		# shellcheck disable=SC2086 # a verb and its arguments
		XDP_BLOOM_BPFFS=$XDP_BLOOM_BPFFS/root/x expect 2 "$XDP_BLOOM" $what
		one_line "$XDP_BLOOM_BPFFS/root/x: Not a directory"
	done
	is "$(grep -c ' bpf ' /proc/mounts)" "$mounts" "how many bpffs are mounted"
	bloom detach edge0
	is "$(xdp_id edge0)" none "the program on edge0"
}

# A limit to the size of files ends a process by a signal unless that is ignored: then no message says what was wrong.
files_may_not_grow() {
	local what

	prepare
	python3 -c 'for n in range(20000): print("11.%d.%d.1" % (n >> 8, n & 255))' >large
	for what in "load new large --force" rotate "image make it.image large" "save it.image"; do
		(
			ulimit -f 16
			# shellcheck disable=SC2086 # a verb and its arguments
			refused "" $what
		) || exit
		is "$(find . -maxdepth 1 -name 'it.image*')" "" "what is left of '$what'"
	done
	bloom load new large --force
}

# A parent that ignores SIGCHLD hands that down: the command must still wait for its own children.
started_by_who_hears_of_no_end() {
	prepare
	printf 'load good %s\n' "$WORK/good" >conf
	bloom run --config conf --check
	expect 0 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$XDP_BLOOM" run --config conf --check
}

# A daemon's thread blocks all signals, and hands that down: arrays that come in by faults must come in, and what follows must end.
started_by_who_blocks_signals() {
	local blocks='import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])'

	prepare
	seq 0 99999 | awk '{ print "45." int($1 / 2500 ) "." int($1 / 10) % 250 "." 1 + $1 % 10 }' >many
	bloom load many many
	expect 0 python3 -c "$blocks" "$XDP_BLOOM" add 47.0.0.1
	verdicts 47.0.0.1=drop
	mkfifo lines
	exec 9<>lines
	python3 -c "$blocks" "$XDP_BLOOM" follow lines >said 2>&1 9<&- &
	echo '+47.0.0.2 1h' >&9
	wait_until "its ban" grep -q "ok 1" said
	kill $!
	(wait_until "its end" gone $!) || { kill -KILL $! && exit 1; }
	exec 9>&-
}

# What an attach has done is undone before anything is printed: the reader may have gone.
nobody_listens() {
	prepare
	veth 1
	mkfifo pipe
	exec 8<>pipe
	exec 9>pipe 8<&-
	"$XDP_BLOOM" attach edge1 nosuch 2>&9
	is $? 2 "the status of attach"
	exec 9>&-
	is "$(xdp_id edge1)" none "the program on edge1"
	ip link del edge1
}

damaged_state() {
	local size what

	prepare
	echo 192.0.2.7 >banned
	echo 192.0.2.8 >clean
	tidied
	for size in 100 20000; do
		cp "$XDP_BLOOM_STATE/state.db" saved
		head -c $size /dev/urandom >"$XDP_BLOOM_STATE/state.db"
		for what in "load new good" "unload good" "attach edge0" rotate lists; do
			# shellcheck disable=SC2086 # a verb and its arguments
			expect 2 "$XDP_BLOOM" $what
			one_line damaged
		done
		cp saved "$XDP_BLOOM_STATE/state.db"
	done
	send 0 -b banned -c clean
}

# What a file is called, a terminal obeys as little as what is in it; JSON stays JSON.
names_of_files() {
	local name=$'a\xe2\x80\xaetxt.exe\e[2J\xff\xe2\x80\x8bb' form verb

	echo 192.0.2.1 >"$name"
	"$XDP_BLOOM" image make "i$name" "$name" >out || fail "no image is made"
	echo "allow 192.0.2.1" >"c$name"
	for form in --pretty --json; do
		for verb in "set count @" "compare @ @" "plan @" "image show i@" "image make i@ @" "run --check --config c@" \
			"batch --check c@" "state recover @" "-S @ lists"; do
			read -ra words <<<"$verb"
			"$XDP_BLOOM" $form "${words[@]//@/$name}" >out 2>err
			! LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f\xff]|\xe2\x80\xae|\xe2\x80\x8b' out err ||
				fail "$verb says: $(cat -v out err)"
			! grep -q "cannot be written" err || fail "$verb: $(cat -v err)"
		done
	done
}

# A full disk, or a pipe's end that is gone: whoever reads what was printed does not take a part for all of it.
cannot_be_written() {
	local command status

	printf '%s\n' 192.0.2.1 198.51.100.0/24 2001:db8::/40 >list
	bloom load list list --bogons=keep
	bloom add 203.0.113.5 --reason test
	bloom image make image list
	veth 0
	ip addr add 45.0.0.1/24 dev edge0 # it is guarded
	while read -r command; do
		# shellcheck disable=SC2086 # a command
		"$XDP_BLOOM" $command >/dev/full 2>err
		status=$?
		is "$status" 2 "the status of '$command' into a full disk ($(cat err))"
		one_line "standard output: cannot be written"
	done <<-'COMMANDS'
		show
		-j show
		lists
		-j lists
		bans
		-j bans
		stats
		-j stats
		metrics
		plan
		-j plan
		test 192.0.2.1
		-j test 192.0.2.1
		set union list
		-j set union list
		set count list
		-j set count list
		set diff list /dev/null
		-j set diff list /dev/null
		set union list --output nft
		compare list list
		-j compare list list
		compare ./image ./image
		guards
		-j guards
		tune
		-j tune
		state check
		--help
		--version
		load --help
	COMMANDS
}

# --check: what changes something, or goes on, says nothing, does nothing, and asks for nothing that is not there.
checks_alone() {
	local line

	printf '192.0.2.1\n' >list
	while read -r line; do
		# shellcheck disable=SC2086 # words
		expect 0 "$XDP_BLOOM" --check $line
		is "$(cat out err)" "" "what --check $line says"
		[ ! -e "$XDP_BLOOM_STATE" ] || fail "--check $line makes a state"
		[ ! -e "$XDP_BLOOM_BPFFS" ] || fail "--check $line makes pins"
	done <<-'LINES'
		add 192.0.2.1
		del 192.0.2.1
		allow 192.0.2.1
		disallow 192.0.2.1
		load a list
		unload a
		enforce a
		shadow a
		tune --fpr 0.01
		stats
		top
		watch
		events
		detect on
		detect off
		detect attacks
		detect top
		attach lo
		detach --all
		restore
		rotate
		confirm
		flush
		save new.image
		image make new.image list
		fleet join redis://127.0.0.1 --as a
		fleet run
		fleet leave
		fleet accept a
		fleet refuse a
		follow -
		follow routes --table 5
		announce --table 5
	LINES
	[ ! -e new.image ] || fail "--check writes an image"
}

run_cases checks_alone names_of_files cannot_be_written malformed_lines legal_lists files_that_cannot_be_read line_of_10_MB nul_bytes wrong_usage statuses_of_test \
	nothing_there_yet without_root unreadable_for_want_of_root without_bpffs mounts_bpffs without_dev_null two_instances damaged_state \
	directories_of_others bpffs_below_a_pin files_may_not_grow started_by_who_hears_of_no_end started_by_who_blocks_signals nobody_listens

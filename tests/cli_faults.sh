#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every system call of a command fails once, in turn: then either the command is done, or it ends with 2 and nothing has
# changed, in the kernel or in the state. What was in force filters on in either case, and the next command works.
# A sample of them (FAULTS=24), or all: make faults.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
sandbox "$@"
need strace

# What each call fails with. Reads of what is there, and what only frees, are not in it.
declare -A error=([bpf]=ENOMEM [mmap]=ENOMEM [openat]=EMFILE [mkdir]=ENOSPC [fsync]=EIO [fdatasync]=EIO [pwrite64]=ENOSPC
	[write]=ENOSPC [ftruncate]=ENOSPC [rename]=EIO [getrandom]=ENOSYS [socket]=EMFILE [sendto]=ENOBUFS [recvmsg]=EIO
	[fcntl]=EIO [pread64]=EIO [read]=EIO [statfs]=EIO [mprotect]=ENOMEM [dup]=EMFILE)
calls=$(
	IFS=,
	echo "${!error[*]}"
)

prepare() {
	veth 0 1
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >base
	printf '%s\n' 198.51.100.1 198.51.100.2 >even
	printf '%s\n' 198.51.100.{1..3} 2001:db8:1::/48 >odd
	bloom load base base
	bloom load other even
	bloom attach edge1
	turn=even
}

# Each verb: what to run, and whether it has been done.
arguments_of() {
	case $1 in
	load) echo "load other $turn --force" ;;
	rotate) echo rotate ;;
	attach) echo attach edge0 ;;
	esac
}

# So that there is something to do again.
turn_over() {
	if [ "$turn" = even ]; then turn=odd; else turn=even; fi
	[ "$1" != attach ] || "$XDP_BLOOM" detach edge0 &>/dev/null
}

is_done() {
	case $1 in
	load) [ "$(get '.[]|select(.name=="other").source' lists)" = "$turn" ] ;;
	rotate) [ "$(get .generation show)" != "$generation" ] ;;
	attach) [ "$(xdp_id edge0)" != none ] ;;
	esac
}

# points VERB: a line for each call to fail: the call and which one of its kind, from main() on.
points() {
	turn_over "$1"
	# shellcheck disable=SC2046 # words
	expect 0 strace -o trace -e trace="$calls" "$XDP_BLOOM" $(arguments_of "$1")
	awk -F '(' '
		{ n[$1]++ }
		/\/dev\/null/ { inside = 1; next }
		# What it says of itself is not what it does.
		!inside || /^write\([12],/ || !/^[a-z0-9_]+\(/ || / = -1 / { next }
		{ print $1, n[$1] }' trace
}

# inject VERB CALL N
inject() {
	local verb=$1 call=$2 n=$3 status before what

	what="$verb, $call number $n"
	turn_over "$verb"
	generation=$(get .generation show)
	before=$(snapshot)
	# shellcheck disable=SC2046 # words
	timeout 60 strace -o /dev/null -e trace="$call" -e inject="$call:error=${error[$call]}:when=$n" \
		"$XDP_BLOOM" $(arguments_of "$verb") >out 2>err
	status=$?
	case $status in
	0) is_done "$verb" || fail "$what: it says done, and is not" ;;
	2)
		[ "$(snapshot)" = "$before" ] || fail "$what: failed, but: $(diff <(echo "$before") <(snapshot) | head -n 6; cat err)"
		grep -q '^xdp-bloom: ' err || fail "$what: failed without a word"
		refused=$((refused + 1))
		;;
	*) fail "$what: ended with $status: $(tail -n 3 err)" ;;
	esac
	"$XDP_BLOOM" test 192.0.2.7 2001:db8::7 203.0.113.9 198.51.100.1 >verdicts 2>&1 ||
		fail "$what, ended with $status ($(cat err)): and then: $(cat verdicts)"
	expect 1 "$XDP_BLOOM" test 192.0.2.8
	if [ $status = 2 ]; then
		# shellcheck disable=SC2046 # words
		bloom $(arguments_of "$verb")
		is_done "$verb" || fail "$what: the next command does not work"
	fi
}

# Among CALLS that fail, those that the command survives.
fails_once() {
	local verb=$1 call n count=0
	refused=0

	prepare
	# Twice: the first time is another way.
	points "$verb" >/dev/null
	points "$verb" >all
	if [ "${FAULTS:-24}" = all ]; then
		cp all chosen
	else
		shuf --random-source=<(yes "$XDP_BLOOM_SEED") -n $((${FAULTS:-24} / 3)) all >chosen
	fi
	while read -r call n <&3; do
		inject "$verb" "$call" "$n"
		count=$((count + 1))
	done 3<chosen
	[ $count -gt 0 ] || fail "no call was made to fail"
	echo "# $verb: $count of $(wc -l <all) calls failed: $refused refusals, $((count - refused)) survived"
}

read_only_state() {
	prepare
	mount --bind "$XDP_BLOOM_STATE" "$XDP_BLOOM_STATE"
	mount -o remount,ro,bind "$XDP_BLOOM_STATE" || skip "cannot mount it read-only"
	refused "" load other odd --force
	refused "" rotate
	refused "" attach edge0
	expect 0 "$XDP_BLOOM" test 192.0.2.7 198.51.100.1
	umount "$XDP_BLOOM_STATE"
	bloom load other odd --force
}

# A limit to what the command may take, as a service has it: it is refused or killed, and nothing has changed.
memory_limit() {
	local group=/sys/fs/cgroup/xdp-bloom-$$ before status

	prepare
	[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || skip "no cgroup2"
	mkdir $group 2>/dev/null || skip "no control group of one's own"
	if ! echo 4M 2>/dev/null >$group/memory.max; then
		rmdir $group
		skip "no memory controller"
	fi
	before=$(snapshot)
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - $group "$XDP_BLOOM" load other odd --force &>/dev/null
	status=$?
	rmdir $group
	[ $status != 0 ] || skip "4 MiB were enough"
	is "$(snapshot)" "$before" "what is loaded after the limit (status $status)"
	bloom load other odd --force
}

# The other end of the wire goes while frames are on it: the filter goes on elsewhere, and later commands work.
peer_vanishes_under_traffic() {
	prepare
	bloom attach edge0
	printf '%s\n' 192.0.2.7 >banned
	printf '%s\n' 192.0.2.8 >clean
	flow 0 -b banned -c clean
	ip link del wire0
	kill "${flow_pid[0]}" 2>/dev/null
	wait "${flow_pid[0]}"
	send 1 -b banned -c clean
	bloom rotate
	bloom load other odd --force
	send 1 -b banned -c clean
	veth 0
	bloom attach edge0
	send 0 -b banned -c clean
}

run_cases read_only_state memory_limit peer_vanishes_under_traffic "fails_once load" "fails_once rotate" "fails_once attach"

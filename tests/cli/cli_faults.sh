#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every system call and every allocation of a command fails once, in turn: then either the command is done, or it ends
# with 2 and nothing has changed, in the kernel or in the state. What was in force filters on in either case, and the next
# command works. A verb that only looks ends with 2 and says why, or says all that it says otherwise. A sample of them
# (FAULTS=42), or all: make faults.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need strace
preload=$(dirname "$TRAFFIC")/failing.so
apart=$(dirname "$TRAFFIC")/xdp-bloom-apart

VERBS=(load rotate attach restore add needs del batch image unload enforce shadow allow disallow tune detach confirm flush
	detect limit trust accept join)

# What each call fails with. What cannot fail, and close() and munmap(), which only let go, are not in it.
declare -A error=([bpf]=ENOMEM [mmap]=ENOMEM [openat]=EMFILE [mkdir]=ENOSPC [fsync]=EIO [fdatasync]=EIO [pwrite64]=ENOSPC
	[write]=ENOSPC [ftruncate]=ENOSPC [rename]=EIO [getrandom]=ENOSYS [socket]=EMFILE [sendto]=ENOBUFS [recvmsg]=EIO
	[fcntl]=EIO [pread64]=EIO [read]=EIO [statfs]=EIO [mprotect]=ENOMEM [dup]=EMFILE [dup3]=EMFILE [memfd_create]=EMFILE
	[pipe2]=EMFILE [newfstatat]=EIO [getdents64]=EIO [lseek]=EIO [access]=EIO [faccessat2]=EIO [chmod]=EIO [fchmod]=EIO
	[fchown]=EIO [unlink]=EIO [unlinkat]=EIO [rmdir]=EIO [ioctl]=EIO [bind]=ENOMEM [setsockopt]=ENOMEM
	[getsockname]=ENOBUFS [clone3]=EAGAIN [clone]=EAGAIN [membarrier]=ENOMEM [copy_file_range]=EIO [inotify_init1]=EMFILE
	[inotify_add_watch]=ENOSPC [signalfd4]=EMFILE [listen]=EADDRINUSE [epoll_create1]=EMFILE [epoll_ctl]=ENOMEM
	[eventfd2]=EMFILE [socketpair]=EMFILE [timerfd_create]=EMFILE)
calls=$(
	IFS=,
	echo "${!error[*]}"
)

prepare() {
	filtering_two
	turn=even
}

prepare_images() {
	bloom image make even.image list even
	bloom image make odd.image list odd
	bloom load --image even.image --force
}

# What this machine needs is learned, one by one, and granted.
prepare_needs() {
	local n

	for n in {1..5}; do
		ip addr add "198.18.7.$n/24" dev edge0
	done
	ip route add 198.19.0.0/16 via 198.18.7.6
}

# Each verb: what to run, and whether it has been done.
arguments_of() {
	case $1 in
	load) echo "load other $turn --force" ;;
	rotate | restore) echo "$1" ;;
	attach) echo attach edge0 ;;
	add) echo add 198.18.0.1 2001:db8:2::/48 --reason test ;;
	needs) echo add 198.18.7.0/24 --force ;;
	del) echo del 198.18.0.1 2001:db8:2::/48 ;;
	batch) echo batch commands ;;
	image) echo load --image "$turn.image" --force ;;
	unload | enforce | shadow) echo "$1" other ;;
	allow | disallow) echo "$1" 198.51.100.2 ;;
	tune) echo tune --headroom "$([ "$turn" = even ] && echo 30 || echo 60)" ;;
	detach) echo detach edge0 ;;
	confirm | flush) echo "$1" ;;
	detect) echo detect on ;;
	limit) echo "detect limit syn ${turn/even/3}00/s" | sed s/odd/4/ ;;
	trust) echo load trusted "$turn" --trust --force ;;
	accept) echo fleet accept edge-7 --max-entries "$([ "$turn" = even ] && echo 10 || echo 20)" ;;
	join) echo fleet join redis://127.0.0.1 --as "$turn" ;;
	*) look_of "${1#look_}" ;;
	esac
}

# So that there is something to do again.
turn_over() {
	if [ "$turn" = even ]; then turn=odd; else turn=even; fi
	case $1 in
	attach) "$XDP_BLOOM" detach edge0 &>/dev/null ;;
	restore)
		rm -rf "${XDP_BLOOM_BPFFS:?}"
		let_go edge1
		;;
	add) "$XDP_BLOOM" del 198.18.0.1 2001:db8:2::/48 &>/dev/null ;;
	needs) "$XDP_BLOOM" del 198.18.7.0/24 &>/dev/null ;;
	del) "$XDP_BLOOM" add 198.18.0.1 2001:db8:2::/48 &>/dev/null ;;
	unload) "$XDP_BLOOM" load other "$turn" --force &>/dev/null ;;
	enforce) "$XDP_BLOOM" shadow other &>/dev/null ;;
	shadow) "$XDP_BLOOM" enforce other &>/dev/null ;;
	allow) "$XDP_BLOOM" disallow 198.51.100.2 &>/dev/null ;;
	disallow) "$XDP_BLOOM" allow 198.51.100.2 &>/dev/null ;;
	detach) "$XDP_BLOOM" attach edge0 &>/dev/null ;;
	confirm) "$XDP_BLOOM" load other "$turn" --force --confirm 1h &>/dev/null ;;
	flush) "$XDP_BLOOM" load base list --force &>/dev/null ;;
	detect) "$XDP_BLOOM" detect off &>/dev/null ;;
	join) "$XDP_BLOOM" fleet leave &>/dev/null ;;
	batch)
		"$XDP_BLOOM" del 198.18.0.2 &>/dev/null
		printf 'add 198.18.0.2\nload other %s --force\nallow 198.18.0.3\n' "$turn" >commands
		;;
	esac
}

is_done() {
	case $1 in
	load) [ "$(get '.[]|select(.name=="other").source' lists)" = "$turn" ] ;;
	rotate) [ "$(get .generation show)" != "$generation" ] ;;
	attach) [ "$(xdp_id edge0)" != none ] ;;
	restore) [ "$(xdp_id edge1)" != none ] && "$XDP_BLOOM" test 192.0.2.7 &>/dev/null ;;
	add) "$XDP_BLOOM" test 198.18.0.1 2001:db8:2::1 &>/dev/null ;;
	needs) "$XDP_BLOOM" test 198.18.7.1 198.18.7.6 &>/dev/null ;;
	del) ! "$XDP_BLOOM" -j test 198.18.0.1 2001:db8:2::1 | grep -q '"drop"' ;;
	batch) is_done load && "$XDP_BLOOM" test 198.18.0.2 &>/dev/null ;;
	unload) [ "$("$XDP_BLOOM" -j lists | grep -c '"other"')" = 0 ] ;;
	enforce) [ "$(get '.[]|select(.name=="other").kind' lists)" = ban ] ;;
	shadow) [ "$(get '.[]|select(.name=="other").kind' lists)" = shadow ] ;;
	allow) expect 1 "$XDP_BLOOM" test 198.51.100.2 ;;
	disallow) "$XDP_BLOOM" test 198.51.100.2 &>/dev/null ;;
	tune) [ "$(get .headroom tune)" = "$([ "$turn" = even ] && echo 30 || echo 60)" ] ;;
	detach) [ "$(xdp_id edge0)" = none ] ;;
	confirm) ! "$XDP_BLOOM" confirm &>/dev/null ;;
	flush) expect 1 "$XDP_BLOOM" test 192.0.2.7 ;;
	detect) [ "$(get '[.on, .in_force]' detect)" = '[true,true]' ] ;;
	limit) [ "$(get '.limits.syn.rate | floor' detect)" = "$(arguments_of limit | tr -dc 0-9)" ] ;;
	trust) [ "$(get '.[]|select(.name=="trusted").source' lists)" = "$turn" ] ;;
	accept) [ "$(get '.members[0].limits.max_entries' fleet)" = "$(arguments_of accept | sed 's/.* //')" ] ;;
	join) [ "$(get .server.name fleet)" = "$turn" ] ;;
	image) [ "$(get 'map(.name)|contains(["odd"])' lists)" = "$([ "$turn" = even ] && echo false || echo true)" ] ;;
	esac
}

everything() {
	snapshot
	"$XDP_BLOOM" -j bans 2>&1
	case $verb in
	detect | limit | trust) "$XDP_BLOOM" -j detect 2>&1 ;;
	accept | join) "$XDP_BLOOM" -j fleet 2>&1 ;;
	esac
}

generations() {
	ls "$XDP_BLOOM_BPFFS/generation" 2>/dev/null
}

# calls_of VERB: a line for each call to fail: the call and which one of its kind, from main() on.
calls_of() {
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

# allocations_of VERB: a line for each way to an allocation: the first that came by it.
allocations_of() {
	turn_over "$1"
	rm -f seen
	# shellcheck disable=SC2046 # words
	FAIL_SEEN=seen LD_PRELOAD=$preload expect 0 "$apart" $(arguments_of "$1")
	tr -d '\0' <seen | sort -un | sed 's/^/allocation /'
}

# run_with CALL N ARGUMENT...: the command, with that one failing. SQLite whose call that lets go of a lock has failed
# waits for itself, ten seconds at each look at the state that follows.
run_with() {
	local call=$1 n=$2

	shift 2
	set -- --wait 2 "$@"
	if [ "$call" = allocation ]; then
		FAIL_ALLOCATION=$n LD_PRELOAD=$preload timeout 60 "$apart" "$@"
	else
		timeout 300 strace -o /dev/null -e trace="$call" -e inject="$call:error=${error[$call]}:when=$n" \
			"$XDP_BLOOM" "$@"
	fi
}

# Nothing is left of the verb that failed, or of restore: what there is is whole, and the rest is still to come.
changed_nothing() {
	if [ "$1" = restore ]; then
		is "$("$XDP_BLOOM" -j lists)" "$lists" "what is kept after '$what'"
		return
	fi
	[ "$(everything)" = "$before" ] || fail "$what: failed, but: $(diff <(echo "$before") <(everything) | head -n 6; cat err)"
	# One that was let go and could not be unpinned may be there since the command before.
	is "$(comm -13 <(echo "$pinned") <(generations))" "" "what is pinned besides after '$what'"
}

# inject VERB CALL N
inject() {
	local verb=$1 call=$2 n=$3 status before pinned lists what

	what="$verb, $call number $n"
	turn_over "$verb"
	generation=$(get .generation show)
	before=$(everything)
	pinned=$(generations)
	lists=$("$XDP_BLOOM" -j lists)
	# shellcheck disable=SC2046 # words
	run_with "$call" "$n" $(arguments_of "$verb") >out 2>err
	status=$?
	cp err first
	[ "$verb" = restore ] && [ $status = 1 ] && status=2
	case $status in
	0) is_done "$verb" || fail "$what: it says done, and is not: $(cat err)" ;;
	2)
		# The packets first: that is said, and is the one exception.
		if [ "$verb" = detach ] && grep -q 'filtering has stopped, but' err; then
			is_done detach || fail "$what: says that filtering has stopped, and it has not"
		else
			changed_nothing "$verb"
		fi
		grep -q '^xdp-bloom: ' err || fail "$what: failed without a word"
		refused=$((refused + 1))
		;;
	*) fail "$what: ended with $status: $(tail -n 3 err)" ;;
	esac
	[ $status = 0 ] || [ "$verb" = restore ] || still_filters
	if [ $status = 2 ]; then
		# shellcheck disable=SC2046 # words
		"$XDP_BLOOM" $(arguments_of "$verb") >out 2>again || fail "$what: $(cat first); and the next command: $(cat again)"
		is_done "$verb" || fail "$what: the next command does not work"
		is "$(generations | wc -l)" 1 "the generations that are pinned after the command after '$what'"
	fi
	[ "$verb" = flush ] || still_filters
}

still_filters() {
	local other=198.51.100.1

	case $verb in unload | enforce | shadow | flush) other= ;; esac
	"$XDP_BLOOM" test 192.0.2.7 2001:db8::7 203.0.113.9 $other >verdicts 2>&1 ||
		fail "$what, ended with $status ($(cat err)): and then: $(cat verdicts)"
	expect 1 "$XDP_BLOOM" test 192.0.2.8
}

# chosen_of WHAT VERB: those that are made to fail, into the file chosen.
chosen_of() {
	# Twice: the first time is another way.
	"$1_of" "$2" >/dev/null
	"$1_of" "$2" >all
	choose
}

choose() {
	if [ "${FAULTS:-42}" = all ]; then
		cp all chosen
	else
		shuf --random-source=<(yes "$XDP_BLOOM_SEED") -n $((${FAULTS:-42} / 14)) all >chosen
	fi
}

# fails_once WHAT VERB: among those that fail, how many the command survives.
fails_once() {
	local verb=$2 call n count=0
	refused=0

	[ "$1" = calls ] || [ -e "$preload" ] || skip "$preload is not built"
	prepare
	[ "$verb" != image ] || prepare_images
	[ "$verb" != needs ] || prepare_needs
	chosen_of "$1" "$verb"
	while read -r call n <&3; do
		inject "$verb" "$call" "$n"
		count=$((count + 1))
	done 3<chosen
	[ $count -gt 0 ] || fail "none was made to fail"
	echo "# $verb: $count of $(wc -l <all) $1 failed: $refused refusals, $((count - refused)) survived"
}

# --- Verbs that only look ---------------------------------------------------------------------------------------------

LOOKS=(lists list bans fleet found allow test show stats plan tune guards detect metrics check dry_run save compare make union set)

# What to run, with all that it is about.
look_of() {
	case $1 in
	lists | bans | fleet | allow | show | stats | plan | tune | guards | detect) echo "-j $1" ;;
	metrics) echo metrics ;;
	list) echo -j lists base ;;
	found) echo -j bans 198.18.0.0/16 --sort added ;;
	check) echo state check ;;
	dry_run) echo load other odd --dry-run ;;
	test) echo test 192.0.2.7 198.18.0.1 203.0.113.9 2001:db8::7 ;;
	save) echo save new.image ;;
	compare) echo -j compare base list.nft ;;
	make) echo image make new.image base.ipset list.nft ;;
	union) echo image union new.image one.image two.image ;;
	set) echo set union base.ipset list.nft even list.csv --output nft ;;
	esac
}

prepare_looks() {
	prepare
	bloom load counted even --shadow
	bloom load kept even --allow
	bloom add 198.18.0.1 --reason test
	bloom set union list --output nft
	cp out list.nft
	bloom set union list --output ipset
	cp out base.ipset
	printf 'first,address\n1,192.0.2.1\n2,192.0.2.9\n' >list.csv
	bloom image make one.image list even
	bloom image make two.image list --like one.image
}

# No two times the same: names of images, rates as measured, times. What was asked for, and what it was sized by, stands in the
# state, and show has the rest without it; so has test without the line of a file that may be gone, load without what comes
# and goes, and a list without what it drops, which is null then.
look_says() {
	sed -E -e 's/ \(list:[0-9]+\)$//; /added, .* kept$/d; s/\b[0-9a-f]{16}\b//g; s/^(xdp_bloom_filter.*_ratio) .*/\1/' \
		-e 's/"(filter|error|fill|asked|seconds_left)":[0-9.e-]+//g' \
		-e 's/"(drops|sized)":(null|\{[^}]*\})//g' out
}

# looks_once WHAT VERB: what fails is said, or it does not matter: then all is there that is there otherwise.
looks_once() {
	local verb=${2#look_} call n count=0 refused=0 wanted wanted_status status

	[ "$1" = calls ] || [ -e "$preload" ] || skip "$preload is not built"
	prepare_looks
	# shellcheck disable=SC2046 # words
	"$XDP_BLOOM" $(look_of "$verb") >out 2>err
	wanted_status=$? wanted=$(look_says)
	[ ! -s err ] || [ "$verb" = save ] || fail "of $verb: $(cat err)"
	chosen_of "$1" "look_$verb"
	while read -r call n <&3; do
		what="$verb, $call number $n"
		rm -f new.image
		# shellcheck disable=SC2046 # words
		run_with "$call" "$n" $(look_of "$verb") >out 2>err
		status=$?
		if [ $status = 2 ]; then
			grep -q '^xdp-bloom: ' err || fail "$what: failed without a word"
			[ ! -e new.image ] || "$XDP_BLOOM" image show new.image >/dev/null || fail "$what: left half an image"
			refused=$((refused + 1))
		else
			is $status $wanted_status "the status of $what ($(cat err))"
			[ "$(look_says)" = "$wanted" ] || [ -s err ] ||
				fail "$what: ended with $status, but: $(diff <(echo "$wanted") <(look_says) | head -n 6)"
		fi
		count=$((count + 1))
	done 3<chosen
	[ $count -gt 0 ] || fail "none was made to fail"
	# shellcheck disable=SC2046 # words
	"$XDP_BLOOM" $(look_of "$verb") >out 2>err
	is "$(look_says)" "$wanted" "what $verb says afterwards"
	echo "# $verb: $count of $(wc -l <all) $1 failed: $refused refusals, $((count - refused)) survived"
}

# --- The service ------------------------------------------------------------------------------------------------------

# served COMMAND...: the service, by that command before it, until it is ready, or has ended; then it is stopped. Its exit
# status is $status, and what it said is in log.
served() {
	local pid

	rm -f log
	"$@" --wait 2 run --config conf --listen 127.0.0.1:9617 >log 2>&1 &
	pid=$!
	wait_until "that the service is ready or ends (${what:-})" ready_or_gone
	kill -TERM $pid 2>/dev/null
	end_of $pid
	status=$?
}

ready_or_gone() {
	grep -qs '^ready' log || gone "$pid"
}

# What fails until it is ready; later calls come when they come.
service_calls() {
	served strace -D -o trace -e trace="$calls" "$XDP_BLOOM"
	awk -F '(' '
		/^write\([12].*ready/ { exit }
		{ n[$1]++ }
		/\/dev\/null/ { inside = 1; next }
		!inside || /^write\([12],/ || !/^[a-z0-9_]+\(/ || / = -1 / { next }
		{ print $1, n[$1] }' trace
}

service_allocations() {
	rm -f seen
	served env FAIL_SEEN="$PWD/seen" LD_PRELOAD="$preload" "$apart"
	tr -d '\0' <seen | sort -un | sed 's/^/allocation /'
}

# serves_once WHAT: it ends with 2 and says why, or it starts and can be stopped; what was in force filters on. SQLite waits
# 10 s for a lock within its journal, whatever --wait says: a worker for the one that the service was made to keep, then the
# service for itself.
serves_once() {
	local call n count=0 refused=0 status what='' verb=tune patience=$((patience + 30))

	[ "$1" = calls ] || [ -e "$preload" ] || skip "$preload is not built"
	prepare
	ip link set lo up # it listens there
	printf 'attach edge0\nload base %s\nload other %s\n' "$PWD/list" "$PWD/even" >conf
	served "$XDP_BLOOM"
	is "$status" 0 "the status of the service ($(cat log))"
	"service_$1" >all
	choose
	while read -r call n <&3; do
		what="the service, $call number $n"
		if [ "$call" = allocation ]; then
			served env FAIL_ALLOCATION="$n" LD_PRELOAD="$preload" "$apart"
		else
			served strace -D -o /dev/null -e trace="$call" -e inject="$call:error=${error[$call]}:when=$n" "$XDP_BLOOM"
		fi
		case $status in
		0) ;;
		2)
			[ -s log ] || fail "$what: failed without a word"
			refused=$((refused + 1))
			;;
		*)
			# The C library itself ends a process that has no memory for a thread's variables.
			grep -q 'cannot allocate memory for thread-local data' log || fail "$what: ended with $status: $(tail -n 3 log)"
			refused=$((refused + 1))
			;;
		esac
		cp log err
		still_filters
		count=$((count + 1))
	done 3<chosen
	[ $count -gt 0 ] || fail "none was made to fail"
	echo "# the service: $count of $(wc -l <all) $1 failed: $refused refusals, $((count - refused)) survived"
}

# Of a sample each verb has either its calls or its allocations, by turns; whoever asks for a case finds it.
kinds=(calls allocations)
cases=() turns=$((XDP_BLOOM_SEED % 2))
a_case() {
	if [ "${FAULTS:-42}" = all ] || [ -n "${XDP_BLOOM_CASES:-}" ]; then
		cases+=("$1 calls $2" "$1 allocations $2")
	else
		cases+=("$1 ${kinds[turns++ % 2]} $2")
	fi
}
for verb in "${VERBS[@]}"; do
	a_case fails_once "$verb"
done
for verb in "${LOOKS[@]}"; do
	a_case looks_once "look_$verb"
done
run_cases "${cases[@]}" "serves_once calls" "serves_once allocations"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --confirm goes back, whatever happens: XDP_BLOOM_CONFIRMS changes (56), each in a session that breaks (confirm.py).
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
confirm=$(realpath "$(dirname "$0")/confirm.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# Whether a control group can be killed as a whole (5.14).
has_groups() {
	local has

	mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null && mkdir "/sys/fs/cgroup/xdp-bloom-test-$$" || return 1
	[ -e "/sys/fs/cgroup/xdp-bloom-test-$$/cgroup.kill" ]
	has=$?
	rmdir "/sys/fs/cgroup/xdp-bloom-test-$$"
	return $has
}

broken_sessions() {
	local lanes=${XDP_BLOOM_LANES:-12} skipped=() n

	export WORK
	for ((n = 0; n < lanes; n++)); do
		veth $n
	done
	[ -e "${TRAFFIC%/*}/clock.so" ] || skip "clock.so is not built"
	has_groups || skipped+=(group)
	unshare --time --boottime 1000 --fork true 2>/dev/null || skipped+=(namespace)
	python3 "$confirm" "${XDP_BLOOM_CONFIRMS:-56}" "$lanes" "${skipped[@]}" \
		>"$WORK/out" 2>"$WORK/err" || fail "$(cat "$WORK/out" "$WORK/err")"
	sed 's/^/# /' "$WORK/out"
}

# as_sql SQL: what becomes of the state behind our back.
as_sql() {
	python3 - "$XDP_BLOOM_STATE/state.db" "$1" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.executescript(sys.argv[2])
	PYTHON
}

# The machine was started again: what waits is over.
rebooted() {
	as_sql "UPDATE pending SET boot = 'another'"
	expect 2 "$XDP_BLOOM" confirm
	grep -q "nothing waits" err || fail "it waits still: $(cat err)"
}

on_trial() {
	compgen -G "$XDP_BLOOM_BPFFS/generation/*/trial" >/dev/null
}

every_verb() {
	echo 45.0.0.1 >list
	echo 46.0.0.0/24 >shade
	bloom load list list
	bloom load shade shade --shadow
	bloom add 47.0.0.1 --reason old
	bloom add 47.0.0.1 47.0.0.2 47.0.0.2 --reason new --confirm 1h
	is "$(cat out)" "add: goes back in 3600 s unless you run: xdp-bloom confirm" "what add says"
	bloom allow 45.0.0.1 --confirm 1h
	bloom enforce shade --confirm 1h
	bloom tune --headroom 50 --confirm 1h
	verdicts 47.0.0.2=drop 45.0.0.1=pass 46.0.0.1=drop
	is "$(get "[.waiting[]|.name] | sort" show)" '["(allow)","47.0.0.1","47.0.0.2","headroom","shade"]' "what waits"
	refused "waits for confirmation" add 47.0.0.2
	# So many at most, each of which has a row.
	# shellcheck disable=SC2046 # one word each
	refused "--confirm takes 256 prefixes at most" add $(printf '48.0.%d.1 ' {0..255}) 48.1.0.1 --confirm 1h
	refused "waits for confirmation" del 47.0.0.2
	refused "waits for confirmation" allow 45.0.0.2
	refused "waits for confirmation" disallow 45.0.0.1
	refused "waits for confirmation" enforce shade
	refused "waits for confirmation" load shade shade
	refused "waits for confirmation" tune --headroom 60
	bloom save image
	refused "waits for confirmation" load --image image --force
	bloom add 48.0.0.1
	rebooted
	verdicts 47.0.0.1=drop 47.0.0.2=pass 45.0.0.1=drop 46.0.0.1=pass 48.0.0.1=drop
	is "$(get '[.[]|.prefix,.reason]' bans)" '["47.0.0.1","old","48.0.0.1",null]' "the bans that came back"
	is "$(get .headroom tune)" 10 "the setting that came back"
	is "$(get .[].kind lists | tr '\n' ' ')" "ban shadow " "the kinds of the lists"

	bloom load --image image --force --confirm 1h
	verdicts 45.0.0.1=pass 46.0.0.1=drop 48.0.0.1=pass
	bloom add 49.0.0.1
	# Both would keep the bans of before in one place.
	refused "waits for confirmation" add 49.0.0.2 --confirm 1h
	rebooted
	verdicts 47.0.0.1=drop 47.0.0.2=pass 45.0.0.1=drop 46.0.0.1=pass 48.0.0.1=drop 49.0.0.1=drop
	is "$(get '[.[]|.name,.kind]' lists)" '["list","ban","shade","shadow"]' "the lists that came back"
	is "$(echo state/image.*)" "state/image.*" "copies of the image"

	bloom unload list shade --confirm 1h
	is "$(get length lists)" 0 "number of lists"
	# What waits is saved with the rest.
	bloom state recover
	rebooted
	verdicts 45.0.0.1=drop
	bloom allow 45.0.0.1
	bloom disallow 45.0.0.1 --confirm 1h
	verdicts 45.0.0.1=drop
	rebooted
	verdicts 45.0.0.1=pass
	bloom disallow 45.0.0.1
	printf '50.0.%d.1\n' {0..255} >many
	echo 50.1.0.1 >>many
	refused "256 prefixes at most" add --confirm 1h - <many
	on_trial && fail "a generation is on trial, and nothing waits"
	return 0
}

# What members said, and which ban ends later.
beside_an_image() {
	bloom fleet accept m --max-ttl 1d
	bloom fleet accept q1 --quorum 2
	bloom fleet accept q2 --quorum 2
	echo 45.0.0.1 >list
	bloom load list list
	bloom save image
	bloom unload list
	bloom add 49.0.0.3 --reason forever
	printf '@m + 49.0.0.1 1h x\n@m + 49.0.0.2 1h x\n@q1 + 49.0.0.9 1h\n' | "$XDP_BLOOM" follow - >out || fail "follow"
	bloom load --image image --force --confirm 1h
	verdicts 45.0.0.1=drop 49.0.0.1=pass
	bloom add 49.0.0.3 --ttl 1h --reason short
	printf '@m - 49.0.0.2\n' | "$XDP_BLOOM" follow - >out || fail "follow"
	bloom state check
	rebooted
	verdicts 45.0.0.1=pass 49.0.0.1=drop 49.0.0.2=pass 49.0.0.3=drop 49.0.0.9=pass
	is "$(get '[.[]|.prefix,.reason,.expires == null]' bans)" '["49.0.0.1","m: x",false,"49.0.0.3","forever",true]' "the bans"
	is "$(get '[.members[]|.member,.bans]' fleet)" '["m",1,"q1",1,"q2",0]' "the accounts"
	printf '@q2 + 49.0.0.9 1h\n@m - 49.0.0.1\n' | "$XDP_BLOOM" follow - >out || fail "follow"
	verdicts 49.0.0.1=pass 49.0.0.9=drop
}

# confirm makes it one like any other; also where it was killed before it had told the kernel.
confirmed() {
	local by

	echo 45.0.0.1 >list
	for by in command kill; do
		bloom load list list --force --confirm 1h
		on_trial || fail "it is not on trial"
		if [ $by = command ]; then
			bloom confirm
		else
			as_sql "DELETE FROM pending; DELETE FROM list WHERE name LIKE '% before'"
			expect 2 "$XDP_BLOOM" confirm
		fi
		on_trial && fail "it is on trial still"
		verdicts 45.0.0.1=drop
	done
	is "$(compgen -G "$XDP_BLOOM_BPFFS/generation/*/before")" "" "what it would go back to"
}

# confirm that is killed at its commit leaves no interface that lets everything pass one day, and nobody knows why.
confirm_cut_short() {
	local root

	need strace bpftool
	veth 0
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 --confirm 1h
	root=$(bpftool -j prog show pinned "$XDP_BLOOM_BPFFS/root" | jq .id)
	[ "$(xdp_id edge0)" != "$root" ] || fail "it is not on trial"
	expect 137 strace -o calls -e trace=fdatasync -e inject=fdatasync:signal=KILL:when=1 "$XDP_BLOOM" confirm
	is "$(xdp_id edge0)" "$root" "the program on edge0"
}

# Whoever waits for the deadline does not take back what is being confirmed just then, on a disk that takes its time.
confirm_takes_long() {
	need strace pgrep
	veth 0
	a_list
	bloom load bad list
	bloom attach edge0 --confirm 2
	expect 0 strace -o calls -e trace=fdatasync -e inject=fdatasync:delay_enter=4000000:when=1 "$XDP_BLOOM" confirm
	wait_until "that nobody waits for it" nobody_watches
	send 0 -b banned -c clean
	is "$(get '[.interfaces[]|.name]' show)" '["edge0"]' "what is filtered"
}

nobody_watches() {
	! pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch" >/dev/null
}

# is_on_trial INTERFACE
is_on_trial() {
	bpftool -j prog show id "$(xdp_id "$1")" | grep -q xdp_bloom_trial
}

# A root that was lost is loaded again, for every interface: one that is on trial stays on trial.
another_root() {
	local root

	need bpftool
	veth 0
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 --confirm 1h
	root=$(xdp_id edge0)
	rm "$XDP_BLOOM_BPFFS/root"
	bloom rotate
	[ "$(xdp_id edge0)" != "$root" ] || fail "edge0 has the root from before"
	is_on_trial edge0 || fail "it is not on trial any more"
	bloom confirm
	is_on_trial edge0 && fail "it is on trial still"
	return 0
}

# What is banned, or no longer, while something waits: the generation that the kernel goes back to by itself knows it.
banned_meanwhile() {
	local watcher trial

	need pgrep
	printf '45.0.0.%d\n' {1..20} >list
	bloom load list list
	bloom add 46.0.0.1
	bloom load other list --confirm 2s
	trial=$(get .generation show)
	watcher=$(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch") && kill -KILL "$watcher"
	bloom add 46.0.0.2
	bloom del 46.0.0.1
	wait_until "the generation before" in_force_is_not "$trial"
	verdicts 46.0.0.1=pass 46.0.0.2=drop 45.0.0.1=drop
}

# let_through ADDRESS...: none of them is dropped.
let_through() {
	"$XDP_BLOOM" -j test "$@" 2>/dev/null | jq -e 'all(.[]; .verdict == "pass")' >/dev/null
}

in_force_is_not() {
	[ "$(get .generation show)" != "$1" ]
}

# While one ban waits, a stream that says something else of it is told so, and what comes behind it has its turn.
waits_in_a_stream() {
	echo 45.0.0.1 >list
	bloom load list list
	bloom add 99.0.0.1 --confirm 1h
	printf '%s\n' -99.0.0.1 +98.0.0.1 '+99.0.0.1 2h' +98.0.0.2 >lines
	expect 1 timeout 60 "$XDP_BLOOM" follow - <lines
	is "$(grep -c 'input:[13]: 99.0.0.1: .* waits for confirmation' err)" 2 "the lines that are refused: $(cat err)"
	verdicts 98.0.0.1=drop 98.0.0.2=drop 99.0.0.1=drop
}

# What the generation before has no room for is said; what it has goes into both, also where the one in force had to be
# built anew.
late_bans() {
	local late="what waits for confirmation goes back without this" ban

	printf '45.0.0.%d\n' {1..200} >list
	printf '46.0.0.%d\n' {1..40} >other
	bloom load list list --confirm 1h
	bloom add 99.9.9.9
	grep -q "$late" err || fail "nothing was before, and it does not say so: $(cat err)"
	bloom confirm
	for ban in 99.8.0.0/16 "99.9.9.1 --ttl 1h" 2001:db8:7::/48; do
		bloom load other other --confirm 1h
		# shellcheck disable=SC2086 # words
		bloom add $ban
		grep -q "$late" err || fail "$ban: it does not say so: $(cat err)"
		bloom confirm
		bloom unload other
		bloom load other other --confirm 1h
		# shellcheck disable=SC2086
		bloom add ${ban/99.9.9.1/99.9.9.2}
		! grep -q "$late" err || fail "$ban: there is room for it, but: $(cat err)"
		bloom confirm
		bloom unload other
	done
}

# What comes with more than bans is said to be missing, and its bans are not.
late_changes() {
	local late="what waits for confirmation goes back without this" line watcher

	printf '45.0.0.%d\n' {1..200} >list
	echo 46.0.0.1 >other
	echo 47.0.0.1 >third
	bloom load list list
	bloom load other other --confirm 1h
	for line in "load third third" "allow 45.0.0.7" "enforce third" "shadow third" "tune --samples 50" "unload third"; do
		# shellcheck disable=SC2086 # words
		bloom $line
		grep -q "$late" err || fail "$line: it does not say so: $(cat err)"
	done
	bloom rotate
	! grep -q "$late" err || fail "rotate brings nothing: $(cat err)"
	printf 'add 99.9.9.8\nload third third\n' >lines
	bloom batch lines
	is "$(grep -c "$late" err)" 1 "how often it says so: $(cat err)"
	bloom confirm
	# The kernel goes back by itself, and nobody builds anything.
	need pgrep
	echo 46.0.0.2 >extra
	bloom load extra extra --confirm 3
	for watcher in $(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch"); do
		kill -KILL "$watcher"
	done
	printf 'add 99.9.9.9\nload fourth third\n' >lines
	bloom batch lines
	wait_until "what was before" let_through 46.0.0.2
	verdicts 46.0.0.2=pass 99.9.9.8=drop 99.9.9.9=drop
	# And of a batch of which a part waits.
	bloom restore
	printf 'add 99.9.9.10\nload extra extra --confirm 3\ndel 99.9.9.8\n' >lines
	bloom batch lines
	! grep -q "$late" err || fail "its bans are all there: $(cat err)"
	for watcher in $(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch"); do
		kill -KILL "$watcher"
	done
	wait_until "what was before" let_through 46.0.0.2
	verdicts 46.0.0.2=pass 99.9.9.8=pass 99.9.9.9=drop 99.9.9.10=drop
	bloom restore
	verdicts 46.0.0.2=pass 99.9.9.8=pass 99.9.9.9=drop 99.9.9.10=drop
	printf 'load extra extra --confirm 1h\nload fifth third\n' >lines
	bloom batch lines
	is "$(grep -c "$late" err)" 1 "how often it says so of a batch: $(cat err)"
	bloom confirm
	# Nor is a ban of what an exception lets through only for now.
	echo 48.0.0.0/24 >good
	bloom load good good --allow --confirm 1h
	bloom add 48.0.1.1
	! grep -q "$late" err || fail "nothing lets it through: $(cat err)"
	bloom add 48.0.0.1
	grep -q "$late" err || fail "it is let through, and that is not said: $(cat err)"
}

# A batch of which a ban waits, or beside which one does: what of it does not wait is in what the kernel goes back to.
late_beside_bans() {
	local late="what waits for confirmation goes back without this" lines watcher

	need pgrep
	echo 45.0.0.1 >list
	echo 46.0.0.1 >other
	bloom load list list
	for lines in 'add 99.9.9.8\ndel 99.9.8.9\nload other other --confirm 3\n' \
		'add 99.9.9.8\nadd 99.9.9.2 --confirm 3\ndel 99.9.8.9\n'; do
		[[ $lines = *99.9.9.2* ]] || bloom add 99.9.9.1 --confirm 1h
		bloom add 99.9.8.9 --ttl 1h
		# shellcheck disable=SC2059 # lines
		printf "$lines" >lines
		bloom batch lines
		! grep -q "$late" err || fail "its bans are all there: $(cat err)"
		verdicts 99.9.9.8=drop 99.9.8.9=pass
		for watcher in $(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch"); do
			kill -KILL "$watcher"
		done
		wait_until "what was before" let_through 46.0.0.1 99.9.9.2
		verdicts 45.0.0.1=drop 46.0.0.1=pass 99.9.9.2=pass 99.9.9.8=drop 99.9.8.9=pass
		bloom restore
		verdicts 45.0.0.1=drop 46.0.0.1=pass 99.9.9.2=pass 99.9.9.8=drop 99.9.8.9=pass
		[[ $lines = *99.9.9.2* ]] || bloom confirm
		bloom del 99.9.9.8
	done
	printf 'add 99.9.9.8\nadd 99.9.9.1 --confirm 1h\nload third other\n' >lines
	bloom batch lines
	is "$(grep -c "$late" err)" 1 "how often it says that a list is missing: $(cat err)"
	bloom confirm
	printf 'add 99.9.7.0/24\nadd 99.9.7.1 --confirm 1h\n' >lines
	bloom batch lines
	is "$(grep -c "$late" err)" 1 "how often it says that a wider ban is missing: $(cat err)"
	bloom confirm
	# What waits for longer passes from the first deadline on.
	bloom unload third --confirm 1h
	for lines in 'add 99.9.6.1' 'load fourth other' 'allow 99.9.7.1'; do
		# shellcheck disable=SC2086 # words
		bloom $lines --confirm 2h
		grep -q "$late" err || fail "$lines waits for longer, and it does not say so: $(cat err)"
	done
	! grep -q "for longer, goes back" err || fail "nothing goes back before its time, but: $(cat err)"
	bloom add 99.9.6.2 --confirm 30m
	! grep -q "$late" err || fail "it goes back first, but: $(cat err)"
	grep -q "for longer, goes back" err || fail "the others go back with it, and it does not say so: $(cat err)"
	bloom confirm
	bloom add 99.9.6.4 --confirm 30m
	! grep -q "goes back" err || fail "nothing else waits, but: $(cat err)"
	bloom confirm
	printf 'add 99.9.6.3 --confirm 2h\nunload list --confirm 1h\n' >lines
	bloom batch lines
	is "$(grep -c "$late" err)" 1 "how often it says that a line waits for longer: $(cat err)"
}

# Who wants it attached is told that it may go.
attached_for_a_while() {
	veth 0
	bloom attach edge0 --confirm 1h
	expect 1 "$XDP_BLOOM" attach edge0 --if-needed
	grep -q "edge0: attached, but goes back unless you run: xdp-bloom confirm" err || fail "$(cat err)"
	expect 1 "$XDP_BLOOM" attach edge0 --if-needed --confirm 1h
	refused "edge0: a change of it waits for confirmation" attach edge0 --match both
	rename edge0 edge7
	expect 1 "$XDP_BLOOM" attach edge7 --if-needed
	grep -q "edge7: attached, but goes back unless you run: xdp-bloom confirm" err || fail "$(cat err)"
	refused "edge7: a change of it waits for confirmation" attach edge7
	rename edge7 edge0
	bloom confirm
	bloom attach edge0 --if-needed
	is "$(cat err)" "" "what it says where nothing waits"
	bloom attach edge0 --if-needed --confirm 1h
	is "$(cat err)" "" "what it says where it is attached for good"
}

# What is kept may be of an interface that is no more: that what has its name is open is said.
kept_and_open() {
	veth 0
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 --confirm 1h
	ip link del edge0
	veth 0
	expect 1 "$XDP_BLOOM" confirm
	grep -q "edge0 is to be filtered, and is not: 'restore' attaches it, or says why not" err || fail "$(cat err)"
	bloom restore
	bloom attach edge0 --egress --confirm 1h
	bloom confirm
	is "$(cat err)" "" "what it says where all is filtered"
	bloom detach --all
	# A port that came meanwhile, which what is loaded shuts out by now.
	ip link del edge0
	veth 0 1
	ip link add edgetop type bridge
	ip link set edgetop up
	bloom attach edgetop --ports --confirm 1h
	ip addr add 45.0.0.2/24 dev edge1
	ip route add 198.51.100.0/24 via 45.0.0.1
	ip link set edge0 master edgetop
	expect 1 "$XDP_BLOOM" confirm
	grep -q "45.0.0.1, a gateway" err || fail "$(cat err)"
	grep -q "edge0 is to be filtered, and is not" err || fail "$(cat err)"
}

# One that comes while it waits is on trial, too, and goes back with the others; and so is one that comes later.
comes_for_a_while() {
	local n

	need bpftool
	veth 0
	for n in 5 6; do
		expect 1 "$XDP_BLOOM" attach edge0 "edge$n" --if-needed --confirm 1h
		expect 1 "$XDP_BLOOM" attach "edge$n" --if-needed
		grep -q "edge$n: remembered, but goes back unless you run: xdp-bloom confirm" err || fail "$(cat err)"
		[ $n = 6 ] || veth 5
		[ $n = 6 ] || bloom restore
		[ $n = 6 ] || is_on_trial edge5 || fail "edge5 is not on trial"
		is "$(get '[.waiting[]|.name] | sort' show)" "[\"edge0\",\"edge$n\"]" "what waits"
		as_sql "UPDATE pending SET due = 1"
		bloom restore
		is "$(get '.interfaces' show)" '[]' "what is filtered"
	done
	veth 6
	bloom restore
	is "$(get '.interfaces' show)" '[]' "what is filtered when another has come"
}

# What waits, said once more, for good: it is not acknowledged, as it goes back. Each verb that takes --confirm.
said_twice() {
	local rows row verb

	rows=("attach edge0" "attach edgetop --ports" "load new new" "load new new --if-changed" "load --image image --force"
		"unload gone" "enforce shade" "shadow list" "add 48.0.0.1" "add 48.0.0.1 --ttl 1h" "add 48.0.0.1 --only tcp/22"
		"allow 45.0.0.1" "disallow 50.0.0.1" "tune --embedded on" "tune --headroom 50")
	for verb in $("$XDP_BLOOM" --list-options); do
		! "$XDP_BLOOM" --list-options "$verb" | grep -qx -e --confirm || printf '%s\n' "${rows[@]}" | grep -q "^$verb " ||
			fail "$verb takes --confirm, and is not tried here"
	done
	veth 0 1
	ip link add edgetop type bridge
	ip link set edge1 down
	ip link set edge1 master edgetop
	echo 45.0.0.1 | tee list shade gone new >/dev/null
	bloom load list list
	bloom load gone gone
	bloom save image
	bloom load shade shade --shadow
	bloom allow 50.0.0.1
	for row in "${rows[@]}"; do
		read -ra words <<<"$row"
		bloom "${words[@]}" --confirm 1h
		refused "waits for confirmation" "${words[@]}"
		refused "waits for confirmation" "${words[@]}" --confirm 2h
		echo "$row" >lines
		[[ $row = attach* ]] || refused "waits for confirmation" batch lines
		rebooted
	done
	bloom attach edgetop --ports --confirm 1h
	refused "edge1: a change of it waits for confirmation" attach edge1
	rebooted
	is "$(xdp_id edge1)" none "the program on edge1"
}

# A line of the config file that a trial stands in the way of has its turn again when that is over.
lines_beside_a_trial() {
	local n

	veth 0 1
	echo 45.0.0.1 >list
	echo 46.0.0.1 >other
	bloom load list list
	bloom attach edge0 --confirm 1h
	bloom load other other --confirm 1h
	bloom allow 45.0.0.1 --confirm 1h
	bloom tune --embedded on --confirm 1h
	printf 'attach edge0 edge1\nload other %s\nallow 45.0.0.1\ntune --embedded on\n' "$WORK/other" >conf
	ready
	[ "$(xdp_id edge1)" != none ] || fail "edge1 waits for edge0"
	rebooted
	# In whatever order: those that were tried in vain come behind the others.
	for ((n = 0; n < 4; )); do
		heard "$log" "line "
		[[ $line != *": done" ]] || n=$((n + 1))
	done
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	verdicts 45.0.0.1=pass 46.0.0.1=drop
	is "$(get .embedded tune)" true "what line 4 says"
	is "$(get '.waiting | length' show)" 0 "how much waits"
	stop
}

# A change whose program with the clock loses its pin before the service has looked: without a clock none of it comes into
# force. It is built again, until the same deadline, which needs nobody.
unpinned_at_once() {
	local watcher

	need pgrep
	for unpinned in trial "trial term"; do
		loses_its_clock
	done
}

loses_its_clock() {
	echo 45.0.0.1 >list
	echo 46.0.0.1 >other
	bloom load list list
	: >conf
	ready
	asleep change_and_unpin
	heard "$log" ": made again"
	verdicts 46.0.0.1=drop 45.0.0.1=drop
	on_trial || fail "it is not on trial"
	kill -KILL "$service_pid"
	end_of "$service_pid" 2>/dev/null
	watcher=$(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch") && kill -KILL "$watcher"
	# Its 15 seconds, and then what any wait may take.
	patience=$((patience + 15)) wait_until "the generation before" gives pass '.[0].verdict' test 46.0.0.1
	verdicts 45.0.0.1=drop
	bloom unload list
}

change_and_unpin() {
	local pin

	bloom load other other --confirm 15s
	for pin in $unpinned; do
		rm "$XDP_BLOOM_BPFFS"/generation/*/"$pin"
	done
}

# confirm comes too late for what could not be taken back in time.
too_late() {
	echo 45.0.0.1 >list
	bloom load list list
	bloom load other list --confirm 1h
	as_sql "UPDATE pending SET due = 1; UPDATE chunk SET data = x'00' WHERE family > 0"
	expect 2 "$XDP_BLOOM" confirm
	grep -q "its time is over" err || fail "$(cat err)"
}

# What version 5 of the state's tables says of what waits.
of_an_older_state() {
	echo 45.0.0.1 >list
	bloom load list list
	bloom load other list --confirm 1h
	as_sql "ALTER TABLE pending DROP COLUMN due; ALTER TABLE pending DROP COLUMN boot; DROP TABLE ban_before; DROP TABLE accepted; DROP TABLE strike; DROP TABLE chosen; DROP TABLE scope; DROP TABLE matched; DROP TABLE leaving; DROP TABLE ports; DROP TABLE port; DROP TABLE feed; DROP TABLE said; DROP TABLE said_before; DROP TABLE behind; DROP TABLE member;
		DROP INDEX ban_due; ALTER TABLE ban DROP COLUMN due;
		PRAGMA user_version = 5"
	is "$(get length lists)" 2 "number of lists"
	bloom add 45.0.0.2
	as_sql "UPDATE pending SET deadline = 1"
	expect 2 "$XDP_BLOOM" confirm
	is "$(get '[.[].name]' lists)" '["list"]' "what was there before"
	verdicts 45.0.0.2=drop
}

# What cannot go back is said to wait on, and goes back with the next command that can.
cannot_go_back() {
	echo 45.0.0.1 >list
	seq -f '45.%.0f.0.7' 0 255 >other
	bloom load list list
	bloom load list other --force --confirm 1h
	as_sql "UPDATE pending SET due = 1"
	echo 'MemAvailable: 1 kB' >little
	mount --bind little /proc/meminfo || skip "the kernel mounts nothing over /proc/meminfo"
	rm -f state/events
	"$XDP_BLOOM" rotate >out 2>err
	umount /proc/meminfo
	grep -q "list: was not confirmed in time, and cannot go back: " err || fail "does not say it: $(cat err)"
	! grep -q 'has gone back' err || fail "says that it has gone back: $(cat err)"
	! grep -qs reverted state/events || fail "there is an event: $(cat state/events)"
	"$XDP_BLOOM" rotate >out 2>err
	grep -q "list: was not confirmed in time and has gone back" err || fail "it does not go back: $(cat err)"
	grep -q '"event":"reverted"' state/events || fail "there is no event: $(cat state/events)"
	verdicts 45.0.0.1=drop 45.9.0.7=pass
	# A ban to take back, of which nobody can tell which it is.
	as_sql "INSERT INTO pending (kind, name, deadline, due) VALUES (3, 'nonsense', 1, 1)"
	refused "'nonsense' waits for confirmation, and is no prefix" rotate
	verdicts 45.0.0.1=drop
}

# gets_scope LIST: it has one, which no command would give it now.
gets_scope() {
	as_sql "INSERT INTO scope (list, scope, kind) SELECT id, 'tcp/22', kind FROM list WHERE name = '$1';
		UPDATE list SET kind = 2 WHERE name = '$1'"
	bloom rotate
}

# What waits can always go back: what comes meanwhile and does not go together with that is refused, in each order.
goes_together() {
	local roster='a list with a scope needs the roster' shadow='a shadow list needs the roster'

	echo 45.0.0.1 >list
	bloom load scoped list --only tcp/22
	bloom unload scoped --confirm 1h
	refused "tune: scoped waits for 'confirm', and would not go back together with this: $roster" tune --exact off --force
	bloom load other list
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.2
	grep -q 'scoped: was not confirmed in time and has gone back' err || fail "$(cat err)"
	bloom load scoped list --only any
	bloom load shade list --shadow
	bloom enforce shade --confirm 1h
	refused "shade waits for 'confirm', and would not go back together with this: $shadow" tune --exact off --force
	bloom confirm
	bloom tune --exact off --force
	bloom tune --exact on --confirm 1h
	refused "exact waits for 'confirm', and would not go back together with this: $shadow" load new list --shadow
	refused "exact waits for 'confirm', and would not go back together with this: $roster" load new list --only tcp/22
	printf 'load new list --only tcp/22\nadd 45.0.0.3\n' >lines
	refused "exact waits for 'confirm', and would not go back together with this: $roster" batch lines
	bloom load new list
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	is "$(get .exact tune)" false "whether there is a roster"
	verdicts 45.0.0.1=drop 45.0.0.3=drop
}

# Of two that wait the first goes back alone.
goes_one_after_the_other() {
	local roster='a list with a scope needs the roster' shadow='a shadow list needs the roster'

	echo 45.0.0.1 >list
	bloom load list list
	bloom tune --exact off --force
	bloom tune --exact on --confirm 60
	refused "exact waits for 'confirm', and would not go back together with this: $roster" load scoped list --only tcp/22 --confirm 1h
	refused "exact waits for 'confirm', and would not go back together with this: $shadow" shadow list --confirm 1h
	bloom confirm
	bloom load scoped list --only tcp/22
	bloom unload scoped --confirm 60
	refused "scoped waits for 'confirm', and would not go back together with this: $roster" tune --exact off --force --confirm 1h
	# The later goes back to what the earlier has left.
	bloom load other list --confirm 1h
	as_sql "UPDATE pending SET due = 1 WHERE name = 'scoped'"
	bloom add 45.0.0.2
	refused "$roster" tune --exact off --force
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	is "$(get '.[].name' lists | sort | tr '\n' ' ')" 'list scoped ' "the lists"
	verdicts 45.0.0.2=drop 45.0.0.3=drop
}

# Without the roster some of what is allowed would be dropped: only a filter that is built shows it.
goes_with_exceptions() {
	local why="exact waits for 'confirm', and would not go back together with this: the allow lists are too wide for --exact=off"

	for i in $(seq 0 255); do
		for j in $(seq 1 40); do echo "60.0.$i.$j"; done
		echo "60.0.$i.128/25" >>allowed
	done >list
	bloom load list list
	bloom tune --exact off --fpr 0.01 --force
	bloom tune --exact on --confirm 1h
	refused "$why" load allowed allowed --allow
	echo 60.0.0.200 >few
	bloom load allowed few --allow
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	is "$(get .exact tune)" false "whether there is a roster"
	verdicts 45.0.0.3=drop 60.0.0.200=pass
}

# Nor are there addresses that could be tried: too many are allowed.
goes_with_wide_exceptions() {
	local why="exact waits for 'confirm', and would not go back together with this: the allow lists are too wide for --exact=off"

	echo 2001:db8:1::1 >list
	echo 2001:db8:2::/64 >allowed
	bloom load list list
	bloom tune --exact off --force
	bloom tune --exact on --confirm 1h
	refused "$why" load allowed allowed --allow
	refused "$why" allow 2001:db8:2::/64
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	verdicts 45.0.0.3=drop
}

# Of lists with a scope there are only so many in one program.
goes_with_many_scopes() {
	local to=() i why="a waits for 'confirm', and would not go back together with this: the lists' scopes have more than 32 prefixes"

	echo 45.0.0.1 >list
	for i in {1..20}; do to+=(--to "203.0.$i.0/24"); done
	bloom load a list "${to[@]}"
	bloom unload a --confirm 1h
	bloom load b list --to 203.0.99.0/24
	to=()
	for i in {101..120}; do to+=(--to "203.0.$i.0/24"); done
	refused "$why" load c list "${to[@]}"
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	verdicts 45.0.0.3=drop
}

# What is banned again by what goes back, and is needed since.
goes_back_over_a_need() {
	local said='what is loaded bans 45.0.0.9, a gateway in use'

	echo 45.0.0.9 >list
	bloom load list list
	bloom unload list --confirm 1h
	ip link set lo up
	ip route add 192.0.2.0/24 via 45.0.0.9 dev lo onlink
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	grep -q "$said" err || fail "nobody says so: $(cat err)"
	bloom events
	grep -q "fault .*$said" out || fail "no event of it: $(cat out)"
	verdicts 45.0.0.9=drop
	ip route del 192.0.2.0/24
}

# What came meanwhile does not go together with what was before: nothing else is changed until that is gone.
goes_back_with_others() {
	local why='exact was not confirmed in time, and with this cannot go back: a list with a scope needs the roster'

	echo 45.0.0.1 >list
	bloom load list list
	bloom tune --exact off --force
	bloom tune --exact on --confirm 1h
	bloom load scoped list
	gets_scope scoped
	as_sql "UPDATE pending SET due = 1"
	expect 2 "$XDP_BLOOM" add 45.0.0.2
	grep -q "^xdp-bloom: add: $why" err || fail "$(cat err)"
	verdicts 45.0.0.2=pass
	expect 2 "$XDP_BLOOM" rotate
	grep -q "$why" err || fail "$(cat err)"
	expect 2 "$XDP_BLOOM" status
	grep -qx " *exact was not confirmed in time, and has not gone back: 'xdp-bloom rotate' says why" out || fail "$(cat out)"
	bloom load scoped list --only any --dry-run
	! grep -q 'has gone back' err || fail "a dry run says that it has gone back: $(cat err)"
	bloom unload scoped
	grep -q 'exact: was not confirmed in time and has gone back' err || fail "it does not say so: $(cat err)"
	is "$(get .exact tune)" false "whether there is a roster"
	bloom add 45.0.0.2
	verdicts 45.0.0.1=drop 45.0.0.2=drop
	expect 2 "$XDP_BLOOM" status
	! grep 'gone back' out || fail "status says it still"
}

# One that cannot go back, and was begun before the machine was started: its time is of a clock that is no more.
restarts_on_trial() {
	echo 45.0.0.1 >list
	echo 45.0.0.2 >another
	bloom load list list
	bloom load other another
	bloom tune --exact off --force
	bloom tune --exact on --confirm 1h
	bloom load scoped list
	gets_scope scoped
	as_sql "UPDATE pending SET boot = 'another'"
	rm -r "$XDP_BLOOM_BPFFS"
	bloom restore
	! on_trial || fail "it is on trial by the clock of before"
	verdicts 45.0.0.1=drop 45.0.0.2=drop
	expect 2 "$XDP_BLOOM" status
	grep -qx " *exact was not confirmed in time, and has not gone back: 'xdp-bloom rotate' says why" out || fail "$(cat out)"
	as_sql "UPDATE pending SET due = 1"
	rm -r "$XDP_BLOOM_BPFFS"
	bloom restore
	verdicts 45.0.0.1=drop 45.0.0.2=drop
	bloom unload scoped
	is "$(get .exact tune)" false "whether there is a roster"
	verdicts 45.0.0.1=drop 45.0.0.2=drop
}

# There would be nothing to go back to, and every packet would pass.
begins_with_nothing() {
	local verb

	echo 45.0.0.1 >list
	echo 45.0.0.2 >another
	bloom load first list --confirm 1h
	bloom confirm
	bloom load shade list --shadow
	rm -r "$XDP_BLOOM_BPFFS"
	for verb in "load other another" "unload first" "add 45.0.0.3" "add 45.0.0.3 --only tcp/22" "allow 45.0.0.9" \
		"enforce shade" "tune --headroom 50" "load --image image --force"; do
		echo "$verb" | grep -q image && bloom rotate && bloom save image && rm -r "$XDP_BLOOM_BPFFS"
		# shellcheck disable=SC2086 # words
		expect 2 "$XDP_BLOOM" $verb --confirm 1h
		grep -q "what was in force is gone, and --confirm could not go back to it: 'xdp-bloom restore' first" err ||
			fail "$verb: $(cat err)"
		is "$(get '.waiting' show)" '[]' "what waits after $verb"
	done
	bloom restore
	bloom load other another --confirm 1h
	on_trial || fail "it is not on trial"
	verdicts 45.0.0.1=drop 45.0.0.2=drop
}

# A container is started again, say: its pins are gone, its state and the machine's start are not. At the deadline the
# kernel would go back to nothing, whoever builds what was in force; an interface goes back by itself.
gone_on_trial() {
	local again trial trials=("load other another" "add 45.0.0.2" "allow 45.0.0.1" "tune --inner on" "unload list")

	veth 0
	echo 45.0.0.1 >list
	echo 45.0.0.2 >another
	bloom load list list
	for again in restore rotate "add 45.0.0.9"; do
		for trial in "${trials[@]}"; do
			# shellcheck disable=SC2086 # words
			bloom $trial --confirm 1h
			[ "$trial" != "${trials[0]}" ] || bloom attach edge0 --confirm 1h
			on_trial || fail "$trial is not on trial"
			rm -r "$XDP_BLOOM_BPFFS"
			# shellcheck disable=SC2086 # words
			bloom $again
			grep -q "was not confirmed in time and has gone back" err || fail "$trial, $again: $(cat err)"
			! on_trial || fail "$trial: it is on trial behind $again"
			verdicts 45.0.0.1=drop 45.0.0.2=pass
			[ "$trial" != "${trials[0]}" ] || bloom detach edge0
			is "$(get .waiting show)" '[]' "what waits after $trial and $again"
		done
	done
	bloom attach edge0 --confirm 1h
	bloom tune --exact off --force
	bloom tune --exact on --confirm 1h
	bloom load scoped list
	gets_scope scoped
	rm -r "$XDP_BLOOM_BPFFS"
	bloom restore
	grep -q "exact: was not confirmed in time, and cannot go back" err || fail "what it said: $(cat err)"
	! on_trial || fail "what cannot go back is on trial"
	verdicts 45.0.0.1=drop
	is "$(get '[.waiting[].name]' show)" '["edge0","exact"]' "what waits then"
	is "$(ip -j link show edge0 | jq -r '.[].xdp.prog.name')" xdp_bloom_trial "what edge0 runs"
	expect 2 "$XDP_BLOOM" confirm
	grep -q "exact: its time is over" err || fail "what confirm said: $(cat err)"
}

# One that was to be filtered and was not, as before: its entry is there again, as it was.
of_before() {
	veth 0 1
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 --match both --mode skb
	bloom attach edge1 --egress --match source
	get '[.interfaces[] | {name, mode, match}]' show >before
	rm "$XDP_BLOOM_BPFFS"/links/*
	is "$(get .interfaces show)" '[]' "what is filtered"
	bloom attach edge0 --mode tc --confirm 1h
	bloom attach edge1 --egress --confirm 1h
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.2
	grep -q 'edge0: was not confirmed in time and has gone back' err || fail "$(cat err)"
	is "$(get .interfaces show)" '[]' "what is filtered after that"
	bloom state check
	bloom restore
	is "$(get '[.interfaces[] | {name, mode, match}]' show)" "$(cat before)" "what is filtered then"
	rm "$XDP_BLOOM_BPFFS"/links/*
	let_go edge0
	bloom attach edge0 --confirm 1h
	bloom confirm
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.3
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
}

# An interface that has another name when its time is over, or is in another network namespace: nothing of ours stays there.
renamed() {
	local away

	veth 0 1
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 edge1 --confirm 1h
	ip link set edge0 down
	ip link set edge0 name edge7
	unshare --net sleep infinity &
	away=$!
	wait_until "another namespace" is_away
	ip link set edge1 netns $away
	as_sql "UPDATE pending SET due = 1"
	bloom rotate
	let_go edge7
	is "$(get '.interfaces' show)" '[]' "what is filtered"
	is "$(nsenter -t $away -n ip -j link show edge1 | jq -r '.[0].xdp.prog.id // "none"')" none "the program on the one that moved"
	bloom attach edge7
	[ "$(xdp_id edge7)" != none ] || fail "edge7 is not filtered"
}

# While one is on trial, another that is filtered for good takes its name: that one stays filtered.
another_has_its_name() {
	local way

	veth 0 1
	a_list
	bloom load bad list --bogons=keep
	for way in "" --egress; do
		# shellcheck disable=SC2086 # words
		bloom attach edge1 $way && bloom attach edge0 $way --confirm 1h
		rename edge0 edge7
		rename edge1 edge0
		as_sql "UPDATE pending SET due = 1"
		bloom rotate
		grep -q 'edge0.*: was not confirmed in time and has gone back' err || fail "$(cat err)"
		is "$(get '[.interfaces[]|.name]' show)" '["edge0"]' "what is filtered"
		[ "$way" = --egress ] || "$TRAFFIC" -b banned -c clean wire1 edge0 >/dev/null || fail "edge0 is not filtered"
		bloom detach --all
		rename edge0 edge1
		rename edge7 edge0
	done
}

# Setting the date ends nothing: the clock since the start of the machine counts. Only where that is not known the date does.
date_set_forward() {
	local clock=${TRAFFIC%/*}/clock.so

	[ -e "$clock" ] || skip "clock.so is not built"
	veth 0
	echo 45.0.0.1 >list
	bloom load list list
	bloom attach edge0 --confirm 1h
	bloom add 45.0.0.2 --confirm 1h
	echo 3700 >ahead
	expect 0 env LD_PRELOAD="$clock" CLOCK_AHEAD="$WORK/ahead" "$XDP_BLOOM" add 45.0.0.3
	is "$(cat err)" "" "what it says"
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	verdicts 45.0.0.2=drop 45.0.0.3=drop
	is "$(get '.waiting | length' show)" 2 "how much waits"
	as_sql "UPDATE pending SET boot = NULL"
	expect 0 env LD_PRELOAD="$clock" CLOCK_AHEAD="$WORK/ahead" "$XDP_BLOOM" add 45.0.0.4
	is "$(xdp_id edge0)" none "the program on edge0"
	verdicts 45.0.0.2=pass 45.0.0.4=drop
}

is_away() {
	[ ! "/proc/$away/ns/net" -ef /proc/self/ns/net ]
}

run_cases said_twice lines_beside_a_trial waits_in_a_stream late_bans late_changes late_beside_bans attached_for_a_while kept_and_open comes_for_a_while cannot_go_back goes_together goes_one_after_the_other goes_with_exceptions goes_with_wide_exceptions goes_with_many_scopes goes_back_over_a_need goes_back_with_others begins_with_nothing gone_on_trial restarts_on_trial every_verb beside_an_image of_before renamed another_has_its_name date_set_forward confirmed confirm_cut_short confirm_takes_long another_root banned_meanwhile unpinned_at_once too_late of_an_older_state broken_sessions

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# add, del, bans: what they do, refuse and say; and that bans are in force, stay, and end.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

generation() {
	get .generation show
}

in_place() {
	local before

	bloom add 45.0.0.1 2a00::1 47.0.0.0/24 # so that there is a gate
	before=$(generation)
	bloom add 45.0.0.2 45.0.0.4/30 2a00::2 46.0.0.0/24
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=pass 45.0.0.7=drop 45.0.0.8=pass 2a00::2=drop 2a00::3=pass \
		46.0.0.255=drop 46.0.1.0=pass
	bloom del 45.0.0.2 2a00::2
	verdicts 45.0.0.1=drop 45.0.0.2=pass 2a00::1=drop 2a00::2=pass
	is "$(generation)" "$before" "the generation"
	is "$(get '[.[].prefix]' bans)" '["45.0.0.1","45.0.0.4/30","46.0.0.0/24","47.0.0.0/24","2a00::1"]' "the bans"
	bloom del 46.0.0.0/24
	verdicts 46.0.0.1=pass 45.0.0.1=drop
	bloom rotate
	verdicts 45.0.0.1=drop 45.0.0.5=drop 46.0.0.1=pass 2a00::1=drop
}

survives_a_reboot() {
	bloom add 45.0.0.1 45.0.0.2 --ttl 1h --reason 'tried every door'
	bloom add 45.0.0.3
	rm -rf "$XDP_BLOOM_BPFFS"
	bloom restore
	verdicts 45.0.0.1=drop 45.0.0.3=drop
	is "$(get '.[0]|[.list,.prefix,.reason,(.expires|type)]' test 45.0.0.1)" \
		'["live","45.0.0.1","tried every door","string"]' "the explanation"
}

# What test says in words of each entry, it says in JSON.
says_the_same_in_json() {
	local document='[.[0]|(.list,.reason,.expires,.added,(.entries[]|.list,.reason,(.expires|type),(.added|type)))]'

	echo 45.0.0.1 >list
	bloom load first list
	bloom add 45.0.0.0/24 --ttl 1h --reason 'tried every door'
	is "$(get "$document" test 45.0.0.1)" \
		'["first",null,null,null,"first",null,"null","null","live","tried every door","string","string"]' "why"
	is "$("$XDP_BLOOM" -p test 45.0.0.1 | jq -c "$document")" "$(get "$document" test 45.0.0.1)" "the same, indented"
	is "$(get '.[0]|.expires==.entries[0].expires and .added==.entries[0].added and .reason' test 45.0.0.2)" true "the ban"
	"$XDP_BLOOM" test 45.0.0.2 >out
	is "$(sed -n 's/.* since \(.*\) until \(.*\)/["\1","\2"]/p' out)" "$(get '.[0]|[.added,.expires]' test 45.0.0.2)" \
		"since when and until when"
}

# 8.8.8.8/8 is no network: somebody meant another length, or another address.
host_bits() {
	refused "8.8.8.8/8 is a host within 8.0.0.0/8: write 8.0.0.0/8, or --mask to mean the network" add 45.0.0.1 8.8.8.8/8
	refused "2a00::1/32 is a host within 2a00::/32" add 2a00::1/32
	refused "45.0.0.1/24 is a host within 45.0.0.0/24" add ::ffff:45.0.0.1/120
	bloom add --mask 45.0.0.9/24 2a00::1/32
	is "$(get '[.[].prefix]' bans)" '["45.0.0.0/24","2a00::/32"]' "the bans"
	bloom allow 45.0.0.9/28
	one_line "45.0.0.9/28 is a host within 45.0.0.0/28, which is taken"
	bloom del 45.0.0.7/24
	one_line "45.0.0.7/24 is a host within 45.0.0.0/24, which is taken"
	printf '%s\n' 46.0.0.1 46.1.2.3/24 2a01::1/64 '46.0.9.9/255.255.255.0 # netmask' 46.2.2.0/24 >list
	bloom load --format plain list list --dry-run --skip-bad
	bloom load list list
	one_line "list:2: '46.1.2.3/24': host bits are set: it is taken for 46.1.2.0/24; so it is with 2 more"
	verdicts 46.1.2.9=drop 46.0.9.1=drop 46.2.2.2=drop 46.1.3.3=pass
	is "$(get .masked load list list)" 3 "how many there are"
	printf '46.1.2.3\n2a01::9/64\n' >list
	bloom load list list --force
	one_line "list:2: '2a01::9/64': host bits are set: it is taken for 2a01::/64"
	bloom set count list
	one_line "list:2: '2a01::9/64'"
	printf '46.1.2.0/24\n' >list
	bloom load list list --force
	is "$(cat err)" "" "what is said of a list without host bits"
}

ends_in_time() {
	local left

	bloom add 45.0.0.1 --ttl 1s
	bloom add 45.0.0.1 --ttl 1h --reason renewed
	left=$(get '.[0].seconds_left' bans)
	if [ "$left" -lt 3500 ] || [ "$left" -gt 3600 ]; then
		fail "$left s are left"
	fi
	is "$(get '.[0].reason' bans)" renewed "the reason"
	bloom add 45.0.0.2 --ttl 1s
	wait_until "the end of the second ban" gives '["45.0.0.1"]' '[.[].prefix]' bans
	verdicts 45.0.0.2=pass 45.0.0.1=drop
	refused "is not banned" del 45.0.0.2
	refused "takes a time" add 45.0.0.3 --ttl soon
}

# Adding again renews the time, but no ban becomes shorter without a word; a caller that does not want that has an option.
shortens() {
	bloom add 45.0.0.1 45.0.0.2 --reason 'never again'
	bloom add 45.0.0.3 --ttl 2h
	bloom add 45.0.0.1 --ttl 10m --keep-longer --reason jail
	[ ! -s err ] || fail "said, of a ban that stays: $(cat err)"
	bloom add 45.0.0.1 --keep-longer --reason jail
	is "$(get '.[0]|[.expires,.reason]' bans)" '[null,"never again"]' "the ban that lasts longer"
	is "$(get '[.added,.renewed,.kept,.shortened]' add 45.0.0.1 45.0.0.4 --ttl 10m --keep-longer --reason jail)" \
		'[1,0,1,[]]' "what is kept, as JSON"
	refused "45.0.0.1 was banned for another reason, 'never again'" del 45.0.0.4 45.0.0.1 --reason jail
	refused "45.0.0.9 is not banned" del 45.0.0.9 --reason jail
	verdicts 45.0.0.4=drop
	bloom del 45.0.0.4 --reason jail
	verdicts 45.0.0.4=pass 45.0.0.1=drop
	bloom add 45.0.0.3 --ttl 3h
	[ ! -s err ] || fail "said, of a ban that became longer: $(cat err)"
	refused "--keep-longer does not go together with --replace" add 45.0.0.1 --ttl 10m --replace --keep-longer
	bloom add 45.0.0.1 --ttl 10m --replace
	one_line "45.0.0.1 was banned without end; now it ends at 20"
	is "$(get '.[0].expires|type' bans)" string "the end of what was added again"
	bloom add 45.0.0.{3,2,1} --ttl 1h --replace
	one_line "45.0.0.3 was banned until 20"
	one_line ", and so do 1 others that were banned longer"
	bloom add 45.0.0.2
	is "$(get '.shortened' add 45.0.0.2 --ttl 1m --replace)" '[{"prefix":"45.0.0.2","expired":null}]' "what ends sooner, as JSON"
}

# Who bans again knows seldom what there is: no end is lost, nor the reason of the ban that lasts longer.
keeps_what_there_is() {
	bloom add 45.0.0.1 --reason 'never again'
	bloom add 45.0.0.2 --ttl 2h --reason spam
	bloom add 45.0.0.3 --ttl 1m
	bloom add 45.0.0.1 --ttl 10m
	one_line "45.0.0.1 is banned without end already: that end stays; --replace shortens it"
	is "$(get '.[0]|[.expires,.reason]' bans)" '[null,"never again"]' "the ban that lasts longer"
	is "$(get '[.added,.renewed,.kept,(.kept_ends[]|.prefix),(.kept_reasons[]|.prefix,.reason),.shortened]' \
		add 45.0.0.{1..4} --ttl 1h --reason jail)" \
		'[1,1,2,"45.0.0.1","45.0.0.2","45.0.0.1","never again","45.0.0.2","spam",[]]' "what is kept"
	is "$(get '[.[]|.reason]' bans)" '["never again","spam","jail","jail"]' "the reasons"
	is "$(get '[.[1,2]|.seconds_left/1000|round]' bans)" '[7,4]' "what is left of them"
	bloom add 45.0.0.{1,2} --ttl 3h --reason other
	grep -q "45.0.0.1 is banned for 'never again' already: that reason stays; --replace" err || fail "it says: $(cat err)"
	grep -q "45.0.0.2 was banned for 'spam': this ban ends later, and that reason is gone$" err ||
		fail "it says: $(cat err)"
	is "$(get '[.[1]|.reason,(.seconds_left/1000|round)]' bans)" '["other",11]' "a longer time and its reason"
	is "$(get '[.former_reasons[]|.prefix,.reason]' add 45.0.0.{2,3} --ttl 4h --reason '')" \
		'["45.0.0.2","other","45.0.0.3","jail"]' "reasons that are gone"
	is "$(get '[.[1,2]|.reason]' bans)" '[null,null]' "a longer time, and no reason"
	bloom add 45.0.0.2 --ttl 5h --reason other
	bloom add 45.0.0.{1,2} --ttl 10m
	one_line "45.0.0.1 is banned without end already: that end stays, and so do those of 1 others; --replace shortens it"
	is "$(get '[.kept,.renewed]' add 45.0.0.1 --force)" '[0,1]' "what --force does once more"
	bloom add 45.0.0.1 --ttl 1h --reason other --replace
	is "$(get '.[0]|[.reason,(.seconds_left/1000|round)]' bans)" '["other",4]' "what was told otherwise"
	verdicts 45.0.0.1=drop 45.0.0.4=drop
}

# found JSON OPTIONS: what bans finds with them.
found() {
	local wanted=$1

	shift
	is "$(get '[.[].prefix]' bans "$@")" "$wanted" "what 'bans $*' finds"
	is "$(get .count bans "$@" --count)" "$(jq length <<<"$wanted")" "how many 'bans $*' finds"
}

finds() {
	bloom add 45.0.0.1 --ttl 2h --reason 'ssh: tried every door'
	bloom add 45.0.0.0/28 --ttl 10m --reason Spam
	bloom add 45.0.1.1 2a00::1 --reason 'by hand'
	bloom add 2a00::/48 --ttl 30m --reason spam
	found '["45.0.0.0/28","45.0.0.1","45.0.1.1","2a00::/48","2a00::1"]'
	found '["45.0.0.0/28","45.0.0.1","45.0.1.1"]' 45.0.0.0/16
	found '["45.0.0.0/28"]' 45.0.0.7
	found '["45.0.0.0/28","45.0.0.1"]' 45.0.0.1
	found '["45.0.1.1","2a00::/48"]' 45.0.1.0/24 2a00::2
	found '[]' 46.0.0.0/8
	found '["45.0.0.0/28","2a00::/48"]' --reason spam
	found '["45.0.0.0/28"]' --ends-within 15m
	found '["45.0.0.0/28","2a00::/48"]' --ends-within 1h --since 1h
	found '["45.0.0.0/28","2a00::/48","45.0.0.1"]' --ends-within 3h --sort end
	is "$(get '[.[].reason]' bans --sort reason)" '["Spam","by hand","by hand","spam","ssh: tried every door"]' "the order"
	python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE ban SET added = added - 7200 WHERE reason LIKE ?", ("%hand%",))
db.execute("UPDATE ban SET added = added + 9 WHERE reason = ?", ("spam",))
db.commit()' "$XDP_BLOOM_STATE/state.db"
	found '["45.0.0.0/28","45.0.0.1","2a00::/48"]' --since 1h
	is "$(get '.[0].prefix' bans --sort added)" 2a00::/48 "the one that was added last"
	is "$("$XDP_BLOOM" bans --count 45.0.0.0/8)" 3 "the count as text"
	refused "--sort is prefix, added, end or reason" bans --sort size
	refused "'45.0.0': " bans 45.0.0
}

# on_a_terminal ARGS: the same, and its output is one.
on_a_terminal() {
	python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$XDP_BLOOM" "$@" </dev/null | tr -d '\r'
}

counts_what_still_bans() {
	printf '%s\n' 45.0.0.{1..30} >list
	bloom load mine list
	bloom add - <list
	bloom del - <list
	is "$(grep -c "stays banned by list 'mine'" out)" 30 "how many a file is told"
	bloom add - <list
	# shellcheck disable=SC2046
	on_a_terminal del $(cat list) >out
	is "$(grep -c "stays banned by list 'mine'" out)" 10 "how many a terminal is told"
	grep -qx "and 20 more stay banned; -v names them all" out || fail "does not say how many: $(cat out)"
	bloom add - <list
	# shellcheck disable=SC2046
	on_a_terminal -v del $(cat list) >out
	is "$(grep -c "stays banned by list 'mine'" out)" 30 "how many a terminal is told with -v"
}

says_what_still_bans() {
	echo 45.0.0.1 >list
	bloom load mine list
	bloom add 45.0.0.1 45.0.1.1 45.0.1.0/24
	bloom del 45.0.0.1
	grep -q "45.0.0.1 stays banned by list 'mine'" out || fail "does not say it: $(cat out)"
	bloom del 45.0.1.1
	grep -q "the ban of 45.0.1.0/24 holds it" out || fail "does not say it: $(cat out)"
	verdicts 45.0.0.1=drop 45.0.1.1=drop
	refused "list 'mine' bans it" del 45.0.0.1
	refused "part of the ban of 45.0.1.0/24" del 45.0.1.1
	refused "is not banned" del 45.9.9.9
	bloom unload mine
	verdicts 45.0.0.1=pass
	bloom flush
	is "$(get length bans)" 0 "the number of bans"
	verdicts 45.0.1.1=pass
}

# An allowed address passes, whatever bans it.
says_what_is_allowed() {
	echo 47.0.0.0/30 >list
	bloom load friends list --allow
	bloom allow 2a00::1
	bloom add 45.0.0.1
	[ ! -s err ] || fail "said, of what is not allowed: $(cat err)"
	bloom add 45.0.0.2 47.0.0.2
	one_line "47.0.0.2 is allowed by list 'friends', and passes"
	bloom add 47.0.0.0/24
	one_line "some of 47.0.0.0/24 is allowed by list 'friends', and passes"
	bloom add 2a00::1
	one_line "2a00::1 is allowed by list '(allow)', and passes"
	bloom add -q 47.0.0.1
	[ ! -s err ] || fail "said, in spite of --quiet: $(cat err)"
	is "$(get .allowed add 45.0.0.3 47.0.0.1)" '[{"prefix":"47.0.0.1","list":"friends"}]' "what is allowed"
	is "$(get .allowed add 45.0.0.3)" '[]' "what is allowed, where nothing is"
	verdicts 47.0.0.1=pass 47.0.0.4=drop 2a00::1=pass
}

guard_rails() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	refused "45.0.0.1, an address of this machine" add 45.0.0.0/25
	refused "very wide" add 44.0.0.0/7
	refused "bans addresses of 172.16.0.0/12" add 172.0.0.0/8
	refused "'1.2.3'" add 45.0.2.1 1.2.3
	refused "what live bans are called" load live /dev/null
	bloom allow 45.0.0.1
	bloom add 45.0.0.0/25
	verdicts 45.0.0.1=pass 45.0.0.2=drop
	bloom add 44.0.0.0/8 10.1.2.3
	verdicts 44.255.255.255=drop 43.255.255.255=pass 10.1.2.3=drop
}

everything() {
	bloom add 0.0.0.0/0 ::/0 --force
	verdicts 0.0.0.0=drop 255.255.255.255=drop 45.0.0.1=drop ::=drop ffff::=drop
	bloom allow 45.0.0.1 2a00::1
	verdicts 45.0.0.1=pass 45.0.0.2=drop 2a00::1=pass 2a00::2=drop
	bloom del 0.0.0.0/0 ::/0
	verdicts 45.0.0.2=pass 2a00::2=pass
}

# all_and_one ALL HOST ANOTHER: a ban of length 0 holds what is banned and taken back within it, in place and by rotation.
all_and_one() {
	local round before

	bloom add "$1" --force
	for round in 1 2; do
		before=$(generation)
		bloom add "$2"
		bloom del "$2"
		# A prefix whose length has no rung takes a new generation.
		[[ $1 == ::* ]] || is "$(generation)" "$before" "the generation after what changes no verdict"
		grep -q "the ban of $1 holds it" out || fail "round $round: does not say it: $(cat out)"
		verdicts "$2=drop" "$3=drop"
		is "$(get '.[0].prefix' test "$2")" "$1" "what bans it"
		refused "part of the ban of $1" del "$2"
		bloom rotate
		verdicts "$2=drop" "$3=drop"
	done
	printf 'add %s\nadd %s\ndel %s\n' "$2" "$3" "$2" >commands
	bloom batch commands
	verdicts "$2=drop" "$3=drop"
	bloom del "$1"
	verdicts "$2=pass" "$3=drop"
	bloom add "$1" --force
	echo 45.0.0.9 >list
	bloom image make small.image list
	bloom del "$3"
	refused "live bans" load --image small.image
	bloom del "$1"
	verdicts "$2=pass" "$3=pass"
	bloom load --image small.image
}

# Two bans that a build made one key of, within a third: once all three are taken back nothing of them is left.
# Many within one that ends, each of which touches it; more than there are lengths of a prefix.
many_within_one_that_ends() {
	bloom add --force --ttl 1h 45.0.0.0/12 2a00:5::/32
	printf '45.0.%d.1\n' {1..200} >many
	bloom add --ttl 2h - <many
	printf '2a00:5:0:%d::1\n' {1..200} >many6
	bloom add --ttl 2h - <many6
	is "$(get length bans)" 402 "how many bans"
	is "$(get '[.[].verdict]' test 45.0.7.1 45.0.7.2 2a00:5:0:7::1)" '["drop","drop","drop"]' "the verdicts"
}

side_by_side() {
	awk 'BEGIN { for (i = 0; i < 20000; i++) printf "2a01:%x::/127\n", i; print "2a02::/112\n2a02:1::/128" }' >list
	bloom load list list
	bloom add 2a00::4 2a00::5
	bloom rotate
	is "$(get ".rungs|sort" show)" "[112,127,128]" "the rungs"
	bloom add 2a00::/112
	bloom del 2a00::4
	verdicts 2a00::4=drop
	bloom del 2a00::5
	bloom del 2a00::/112
	verdicts 2a00::4=pass 2a00::5=pass 2a00::6=pass
}

thousands() {
	seq 0 4999 | sed 's/\(.*\)\(..\)$/&/' | awk '{ printf "45.%d.%d.%d\n", $1 / 65536, $1 / 256 % 256, $1 % 256 }' >many
	expect 0 "$XDP_BLOOM" -j add - <many
	is "$(jq -c '[.added,.renewed]' out)" '[5000,0]' "the counts"
	expect 0 "$XDP_BLOOM" -j test - <many
	is "$(jq '[.[]|select(.verdict=="drop")]|length' out)" 5000 "dropped"
	head -2500 many >half
	expect 0 "$XDP_BLOOM" del - <half
	expect 1 "$XDP_BLOOM" -j test - <many
	is "$(jq '[.[]|select(.verdict=="drop")]|length' out)" 2500 "dropped"
	printf '45.1.0.1 45.1.0.2\t45.1.0.3 # words\n\n 45.1.0.4;words\n' >half
	expect 0 "$XDP_BLOOM" -j add - <half
	is "$(jq -c .added out)" 4 "the count of addresses that share a line"
	verdicts 45.1.0.1=drop 45.1.0.2=drop 45.1.0.3=drop 45.1.0.4=drop
	expect 2 "$XDP_BLOOM" add - - <half
	one_line "standard input can be read only once"
	expect 0 "$XDP_BLOOM" -j del 45.1.0.1 45.1.0.2 45.1.0.1
	is "$(jq -c '[.deleted,.still_banned]' out)" '[2,[]]' "what was said twice is done once"
	verdicts 45.1.0.1=pass 45.1.0.2=pass
	printf '45.0.0.1\nnonsense\n' >half
	expect 2 "$XDP_BLOOM" add - <half
	one_line "standard input:2: 'nonsense'"
	verdicts 45.0.0.1=pass
	printf '45.2.0.1\r45.2.0.2\r' >half
	expect 0 "$XDP_BLOOM" add - <half
	verdicts 45.2.0.1=drop 45.2.0.2=drop
	printf '45.2.0.3\n45.2.0.4\00045.2.0.5\000' >half
	expect 2 "$XDP_BLOOM" add - <half
	one_line "standard input:2: there is a control character"
	verdicts 45.2.0.3=pass 45.2.0.4=pass
}

exceptions() {
	bloom add 45.0.0.0/24 2a00::/32 --force
	printf '45.0.0.1 2a00::/64 # ours\n\n45.0.0.8/30;theirs\n' >ours
	expect 0 "$XDP_BLOOM" allow - <ours
	verdicts 45.0.0.1=pass 45.0.0.2=drop 45.0.0.11=pass 45.0.0.12=drop 2a00::1=pass 2a00:0:0:1::=drop
	bloom disallow 45.0.0.9 2a00::1:0/112
	verdicts 45.0.0.8=pass 45.0.0.9=drop 2a00::1=pass 2a00::1:1=drop
	expect 0 "$XDP_BLOOM" allow - </dev/null
	refused "45.0.0.9 is not among the live exceptions; nothing was changed" disallow 45.0.0.1 45.0.0.9
	verdicts 45.0.0.1=pass
	bloom disallow 45.0.0.1
	is "$(get '[.[].prefix][:3]' allow)" '["45.0.0.8","45.0.0.10/31","2a00::/112"]' "what is allowed still"
	bloom allow
	is "$(head -2 out)" "$(printf '45.0.0.8\n45.0.0.10/31')" "what is allowed still"
	# What is left of them is taken back as they were given.
	bloom disallow 45.0.0.8/30 2a00::/64
	verdicts 45.0.0.1=drop 45.0.0.8=drop 45.0.0.11=drop 2a00::1=drop
	is "$(get . allow)" '[]' "what is allowed in the end"
	refused "45.0.0.8/30 is not among the live exceptions" disallow 45.0.0.8/30
	echo allow >commands
	refused "commands:1: allow: which address" batch commands
	[ "$(grep -c '"message":"allow"' state/events)" = 0 ] || fail "to show is an event: $(cat state/events)"
}

full_of_lists() {
	local n

	echo 45.0.0.1 >list
	for n in {1..255}; do
		echo "load l$n list"
	done >commands
	bloom batch commands
	is "$(get length lists)" 255 "the number of lists"
	refused "255 lists already" load l256 list
	bloom add 45.0.0.2
	verdicts 45.0.0.1=drop 45.0.0.2=drop
	bloom load l7 list
}

# A command that was killed between the commit and the arrays: the next one finds out.
heals() {
	bloom add 45.0.0.1
	bloom add 45.0.0.2
	python3 - <<-'PYTHON'
		import sqlite3
		db = sqlite3.connect("state/state.db")
		db.execute("INSERT INTO ban SELECT family, length, x'2d000003', added, expires, reason, due FROM ban LIMIT 1")
		db.execute("UPDATE setting SET value = value + 1 WHERE name = 'edits'")
		db.commit()
	PYTHON
	expect 2 "$XDP_BLOOM" confirm
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=drop
}

# An older copy of the state knows nothing of what was banned since: that must not fall out of the filter.
older_state() {
	bloom add 45.0.0.1
	bloom add 45.0.0.2
	cp -a state before
	bloom add 45.0.0.3
	rm -rf state
	mv before state
	refused "does not know the filter that is in force" add -q 45.0.0.4
	refused "does not know the filter that is in force" restore -q
	verdicts 45.0.0.1=drop 45.0.0.3=drop 45.0.0.4=pass
	bloom flush
	verdicts 45.0.0.1=pass 45.0.0.3=pass
	bloom add 45.0.0.4
	verdicts 45.0.0.4=drop
}

# Under traffic: a banned source gets nothing through from then on, and no other source is dropped.
under_traffic() {
	veth 0
	bloom attach edge0
	judge list 500 0 0 >banned_list
	judge sample of_list 500 banned_list
	sed -i '/^198\.51\./d' of_list/clean # they are to be banned
	bloom load list banned_list --bogons=keep
	flow 0 -b of_list/banned -c of_list/clean
	seq 1 120 | awk '{ printf "add 198.51.%d.%d\n", 100 + $1 / 250, $1 % 250 }' >commands
	while read -r verb address; do
		bloom "$verb" "$address"
	done <commands
	sed -i 's/add/del/' commands
	bloom batch commands
	stop_flow 0
	[ "$(sent .banned.sent)" -gt 100 ] || fail "too little traffic: $(cat sent)"
}

# Which ban a drop was of: a live ban, as long as that is known.
counted() {
	veth 0
	bloom attach edge0
	printf '%s\n' 192.0.2.7 2001:db8::7 >banned
	echo 192.0.2.6 >clean
	bloom add 192.0.2.7 2001:db8::7 --force
	send 0 -b banned -c clean
	is "$(get '[.lists[]|[.name,.packets]]' stats)" '[["live",2]]' "the lists that are counted"
	bloom stats
	grep -q '^dropped by live ' out || fail "does not say whose: $(cat out)"
	bloom tune --exact=off --force
	is "$(get '[.lists[]|[.name,.packets]]' stats)" '[[null,2]]' "the lists, without the roster"
}

# IPv4 addresses as IPv6 sockets write them are what Python takes them for: said, in a list, and on the wire.
mapped() {
	veth 0
	python3 - "$XDP_BLOOM_SEED" <<-'PYTHON'
		import ipaddress, random, sys
		rng = random.Random(int(sys.argv[1]))
		with open("mapped", "w") as written, open("plain", "w") as plain:
		    for n in range(500):
		        length = rng.randint(104, 128)
		        text = "::ffff:" + str(ipaddress.IPv4Address(rng.getrandbits(32)))
		        host = ipaddress.IPv6Address(text)
		        text = rng.choice([text, text.upper(), str(host), host.exploded])
		        first = ipaddress.ip_network((int(host), length), strict=False).network_address
		        written.write(f"{text}/{length}{rng.choice(['', ' # x'])}\n")
		        plain.write(f"{first.ipv4_mapped}/{length - 96}\n")
	PYTHON
	bloom load list mapped --bogons=keep --force
	is "$(get '[.replaced,.added[],.removed[]]|map(tostring)|unique' load list plain --bogons=keep --force)" '["0","true"]' \
		"what is other in the list as Python has it"
	bloom unload list
	echo ::ffff:203.0.113.9 >list
	bloom load list list --bogons=keep
	bloom add ::ffff:192.0.2.7 ::ffff:198.51.100.0/120 --force
	bloom allow ::ffff:198.51.100.7
	is "$(get '[.[].prefix]' bans)" '["192.0.2.7","198.51.100.0/24"]' "the bans"
	verdicts ::ffff:203.0.113.9=drop 203.0.113.9=drop 198.51.100.6=drop 198.51.100.7=pass ::ffff:198.51.100.7=pass
	printf '%s\n' {,::ffff:}192.0.2.7 {,::ffff:}203.0.113.9 {,::ffff:}198.51.100.6 >banned
	printf '%s\n' {,::ffff:}192.0.2.6 {,::ffff:}198.51.100.7 >clean
	bloom attach edge0
	send 0 -b banned -c clean
	bloom del ::ffff:192.0.2.7
	verdicts 192.0.2.7=pass ::ffff:192.0.2.7=pass
	bloom add ::ffff:0:0/96 --reason "not on the wire"
	verdicts 192.0.2.7=pass ::ffff:192.0.2.7=drop ::ffff:198.51.100.7=drop ::fffe:192.0.2.7=pass
	is "$(get '.[0]|[.address,.list,.prefix,.reason]' test ::ffff:192.0.2.7)" \
		'["::ffff:192.0.2.7","live","::ffff:0.0.0.0/96","not on the wire"]' "why"
	printf '%s\n' 203.0.113.9 ::ffff:192.0.2.7 >banned
	printf '%s\n' 192.0.2.6 2001:db8::7 >clean
	send 0 -b banned -c clean
}

# IPv6 addresses that stand for an IPv4 one: 6to4, Teredo, NAT64, ISATAP, and ::a.b.c.d, which nobody uses.
within() {
	# Addresses that stand for 192.0.2.N.
	stand_for() {
		printf '%s\n' "2002:c000:20$1::9" "2001:0:4136:e378:8000:63bf:3fff:fdf$(printf %x $((15 - $1)))" "64:ff9b::c000:20$1" \
			"2001:db8::200:5efe:c000:20$1" "2001:db8::5efe:c000:20$1" "::192.0.2.$1"
	}

	veth 0
	bloom add 192.0.2.7 --reason "the one within"
	bloom attach edge0
	echo 192.0.2.7 >banned
	{ stand_for 7 && echo 192.0.2.6; } >clean
	send 0 -b banned -c clean
	is "$(get .embedded tune)" false "the setting"
	bloom tune --embedded on
	{ stand_for 7 && echo 192.0.2.7; } >banned
	stand_for 6 >clean
	send 0 -b banned -c clean
	verdicts 2002:c000:207::9=drop 2002:c000:206::9=pass
	is "$(get '.[0]|[.address,.list,.prefix,.reason]' test 2002:c000:207::9)" \
		'["2002:c000:207::9","live","192.0.2.7","the one within"]' "why"
	bloom add 192.0.2.6
	bloom save image
	bloom del 192.0.2.7
	stand_for 6 >banned
	stand_for 7 >clean
	send 0 -b banned -c clean
	bloom tune --embedded off
	verdicts 2002:c000:206::9=pass ::192.0.2.6=pass 192.0.2.6=drop
	# An image does not say it: each machine does.
	bloom flush
	bloom load --image image
	verdicts 2002:c000:207::9=pass 192.0.2.7=drop
	bloom tune --embedded on
	verdicts 2002:c000:207::9=drop 192.0.2.7=drop 2002:c000:208::9=pass
}

run_cases in_place survives_a_reboot says_the_same_in_json host_bits ends_in_time shortens keeps_what_there_is finds counts_what_still_bans says_what_still_bans says_what_is_allowed guard_rails everything \
	"all_and_one 0.0.0.0/0 45.0.0.1 45.0.0.2" "all_and_one ::/0 2a00::1 2a00::2" \
	many_within_one_that_ends side_by_side thousands exceptions full_of_lists heals older_state counted \
	mapped within under_traffic

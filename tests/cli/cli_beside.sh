#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Bans and exceptions beside an image: as if its lists were here, through reboots, rotations and other images.
# One machine has the lists, the other (there) only an image of them.
set -u
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/there.sh
. "$here/there.sh"

# What is done on both of them.
both() {
	bloom "$@"
	there bloom "$@"
}

generation_there() {
	there get .generation show
}

verdicts_there() {
	there get '[.[].verdict]' test "$@"
}

# All boundaries of these files, and the words: both machines decide the same.
same_verdicts() {
	judge sample points 300 "$@"
	"$XDP_BLOOM" -j test - <points/all 2>err >here.json || [ $? = 1 ] || fail "$(cat err)"
	there "$XDP_BLOOM" -j test - <points/all 2>err >there.json || [ $? = 1 ] || fail "$(cat err)"
	jq -c '.[]|[.address,.verdict]' here.json >here.txt
	jq -c '.[]|[.address,.verdict]' there.json >there.txt
	[ -s here.txt ] || fail "nothing was asked"
	cmp -s here.txt there.txt || fail "they differ: $(diff here.txt there.txt | head -n 6)"
}

# as_if_the_lists_were_here OPTIONS...: of `tune`, there where the lists are.
as_if_the_lists_were_here() {
	local allowed=()

	judge list 3000 300 200 | grep -v '^4[0-9]\.\|^5[0-9]\.\|^2a1' >one
	XDP_BLOOM_SEED=$((XDP_BLOOM_SEED + 1)) judge list 1000 300 0 | grep -v '^4[0-9]\.\|^5[0-9]\.' >two
	# IPv6 whose lengths the image has, hosts and networks beside the lists and within them.
	{
		printf '48.1.%d.7\n' {1..90}
		printf '%s\n' 48.2.0.0/24 48.3.0.0/16 49.0.0.0/25 2a10::/64 2a10:1::1
		grep -v : two | head -n 40
	} >bans
	grep -v : one | sed -n '40,60p' | sed 's|/.*||' >allowed
	printf '%s\n' 48.2.0.9 48.3.7.0/24 >>allowed
	printf '2a10:%x::/64\n' {16..80} >six
	printf '2a11:%x::1\n' {16..80} >>six
	bloom tune "$@"
	bloom load one one --force
	bloom load two two --force
	bloom load six six
	bloom save image
	there bloom load --image image
	bloom add --force - <bans
	there bloom add --force - <bans
	same_verdicts one two six bans
	mapfile -t allowed <allowed
	both allow "${allowed[@]}"
	both allow 2a11:10::1
	same_verdicts one two six bans allowed
	is "$(verdicts_there 2a11:10::1 2a11:11::1 2a10:1::1)" '["pass","drop","drop"]' "the verdicts of IPv6"
	head -n 70 bans | bloom del - >/dev/null
	head -n 70 bans | there bloom del - >/dev/null
	same_verdicts one two six bans allowed
	reboot_there
	there bloom restore
	same_verdicts one two six bans allowed
	there bloom rotate
	same_verdicts one two six bans allowed
	both disallow "${allowed[0]}" 48.2.0.9
	same_verdicts one two six bans allowed
	# What it has become is saved, and is the same elsewhere.
	there bloom save becomes
	reboot_there
	rm -rf there
	there bloom load --image becomes
	same_verdicts one two six bans allowed
	reboot_there
}

an_image() {
	printf '%s\n' 45.0.0.1 45.0.1.0/24 2a10:1::/64 2a10:2::1 "$@" >list
	bloom image make image list --headroom 200
	reboot_there
	rm -rf there
	there bloom load --image image
}

# With packets: in place, through everything that makes a new generation, and back.
nobody_gets_past() {
	local before

	veth 0
	printf '46.0.%d.1\n' {0..99} >others
	mapfile -t hosts <others
	an_image "${hosts[@]}"
	printf '%s\n' 45.0.0.1 45.0.1.7 2a10:1::7 >banned
	printf '%s\n' 47.0.0.1 47.0.1.1 2a10:3::1 >clean
	there bloom attach edge0
	send 0 -b banned -c clean
	before=$(generation_there)
	there bloom add 47.0.0.1
	is "$(generation_there)" "$before" "the generation: a host has its place in the arrays"
	there bloom add 2a10:3::/64 --reason flood
	is "$(generation_there)" "$before" "the generation: so has a network of IPv6"
	printf '%s\n' 47.0.0.1 2a10:3::1 >>banned
	printf '%s\n' 47.0.1.1 >clean
	send 0 -b banned -c clean
	there bloom rotate
	send 0 -b banned -c clean
	there bloom add 47.0.1.0/24
	printf '%s\n' 47.0.1.1 >>banned
	echo 47.0.2.1 >clean
	send 0 -b banned -c clean
	# Another image comes, and they stay.
	bloom image make other others --headroom 200
	there bloom load --image other
	printf '%s\n' 47.0.0.1 47.0.1.1 2a10:3::1 46.0.7.1 >banned
	printf '%s\n' 45.0.0.1 45.0.1.7 2a10:1::7 >clean
	send 0 -b banned -c clean
	there bloom load --image image
	there bloom detach edge0
	reboot_there
	there bloom restore
	there bloom attach edge0
	printf '%s\n' 45.0.0.1 45.0.1.7 2a10:1::7 >>banned
	echo 47.0.2.1 >clean
	send 0 -b banned -c clean
	# An exception in a network that is banned whole, and of one key.
	there bloom allow 45.0.1.7 2a10:1::/64 47.0.0.1
	printf '%s\n' 45.0.1.6 45.0.1.8 45.0.0.1 47.0.1.1 2a10:3::1 >banned
	printf '%s\n' 45.0.1.7 2a10:1::7 47.0.0.1 >clean
	send 0 -b banned -c clean
	is "$(there get '.[0].list' test 45.0.1.7)" '(allow)' "who lets it pass"
	there bloom disallow 45.0.1.7 2a10:1::/64 47.0.0.1
	there bloom del 47.0.0.1 2a10:3::/64 47.0.1.0/24
	printf '%s\n' 45.0.1.7 2a10:1::7 >>banned
	sed -i '/47.0\|2a10:3/d' banned
	printf '%s\n' 47.0.0.1 47.0.1.1 2a10:3::1 >clean
	send 0 -b banned -c clean
	there bloom flush
	reboot_there
}

# Bans that were in force where the image was saved are its own: no del takes them out.
its_own_bans_stay() {
	echo 45.0.0.1 >list
	bloom flush
	bloom tune --headroom 200
	bloom load list list
	bloom add 50.0.0.1 50.1.0.0/24 2a20::1 2a21::/64
	bloom save image
	reboot_there
	rm -rf there
	there bloom load --image image
	there refused "the image in force bans it: allow 50.0.0.1" del 50.0.0.1
	there bloom add 50.0.0.1 50.1.0.3 2a20::1 51.0.0.1
	there bloom del 50.0.0.1
	is "$(verdicts_there 50.0.0.1)" '["drop"]' "the verdict"
	there bloom del 2a20::1
	is "$(verdicts_there 2a20::1)" '["drop"]' "the verdict of IPv6"
	there bloom del 50.1.0.3 51.0.0.1
	is "$(verdicts_there 50.0.0.1 50.1.0.3 2a20::1 51.0.0.1)" '["drop","drop","drop","pass"]' "the verdicts"
	there bloom rotate
	is "$(verdicts_there 50.0.0.1 50.1.0.3 2a20::1 51.0.0.1)" '["drop","drop","drop","pass"]' "the verdicts"
	# An end is the end of the ban, not of the image's.
	there bloom add --ttl 1h 50.0.0.1 50.1.0.3 2a20::1 2a21::7 51.0.0.1
	there bloom add --ttl 1h 52.0.0.1
	is "$(there get '[.[].list]' test 50.0.0.1 51.0.0.1)" '["live","live"]' "whose they are"
	there bloom allow 50.1.0.3 2a20::1
	is "$(verdicts_there 50.0.0.1 50.1.0.3 2a20::1 50.1.0.4)" '["drop","pass","pass","drop"]' "the verdicts"
	reboot_there
}

# The end comes with no command that changes something, and takes only that ban.
bans_end() {
	veth 0
	an_image
	there bloom attach edge0
	there bloom add --ttl 5s 48.0.0.1 45.0.0.1 2a10:1::3 2a10:4::1
	printf '%s\n' 48.0.0.1 45.0.0.1 2a10:1::3 2a10:4::1 >banned
	echo 48.0.0.2 >clean
	send 0 -b banned -c clean
	# shellcheck disable=SC2317 # wait_until calls it
	ended() { # asking ends nothing
		[ "$(verdicts_there 48.0.0.1 2a10:4::1)" = '["pass","pass"]' ]
	}
	wait_until "the end of the bans" ended
	printf '%s\n' 45.0.0.1 2a10:1::3 >banned
	printf '%s\n' 48.0.0.1 2a10:4::1 >clean
	send 0 -b banned -c clean
	is "$(there get length bans)" 0 "how many bans there are"
	reboot_there
}

# What was in force before the trial drops it again.
back() {
	# shellcheck disable=SC2317 # wait_until calls it
	is_back() {
		there "$XDP_BLOOM" -q rotate 2>/dev/null && [ "$(verdicts_there "$1")" = '["drop"]' ]
	}
	wait_until "what was before" is_back "$1"
}

goes_back() {
	an_image
	printf '46.0.%d.1\n' {0..99} >others
	bloom image make other others --headroom 200
	there bloom add 47.0.0.1
	there bloom load --image other --confirm 3
	there bloom add 47.0.0.2
	is "$(verdicts_there 47.0.0.1 47.0.0.2 46.0.0.1 45.0.0.1)" '["drop","drop","drop","pass"]' "the verdicts on trial"
	back 45.0.0.1
	is "$(verdicts_there 47.0.0.1 47.0.0.2 46.0.0.1 45.0.0.1)" '["drop","drop","pass","drop"]' "the verdicts of before"
	# A ban that waits: no image comes in between.
	there bloom add 47.0.0.3 --confirm 600
	there refused "waits for confirmation" load --image other
	there bloom del 47.0.0.2
	there bloom confirm
	there bloom del 47.0.0.3
	is "$(verdicts_there 47.0.0.2 47.0.0.3)" '["pass","pass"]' "the verdicts after the trial"
	# Over lists, whose bans come back, and those that were made meanwhile stay.
	there bloom flush
	echo 45.9.0.1 >mine
	there bloom load mine mine
	there bloom add 47.1.0.1
	there bloom load --image other --force --confirm 3
	is "$(verdicts_there 47.1.0.1 45.9.0.1)" '["pass","pass"]' "the verdicts on trial"
	there bloom add 47.1.0.2
	back 45.9.0.1
	is "$(verdicts_there 47.1.0.1 47.1.0.2 45.9.0.1 46.0.0.1)" '["drop","drop","drop","pass"]' "the verdicts of before"
	reboot_there
}

says_what_it_cannot() {
	an_image
	there refused "takes no lists beside it, but bans: xdp-bloom add - <FILE" load other list
	there refused "takes no lists beside it, but exceptions: xdp-bloom allow - <FILE" load --allow other list
	there refused "'list' is a list of the image in force, which is taken whole" unload list
	# No key of that length has its place, and shorter ones are no rungs of the image.
	there refused "place for the ban of 2a30::/20: ban narrower prefixes, or load an image that was made of a list with such" \
		add --force 2a30::/20
	there refused "bans more than 2a10:1::7 with one key" allow 2a10:1::7
	there refused "parts of it that it cannot name" allow 2a10:1::/32
	is "$(verdicts_there 2a10:1::7)" '["drop"]' "the verdict"
	printf '2a40:%x::1\n' {1..2000} >many
	there refused ": load an image that was made with more --headroom, and add it then" add - <many
	is "$(there get length bans)" 0 "how many bans were kept"
	# Among many, by lines of a stream: those that have one come into force.
	printf '%s\n' +98.0.0.1 '+2a30::/20 1h' '@edge-7 +2a31::/20 1h' +98.0.0.2 -98.0.0.1 >lines
	there bloom fleet accept edge-7
	there expect 1 timeout 60 "$XDP_BLOOM" follow - <lines
	grep -q 'input:2: .*place for the ban of 2a30::/20' err || fail "it does not say which line: $(cat err)"
	is "$(verdicts_there 98.0.0.1 98.0.0.2 2a30::1 2a31::1)" '["pass","drop","pass","pass"]' "the verdicts behind it"
	there bloom del 98.0.0.2
	is "$(there get length allow)" 0 "how many exceptions"
	# Without a roster a host cannot be told from another.
	printf '%s\n' 45.0.0.1 45.0.1.0/24 >list
	bloom image make bits list --exact off --headroom 200
	there bloom flush
	there bloom load --image bits
	there refused "has no roster, and its filter drops some of what is allowed" allow 45.0.0.1
	there bloom add 47.0.0.1 47.0.1.0/24
	is "$(verdicts_there 47.0.0.1 47.0.1.9 45.0.1.1)" '["drop","drop","drop"]' "the verdicts"
	there bloom del 47.0.1.0/24 47.0.0.1
	is "$(verdicts_there 47.0.1.9 45.0.1.1)" '["pass","drop"]' "the verdicts"
	reboot_there
}

# What was taken one by one is taken together, too: beside each other bans may be wider than any that the image has a
# place for. And a network around a host whose ban ends is banned, in either order.
neighbours_stay() {
	local i asked='2a50::5 2a50::1005 2a52::5 2a52::6 2a53::5 2a53::6 2a54::3fff 45.0.0.1 2a50::2000'

	# shellcheck disable=SC2086
	there_holds() {
		is "$(verdicts_there $asked)" '["drop","drop","drop","drop","drop","drop","drop","drop","pass"]' "$1"
	}
	{
		printf '%s\n' 45.0.0.1 2a20::/64
		printf '2a10:%x::1\n' {1..3000}
	} >list
	bloom image make image list --headroom 1000
	there bloom load --image image
	there bloom add 2a50::/116
	there bloom add 2a50::1000/116
	there bloom add --ttl 1h 2a52::5
	there bloom add 2a52::/64
	there bloom add 2a53::/64
	there bloom add --ttl 1h 2a53::5
	for i in {0..7}; do
		printf '2a54::%x\n' $(seq $((i * 2048)) $((i * 2048 + 2047))) >many
		there bloom add - <many
	done
	there_holds "in place"
	there bloom rotate
	there_holds "after rotate"
	reboot_there
	there bloom restore
	there_holds "after a reboot"
	reboot_there
}

# Another image is answered for by what is beside it: flush would end the one that is in force.
another_has_no_place() {
	an_image
	there bloom add 2a40::1
	echo 2a60::/48 >wide
	bloom image make wide.image wide
	there refused "no place for the ban of 2a40::1, which is in force here: load one that was made of a list with such" \
		load --image wide.image
	! grep -n flush err || fail "how to lose the image in force"
	there bloom del 2a40::1
	there bloom allow 2a60::1
	there refused "or take the exception back first ('xdp-bloom disallow')" load --image wide.image
	there bloom disallow 2a60::1
	# Where nothing is in force it is left out, and said to be.
	there bloom add 2a40::1 --reason flood
	reboot_there
	there bloom load --image wide.image
	grep -q "the image has no place for the ban of 2a40::1: it is not banned" err || fail "what is left out: $(cat err)"
	is "$(there get '.[]|[.verdict,.list,.prefix,.reason]' test 2a40::1)" '["pass",null,null,null]' "who bans it"
	there expect 1 "$XDP_BLOOM" test 2a40::1
	grep -q "^  not in force, as the image has no place for it: live: 2a40::1 (flood)" out || fail "why it passes: $(cat out)"
	there bloom allow 2a40::1
	is "$(there get '.[].list' test 2a40::1)" '(allow)' "who lets it pass"
	reboot_there
}

guards_hold() {
	veth 0
	ip addr add 47.0.0.1/24 dev edge0
	an_image
	there refused "bans 47.0.0.1, an address of this machine" add 47.0.0.1
	there refused "bans 47.0.0.1, an address of this machine" add 47.0.0.0/24
	there bloom allow 47.0.0.1
	there bloom add 47.0.0.0/24
	is "$(verdicts_there 47.0.0.1 47.0.0.2)" '["pass","drop"]' "the verdicts"
	reboot_there
}

run_cases as_if_the_lists_were_here 'as_if_the_lists_were_here --labels=off' nobody_gets_past its_own_bans_stay bans_end goes_back \
	says_what_it_cannot another_has_no_place neighbours_stay guards_hold

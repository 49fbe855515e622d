#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Images: what is saved here filters there as it does here, survives a reboot, and is refused where it is not whole.
set -u
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/there.sh
. "$here/there.sh"

lists() {
	reboot_there
	# What the cases ban by name is in neither by chance.
	judge list 3000 300 200 | grep -v '^4[0-9]\.\|^5[0-9]\.' >one
	XDP_BLOOM_SEED=$((XDP_BLOOM_SEED + 1)) judge list 1000 300 200 | grep -v '^4[0-9]\.\|^5[0-9]\.' >two
	printf '%s\n' 45.0.0.0/24 46.0.0.0/25 >allowed
}

# Every boundary of the lists: answers here and there are the same, as far as an image can know.
same_answers() {
	[ "$1" = sampled ] || judge sample points 400 one two
	"$XDP_BLOOM" -j test - <points/all 2>err >here.json || [ $? = 1 ] || fail "$(cat err)"
	there "$XDP_BLOOM" -j test - <points/all 2>err >there.json || [ $? = 1 ] || fail "$(cat err)"
	is "$(jq length there.json)" "$(wc -l <points/all)" "the number of answers"
	is "$(jq -c '[.[]|[.address,.verdict,.stage,.shadow]]' there.json | md5sum)" \
		"$(jq -c '[.[]|[.address,.verdict,.stage,.shadow]]' here.json | md5sum)" "the answers there"
}

filters_there_as_here() {
	lists
	bloom load one one --force
	bloom load two two --force
	bloom load --allow allowed allowed
	bloom save image
	is "$(stat -c %a image)" 600 "the mode of the image"
	there bloom load --image image
	same_answers anew
	# Drops of IPv4 are on the same account; of IPv6, the narrower prefix has the say.
	is "$(jq -c '[.[]|select(.verdict=="drop" and (.address|contains(".")))|[.address,.list]]' there.json | md5sum)" \
		"$(jq -c '[.[]|select(.verdict=="drop" and (.address|contains(".")))|[.address,.list]]' here.json | md5sum)" \
		"whose drops they are"
	is "$(there get '[.[]|[.name,.kind]]' lists)" '[["one","ban"],["two","ban"]]' "the lists there"
	is "$(there get '.image.id' show)" "$(get '.id' save again >/dev/null; there get '.image.id' show)" "the image"
	# From there to a third, and it is the same again.
	there bloom save second
	reboot_there
	rm -rf there
	there bloom load --image second
	same_answers anew
	reboot_there
}

filters_without() {
	lists
	bloom tune "$@"
	bloom load one one --force
	bloom load two two --force
	bloom save image
	there bloom load --image image
	same_answers anew
	reboot_there
}

# What was edited in place is saved as it is.
filters_with_live_bans() {
	lists
	bloom tune --headroom 100
	bloom load one one --force
	bloom load two two --force
	printf '48.1.%d.7\n' {1..40} >live
	printf '%s\n' 48.2.0.0/24 49.0.0.0/25 2a10::/64 >>live
	bloom add --force - <live
	head -n 20 live | bloom del -
	bloom save image
	there bloom load --image image
	sed -n '20,$p' live >live_still
	judge sample points 400 one two live_still
	head -n 20 live >>points/all
	same_answers sampled
	is "$(there get '[.[]|[.verdict,.list]]' test 48.1.30.7 48.1.1.7)" '[["drop","live"],["pass",null]]' "live bans there"
	reboot_there
}

shadow_only_counts() {
	lists
	printf '%s\n' 45.0.0.1 46.0.0.0/24 2a00::/32 >banned
	printf '%s\n' 45.0.0.1 45.0.0.2 47.0.0.0/24 2a01::/32 >shadow
	bloom load banned banned
	bloom load --shadow shadow shadow
	bloom save image
	there bloom load --image image
	is "$(there get '[.[]|[.verdict,.shadow,.list]]' test 45.0.0.1 45.0.0.2 47.0.0.9 2a01::5 48.0.0.1)" \
		'[["drop",false,"banned"],["pass",true,"shadow"],["pass",true,"shadow"],["pass",true,"shadow"],["pass",false,null]]' \
		"what is said of banned and shadow"
	is "$(there get '[.lists[].name]' stats)" '["banned","shadow"]' "the lists that are counted"
	reboot_there
}

drops_packets() {
	lists
	veth 0
	judge sample points 300 one two
	bloom load one one --force
	bloom load two two --force
	bloom save image
	there bloom load --image image
	there bloom attach edge0
	send 0 -b points/banned -c points/clean
	reboot_there
}

survives_a_reboot() {
	lists
	bloom load one one --force
	bloom load two two --force
	bloom save image
	there bloom load --image image
	rm image
	reboot_there
	there bloom restore
	same_answers anew
	there bloom rotate
	same_answers anew
	is "$(find there -name 'image.*' | wc -l)" 1 "the number of copies"
	# The copy is gone: what is in force stays, and the way out is open.
	rm there/image.*
	there refused "there/image.1: No such file" rotate
	there expect 0 "$XDP_BLOOM" test "$(head -n 1 points/banned)"
	grep -q "the names of lists are gone" err || fail "does not say that there are no names: $(cat err)"
	there bloom flush
	is "$(there get '.image' show)" null "the image after flush"
	reboot_there
}

takes_the_place_of_lists() {
	lists
	echo 45.0.0.1 >list
	bloom load list list
	bloom save image
	there bloom load mine one --force
	there refused "an image takes the place of all lists, and 'mine' is loaded; --force drops it" load --image image
	there bloom allow 46.0.0.1
	there bloom add 46.0.0.2
	there refused "all lists and live bans, and 'mine' and 1 others are loaded; --force drops them" load --image image
	there bloom load --image image --force
	is "$(there get '[.[].name]' lists)" '["list"]' "the lists"
	there refused "('xdp-bloom flush' ends the image and what is beside it)" load other list
	there refused "an image is in force, and its lists are not here" plan
	there refused "there is no list" unload other
	there refused "is a list of the image in force, which is taken whole" unload list
	there refused "'list' is a list of the image in force, which is taken whole: do that where the lists are" shadow list
	there bloom add 192.0.2.99
	there refused "an image is in force, and its lists are not here" plan
	there bloom del 192.0.2.99
	there refused "is not wanted" load name --image image
	there bloom load --image image --dry-run
	there bloom load --image image
	is "$(find there -name 'image.*' | wc -l)" 1 "the number of copies"
	there bloom flush
	is "$(find there -name 'image.*' | wc -l)" 0 "the number of copies"
	is "$(there get '.[].name' lists)" '' "the lists"
	there bloom load other list
	is "$(there get '.[0].list' test 45.0.0.1)" other "the list"
	reboot_there
}

# Of many commands one fails: the copy that is in force stays, and no other.
stays_with_its_copy() {
	echo 45.0.0.1 >list
	echo 45.0.0.2 >two
	bloom image make image list
	bloom image make other two
	there bloom load --image image
	printf '%s\n' flush "load --image other" "load --image other --force" "load list nowhere" >commands
	there refused "nowhere" batch commands
	is "$(cd there && echo image.*)" image.1 "the copies"
	cmp image there/image.1 || fail "the copy is another"
	there bloom rotate
	is "$(there get '[.[].verdict]' test 45.0.0.1 45.0.0.2)" '["drop","pass"]' "the verdicts"
	printf '%s\n' flush "load --image image" "load --image other --force" >commands
	there bloom batch commands
	is "$(cat there/image.* | cmp - other)" "" "the copy"
	there bloom load --image image --dry-run
	is "$(cat there/image.* | cmp - other)" "" "the copy"
	is "$(there get '[.[].verdict]' test 45.0.0.1 45.0.0.2)" '["pass","drop"]' "the verdicts"
	reboot_there
}

# What it says is looked at before it is copied: there is room for neither.
copies_nothing_too_large() {
	printf '45.0.0.1\n46.0.0.0/24\n' >list # a network has the gate's four megabytes
	bloom image make image list
	cp image large
	truncate -s 1G large
	(
		ulimit -f 100000
		there refused "longer than it says" load --image large
	) || exit 1
	there bloom tune --memory 2M
	(
		ulimit -f 1000
		there refused "the limit is 2097152" load --image image
	) || exit 1
	[ -z "$(find there -name 'image.*')" ] || fail "a copy was left: $(ls there)"
	reboot_there
}

warns() {
	echo 45.0.0.1 >list
	bloom load list list
	bloom add 46.0.0.1
	bloom save image
	[ ! -s err ] || fail "warns: $(cat err)"
	bloom add 46.0.0.2 --ttl 1h
	bloom save image
	one_line "do not run out where it is loaded"
	there bloom load --image image
	[ ! -s err ] || fail "warns: $(cat err)"
	chmod 640 image
	there bloom load --image image
	one_line "its seeds are secret, and others may open it (mode 0640)"
	reboot_there
}

refuses_own_addresses() {
	lists
	printf '%s\n' 45.0.0.0/25 >list
	bloom load list list
	bloom save image
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	there refused "the image bans 45.0.0.1, an address of this machine" load --image image
	there bloom load --image image --ban-own
	is "$(there get '.[0].verdict' test 45.0.0.1)" drop "the verdict"
	reboot_there
}

# forge FILE OFFSET VALUE [TIMES]: writes eight bytes there, and makes the checksum fit (ECMA-182, as xz has it).
forge() {
	python3 - "$@" <<'PYTHON'
import struct, sys
path, offset, value = sys.argv[1], int(sys.argv[2]), int(sys.argv[3], 0)
table = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0xC96C5795D7870F42 if n & 1 else 0)
    table.append(n)
data = bytearray(open(path, "rb").read())
times = int(sys.argv[4]) if len(sys.argv) > 4 else 1
data[offset:offset + 8 * times] = struct.pack("=Q", value) * times
crc = 0xFFFFFFFFFFFFFFFF
for byte in data[:-8]:
    crc = table[(crc ^ byte) & 255] ^ crc >> 8
data[-8:] = struct.pack("=Q", crc ^ 0xFFFFFFFFFFFFFFFF)
open(path, "wb").write(data)
PYTHON
}

refuses_what_is_not_whole() {
	local size at cut

	lists
	printf '2a00:%x::/48\n' {1..40} >list
	bloom load list list
	bloom save image
	size=$(stat -c %s image)
	there bloom load --image image
	# Damage in the header, in the lists, in every page of every array and in the checksum.
	for at in 0 8 12 16 24 32 40 48 80 88 200 $((size / 3)) $((size / 2)) $((size - 4096)) $((size - 8)) $((size - 1)); do
		cp image damaged
		python3 -c "
with open('damaged', 'r+b') as f:
    f.seek($at); byte = f.read(1)[0]; f.seek($at); f.write(bytes([byte ^ 0x55]))"
		there refused "; nothing was loaded" load --image damaged
	done
	for cut in 0 1 7 8 100 1000 4095 4096 4097 8192 $((size - 4096)) $((size - 9)) $((size - 8)) $((size - 1)); do
		head -c $cut image >damaged
		there refused "; nothing was loaded" load --image damaged
	done
	cat image image >damaged
	there refused "longer than it says" load --image damaged
	cp image damaged
	forge damaged 0 0x4d4f4f4c42504458 # as it was: the checksum here is the one that it has
	cmp image damaged || fail "the test computes another checksum"
	forge damaged 80 1000 # of another version
	there refused "another version" load --image damaged
	cp image damaged
	forge damaged 8 0x0403020101000000
	there refused "of the other byte order; load its lists" load --image damaged
	there refused "is not an image" load --image list
	there refused "is not an image" load --image /dev/zero
	there refused "No such file" load --image missing
	is "$(find there -name 'image.*' | wc -l)" 1 "the number of copies"
	refused "and no file" save /dev/null
	refused "No such file" save missing/image
	is "$(find . -maxdepth 1 -name 'image.*' | wc -l)" 0 "files left beside the image"
	reboot_there
	rm -rf there
	there refused "nothing is loaded" save nothing
}

# As load asks of a list: where the image was made, it may not have been asked.
refuses_what_is_very_wide() {
	local wide

	reboot_there
	rm -rf there
	echo 192.0.2.7 >narrow
	bloom image make narrow.image narrow
	for wide in 64.0.0.0/6 2400::/11; do
		printf '%s\n' "$wide" 192.0.2.7 >wide
		bloom image make wide.image wide
		there refused "the image: it bans all of $wide, which is very wide; --force or --wide loads it" load --image wide.image
		there bloom load --image narrow.image
		there refused "the image: it bans all of $wide, which is very wide" load --image wide.image --ban-own
		echo "load --image wide.image" >commands
		there refused "the image: it bans all of $wide, which is very wide" batch commands
		there bloom load --image wide.image --wide
		# That is no news then.
		there bloom load --image wide.image
		there bloom flush
	done
	python3 -c 'for n in range(32, 100, 2): print("%d.0.0.0/8" % n)' >wide
	python3 -c 'for n in range(101, 167): print("%d.0.0.0/8" % n)' >>wide
	bloom image make wide.image wide
	there refused "of all IPv4 addresses; --force or --wide loads it" load --image wide.image
	there bloom load --image wide.image --force
	reboot_there
}

# An image made by hand: all of IPv4 goes to a filter that takes everything, and no roster settles it.
refuses_a_full_filter() {
	local header=4096 gate=$((4 << 20)) filled=0x5555555555555555 one=0x3ff0000000000000 asked=40

	reboot_there
	rm -rf there
	printf '%s\n' 45.0.0.1 45.0.1.1 >two
	bloom image make honest two --exact=off
	cp honest full
	forge full $((header + gate)) 0xffffffffffffffff $(($(stat -c %s full) / 8 - 1 - (header + gate) / 8))
	there refused "the image: its filter takes 100 % of other addresses, and was made for" load --image full
	there refused "its filter takes 100 %" load --image full --ban-own
	# It may say that it was made for that: it is asked about two /24s...
	forge full $asked $one
	there bloom load --image full --dry-run
	# ...or about all.
	forge full $header $filled $((gate / 8))
	there refused "the image: it bans 100 % of all IPv4 addresses; --force or --wide loads it" load --image full --ban-own
	there bloom load --image honest
	there refused "% of all IPv4 addresses" load --image full --ban-own
	there bloom load --image full --wide --ban-own
	is "$(there get '.[0].verdict' test 9.9.9.9)" drop "the verdict"
	reboot_there
}

# As many keys as the other one has fit, with the exact table and without it; a prefix in more pieces than that is refused.
into_a_shape() {
	local exact

	printf '2001:db8:%x::1\n' {1..9000} >hosts
	echo 2001:db8::/100 >wide
	for exact in on off; do
		bloom image make first.image hosts --exact "$exact"
		bloom image make second.image hosts --exact "$exact" --like first.image
		is "$(get .keys.ipv6 image show second.image)" 9000 "how many keys there are, exact $exact"
		refused "too small" image make third.image wide --exact "$exact" --like first.image
	done
}

run_cases filters_there_as_here filters_with_live_bans 'filters_without --exact=off --force' 'filters_without --labels=off' shadow_only_counts \
	drops_packets survives_a_reboot takes_the_place_of_lists \
	stays_with_its_copy copies_nothing_too_large warns refuses_own_addresses refuses_what_is_very_wide refuses_a_full_filter refuses_what_is_not_whole into_a_shape

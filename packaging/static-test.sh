#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The static commands of all machines that build/static has, emulated: each needs no other file, says of lists what this machine's own
# command says, and reads what the others have written. MACHINES: of these alone.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tests/support/lib.sh"
# shellcheck disable=SC2034 # lib.sh's: none needs a kernel
no_kernel=.
sandbox "$@"
need file readelf python3
built=$top/build/static
emulated=$WORK.emulated
mkdir "$emulated"

# What runs it here, by its name: "on arm64 plan list".
[ -n "${MACHINES:-}" ] || MACHINES=$(find "$built" -path "$built/*/xdp-bloom" -printf '%P\n' 2>/dev/null | sed -n 's|^\([^/]*\)/[^/]*$|\1|p' | sort | paste -sd' ')
[ -n "$MACHINES" ] || skip_all "there is no static command: make static ARCH=arm64"
for machine in $MACHINES; do
	[ -x "$built/$machine/xdp-bloom" ] || skip_all "there is no $built/$machine/xdp-bloom: make static ARCH=$machine"
	# shellcheck source-path=SCRIPTDIR source=../tools/static_machines.sh
	arch=$machine && . "$top/tools/static_machines.sh"
	need ${emulator:+"$emulator"}
	printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "$built/$machine/xdp-bloom" >"$emulated/$machine"
	chmod +x "$emulated/$machine"
done

on() {
	local machine=$1

	shift
	"$emulated/$machine" "$@"
}

order() {
	readelf -h "$built/$1/xdp-bloom" | sed -n 's/.*Data:.* \(little\|big\) endian$/\1/p'
}

some_lists() {
	judge list 20000 500 3000 >one
	XDP_BLOOM_SEED=$((XDP_BLOOM_SEED + 1)) judge list 5000 300 500 >two
	head -n 4000 one >>two
}

# same WHAT MACHINE ARGS...: what it prints, on that machine and on this.
same() {
	local what=$1 machine=$2

	shift 2
	expect 0 "$XDP_BLOOM" "$@"
	mv out here
	expect 0 on "$machine" "$@"
	cmp out here >differ 2>&1 || fail "$what on $machine: $(cat differ; diff here out | head -n 5)"
}

one_file() {
	local file=$built/$1/xdp-bloom size most=4000000

	file -b "$file" | grep -q 'statically linked.*stripped' || fail "it is $(file -b "$file")"
	! readelf -lW "$file" | grep -E 'INTERP|DYNAMIC' || fail "it asks for a library"
	size=$(stat -c %s "$file")
	[ "$(sed -n "s/^$1 core //p" "$built/sizes")" != "$size" ] || most=2000000
	[ "$size" -le $most ] || fail "it has $size bytes, more than $most"
	echo "# $size bytes"
}

helps() {
	local verb

	"$XDP_BLOOM" help | awk '/^options/ { exit } /^  [a-z]/ || /^      +[a-z]/ { print substr($0, 24) }' | tr -s ' ' '\n' | grep . >verbs
	[ "$(wc -l <verbs)" -gt 40 ] || fail "help names only $(paste -sd' ' verbs)"
	same help "$1" help
	same --version "$1" --version
	while read -r verb; do
		same "help $verb" "$1" help "$verb"
	done <verbs
}

plans() {
	some_lists
	same plan "$1" plan one two
	same "plan of classic blocks" "$1" plan --layout classic --exact off one
	same "plan's JSON" "$1" -j plan one
}

sets() {
	local operation format

	some_lists
	for operation in union intersect subtract diff count; do
		same "set $operation" "$1" set "$operation" one two
	done
	same "set merge" "$1" set merge one two
	for format in ipset nft; do
		same "set union for $format" "$1" set union --output $format one two
	done
	# What one has packed the other reads.
	bloom set pack here.set one
	expect 0 on "$1" set pack there.set one
	same "a packed list from here" "$1" set union here.set
	same "a packed list from there" "$1" set union there.set
	bloom set delta here.set two here.delta
	expect 0 on "$1" set delta there.set two there.delta
	same "what it shows of changes" "$1" set diff here.set there.set
	is "$(wc -c <out)" 0 "what differs"
}

# Bytes that say when and by whom it was made, and the sum over all of them.
images() {
	local from=$1 to

	some_lists
	bloom image make seeds one
	expect 0 on "$from" image make made one two
	for to in $MACHINES; do
		if [ "$(order "$from")" = "$(order "$to")" ]; then
			expect 0 on "$to" image show made
			cp out shown
			expect 0 on "$from" image show made
			cmp out shown || fail "of an image made on $from, $to shows: $(cat shown)"
			expect 0 on "$from" image make --like made again one
			expect 0 on "$to" image make --like made also one
			cmp -l again also | awk '{ print $1 }' >differ
			[ "$(wc -l <differ)" -le 32 ] || fail "arrays made by $from and by $to of the same seeds differ in $(wc -l <differ) bytes"
			expect 0 on "$to" image union both again made
		else
			expect 2 on "$to" image show made
			one_line "made was saved on a machine of the other byte order; load its lists here instead"
		fi
	done
	# This machine's own command is one more.
	if [ "$(order "$from")" = little ]; then
		bloom image show made
	else
		refused "the other byte order" image show made
	fi
	head -c 100000 made >short
	expect 2 on "$from" image show short
	one_line "short is cut short"
}

cases=()
for machine in $MACHINES; do
	cases+=("one_file $machine" "helps $machine" "plans $machine" "sets $machine" "images $machine")
done
run_cases "${cases[@]}"

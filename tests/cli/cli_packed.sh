#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Lists packed for other machines, and changes of them: packed, loaded, and what is in force afterwards.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# Bogons in it are left out of what is in force, and not of the sum.
versions() {
	printf '%s\n' 20.0.0.1 20.0.0.5 20.0.2.0/24 10.1.2.3 2a01::/48 2a02::1 >old
	printf '%s\n' 20.0.0.1 20.0.0.6 20.0.2.0/24 10.1.2.3 2a01::/48 2a03::7 >new
	bloom set pack old.set old
	bloom set pack new.set new
	bloom set delta old new change
}

in_force() {
	get '[.[]|[.name,.addresses,.loaded]]' lists
}

banned() {
	bloom test "$@"
}

passes() {
	local address

	for address; do
		expect 1 "$XDP_BLOOM" test "$address"
	done
}

packed() {
	versions
	bloom set union old.set
	sort out >is
	bloom set union old
	sort out | cmp -s is - || fail "packed: $(cat is)"
	is "$(get '.files[0].format' set count old.set)" packed "the format"
	is "$(head -n 1 old.set)" "xdp-bloom set 1" "how it begins"
	is "$(sed -n 's/^sha256 //p;/^$/q' new.set)" "$(sed -n 's/^sha256 //p;/^$/q' change)" "of what the change makes"
	is "$(sed -n 's/^sha256 //p;/^$/q' old.set)" "$(sed -n 's/^from //p;/^$/q' change)" "of what it changes"
	"$XDP_BLOOM" set pack - old new >both || fail "to standard output"
	bloom set union old new
	cp out wanted
	bloom set union both
	cmp -s out wanted || fail "of several"
	is "$(get '[.ranges,.addresses|tostring]' set pack old.set old)" '["6","1208925819614629174706436"]' "as JSON"
}

changes() {
	versions
	bloom load drop old.set
	banned 20.0.0.1 20.0.0.5 20.0.2.9 2a02::1
	passes 10.1.2.3 20.0.0.6 2a03::7
	bloom load drop change
	banned 20.0.0.1 20.0.0.6 20.0.2.9 2a03::7
	passes 10.1.2.3 20.0.0.5 2a02::1
	bloom load drop change
	refused "there is no list 'other' that it could change" load other change
	bloom load other old.set
	"$XDP_BLOOM" load other - <change >out || fail "from standard input"
	bloom rotate
	banned 20.0.0.6
	passes 20.0.0.5
	bloom unload other
	# From text to packed, and back; the sum is of what is in it.
	bloom load drop old --big-change
	bloom load drop change
	banned 20.0.0.6
	bloom set delta new old back
	bloom load drop back
	banned 20.0.0.5
	passes 20.0.0.6
	bloom load drop new
	refused "no column holds an address" load drop change --where 1=x
}

refusals() {
	local before

	versions
	refused "there is no list 'drop' that it could change" load drop change
	refused "a change of a list, not a list" set union change
	bloom load drop old.set
	before=$(in_force)
	printf '%s\n' 20.0.0.9 >third
	bloom set delta third new wrong
	refused "a change of another version than the one that is loaded" load drop wrong
	head -c -1 new.set >"cut"
	refused "damaged, or ends too early" load drop "cut"
	{
		cat new.set
		echo
	} >longer
	refused "damaged, or ends too early" load drop longer
	sed '1s/1$/2/' new.set >later
	refused "a version that this xdp-bloom does not know" load drop later
	is "$(in_force)" "$before" "what is in force"
	banned 20.0.0.5
	refused "an old list, a new one, and a file" set delta old new change more
	refused "is a directory, and no file" set pack . old
	mkfifo pipe
	refused "is a device, a pipe or a link" set pack pipe old
	refused "none" set pack none/there old
	is "$(find . -name '*set.??????' -o -name 'pipe.*' | wc -l)" 0 "files that were left"
}

# On a small machine, too: what packs it makes no tables for more than there is.
small() {
	local most

	seq -f 20.%.0f.0.0/24 0 255 >list
	most=$(peak_of "$XDP_BLOOM" set pack list.set list)
	[ -s list.set ] || fail "nothing was packed"
	[ "$most" -lt 32768 ] || [ -n "${SAN:-}" ] || fail "to pack 256 prefixes took $most KiB of memory"
}

run_cases packed changes refusals small

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The set verb, as somebody types it: each operation on a few addresses, how it is printed, and what is refused.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='.'
sandbox "$@"

# prints TEXT COMMAND...: exactly these lines, separated by blanks.
prints() {
	local wanted=$1

	shift
	bloom "$@"
	is "$(tr '\n' ' ' <out)" "$wanted${wanted:+ }" "$*"
}

lists() {
	printf '%s\n' 192.0.2.0/30 192.0.2.8 2001:db8::/126 >one
	printf '%s\n' 192.0.2.2-192.0.2.5 2001:db8::2 >two
	printf '%s\n' 192.0.2.2 192.0.2.3 198.51.100.1 >three
	: >nothing
}

operations() {
	lists
	prints '192.0.2.0/30 192.0.2.4/31 192.0.2.8 2001:db8::/126' set union one two
	prints '192.0.2.0/30 192.0.2.4/31 192.0.2.8 198.51.100.1 2001:db8::/126' set merge one two three
	prints '192.0.2.2/31 2001:db8::2' set intersect one two
	prints '192.0.2.2/31' set intersect one two three
	prints '192.0.2.0/31 192.0.2.8 2001:db8::/127 2001:db8::3' set subtract one two
	prints '192.0.2.4/31' set subtract two one nothing
	prints '' set intersect one nothing
	prints '192.0.2.0/30 192.0.2.8 2001:db8::/126' set union one
	prints '-192.0.2.0/31 -192.0.2.8 -2001:db8::/127 -2001:db8::3 +192.0.2.4/31' set diff one two
	prints '' set diff one one
	is "$(get . set diff one two)" '{"added":["192.0.2.4/31"],"removed":["192.0.2.0/31","192.0.2.8","2001:db8::/127","2001:db8::3"]}' \
		"the difference as JSON"
	is "$(get . set union one two)" '["192.0.2.0/30","192.0.2.4/31","192.0.2.8","2001:db8::/126"]' "a union as JSON"
	"$XDP_BLOOM" set union - two <three >out || fail "standard input"
	is "$(head -n 1 out)" 192.0.2.2/31 "a union with standard input"
}

counts() {
	lists
	prints 'one: plain, 3 lines, 3 entries, 0 duplicates, 0 merged IPv4: 5 addresses, 2 ranges, 2 prefixes IPv6: 4 addresses, 1 ranges, 1 prefixes' \
		set count one
	is "$(get '[[.files[]|[.file,.entries]],.ipv4,.ipv6]' set count one two)" \
		'[[["one",3],["two",2]],{"addresses":"7","ranges":2,"prefixes":3},{"addresses":"4","ranges":1,"prefixes":1}]' \
		"the counts as JSON"
}

output() {
	lists
	prints 'family,addresses 4,192.0.2.2-192.0.2.5 6,2001:db8::2-2001:db8::2' set union two --output=csv
	prints 'create mine hash:net family inet maxelem 65536 add mine 192.0.2.2/31 add mine 198.51.100.1' \
		set union three --output=ipset --name mine
	prints 'xdp_bloom:192.0.2.2-192.0.2.3 xdp_bloom:198.51.100.1-198.51.100.1' set union three --output=p2p
	prints '192.0.2.2/31 198.51.100.1' -j set union three --output plain
	refused "--output=dat: this format has no IPv6 addresses" set union one --output dat
	for format in '' plai lain ' ' csvjson; do
		refused "--output is one of plain netmask range p2p dat csv json ipset nft, not '$format'" \
			set union one --output "$format"
	done
	for name in '' 'a b' a-b 'a;b' "$(printf '%031d' 0)"; do
		refused "--name is up to 30 letters, digits, _ and ." set union three --output nft --name "$name"
	done
	name=$(printf '%029d' 0).
	bloom set union three --output nft --name "$name"
	grep -q "set $name {" out || fail "the longest name: $(cat out)"
}

skips_bad() {
	lists
	for n in {1..7}; do
		echo "300.0.0.$n"
	done >>three
	refused "three:4: '300.0.0.1'" set union three
	expect 0 "$XDP_BLOOM" set union three --skip-bad
	is "$(tr '\n' ' ' <out)" '192.0.2.2/31 198.51.100.1 ' "what is left"
	grep -q "three: 7 damaged entries were left out" err || fail "how many: $(cat err)"
	grep -q "three:4: '300.0.0.1'" err || fail "which: $(cat err)"
	prints '1.2.3.4' set union --format csv:2 - <<<'5.6.7.8,1.2.3.4'
}

usage() {
	lists
	refused "set: there is no 'unite'; union, intersect, subtract, diff, count, merge, pack or delta" set unite one two
	for what in union merge count; do
		refused "set $what: which files?" set $what
	done
	for what in intersect subtract diff; do
		refused "set $what: which files?" set $what one
	done
	refused "set diff: an old list and a new one" set diff one two three
	refused "set diff: it prints +prefix and -prefix, or JSON with --json" set diff one two --output csv
	refused "set: standard input can be read only once" set union - one -
	refused "nowhere: No such file" set union one nowhere
	refused "nowhere: No such file" set count nowhere one
	refused "nowhere: No such file" set diff nowhere one
	refused "nowhere: No such file" set diff one nowhere
}

run_cases operations counts output skips_bad usage

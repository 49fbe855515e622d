#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tune --networks: whose an address is, wherever one is shown.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

table() {
	printf '%s\n' 'network,country,asn,as_name' '198.51.100.0/24,DE,AS64500,"Docs, ""quoted"""' '198.51.100.64/26,FR,64501,Inner' \
		'2001:db8::/32,JP,,'
}

# What has no table says nothing of it, in text and JSON.
without() {
	is "$("$XDP_BLOOM" test 198.51.100.1 | grep -c '^  of')" 0 "$1: lines about networks"
	is "$(get '[.[]|has("network")]|any' bans)" false "$1: a member of bans"
	is "$(get '.[0]|has("network")' test 198.51.100.1)" false "$1: a member of test"
	is "$(get .networks tune)" null "$1: what tune says"
}

whose() {
	table >networks.csv
	bloom add 198.51.100.7 198.51.100.70 198.51.100.0/24 2001:db8:1::/48 203.0.113.1 --reason night
	without "before"
	before=$(get .generation status)
	bloom tune --networks networks.csv
	is "$(get .generation status)" "$before" "the generation"
	is "$(get '[.networks.rows, (.networks.file|endswith("/networks.csv"))]' tune)" '[3,true]' "what tune says"
	is "$(get '[.[]|[.prefix,.network.country,.network.asn,.network.name]]' bans)" \
		'[["198.51.100.0/24","DE",64500,"Docs, \"quoted\""],["198.51.100.7","DE",64500,"Docs, \"quoted\""],["198.51.100.70","FR",64501,"Inner"],["203.0.113.1",null,null,null],["2001:db8:1::/48","JP",null,null]]' "bans"
	is "$("$XDP_BLOOM" bans | grep -c 'FR AS64501 Inner  *night$')" 1 "the line of a ban"
	is "$("$XDP_BLOOM" test 198.51.100.70 203.0.113.1 2001:db8:1::1 | grep '^  of')" "$(printf '  of FR AS64501 Inner\n  of JP')" "test"
	is "$(get '.[0].network' test 203.0.113.1)" null "an address that no row has"
	is "$(events_of tune)" 1 "events"
	bloom tune --networks networks.csv
	is "$(events_of tune)" 1 "events of a table that is in use already"
	refused_here
	bloom tune --networks none
	without "after"
	bloom tune --networks none
	[ ! -e "$XDP_BLOOM_STATE/networks" ] || fail "the file is still there"
}

events_of() {
	"$XDP_BLOOM" -j events | jq -s "[.[]|select(.event==\"$1\" and (.message|contains(\"networks\")))]|length"
}

# What is refused leaves the table that was in use.
refused_here() {
	printf '%s\n' 198.51.100.0/24 203.0.113.0/24 >plain
	refused 'no column holds an address' tune --networks plain
	printf '%s\n' network,x '198.51.100.0/24,' >nothing
	refused 'no column of it is a country' tune --networks nothing
	refused 'No such file' tune --networks absent
	refused 'it takes no --confirm' tune --networks networks.csv --confirm 60s
	echo 'tune --networks networks.csv' >commands
	refused 'does not stand in a batch' batch commands
	is "$(get .networks.rows tune)" 3 "the table in use"
	bloom tune --networks networks.csv --check
	refused 'no column holds an address' tune --networks plain --check
	# The file is gone, or others may write to ours: no verb fails by it.
	mv networks.csv elsewhere.csv
	is "$("$XDP_BLOOM" test 198.51.100.70 | grep -c '^  of FR')" 1 "where the table is gone"
	mv elsewhere.csv networks.csv
	bloom state check
	chmod 666 "$XDP_BLOOM_STATE/networks"
	"$XDP_BLOOM" test 198.51.100.70 >out 2>err || fail "test ends with $?"
	grep -q 'others may write to it' err || fail "nothing is said of it: $(cat err)"
	grep -q '^  of' out && fail "it is shown"
	chmod 600 "$XDP_BLOOM_STATE/networks"
	printf x | dd of="$XDP_BLOOM_STATE/networks" bs=1 seek=4330 conv=notrunc status=none
	"$XDP_BLOOM" state check >out 2>err && fail "state check finds nothing"
	grep -q 'networks: it is damaged' err || fail "$(cat err)"
	"$XDP_BLOOM" test 198.51.100.70 >/dev/null 2>&1 || fail "test ends with $?"
	bloom tune --networks none
	bloom tune --networks networks.csv
	bloom state check
}

# As many as there are in the world, and awk says the same of some of them.
many_rows() {
	awk 'BEGIN { srand('"$RANDOM"'); for (i = 0; i < 500000; i++)
		printf "%d.%d.%d.0\t%d.%d.%d.255\t%d\t%c%c\tName of %d\n", i/65536+11, i/256%256, i%256, i/65536+11, i/256%256, i%256,
			i % 70000 + 1, 65 + int(rand() * 25), 65 + int(rand() * 25), i % 70000 }' >many.tsv
	bloom tune --networks many.tsv
	awk -F '\t' 'BEGIN { srand('"$RANDOM"') } rand() < 0.0004 { sub(/0$/, "77", $1); print $1 > "asked"; print $4, "AS" $3, $5 > "expected" }' many.tsv
	[ "$(wc -l <asked)" -gt 50 ] || fail "few were drawn"
	"$XDP_BLOOM" test - <asked | sed -n 's/^  of //p' >said
	cmp said expected || fail "$(diff said expected | head -4)"
}

# As of a list: who makes a link to what he may not read does not find it in a log.
hides_what_a_link_led_to() {
	mkdir -m 700 private
	{ table && echo secret,FR,,; } >private/table
	ln -s private/table link
	bloom tune --networks private/table
	grep -q "private/table:5: 'secret,FR,,'" err || fail "its own name hides it: $(cat err)"
	bloom tune --networks link
	grep -q "link:5: not" err || fail "nothing is said: $(cat err)"
	! grep secret err || fail "the link shows what it led to"
}

# As that has the service, which takes each version anew, wait for somebody.
waits_for_nobody() {
	table >it
	bloom tune --networks it
	mkfifo pipe
	ln -s /proc/version kernel
	refused "pipe: not a regular file" tune --networks pipe
	refused "kernel: " tune --networks kernel
	is "$(get .networks.file tune)" "$PWD/it" "the table in use"
}

run_cases whose many_rows hides_what_a_link_led_to waits_for_nobody

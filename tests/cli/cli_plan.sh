#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What plan promises is what the kernel's maps then hold, byte for byte, and what it solves for fits; and what it prints.
set -u
. "$(dirname "$0")/../support/lib.sh"
no_kernel='solves|plans_the|plans_for|refuses_nonsense|needs_no_root|draws'
sandbox "$@"

# made KIND N: a list of that kind, from the seed.
made() {
	python3 - "$@" "$XDP_BLOOM_SEED" <<'END'
import random, sys
kind, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
def host4():
    return f"{random.randrange(20, 100)}.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}"
def net6():
    length = random.choice((32, 40, 48, 56, 64, 64, 64, 128))
    number = 0x2a << 120 | random.getrandbits(116)
    return ":".join(f"{number >> 128 - length << 128 - length >> i & 0xffff:x}" for i in range(112, -1, -16)) + f"/{length}"
def net4():
    return host4().rsplit(".", 1)[0] + ".0/24"
kinds = {"hosts": [host4], "nets": [net4], "six": [net6], "mixed": [host4, host4, net4, net6]}[kind]
for i in range(n):
    print(kinds[i % len(kinds)]())
END
}

# What both say of a generation; how often the filter says yes, only plan foresees.
planned='.plans[] | select(.chosen) | [.layout, .k, .bits_per_key, .memory]'
shown='[.filter.layout, .filter.k, .filter.bits_per_key, .memory]'
counted='[.keys, .banned24, .rungs]'

# as_planned FILE...: plan, load, and compare; then plan what is loaded.
as_planned() {
	local file before counts

	before=$(get "$planned" plan "$@")
	counts=$(get "$counted" plan "$@")
	[ -n "$before" ] || fail "no plan for $*: $(cat err)"
	for file; do
		bloom load "$file" "$file" --force --bogons=keep
	done
	is "$(get "$shown" show)" "$before" "what the kernel holds for $*"
	is "$(get "$counted" show)" "$counts" "what $* count"
	is "$(get "$planned" plan)" "$before" "the plan for what is loaded"
	is "$(get .source plan)" loaded "the source of the plan"
	python3 - "$(get '.plans[] | select(.chosen) | .fpr.filter' plan)" "$(get .fpr.filter show)" "$(get .fpr.error show)" <<'END' ||
import sys
planned, real, error = map(float, sys.argv[1:])
sys.exit(abs(planned - real) > 6 * error + 1e-9 + planned * 0.001)
END
		fail "$*: the filter's rate is $(get .fpr show), planned were $(get '.plans[] | select(.chosen) | .fpr' plan)"
	bloom flush
}

settings_of() {
	case $1 in
	default) ;;
	inexact) bloom tune --exact=off --fpr 0.001 --force ;;
	roomy) bloom tune --fpr 0.02 --headroom 75 ;;
	*) bloom tune --layout "$1" --fpr 0.0001 --labels=off ;;
	esac
}

predicts_what_the_kernel_holds() {
	settings_of "$1"
	made hosts 30000 >hosts.txt
	made nets 3000 >nets.txt
	made six 4000 >six.txt
	made mixed 20000 >mixed.txt
	echo 45.1.2.3 >one.txt
	as_planned hosts.txt
	as_planned nets.txt
	as_planned six.txt
	as_planned mixed.txt
	as_planned one.txt
	as_planned mixed.txt nets.txt hosts.txt six.txt
}

predicts_without_a_gate() {
	made hosts 400000 >hosts.txt
	# The first of such a size measures how long a line takes here.
	bloom load hosts hosts.txt --force --bogons=keep
	bloom flush
	as_planned hosts.txt
}

# Where the best layout is beyond the limit, another is within it.
predicts_within_the_limit() {
	local most

	settings_of inexact
	made hosts 30000 >hosts.txt
	most=$(get '.plans[] | select(.chosen) | .memory.total' plan hosts.txt)
	bloom tune --memory $((most - 1))
	as_planned hosts.txt
	[ "$(get '.plans[] | select(.chosen) | .memory.total' plan hosts.txt)" -lt "$most" ] || fail "the limit is no limit"
}

counts_shadows_and_exceptions() {
	made mixed 20000 >mixed.txt
	made hosts 5000 >hosts.txt
	head -n 3000 mixed.txt >exceptions
	bloom tune --labels=off
	bloom load mixed mixed.txt --force
	bloom load --shadow hosts hosts.txt --force
	bloom load --allow exceptions exceptions
	is "$(get "$planned" plan)" "$(get "$shown" show)" "the plan for what is loaded"
}

# Of a plan's rows, each must hold what was pinned; and a little more of what was solved for would not.
every() {
	jq -e "[.plans[] | $1] | length > 0 and all" out >/dev/null || fail "$1 does not hold in: $(jq -c '.plans[]' out)"
}

solves_for_the_rest() {
	bloom -j plan --keys 250k --fpr 1e-4
	every '.fpr.asked == 0.0001 and .fpr.full <= 0.000101 and .fpr.full > 0.00009 and .headroom == 10'
	every '.rotation_due >= 275000 and .rotation_due < 276000'
	jq -e '.plans | length == 6 and ([.[] | select(.chosen)] | length == 1)' out >/dev/null || fail "$(cat out)"

	# What nothing pins, by that name, also where a rate is set.
	is "$(get .plans plan --keys 250k --fpr auto)" "$(get .plans plan --keys 250k)" "the plans for --fpr auto"
	bloom tune --fpr 0.02
	bloom -j plan --keys 250k
	every '.fpr.asked == 0.02'
	bloom -j plan --keys 250k --fpr auto
	every '.fpr.asked < 0.01'
	bloom tune --fpr auto

	bloom -j plan --keys 1M --memory 12M --exact=on
	every '.fits and .memory.total <= 12582912 and .memory.total > 12582912 - 128'
	bloom -j plan --keys 1M --memory 12M --fpr 1e-5 --exact=on
	every '.fits and .memory.total <= 12582912 and .memory.total > 12582912 - 300 and .fpr.full <= 0.0000101'
	bloom -j plan --keys 1M --memory 12M --fpr 1e-3 --headroom 10
	every '.fits and .headroom == 10 and .memory.total < 12582912'
	bloom -j plan --keys 1M --memory 8M --exact=off --layout classic
	every '.layout == "classic" and (.exact | not) and .memory.roster == 0 and .fpr.verdict > 0'
	is "$(jq '.plans | length' out)" 1 "the number of plans"
	# Of 2^32 addresses nearly all are innocent, and without a gate the filter is asked about each.
	every '.innocent.all_ipv4 / .innocent.per_million_ipv4 - 4294 | fabs < 2'

	bloom -j plan --memory 64M --fpr 0.00091 --headroom 10 --exact=on --layout lanes
	keys=$(jq .keys.ipv4 out)
	bloom -j plan --keys "$keys" --memory 64M --fpr 0.00091 --headroom 10 --exact=on --layout lanes
	every .fits
	refused "the limit is 67108864" plan --keys $((keys + keys / 1000)) --memory 64M --fpr 0.00091 --headroom 10 --exact=on \
		--layout lanes
}

# What is not pinned is planned in all its ways.
solves_what_is_not_pinned() {
	local layout exact layouts exacts

	for layout in '' lanes lanes2 classic auto; do
		for exact in '' on off; do
			case $layout in '' | auto) layouts='["classic","lanes","lanes2"]' ;; *) layouts="[\"$layout\"]" ;; esac
			case $exact in on) exacts='[true]' ;; off) exacts='[false]' ;; *) exacts='[false,true]' ;; esac
			is "$(get '[.plans | (map(.layout) | unique), (map(.exact) | unique), length]' plan --keys 1M \
				${layout:+--layout "$layout"} ${exact:+--exact "$exact"})" \
				"[$layouts,$exacts,$(jq -n "($layouts | length) * ($exacts | length)")]" "--layout '$layout' --exact '$exact'"
		done
	done
}

# Of --keys6: a list of such prefixes is planned alike.
plans_for_ipv6() {
	local of='[[.keys, .rungs], [.plans[] | [.chosen, .layout, .exact, .k, .bits_per_key, .memory, .lines, .fpr]]]'

	python3 - "$XDP_BLOOM_SEED" >list <<'END'
import random, sys
random.seed(int(sys.argv[1]))
for i, net in enumerate(random.sample(range(1 << 28), 9000)):
    print(f"{0x20000000 + net >> 16:x}:{net & 0xffff:x}:{random.randrange(65536):x}::/" + ("64" if i < 5000 else "48"))
END
	is "$(get "$of" plan --keys6 5k --keys6 4000/48 | sed 's/\([0-9]\.[0-9]\{4\}\)[0-9]*/\1/g')" \
		"$(get "$of" plan list | sed 's/\([0-9]\.[0-9]\{4\}\)[0-9]*/\1/g')" "the plan for as many IPv6 prefixes"
	is "$(get '[.plans[] | select(.exact) | .innocent | add] | [length > 0, add]' plan --keys 1M --keys6 1k/48)" '[true,0]' \
		"how many innocents are dropped with a roster"
	is "$(get '[.source, .keys]' plan --keys6 16/4)" '["keys",{"ipv4":0,"ipv6":16}]' "the keys"
	is "$(get '[.keys.ipv4, .keys.ipv6, (.rungs | length)]' plan --keys 1M --keys6 1k/32 --keys6 1k/128)" '[1000000,2000,2]' \
		"the keys of both families"
	bloom -j plan --keys6 1M/56 --memory 1T --exact=on
	every '.fits and .memory.roster > 0'
	refused "--keys6 takes a number up to 4e+09 and a prefix length" plan --keys6 5/129
	refused "--keys6 takes" plan --keys6 5/
	refused "--keys6 takes" plan --keys6 0/64
	refused "--keys6 takes" plan --keys6 5/64x
	refused "there are no 17 prefixes of /4" plan --keys6 17/4
	refused "keys; the most is 4e9" plan --keys6 4G/64 --keys6 4G/65
	refused "--keys, or files, not both" plan --keys6 5 list
}

refuses_nonsense() {
	refused "nothing is loaded; name files, --keys N, or --memory MAX" plan
	echo 45.0.0.1 >list
	refused "--keys, or files, not both" plan --keys 5 list
	refused "--keys takes a number" plan --keys 0
	refused "--keys takes a number" plan --keys 5G
	refused "--fpr takes a number" plan --keys 5 --fpr 2
	refused "--layout is lanes, lanes2, classic or auto" plan --keys 5 --layout broad
	refused "--memory takes bytes" plan --keys 5 --memory 0
	refused "the limit is 65536" plan --keys 1M --memory 64K
	refused "one key alone needs" plan --memory 4K
	refused "nowhere" plan nowhere
	echo 45.0.0.0/33 >bad
	refused "bad:1:" plan list bad
}

# What is foretold of the detector; that it comes true: unit_detect_plan.
plans_the_detector() {
	local of='.detect | [.pps, .sources, [.classes[] | .limit]]'

	is "$(get "$of" plan --detect)" '[1000000,10000,[20000,200,5000,100,500]]' "what is planned for by default"
	is "$(get "$of" plan --detect --pps 4M --sources 500 --limit 1kpps)" '[4000000,500,[1000]]' "what was asked for"
	# Half the packets or twice the limit: half as busy, and good for as many again.
	bloom -j plan --detect --pps 1M --limit 200/s
	jq -e '.detect | .bytes > .cells * 8 and .suspects < .places and (.crowds | length) == 6 and
		(.crowds | . == sort_by(.cell_shared) and . == sort_by(.without_place)) and
		(.cells as $cells | .classes.packets | (.load * 200 * $cells / 1000000 - 1 | fabs < 1e-5) and .pps_most > 1000000)' out >/dev/null ||
		fail "$(cat out)"
	is "$(get '.detect.classes.packets | [.load, .pps_most]' plan --detect --pps 1M --limit 400/s)" \
		"$(jq -c '.detect.classes.packets | [.load / 2, .pps_most * 2]' out)" "twice the limit"
	is "$(get '[.detect.crowds[].attackers]' plan --detect --attackers 2k)" '[2000]' "the attackers"
	is "$(get '.detect.classes.packets.hot_by_chance' plan --detect --pps 100M --limit 100/s)" 1 "a limit too low for that"
	bloom plan --detect --attackers 2k
	grep -q '^2000 ' out || fail "$(cat out)"
	# What is asked for that there is no room for: what to type, which then is room for it.
	bloom -j plan --detect --pps 9M --limit 200/s --attackers 2k
	jq -e '.detect | .needed.cells >= 1.4 * 9000000 / 200 and .needed.cells <= 1.5 * 9000000 / 200 and
		.needed.suspects >= 2000 and .needed.bytes > .bytes and .needed.places > .places' out >/dev/null || fail "$(cat out)"
	bloom plan --detect --pps 9M --attackers 2k
	grep -qE '^for that   xdp-bloom detect room --pps 9000000 --suspects 2[0-9]{3}  \(' out || fail "$(cat out)"
	# shellcheck disable=SC2046 # words
	bloom $(sed -n 's/^for that *xdp-bloom \(.*\)  (.*/\1/p' out)
	bloom plan --detect --pps 9M --attackers 2k
	! grep -q '^for that' out || fail "it is still not enough: $(cat out)"
	bloom detect room --pps default --suspects default
	refused "--detect goes with --pps, --limit, --attackers and --sources alone" plan --detect --keys 5
	refused "--detect goes with" plan --detect list
	refused "belong to --detect" plan --keys 5 --pps 1M
	refused "--limit takes a rate" plan --detect --limit 100Mbit
	refused "--pps takes a number" plan --detect --pps 0
}

needs_no_root() {
	need setpriv
	chmod 755 .
	cp "$XDP_BLOOM" command
	made mixed 1000 >list
	mkdir -m 700 "$XDP_BLOOM_STATE"
	expect 0 without_rights ./command -j plan list
	is "$(jq -rc "$(numbers "$planned")" out)" "$(get "$planned" plan list)" "the plan without root"
	expect 0 without_rights ./command plan - <list
	expect 2 without_rights ./command plan
	[ ! -e "$XDP_BLOOM_BPFFS" ] || fail "plan made $XDP_BLOOM_BPFFS"
}

# Whatever is planned, the pictures fit, need no colour and no font, and have the lines that they explain.
draws_pictures() {
	local plan

	made nets 10 >nets.txt
	for plan in "--keys 1M" "--keys 4e9" "--keys 1" "--keys 50k --exact=off --fpr 1e-9" "--keys 1M --fpr 0.5" \
		"--keys 3M --layout classic --fpr 1e-6 --headroom 1000" nets.txt --detect; do
		# shellcheck disable=SC2086 # a word each
		bloom plan $plan
		! LC_ALL=C grep -q '[^ -~]' out || fail "plan $plan prints more than ASCII"
		is "$(awk 'length > 79' out)" "" "lines of plan $plan that are too long"
		case $plan in nets.txt | --detect) continue ;; esac
		grep -q '^ *|  rotation is due: [0-9]* keys, [0-9]* %$' out || fail "plan $plan: $(cat out)"
		grep -q '^ *1 |.*|' out || fail "plan $plan draws no line: $(cat out)"
	done
	# A page has 40 bits for each of 744 keys with their headroom, and not of one more.
	for plan in 744=1 745=0; do
		bloom plan --keys "${plan%=*}"
		is "$(grep -c 'the smallest there is' out)" "${plan#*=}" "how often a page is the smallest for ${plan%=*} keys"
	done
	bloom -j plan --keys 1M
	jq -e '[.rate_over_memory[][] | .[1]] | min >= 0 and max <= 1' out >/dev/null || fail "rates over memory"
	# The curve passes what was asked for where rotation is due.
	jq -e '(.plans[] | select(.chosen)) as $p | .rate_over_load | all((.[0] * 1e6 > $p.rotation_due) == (.[1] > $p.fpr.asked))' \
		out >/dev/null || fail "rates over load: $(jq -c .rate_over_load out)"
}

run_cases "predicts_what_the_kernel_holds default" "predicts_what_the_kernel_holds inexact" \
	"predicts_what_the_kernel_holds roomy" "predicts_what_the_kernel_holds lanes2" \
	"predicts_what_the_kernel_holds classic" predicts_without_a_gate predicts_within_the_limit counts_shadows_and_exceptions \
	solves_for_the_rest solves_what_is_not_pinned plans_for_ipv6 plans_the_detector refuses_nonsense needs_no_root draws_pictures

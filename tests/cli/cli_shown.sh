#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every word and number that the verbs print: what stands after each '$ ' in shown_*.txt is run, and what comes out, with
# the status where it is not 0, is compared with what follows there. What differs from run to run is written as <...>.
# After a change of what is printed: SHOWN=record tests/cli/cli_shown.sh, and read the difference.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='shown files|shown bounds'
sandbox "$@"

steady() {
	sed -E -e "s|$PWD|<here>|g" \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}([T ])[0-9]{2}:[0-9]{2}(:[0-9]{2})?(\.[0-9]+)?Z?/<time>/g' \
		-e 's/\b1[7-9][0-9]{8}\b/<time>/g' -e 's/\b[0-9a-f]{16}\b/<id>/g' -e 's/[0-9.]+ (ms|s)\b/<lasts>/g' \
		-e 's/(lets )[0-9.e-]+ %/\1<rate>/' -e 's/("(filter|error|fill)": )[0-9.e-]+,?$/\1<rate>/' \
		-e 's/("(seconds_left|age|loaded_seconds)": ?)"?[0-9.]+"?/\1<lasts>/g' -e 's/[0-9]+ % full/<rate> full/' \
		-e 's/\b[0-9]+s ago/<lasts> ago/g' -e 's/(goes back in|in force for|the next ends in) [0-9hms ]+/\1 <lasts> /' \
		-e 's/^(xdp_bloom_filter_(fill|false_positive)_ratio) .*/\1 <rate>/' -e "s/version=\"[^\"]*/version=\"<version>/"
}

# JSON on one line, of long arrays the ends.
brief() {
	python3 -c '
import json, sys

def short(value):
    if isinstance(value, dict):
        return {name: short(each) for name, each in value.items()}
    if isinstance(value, list) and len(value) > 12:
        value = value[:2] + [f"{len(value) - 3} more"] + value[-1:]
    return [short(each) for each in value] if isinstance(value, list) else value

print(json.dumps(short(json.load(sys.stdin, parse_float=lambda text: text))))'
}

# What fails within a line is said outside of what it prints.
fail() {
	printf '%s\n' "$1" | sed 's/^/# /' >&"${tap:-1}"
	exit 1
}

# In the shell that goes on: a command may change directory or set a variable for those after it.
run_line() {
	eval "$1" >shown.out 2>&1 </dev/null
	echo $? >shown.status
}

# What it needs besides what the lines give it.
nothing_of_this_machine() {
	mount -t tmpfs tmpfs /run
	mount -t tmpfs tmpfs /var/lib
	[ ! -e /etc/resolv.conf ] || { : >empty && mount --bind empty /etc/resolv.conf; }
	unset SSH_CONNECTION SSH_CLIENT
}

# shown WHAT
shown() {
	local line expected=$here/../cli/shown_$1.txt status=

	exec {tap}>&1
	PATH=$(dirname "$XDP_BLOOM"):$PATH
	[ "$1" != filtering ] || nothing_of_this_machine
	while IFS= read -r line <&3; do
		case $line in
		'$ '*)
			run_line "${line#\$ }"
			status=$(cat shown.status)
			echo "$line"
			steady <shown.out
			[ "$status" = 0 ] || echo "<ends with $status>"
			;;
		'#'*) [ -n "$status" ] || echo "$line" ;; # what stands above them all
		esac
	done 3<"$expected" >now.txt
	[ "${SHOWN:-}" != record ] || cp now.txt "$expected"
	diff "$expected" now.txt >difference || fail "not what $expected says: $(head -n 40 difference)"
}

run_cases "shown files" "shown bounds" "shown filtering"

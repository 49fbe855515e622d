#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs one test for prove: exit status 4 says that all of it was skipped, which its output says too. What is skipped, and
# why, also goes into the file that XDP_BLOOM_SKIPPED names, a line each. What a failed one says, and the seed that it
# began with, prove would keep to itself; it goes into the file that XDP_BLOOM_FAILED names, too. What a test took of the
# processors goes into a file of the directory XDP_BLOOM_COSTS: prove gives to each what others took meanwhile.
said=
seed=
"$@" | while IFS= read -r line; do
	printf '%s\n' "$line"
	if [[ $line =~ ^(ok\ [0-9]+\ (.*)|1\.\.0)\ '# SKIP '(.*) ]]; then
		echo "${1##*/}: ${BASH_REMATCH[2]}${BASH_REMATCH[2]:+: }${BASH_REMATCH[3]}" >>"${XDP_BLOOM_SKIPPED:-/dev/null}"
	fi
	case $line in
	'# seed:'*) seed="  $line"$'\n' ;;
	'#'*) said+="  $line"$'\n' ;;
	'not ok'*) printf '%s: %s\n%s%s' "${1##*/}" "$line" "$seed" "$said" | tee -a "${XDP_BLOOM_FAILED:-/dev/null}" >&2 ;;&
	ok* | 'not ok'*) said= ;;
	esac
done
status=${PIPESTATUS[0]}
[ -z "${XDP_BLOOM_COSTS:-}" ] || times >"$XDP_BLOOM_COSTS/${1##*/}"
[ "$status" = 4 ] && exit 0
[ "$status" = 0 ] || echo "${1##*/}: ended with $status" >>"${XDP_BLOOM_FAILED:-/dev/null}"
exit "$status"

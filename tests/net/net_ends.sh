#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A ban with --ttl ends by itself: no service and no command has a part in it. XDP_BLOOM_BANS of them (200), for up to
# XDP_BLOOM_SECONDS (4).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
ends=$(realpath "$(dirname "$0")/ends.py")
sandbox "$@"

prepare() {
	veth 0
	echo 203.0.113.1 >list
	bloom load list list
	bloom attach edge0
}

by_themselves() {
	[ -e "${TRAFFIC%/*}/clock.so" ] || skip "clock.so is not built"
	export WORK
	prepare
	python3 "$ends" "${XDP_BLOOM_BANS:-200}" "${XDP_BLOOM_SECONDS:-4}" "$@" >"$WORK/out" 2>"$WORK/err" ||
		fail "$(cat "$WORK/out" "$WORK/err")"
	sed 's/^/# /' "$WORK/out"
	is "$(get length bans)" "$([ "$*" = dates ] && echo 2 || echo 0)" "bans that are left"
}

run_cases by_themselves "by_themselves dates"

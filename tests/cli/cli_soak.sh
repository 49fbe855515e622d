#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Random operations against a naive model (soak.py): SOAK_OPERATIONS of them, or SOAK_SECONDS long.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
soak=$(realpath "$(dirname "$0")/soak.py")
sandbox "$@"

random_operations() {
	python3 "$soak" "${SOAK_OPERATIONS:-$([ -n "${SOAK_SECONDS:-}" ] && echo 0 || echo 150)}" \
		"${SOAK_SECONDS:-0}"
}

run_cases random_operations

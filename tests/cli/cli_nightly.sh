#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make nightly goes on past what fails, and says so; with a make that only answers.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='.'
sandbox "$@"
need_sources

goes_on() {
	mkdir -p tree/tools
	cp "$top/tools/nightly.sh" tree/tools/
	cat >./make <<-'END'
		#!/bin/sh
		echo "it said $2"
		[ "$2" != bad ]
	END
	chmod +x ./make
	expect 1 env MAKE="$WORK/make" tree/tools/nightly.sh table.md first bad last
	is "$(sed 's/[0-9]* s$/N s/' out)" "$(printf '%s\n' 'first: passed, N s' 'bad: failed, N s' '    it said bad' 'last: passed, N s')" "what it says"
	# What was not run again stays.
	expect 0 env MAKE="$WORK/make" tree/tools/nightly.sh table.md last more
	is "$(tr -d '`|' <table.md | awk '$1 == "make" { print $2, $3 }')" \
		"$(printf '%s\n' 'bad **failed**' 'first passed' 'last passed' 'more passed')" "the table"
}

# Each of them is there to be made.
every_target() {
	local target

	need make
	# shellcheck disable=SC2016 # make's own
	for target in $(make -s --no-print-directory -C "$top" --eval='names:;@echo $(NIGHTLY)' names); do
		grep -q "^[a-z -]*\b$target\b[a-z -]*:" "$top/Makefile" || fail "no target $target"
	done
	[ -n "$target" ] || fail "nothing is run"
}

run_cases goes_on every_target

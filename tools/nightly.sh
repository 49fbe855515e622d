#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# nightly.sh TABLE TARGET...: makes each of these, whatever the others end with, and says of each in a line what it ended with and how
# long it took. In TABLE it has the line that it had, or a new one. What each said stays in build/nightly. Fails if one did.
set -uo pipefail
table=$(realpath -m "$1")
shift
cd "$(dirname "$0")/.." || exit 1
into=build/nightly
mkdir -p "$into"
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit=$commit+
failed=0
rows=$(mktemp)
trap 'rm -f "$rows"*' EXIT
# shellcheck disable=SC2016 # Markdown's own
grep '^| `make ' "$table" >"$rows" 2>/dev/null

for target; do
	began=$SECONDS said=passed
	${MAKE:-make} --no-print-directory "$target" >"$into/$target.log" 2>&1 </dev/null || said="**failed**" failed=1
	# Where all was skipped, nothing was shown.
	results=$(grep -E '^ *(ok |1\.\.0 )|^Result: NOTESTS' "$into/$target.log") && [ "$said" = passed ] &&
		! grep -qvE '# SKIP|NOTESTS' <<<"$results" && said="**skipped**"
	grep -vF "\`make $target\`" "$rows" >"$rows.others"
	echo "| \`make $target\` | $said | $((SECONDS - began)) | $commit |" | sort - "$rows.others" >"$rows"
	echo "$target: ${said//\*/}, $((SECONDS - began)) s"
	[ "$said" = passed ] || tail -n 5 "$into/$target.log" | sed 's/^/    /'
done
{
	printf '# What is too long for CI\n\n'
	# shellcheck disable=SC2016 # Markdown's own
	printf 'As `make nightly` ran it, each at its commit (+: and what was not committed yet). What each is: `make help`.\n\n'
	printf '| | | seconds | commit |\n|---|---|---|---|\n'
	cat "$rows"
} >"$table.tmp" && mv "$table.tmp" "$table"
exit $failed

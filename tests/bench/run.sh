#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every benchmark, one after the other; the RESULT lines also go into a JSON file, with what they were measured on.
# Usage: run.sh [--quick] LOOKUP JSON

set -u
quick=
[ "${1:-}" != --quick ] || {
	quick=1
	shift
}
[ $# = 2 ] || {
	echo "Usage: run.sh [--quick] LOOKUP JSON" >&2
	exit 2
}
bench=$(dirname "${BASH_SOURCE[0]}")
lookup=$1 json=$2
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
machine=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
commit=$(git -C "$bench" rev-parse --short HEAD 2>/dev/null || echo unknown)
status=0

echo "$machine, $(nproc) CPUs; Linux $(uname -r); commit $commit"
{
	"$lookup" ${quick:+--quick --repeats 15} || status=1
	if [ -n "$quick" ]; then
		"$bench/load.sh" "$lookup" 100000 || status=1
	else
		"$bench/load.sh" "$lookup" || status=1
	fi
} > >(tee "$rows")
wait $!
python3 - "$rows" "$machine" "$(uname -r)" "$commit" >"$json.tmp" <<'END' && mv "$json.tmp" "$json"
import json, sys

def value(text):
    try:
        return float(text)
    except ValueError:
        return text

rows = [dict((k, value(v)) for k, v in (pair.split("=", 1) for pair in line.split()[1:]))
        for line in open(sys.argv[1]) if line.startswith("RESULT ")]
json.dump({"machine": sys.argv[2], "kernel": sys.argv[3], "commit": sys.argv[4], "results": rows}, sys.stdout, indent=1)
END
exit $status

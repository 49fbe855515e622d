#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# static_record.sh SIZES FILE: the table of sizes between its two lines in FILE, of what static.sh wrote into SIZES.
set -euo pipefail
sizes=$1 file=$2

table=$(awk '{ of[$1] = 1; size[$1, $2] = sprintf("%.2f", $3 / 1e6) }
	END { for (arch in of) print "| " arch " | " size[arch, "all"] " | " size[arch, "core"] " |" }' "$sizes" | sort)
TABLE="| ARCH | all, MB | WITH=core, MB |
|---|---|---|
$table" awk '/^<!-- recorded by make record-static -->$/ { print; print ""; print ENVIRON["TABLE"]; print ""; skip = 1 }
	/^<!-- end of that record -->$/ { skip = 0 } !skip && !/^<!-- recorded by make record-static/' "$file" >"$file.new"
mv "$file.new" "$file"

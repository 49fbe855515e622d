# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What two versions say of the same, compared.

# only_fields_of FILE: of the JSON lines on standard input, the members that the same lines in FILE have: members are only
# ever added. Other lines stay as they are.
only_fields_of() {
	jq -cR 'fromjson? // .' | jq -rc --slurpfile older <(jq -cR 'fromjson? // .' "$1") --slurp '
		def like($o): if type == "object" and ($o | type) == "object"
			then with_entries(select(.key as $k | $o | has($k)) | .key as $k | .value |= like($o[$k]))
			elif type == "array" and ($o | type) == "array"
			then [range(length) as $i | .[$i] | like($o[$i])] else . end;
		like($older)[]'
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# embed.sh HTML CSS JS: a C header with the page that they make together, and the policy that lets a browser run nothing else.
set -euo pipefail
html=$1 css=$2 js=$3

page() {
	sed '/^<style>$/q' "$html"
	cat "$css"
	sed '1,/^<style>$/d; /^<script>$/q' "$html"
	cat "$js"
	sed '1,/^<script>$/d' "$html"
}

# of FILE: as a browser reckons it, from behind the tag on.
of() {
	# shellcheck disable=SC2059 # its bytes
	printf "$({ echo && cat "$1"; } | sha256sum | sed 's/ .*//; s/../\\x&/g')" | base64 -w 0
}

echo '/* Made by tools/embed.sh. */'
echo 'static const char page_text[] ='
page | sed 's/[\\"]/\\&/g; s/??/?\\?/g; s/.*/\t"&\\n"/; $s/$/;/'
printf 'static const char page_policy[] =\n\t"%s"\n\t"%s";\n' \
	"default-src 'none'; script-src 'sha256-$(of "$js")'; style-src 'sha256-$(of "$css")'; img-src data:; connect-src 'self'; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

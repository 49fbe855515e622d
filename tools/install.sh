#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# install.sh install|uninstall ROOT PREFIX <TABLE: a line "MODE SOURCE DESTINATION" a file, below PREFIX.
# The directories that installing makes are kept in a file beside the documents, so that uninstalling takes away these, as
# far as nothing else lies in them, and no others.
set -eu
what=$1 root=$2 prefix=$3
made=$root$prefix/share/doc/xdp-bloom/directories

# missing DIRECTORY: it and those above it that are not there, the uppermost first.
missing() {
	[ "$1" != / ] && [ ! -e "$root$1" ] || return 0
	missing "$(dirname "$1")"
	echo "$1"
}

case $what in
install)
	list=$(mktemp)
	trap 'rm -f "$list"' EXIT
	[ ! -e "$made" ] || cat "$made" >"$list"
	while read -r mode source destination; do
		missing "$(dirname "$prefix/$destination")" >>"$list"
		echo "install -D -m $mode $source $root$prefix/$destination"
		install -D -m "$mode" "$source" "$root$prefix/$destination"
	done
	missing "$prefix/share/doc/xdp-bloom" >>"$list"
	install -D -m 644 "$list" "$made"
	;;
uninstall)
	directories=
	[ ! -e "$made" ] || directories=$(sort -ru "$made")
	while read -r _ _ destination; do
		[ ! -e "$root$prefix/$destination" ] || echo "rm $root$prefix/$destination"
		rm -f "$root$prefix/$destination"
	done
	rm -f "$made"
	echo "$directories" | while read -r directory; do
		[ -z "$directory" ] || rmdir --ignore-fail-on-non-empty "$root$directory" 2>/dev/null || true
	done
	;;
*)
	echo "install.sh: install or uninstall" >&2
	exit 2
	;;
esac

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# link.sh FILE CC PKG_CONFIG SHARED PACKAGE...: writes into FILE how the command is linked with the libraries of these
# packages, and into FILE.d what that depends on.
#
# Loading eleven libraries would be a quarter of the time of an add, so those that come as an archive become part of the
# command. Not every archive can be linked: the one of libelf 0.192 lacks functions that it calls itself. So each is tried
# alone, from end to end; where that fails, that library stays outside.
set -eu

out=$1 cc=$2 pkg_config=$3 shared=$4
shift 4

if [ -n "$shared" ]; then
	echo "$($pkg_config --libs "$@") -lm" >"$out"
	: >"$out.d"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' >"$work/main.c"
# shellcheck disable=SC2086
$cc -c -o "$work/main.o" "$work/main.c"

libs=$($pkg_config --static --libs "$@")
tried='' linked='' found=$(command -v "${cc%% *}")
for lib in $libs; do
	case $lib in
	-lm | -lpthread | -pthread | -ldl) continue ;; # the system's own
	-l*) name=${lib#-l} ;;
	*) linked="$linked $lib" && continue ;;
	esac
	case " $tried " in
	*" $name="*) ;;
	*)
		archive=$($cc -print-file-name="lib$name.a")
		[ "$archive" = "lib$name.a" ] || archive=$(realpath "$archive")
		# shellcheck disable=SC2086
		if [ "$archive" != "lib$name.a" ] && $cc -o "$work/main" "$work/main.o" -Wl,--whole-archive "$archive" \
			-Wl,--no-whole-archive $libs -lm 2>"$work/log"; then
			tried="$tried $name=-l:lib$name.a"
		else
			tried="$tried $name=$lib"
			[ ! -s "$work/log" ] || echo "lib$name.a cannot be linked; the library stays outside" >&2
		fi
		# Its directory, too: the archive may come or go.
		[ "$archive" = "lib$name.a" ] || found="$found $archive $(dirname "$archive")"
		;;
	esac
	for pair in $tried; do
		[ "${pair%%=*}" != "$name" ] || linked="$linked ${pair#*=}"
	done
done
echo "$linked -lm -pthread -ldl" >"$out"
# shellcheck disable=SC2046,SC2086
{
	echo "$out:" $(printf '%s\n' $found | sort -u)
	printf '%s:\n' $(printf '%s\n' $found | sort -u)
} >"$out.d"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dist.sh DIRECTORY VERSION [try]: the sources of the commit that is checked out as DIRECTORY/xdp-bloom-VERSION.tar.gz, the same
# bytes whoever makes it and when: made twice, and compared. try: it is built and installed where there is no git.
set -euo pipefail
to=$(realpath -m "$1") name=xdp-bloom-$2
cd "$(dirname "$0")/.."

# Order, dates and owners are the commit's; modes are nobody's umask.
pack() {
	TZ=$1 git -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="$name/" HEAD | gzip -n9 >"$2"
}

# Files that were never added would not be in it.
lacks=$(git status --porcelain --untracked-files=normal)
[ -z "$lacks" ] || { printf 'Not in the tarball, which is of the last commit:\n%s\n' "$lacks" >&2; }
grep -q "^VERSION := $2\$" <(git show HEAD:Makefile) || { echo "The last commit is not of version $2." >&2; exit 1; }
mkdir -p "$to"
pack UTC "$to/$name.tar.gz"
(umask 077 && pack Asia/Tokyo "$to/again")
cmp "$to/$name.tar.gz" "$to/again"
rm "$to/again"
(cd "$to" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")

if [ "${3:-}" = try ]; then
	rm -rf "$to/try"
	mkdir "$to/try"
	trap 'rm -rf "$to/try"' EXIT
	tar -xzf "$to/$name.tar.gz" -C "$to/try"
	# As on a machine without git: the directory is beneath a clone, where git would find that.
	GIT_DIR=/nonexistent make -C "$to/try/$name" --no-print-directory -s all
	said=$("$to/try/$name/build/xdp-bloom" --version)
	[ "$said" = "xdp-bloom $2" ] || { echo "It says that it is $said." >&2; exit 1; }
	make -C "$to/try/$name" --no-print-directory -s install DESTDIR="$to/try/root" >/dev/null
	[ -x "$to/try/root/usr/local/sbin/xdp-bloom" ] || { echo "Nothing is installed." >&2; exit 1; }
	echo "built and installed outside git: $said"
fi

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fresh.sh [bookworm|trixie]: do the README's commands work on a Debian that has nothing but make and the sources?
#
# A minimal root is built from where this machine has its Debian packages. What is committed is put into it, and the
# commands of the README's "See it work" run there, word for word but for sudo. It fails where one of them fails, or
# where a test is skipped for want of something that a package could bring.
#
#   COMMANDS        these instead of the README's, a line each
#   TESTS           of the tests only these: 'unit_% prog_%'
#   WERROR          -Werror: warnings stop the build inside, too
#   XDP_BLOOM_SHARE of the scripts' cases one in so many
#   CONFINED=1      with no more rights than a container of Docker has; VM_SECONDS is then handed on
#   XDP_BLOOM_LISTS a folder of real lists, shown to the tests inside
#   FRESH_CACHE     where the minimal root and the downloaded packages are kept (/var/cache/xdp-bloom)
#   FRESH_KEEP=1    leave the root, with all that was installed and built in it, in build/fresh
#   FRESH_AGAIN=1   in the root that was left, as it is
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/..")
release=${1:-bookworm}
arch=$(dpkg --print-architecture)
keep=${FRESH_CACHE:-/var/cache/xdp-bloom}
log=$top/build/fresh/$release.log
root=$top/build/fresh/$release
source=/root/xdp-bloom
cache=$top/build/fresh

[ "$(id -u)" = 0 ] || { echo "fresh: needs root, to enter a root of its own" >&2 && exit 2; }

# shellcheck source=tests/kernels/apt.sh
. "$top/tests/kernels/apt.sh"

# What the release is made of: sources.list, from where this machine has the same of its own release.
sources() {
	local main security

	main=$(apt_mirror Debian)
	security=$(apt_mirror Debian-Security)
	[ -n "$main" ] || { echo "fresh: apt knows no place that has Debian's packages" >&2 && return 1; }
	echo "deb $main $release main"
	echo "deb $main $release-updates main"
	[ -z "$security" ] || echo "deb $security $release-security main"
}

# How this machine reaches it: proxies and the like.
reached() {
	apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries|ForceIPv)' || true
}

# The root as it is before anything is installed, as an archive: built when it is missing, of other packages or a month old.
pristine() {
	local list options option key
	local -a with=()

	list=$(sources)
	options=$(reached)
	key=$(printf '%s\n' "$list" "$options" minbase make | sha256sum | cut -c 1-12)
	archive=$keep/$release-$arch-$key.tar
	find "$keep" -name "$release-$arch-*.tar" -mtime +30 -delete
	if [ ! -f "$archive" ]; then
		while read -r option; do
			[ -z "$option" ] || with+=(--aptopt="$option")
		done <<<"$options"
		# shellcheck disable=SC2086 # each line is an argument
		mmdebstrap --quiet --mode=root --variant=minbase --include=make --architectures="$arch" "${with[@]}" \
			"$release" "$archive.new.tar" - <<<"$list" || { rm -f "$archive.new.tar" && return 1; }
		rm -f "$keep/$release-$arch-"????????????.tar
		mv "$archive.new.tar" "$archive"
	fi
}

# The machine's names of servers, its packages' cache, and what is committed.
furnish() {
	mkdir -p "$root$source" "$keep/$release-$arch-packages/partial"
	tar -C "$root" --numeric-owner -xf "$archive"
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh"
	git -C "$top" archive HEAD | tar -C "$root$source" -x
}

# The commands, as a reader would copy them out of the page.
commands() {
	[ -z "${COMMANDS:-}" ] || { echo "$COMMANDS" && return; }
	sed -n '/^## See it work/,/^## Use it/s/^    sudo //p' "$top/README.md"
}

# within COMMAND [CONFINED]: becomes it, in the root. A chroot would not do: namespaces cannot be made in one.
within() {
	# shellcheck disable=SC2016 # that shell's own
	exec unshare --mount --pid --ipc --uts --fork --kill-child --propagation private sh -euc '
		mount --bind "$1" "$1"
		cd "$1"
		mount -t proc proc proc
		mount -t sysfs sysfs sys
		mount -t bpf bpf sys/fs/bpf
		mount --rbind /dev dev
		mount -t tmpfs tmpfs tmp
		mount -t tmpfs tmpfs run
		mount --bind "$2" var/cache/apt/archives
		if [ -n "$3" ]; then
			mkdir -p srv/lists
			mount --bind -o ro "$3" srv/lists
		fi
		mkdir old
		pivot_root . old
		umount -l old
		rmdir old
		cd "$4"
		exec env -i HOME=/root USER=root LOGNAME=root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${3:+XDP_BLOOM_LISTS=/srv/lists} ${6:+TESTS="$6"} ${7:+WERROR="$7"} XDP_BLOOM_SHARE="$8" ${9:+VM_SECONDS="${10}" tools/confined.sh} sh -c "$5"
	' sh "$root" "$keep/$release-$arch-packages" "${XDP_BLOOM_LISTS:-}" "$source" "$1" "${TESTS:-}" "${WERROR:-}" "${XDP_BLOOM_SHARE:-1}" \
		"${2:-}" "${VM_SECONDS:-600}" </dev/null 2>&1
}

# What was skipped, and whether it should have been: what a package could bring is to be installed by the command itself,
# and what else is missing is a part of the kernel, or something that the caller has to give.
skips() {
	local list=$root$source/build/tests/skipped

	[ -s "$list" ] || return 0
	sort "$list" | sed 's/^/# skipped: /'
	if grep -F 'of the package' "$list" | sed 's/^/# a package could mend this: /' | grep .; then
		return 1
	fi
	if grep -vE 'kernel|machine|control groups|XDP_BLOOM_LISTS' "$list" | sed 's/^/# says no package and no part of the kernel: /' | grep .; then
		return 1
	fi
}

mkdir -p "$keep" "${root%/*}"
exec 9>"$keep/$release.lock"
flock 9
inside=
# unshare hears no other signal, and what it started ends with it.
trap '[ -z "$inside" ] || kill -KILL $inside; [ -n "${FRESH_KEEP:-}" ] || rm -rf "$root"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
[ -n "${FRESH_AGAIN:-}" ] || rm -rf "$root"

[ -n "$(commands)" ] || { echo "fresh: the README has no commands" >&2 && exit 1; }
SECONDS=0 result=0
if [ -z "${FRESH_AGAIN:-}" ]; then
	pristine
	furnish
elif [ ! -d "$root$source" ]; then
	echo "fresh: no root was left in $root: FRESH_KEEP=1" >&2 && exit 2
fi
rm -f "$root$source/build/tests/"{skipped,failed}
# What takes the rights away is not what is tried: only then has the root more than make and the sources.
[ -z "${CONFINED:-}" ] || (within "apt-get -qq update && apt-get -qq install libcap2-bin") >"$log.confined" ||
	{ cat "$log.confined" && exit 1; }
said="a root of $(du -xsm "$root" | cut -f 1) MB after $SECONDS s"
: >"$log"
exec 4> >(tee -a "$log")
tee=$!
while read -r command <&3; do
	SECONDS=0 status=0
	within "$command" "${CONFINED:-}" >&4 &
	inside=$!
	wait $inside || status=$?
	inside=
	said+="; $command: status $status after $SECONDS s"
	[ "$status" = 0 ] || result=1
done 3< <(commands)
exec 4>&-
wait $tee
skips >"$log.skips" || result=1
{
	cat "$log.skips"
	sed 's/^/# failed: /' "$root$source/build/tests/failed" 2>/dev/null || true
	grep -E '^(Files=|Result:|Dearest:)' "$log" | sed 's/^/# /' || true
	echo "# $release: $said: $([ $result = 0 ] && echo passed || echo FAILED)"
} | tee -a "$log"
rm "$log.skips"
exit $result

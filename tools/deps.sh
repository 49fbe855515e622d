#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# deps.sh PACKAGE...: installs those of the Debian packages that are missing, by the package manager that is here; does nothing,
# quickly, when none is. Of A,B one is enough, the first that this release has. tools/packages says what they are called where
# the manager is another one. Where none is known, they are printed.
set -eu

# The distribution's own where several are installed; else the first that is.
manager=
# shellcheck source=/dev/null
case " $(. /etc/os-release 2>/dev/null; echo "${ID:-} ${ID_LIKE:-}") " in
*" debian "*) manager=apt-get ;;
*" fedora "*) manager=dnf ;;
*" arch "*) manager=pacman ;;
*" alpine "*) manager=apk ;;
*" suse "*) manager=zypper ;;
esac
command -v "${manager:-none}" >/dev/null || for manager in apt-get dnf pacman apk zypper none; do
	! command -v $manager >/dev/null || break
done

missing_apt() {
	for package; do
		# shellcheck disable=SC2046 # one word a package
		state=$(dpkg-query -W -f '${db:Status-Status}\n' $(echo "$package" | tr , ' ') 2>/dev/null || true)
		echo "$state" | grep -qx installed || echo "$package"
	done
}

# What lists of packages do not know yet is the last of them.
chosen() {
	for package; do
		while [ "${package#*,}" != "$package" ] && ! apt-cache show "${package%%,*}" >/dev/null 2>&1; do
			package=${package#*,}
		done
		echo "${package%%,*}"
	done
}

# here COLUMN PACKAGE...: their names in that column of the table, each once. A word of each that has none goes to the user.
here() {
	column=$1
	shift
	printf '%s\n' always "$@" | awk -v column="$column" '
		NR == FNR { if (/^[^#]/) name[$1] = $column; next }
		!($1 in name) || name[$1] == "?" { unknown = unknown " " $1; next }
		{ n = split(name[$1], part, "+"); for (i = 1; i <= n; i++) if (!seen[part[i]]++) print part[i] }
		END { if (unknown) print "by names of Debian, and without one here:" unknown >"/dev/stderr" }' "$(dirname "$0")/packages" -
}

# shellcheck disable=SC2046 # one word a package
case $manager in
apt-get)
	missing=$(missing_apt "$@")
	# Somebody else installs something just now, as new machines do by themselves: that is waited for.
	get() {
		apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends $(chosen "$@")
	}
	# What an installation that was cut off left half done is ended first; and lists of packages that are missing, or old: once
	# more with those of today.
	install() {
		get "$@" || { dpkg --configure -a || true; apt-get update -qq && : >"$log" && get "$@"; }
	}
	as_root="apt-get install --no-install-recommends"
	;;
dnf)
	missing=$(LC_ALL=C rpm -q --whatprovides $(here 2 "$@") | sed -n 's/^no package provides //p')
	as_root="dnf install -y -q --setopt=install_weak_deps=False"
	;;
pacman)
	missing=$(pacman -T $(here 3 "$@") || true)
	as_root="pacman -S --needed --noconfirm"
	;;
apk)
	missing=$(for package in $(here 4 "$@"); do apk info -q -e "$package" >/dev/null 2>&1 || echo "$package"; done)
	as_root="apk add --quiet --update-cache"
	;;
zypper)
	missing=$(LC_ALL=C rpm -q --whatprovides $(here 5 "$@") | sed -n 's/^no package provides //p')
	as_root="zypper --non-interactive --quiet install --no-recommends"
	;;
none)
	echo "no package manager that is known (apt, dnf, pacman, apk, zypper): see that what these packages of Debian hold is installed: $*" >&2
	exit 0
	;;
esac
[ -n "$missing" ] || exit 0
# One word a package, in one line.
# shellcheck disable=SC2086
set -- $missing
if [ "$(id -u)" != 0 ]; then
	# shellcheck disable=SC2046
	[ "$manager" != apt-get ] || set -- $(chosen "$@")
	echo "missing; install them as root: $as_root $*" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
[ "$manager" = apt-get ] || install() { $as_root "$@"; }

echo "installing: $*"
install "$@" >>"$log" 2>&1 || {
	echo "$manager cannot install $*: $(grep -m 1 -iE '^(E|error):' "$log" || tail -n 1 "$log")" >&2
	exit 1
}

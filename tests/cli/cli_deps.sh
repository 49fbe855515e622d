#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What make deps installs, and by what: package managers that only write down what they are told, each on a machine of its kind.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='every_package|recipes'
sandbox "$@"
need_sources

# machine OS-RELEASE MANAGER...: nothing but these is in its PATH, and what a shell script needs. Of packages it has clang, and what
# the file "has" names.
machine() {
	local tool

	trap 'umount /etc/os-release; stop_jobs' EXIT
	! mountpoint -q /etc/os-release || umount /etc/os-release
	printf '%s\n' "$1" >os-release
	mount --bind os-release /etc/os-release || skip "cannot mount"
	shift
	rm -rf bin
	mkdir bin
	# Where nobody may read, too.
	cp "$top/tools/deps.sh" "$top/tools/packages" .
	for tool in sh awk sed grep tr tail id mktemp rm cat dirname; do
		ln -s "$(command -v $tool)" bin/
	done
	for tool; do
		cat >"bin/$tool" <<-END
			#!/bin/sh
			echo "$tool \$*" >>$WORK/told
			[ ! -e $WORK/fails ] || { echo "error: no such place" >&2 && exit 1; }
		END
	done
	# What each says of what is there; in its words, as far as they are read.
	cat >bin/dpkg-query <<-END
		#!/bin/sh
		shift 3
		for name; do ! grep -qx "\$name" $WORK/has || echo installed; done
	END
	cat >bin/apt-cache <<-END
		#!/bin/sh
		[ "\$2" != valkey-tools ]
	END
	cat >bin/rpm <<-END
		#!/bin/sh
		[ "\$1 \$2" = "-q --whatprovides" ] || exit 9
		shift 2
		for name; do
			if grep -qx "\$name" $WORK/has; then echo "\$name-1-1.x86_64"; else echo "no package provides \$name" && bad=1; fi
		done
		exit \${bad:-0}
	END
	[ ! -e bin/pacman ] || cat >bin/pacman <<-END
		#!/bin/sh
		[ "\$1" = -T ] || { echo "pacman \$*" >>$WORK/told && exit 0; }
		shift
		for name; do grep -qx "\$name" $WORK/has || { echo "\$name" && bad=127; }; done
		exit \${bad:-0}
	END
	[ ! -e bin/apk ] || cat >bin/apk <<-END
		#!/bin/sh
		[ "\$1" = info ] || { echo "apk \$*" >>$WORK/told && exit 0; }
		grep -qx "\$4" $WORK/has
	END
	chmod +x bin/*
	printf '%s\n' clang gcc bash coreutils diffutils findutils grep sed tar >has
	rm -f told fails
}

# deps STATUS PACKAGE...
deps() {
	local status=$1

	shift
	expect "$status" env -i PATH="$WORK/bin" "$WORK/deps.sh" "$@"
}

told() {
	is "$(cat told 2>/dev/null)" "$1" "what the package manager was told"
}

by_each() {
	local all="apt-get dnf pacman apk zypper" wanted="clang libelf-dev libsqlite3-dev pkgconf,pkg-config mount util-linux valkey-tools,redis-tools"

	# shellcheck disable=SC2086 # one word a manager
	while IFS='|' read -r release said; do
		machine "$(tr ' ' '\n' <<<"$release")" $all
		deps 0 $wanted
		told "$said"
		[ "$(wc -l <out)" = 1 ] || fail "it says: $(cat out)"
		# All that is there: nothing is done, and nothing said.
		sed -E 's/.*(-recommends|-qq|=False|--noconfirm|-cache) //; s/ /\n/g' <<<"$said" >>has
		rm told
		deps 0 $wanted
		told ""
		[ ! -s out ] || fail "it says: $(cat out)"
	done <<-'END'
		ID=debian|apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends libelf-dev libsqlite3-dev pkgconf mount util-linux redis-tools
		ID=ubuntu ID_LIKE=debian|apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends libelf-dev libsqlite3-dev pkgconf mount util-linux redis-tools
		ID=fedora|dnf install -y -q --setopt=install_weak_deps=False elfutils-libelf-devel sqlite-devel pkgconf-pkg-config util-linux valkey
		ID="rocky" ID_LIKE=fedora|dnf install -y -q --setopt=install_weak_deps=False elfutils-libelf-devel sqlite-devel pkgconf-pkg-config util-linux valkey
		ID=arch|pacman -S --needed --noconfirm libelf sqlite pkgconf util-linux valkey
		ID=alpine|apk add --quiet --update-cache elfutils-dev sqlite-dev pkgconf util-linux valkey valkey-cli
		ID="opensuse-leap" ID_LIKE="suse"|zypper --non-interactive --quiet install --no-recommends libelf-devel sqlite3-devel pkg-config util-linux valkey
	END
}

# A distribution of which nothing is known, with one of them.
by_what_is_there() {
	local manager

	for manager in dnf pacman apk zypper apt-get; do
		machine ID=mine $manager
		deps 0 strace
		grep -qE "^$manager .*install.* strace$|^$manager .*(-S|add) .*strace$" told || fail "$manager was told: $(cat told)"
	done
}

# Names are printed, and what goes on may well have them.
by_none() {
	machine ID=mine
	deps 0 clang libelf-dev
	grep -q ': clang libelf-dev$' err || fail "it says: $(cat err)"
}

without_name() {
	machine ID=alpine apk
	deps 0 systemd strace debhelper
	told "apk add --quiet --update-cache strace"
	grep -q ': systemd debhelper$' err || fail "it says: $(cat err)"
}

fails() {
	machine ID=fedora dnf
	touch fails
	deps 1 strace
	is "$(cat err)" "dnf cannot install strace: error: no such place" "what it says"
}

# apt-get knows it only by today's lists, and nothing is half done.
by_newer_lists() {
	machine ID=debian apt-get dpkg
	cat >bin/apt-get <<-END
		#!/bin/sh
		echo "apt-get \$1" >>$WORK/told
		[ \$1 != update ] || { : >$WORK/new && exit 0; }
		[ -e $WORK/new ] || { echo "E: an old list" >&2 && exit 100; }
		[ ! -e $WORK/fails ] || { echo "E: not even so" >&2 && exit 100; }
	END
	deps 0 strace
	told "$(printf '%s\n' 'apt-get install' 'dpkg --configure -a' 'apt-get update' 'apt-get install')"
	touch fails
	rm new
	deps 1 strace
	is "$(cat err)" "apt-get cannot install strace: E: not even so" "what it says"
}

# What installed before was killed, as on a machine that was switched off: apt-get does nothing before that is ended.
after_one_cut_off() {
	machine ID=debian apt-get
	cat >bin/apt-get <<-END
		#!/bin/sh
		[ \$1 = update ] || [ -e $WORK/ended ] || { echo "E: dpkg was interrupted" >&2 && exit 100; }
	END
	printf '#!/bin/sh\n[ "$*" != "--configure -a" ] || : >%s/ended\n' "$WORK" >bin/dpkg
	chmod +x bin/dpkg
	deps 0 strace
}

without_root() {
	machine ID=fedora dnf
	chmod -R a+rX "$WORK"
	: >told
	chmod a+w told
	expect 1 without_rights env -i PATH="$WORK/bin" "$WORK/deps.sh" strace clang
	told ""
	is "$(cat err)" "missing; install them as root: dnf install -y -q --setopt=install_weak_deps=False strace" "what it says"
	machine ID=debian apt-get
	chmod -R a+rX "$WORK"
	expect 1 without_rights env -i PATH="$WORK/bin" "$WORK/deps.sh" pkgconf,pkg-config valkey-tools,redis-tools
	is "$(cat err)" "missing; install them as root: apt-get install --no-install-recommends pkgconf redis-tools" "what it says of one or the other"
}

# What building, running and testing need has its row, and every row a name, or ?, for each.
every_package() {
	need make
	# shellcheck disable=SC2016 # make's own
	make -s --no-print-directory -C "$top" --eval='names:;@printf "%s\n" $(DEPS) $(TEST_DEPS) always' names | sort -u >wanted ||
		fail "make does not say what is needed"
	[ "$(wc -l <wanted)" -gt 40 ] || fail "make names only: $(paste -sd' ' wanted)"
	grep '^[^#]' "$top/tools/packages" | tee rows | cut -d' ' -f1 | sort >named
	is "$(uniq -d named)" "" "what is there twice"
	is "$(comm -3 wanted named)" "" "what only make (left) or the table (right) has"
	is "$(awk 'NF != 5' rows)" "" "rows that have not five names"
}

# What recipes say a second time, as their readers want it.
recipes() {
	local file version flags

	need make
	version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
	for file in rpm/xdp-bloom.spec openwrt/Makefile container/compose.yaml container/daemonset.yaml; do
		grep -qE "^(Version: +|PKG_VERSION:=| *image: localhost/xdp-bloom:)$version\$" "$top/packaging/$file" ||
			fail "packaging/$file is not of version $version"
	done
	# shellcheck disable=SC2016 # make's own
	make -s --no-print-directory -C "$top" --eval='names:;@printf "%s\n" $(DEPS)' names | sed '/^libc6-dev$/d; s/,.*//' | sort >wanted
	sed -n '/^Build-Depends:/,/^[A-Z]/p' "$top/packaging/debian/control" | sed '/^Standards/d; s/^Build-Depends://; s/([^)]*)//g' |
		tr -s ', ' '\n' | grep -vx 'debhelper-compat\|' | sort >named
	is "$(comm -3 wanted named)" "" "what only make (left) or packaging/debian/control (right) has"
	need cc
	# shellcheck disable=SC2016 # the recipe's own
	flags=$(sed -n 's/.*CPPFLAGS="$(TARGET_CPPFLAGS) \(-D[^"]*\)".*/\1/p' "$top/packaging/openwrt/Makefile")
	for file in $(cd "$top/user" && grep -lE '<(microhttpd|curses)\.h>' ./*/*.c); do
		# shellcheck disable=SC2086 # one word a flag
		cc -M -D_GNU_SOURCE $flags -I"$top" -I"$top/user" "$top/user/$file" >headers || fail "$file is not compiled"
		! grep -E 'microhttpd|curses' headers || fail "$file asks for a library that OpenWrt's recipe leaves out"
	done
}

run_cases by_each by_what_is_there by_none without_name fails by_newer_lists after_one_cut_off without_root every_package recipes

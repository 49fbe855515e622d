# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# apt with settings and state of its own, in $cache, for $arch: nothing on the machine changes. The packages come from
# where the machine has its own.

# apt_mirror LABEL: from the machine's own settings, where Debian itself is, or its security updates (Debian-Security),
# and nobody else's. A machine that keeps no lists of packages does not know; then with lists of our own.
apt_mirror() {
	local label=$1 own=${cache:?}/apt/own found
	local -a elsewhere=(-q=2 -o Dir::State="$own" -o Dir::Cache="$own")

	found=$(apt_place)
	if [ -z "$found" ]; then
		mkdir -p "$own/lists/partial"
		apt-get "${elsewhere[@]}" update >&2 && found=$(apt_place "${elsewhere[@]}")
		rm -rf "$own"
	fi
	echo "$found"
}

apt_place() {
	# shellcheck disable=SC2016 # apt's variables
	apt-get "$@" indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n "/^${label:?} /{s///p;q}"
}

apt_directory() {
	echo "${cache:?}/apt/$1-${arch:?}"
}

apt_log() {
	echo "$(apt_directory "$1")/log"
}

# 4: it is the registry that cannot be reached, or does not give.
apt_failed() {
	tail -n 5 "$(apt_log "$1")" >&2
	return 4
}

# apt RELEASE TOOL ARGS...
apt() {
	local state tool=$2

	state=$(apt_directory "$1")
	shift 2
	"$tool" -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$state" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state" \
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Acquire::Languages=none \
		-o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 -o Acquire::http::Timeout=20 \
		-o APT::Update::Error-Mode=any -o APT::Sandbox::User=root -q=2 "$@"
}

# apt_open RELEASE: knows what packages that release has.
apt_open() {
	local state mirror

	state=$(apt_directory "$1")
	rm -rf "$state"
	mkdir -p "$state/lists/partial" "$state/archives/partial"
	: >"$state/status"
	mirror=$(apt_mirror Debian)
	[ -n "$mirror" ] || { echo "apt knows no place that has Debian's packages" >&2 && return 4; }
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$state/sources.list"
	apt "$1" apt-get update >"$(apt_log "$1")" 2>&1 || apt_failed "$1"
}

apt_close() {
	rm -rf "$(apt_directory "$1")"
}

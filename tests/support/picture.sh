# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A copy-on-write picture of this machine. Nothing of the machine's own is in it: what goes wrong goes wrong in there.

# picture ROOT UPPER: at ROOT, with what is written in UPPER; fails where no overlay of / can be mounted.
picture() {
	local node

	mkdir -p "$1" "$2/changes" "$2/work"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$2/changes,workdir=$2/work" "$1" || return 1
	mount -t proc proc "$1/proc"
	mount -t sysfs sysfs "$1/sys"
	mount -t bpf bpf "$1/sys/fs/bpf"
	mount -t tmpfs tmpfs "$1/dev"
	for node in "null c 1 3" "zero c 1 5" "full c 1 7" "random c 1 8" "urandom c 1 9"; do
		# shellcheck disable=SC2086 # its name, kind and numbers
		mknod -m 666 "$1/dev/"$node
	done
}

# pictured: for a case of a test, behind lib.sh, one at root; its /mnt is the directory given.
pictured() {
	mkdir upper given
	trap 'umount -R root upper; stop_jobs' EXIT
	mount -t tmpfs tmpfs upper
	picture root upper || skip "cannot mount an overlay of /"
	mount --bind given root/mnt
}

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A systemd that is process 1, on a copy-on-write picture of this machine: behind lib.sh, for who has tmpfs at upper.
systemd=/lib/systemd/systemd
need unshare systemctl $systemd

# enter_cgroup DIRECTORY COMMAND...: where there are any.
enter_cgroup() (
	{ echo $BASHPID >"$1/cgroup.procs"; } 2>/dev/null
	shift
	exec "$@"
)

# boot: the machine comes up, runs root/etc/trial and goes down; what the trial says is in said.
boot() {
	local status own

	: >said
	# In a cgroup of its own: another one beside it would take what it finds there for its own.
	mkdir -p cgroup
	mount -t cgroup2 cgroup2 cgroup 2>/dev/null
	own=cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/xdp-bloom-test.$$
	mkdir "$own" 2>/dev/null
	# shellcheck disable=SC2016 # that shell's own
	enter_cgroup "$own" timeout -s KILL $((12 * ${patience:?})) unshare --mount --pid --fork --kill-child --cgroup --ipc --uts --net --propagation private \
		"$BASH" -c '
		. "$0/picture.sh"
		picture root upper || exit 4
		mount -t cgroup2 cgroup2 root/sys/fs/cgroup || exit 4
		mount -t tmpfs tmpfs root/run
		mount -t tmpfs tmpfs root/tmp
		mkdir root/dev/shm root/dev/pts root/dev/mqueue
		mount -t devpts devpts root/dev/pts
		ln -s pts/ptmx root/dev/ptmx
		touch root/run/said
		mount --bind said root/run/said
		# In a chroot no process gets users of its own, as units ask for.
		cd root
		pivot_root . mnt
		umount -l mnt
		exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin "$1" --system --unit=trial.service --log-target=null
	' "${here:?}" "$systemd" >booted 2>&1 </dev/null
	status=$?
	# systemd cannot take away the cgroup that it is in itself.
	find "$own" -depth -type d -exec rmdir {} \; 2>/dev/null
	umount cgroup 2>/dev/null
	case $status in
	0) ;;
	4) skip "the kernel has no overlayfs, or no cgroup2, in namespaces: $(head -1 booted)" ;;
	*) fail "systemd ended with $status: $(tail -3 booted); $(cat said)" ;;
	esac
}

# begin_trials CHANGES: what a machine that boots with these changes runs when it is up, before it goes down.
begin_trials() {
	local changes=$1

	mkdir -p "$changes/etc/systemd/system"
	cat >"$changes/etc/systemd/system/trial.service" <<-'UNIT'
		[Unit]
		DefaultDependencies=no
		Wants=xdp-bloom.service
		After=xdp-bloom.service

		[Service]
		Type=oneshot
		Environment=XDP_BLOOM=/usr/local/sbin/xdp-bloom
		ExecStart=/bin/sh /etc/trial
	UNIT
	cat >"$changes/etc/begin" <<-'SH'
		exec >/run/said 2>&1
		trap 'systemctl exit' EXIT
		state() { systemctl show -P "$2" "xdp-bloom$1.service"; }
		said() { echo "$*"; }
		cable() { ip link add edge0 type veth peer name wire0 && ip link set edge0 up && ip link set wire0 up; }
	SH
}

# The rest of what it runs; and it does.
trial() {
	{ echo '. /etc/begin'; cat; } >upper/changes/etc/trial
	boot
}

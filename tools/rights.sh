#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rights.sh: do we have the rights and the kernel that the demonstration and the tests need? It tries: namespaces, a bpffs
# and, once the command is built, a veth pair with the filter attached to it.
#   0  yes
#   1  no, an emulated machine has to do; standard output has the reason in a line
#   2  no, and VM=0 says that there is to be no machine
# VM=1 asks for the machine in any case.
set -u
top=$(realpath "$(dirname "$0")/..")
command=$top/build/xdp-bloom

if [ "${1:-}" = try ]; then
	mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf || exit
	[ -x "$command" ] || exit 0
	ip link add edge0 type veth peer name wire0 && "$command" -B /sys/fs/bpf/rights -S "$2" attach edge0
	exit
fi

if [ "${VM:-}" = 1 ]; then
	echo "VM=1 asks for it"
	exit 1
fi
state=$(mktemp -d) || exit
refused=$(unshare --net --mount "$0" try "$state" 2>&1 >/dev/null)
status=$?
rm -rf "$state"
[ $status != 0 ] || exit 0
refused=$(echo "$refused" | head -n 1)
if [ "${VM:-}" = 0 ]; then
	echo "VM=0, but this machine does not allow what is needed: $refused" >&2
	exit 2
fi
echo "this one does not allow what is needed: $refused"
exit 1

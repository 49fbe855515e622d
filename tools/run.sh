#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What make run IFACE=eth0 LIST=file does: filters that interface, and stays to show live counters until Ctrl-C.
set -eu
iface=$1
list=$2
xdp_bloom=${XDP_BLOOM:-build/xdp-bloom}
if [ -z "$list" ]; then
	echo "run: which list? make run IFACE=$iface LIST=my-list.txt" >&2
	exit 2
fi
"$xdp_bloom" load run "$list"
"$xdp_bloom" attach "$iface" || "$xdp_bloom" show
"$xdp_bloom" show
echo
echo "Live counters; Ctrl-C ends this view. The filter stays on. To stop it: $xdp_bloom detach $iface; $xdp_bloom unload run"
trap 'exit 0' INT
"$xdp_bloom" stats --interval 1 || true

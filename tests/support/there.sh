# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Another machine, which has images of this one: behind lib.sh and sandbox.

# there COMMAND...: with a state and pins of its own.
there() {
	XDP_BLOOM_STATE=$WORK/there XDP_BLOOM_BPFFS=/sys/fs/bpf/there "$@"
}

# A reboot takes the pins, and nothing else.
reboot_there() {
	rm -rf /sys/fs/bpf/there
}

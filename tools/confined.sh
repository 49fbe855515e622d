#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# confined.sh COMMAND...: runs it with the capabilities that Docker gives a container by default: no BPF, no network
# administration, no namespaces.
set -eu

# docs.docker.com/engine/security: "the default list of capabilities"
kept=" chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap "
dropped=
for capability in $(capsh --decode="$(sed -n 's/^CapBnd:\t//p' /proc/self/status)" | sed 's/.*=//; s/,/ /g'); do
	[[ $kept = *" ${capability#cap_} "* ]] || dropped+=,$capability
done
# shellcheck disable=SC2016 # that shell's own
exec capsh --drop="${dropped#,}" -- -c 'exec "$@"' confined "$@"

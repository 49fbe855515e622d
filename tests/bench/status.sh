#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# How long status takes with many lists and a million bans, each of which has an end and a reason: make status-test.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

lists=${XDP_BLOOM_LISTS:-200}
bans=${XDP_BLOOM_BANS:-1000000}

in_ten_ms() {
	local n

	veth 0
	for ((n = 0; n < lists; n++)); do
		echo "100.64.$n.0/24" >"list$n"
		echo "load list$n '$WORK/list$n'"
	done >commands
	bloom batch commands
	patience=600
	python3 -c "for n in range($bans): print('%d.%d.%d.%d' % (11 + (n >> 24), n >> 16 & 255, n >> 8 & 255, n & 255))" >banned
	bloom add - --ttl 1d --reason 'sshd: five wrong passwords in ten minutes' --force <banned
	bloom attach edge0
	: >conf
	ready
	is "$(get '[(.lists|length),.bans]' status)" "[$lists,$bans]" "what status has to say"
	python3 - "$XDP_BLOOM" <<-'PYTHON' || fail "that is more than 10 ms"
		import resource, subprocess, sys, time

		def once():
		    began = time.monotonic()
		    subprocess.run([sys.argv[1], "status"], stdout=subprocess.DEVNULL, check=True)
		    return (time.monotonic() - began) * 1e3

		times = sorted(once() for _ in range(101))
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		taken = (used.ru_utime + used.ru_stime) / 101 * 1e3
		print("# status: %.1f ms in the middle, %.1f to %.1f in nine of ten, %.1f ms of a CPU" % (
		    times[50], times[5], times[95], taken))
		# Beside other work most of them wait for a processor.
		sys.exit(taken > 10 or times[10] > 10)
	PYTHON
	stop
}

run_cases in_ten_ms

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# follow crowdsec: the kernel's verdicts are what an agent has decided, and no failure lets anybody go. Beside a real one
# where XDP_BLOOM_CROWDSEC says for how many seconds, how many decisions, and how many at the start: make crowdsec-test.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
tests=$here/../net

refuses() {
	refused "its key goes into a file" follow crowdsec
	refused "only 'follow crowdsec'" follow - --interval 3s
	refused "No such file" follow crowdsec --key-file nowhere
	echo key >key
	refused "others may read it" follow crowdsec --key-file key
	chmod 600 key
	refused "only https" follow crowdsec --key-file key --url ftp://127.0.0.1
	refused "says nothing about who answers" follow crowdsec --key-file key --url http://192.0.2.1:8080
	refused "its port is none" follow crowdsec --key-file key --url http://127.0.0.1:8080x
	refused "there is no such user" follow crowdsec --key-file key --agent-user no-such-user
	refused "is it asked whose it is" follow crowdsec --key-file key --agent-user root --url https://127.0.0.1:8080
	refused "only 'follow crowdsec'" follow - --agent-user root
	printf 'two words\n' >key
	refused "no key" follow crowdsec --key-file key
	printf '%255s\n' '' | tr ' ' a >key
	refused "no key" follow crowdsec --key-file key
}

answers() {
	ip link set lo up
	python3 "$tests/crowdsec_stub.py" || fail "see above"
}

# As another user than root, who was named.
of_a_user() {
	ip link set lo up
	python3 "$tests/crowdsec_stub.py" user nobody || fail "see above"
}

# As a line of the config file, which comes and goes.
by_service() {
	ip link set lo up
	python3 "$tests/crowdsec_stub.py" service || fail "see above"
}

real_agent() {
	local n

	need crowdsec cscli
	ip link set lo up
	read -ra n <<<"$XDP_BLOOM_CROWDSEC"
	python3 "$tests/crowdsec.py" "${n[@]}" || fail "see above"
}

# Ten minutes: make crowdsec-test.
run_cases refuses answers of_a_user by_service ${XDP_BLOOM_CROWDSEC:+real_agent}

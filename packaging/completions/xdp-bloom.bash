# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. Verbs come from the command itself, lists and interfaces from the machine.

_xdp_bloom_options() {
	case $1 in
	attach) echo '--mode --shared --confirm --if-needed' ;;
	detach) echo '--all' ;;
	load) echo '--allow --shadow --format --skip-bad --dry-run --confirm --if-changed --bogons --ban-own --wide' \
		'--big-change --force --image' ;;
	unload | enforce | shadow | allow | disallow) echo '--force' ;;
	add) echo '--ttl --reason --keep-longer --force' ;;
	del) echo '--reason' ;;
	stats) echo '--interval --count' ;;
	report) echo '--last --top --html' ;;
	watch) echo '--count --duration' ;;
	capture) echo '--write --count --duration' ;;
	tune) echo '--exact --labels --fpr --layout --k --headroom --memory --samples' ;;
	plan) echo '--keys --keys6 --fpr --memory --exact --layout --headroom --format --skip-bad' ;;
	set) echo '--format --skip-bad --output --name' ;;
	run) echo '--config --check --listen --rotate-every --hook' ;;
	image) echo '--like' ;;
	esac
}

# As compgen takes it. zsh, which reads this file, has another.
_xdp_bloom_offer() {
	local -a words

	mapfile -t words < <(compgen "$@" -- "$cur")
	COMPREPLY+=("${words[@]}")
}

_xdp_bloom() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb='' i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-S | -B | --state | --bpffs | --log | --wait) i=$((i + 1)) ;;
		-*) ;;
		*)
			verb=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	case $prev in
	-S | -B | --state | --bpffs) _xdp_bloom_offer -d && return ;;
	--log) _xdp_bloom_offer -W 'text json' && return ;;
	--mode) _xdp_bloom_offer -W 'auto native skb' && return ;;
	--exact | --labels) _xdp_bloom_offer -W 'on off' && return ;;
	--layout) _xdp_bloom_offer -W 'auto lanes lanes2 classic' && return ;;
	--bogons) _xdp_bloom_offer -W 'keep refuse' && return ;;
	--last) _xdp_bloom_offer -W 'minute hour day' && return ;;
	--format | --output)
		_xdp_bloom_offer -W 'plain netmask range mixed label hosts p2p dat csv json ipset nft' && return
		;;
	--image | --write | -w | --config | --hook | --like) _xdp_bloom_offer -f && return ;;
	esac
	if [ -z "$verb" ]; then
		_xdp_bloom_offer -W "$("${COMP_WORDS[0]}" --help 2>/dev/null |
			sed -n '/^$/,/^$/s/^  \([a-z]\+\) .*/\1/p' | sort -u) --json --pretty --quiet --verbose --state --bpffs
			--wait --check --log --version --help" && return
	fi
	if [[ $cur == -* ]]; then
		_xdp_bloom_offer -W "$(_xdp_bloom_options "$verb") --json --pretty --quiet --verbose --state --bpffs
			--wait --check --log" && return
	fi
	case $verb in
	attach | detach)
		_xdp_bloom_offer -W "$(find /sys/class/net -mindepth 1 -printf '%f ' 2>/dev/null)"
		;;
	unload | enforce | shadow | compare)
		_xdp_bloom_offer -W "$("${COMP_WORDS[0]}" -j lists 2>/dev/null |
			grep -o '"name":"[^"]*"' | cut -d'"' -f4)"
		;;
	set)
		_xdp_bloom_offer -W 'union intersect subtract diff count merge'
		_xdp_bloom_offer -f
		;;
	image)
		_xdp_bloom_offer -W 'show make union'
		_xdp_bloom_offer -f
		;;
	state) _xdp_bloom_offer -W 'check recover' ;;
	*) _xdp_bloom_offer -f ;;
	esac
}

[ -z "${BASH_VERSION:-}" ] || complete -o filenames -o bashdefault -F _xdp_bloom xdp-bloom

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. Verbs come from the command itself, lists and interfaces from the machine.

_xdp_bloom_options() {
	case $1 in
	attach) echo '--mode --shared --confirm --if-needed' ;;
	detach) echo '--all' ;;
	load) echo '--allow --shadow --format --skip-bad --dry-run --confirm --if-changed --bogons --ban-own --big-change' \
		'--force --image' ;;
	unload | enforce | shadow | allow | disallow) echo '--force' ;;
	add) echo '--ttl --reason --force' ;;
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
	-S | -B | --state | --bpffs) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
	--log) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur") && return ;;
	--mode) mapfile -t COMPREPLY < <(compgen -W 'auto native skb' -- "$cur") && return ;;
	--exact | --labels) mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$cur") && return ;;
	--layout) mapfile -t COMPREPLY < <(compgen -W 'auto lanes lanes2 classic' -- "$cur") && return ;;
	--bogons) mapfile -t COMPREPLY < <(compgen -W 'keep refuse' -- "$cur") && return ;;
	--last) mapfile -t COMPREPLY < <(compgen -W 'minute hour day' -- "$cur") && return ;;
	--format | --output)
		mapfile -t COMPREPLY < <(compgen -W 'plain netmask range mixed label hosts p2p dat csv json ipset nft' -- "$cur")
		return
		;;
	--image | --write | -w | --config | --hook | --like) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
	esac
	if [ -z "$verb" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null |
			sed -n '/^$/,/^$/s/^  \([a-z]\+\) .*/\1/p' | sort -u) --json --pretty --quiet --verbose --state --bpffs
			--wait --check --log --version --help" -- "$cur")
		return
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_xdp_bloom_options "$verb") --json --pretty --quiet --verbose --state --bpffs
			--wait --check --log" -- "$cur")
		return
	fi
	case $verb in
	attach | detach)
		mapfile -t COMPREPLY < <(compgen -W "$(find /sys/class/net -mindepth 1 -printf '%f ' 2>/dev/null)" -- "$cur")
		;;
	unload | enforce | shadow | compare)
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" -j lists 2>/dev/null |
			grep -o '"name":"[^"]*"' | cut -d'"' -f4)" -- "$cur")
		;;
	set)
		mapfile -t COMPREPLY < <(compgen -W 'union intersect subtract diff count merge' -- "$cur"; compgen -f -- "$cur")
		;;
	image) mapfile -t COMPREPLY < <(compgen -W 'show make union' -- "$cur"; compgen -f -- "$cur") ;;
	state) mapfile -t COMPREPLY < <(compgen -W 'check recover' -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}

complete -o filenames -o bashdefault -F _xdp_bloom xdp-bloom

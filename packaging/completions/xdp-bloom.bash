# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash. Verbs, options and what they take come from the command itself, lists and interfaces from the
# machine.

# -W WORDS, -f files or -d directories. zsh, which reads this file, has another. compgen -W would run what stands in a
# word: the names are other people's.
_xdp_bloom_offer() {
	local -a words
	local word

	if [ "$1" = -W ]; then
		read -r -d '' -a words <<<"$2"
	else
		mapfile -t words < <(compgen "$1" -- "$cur")
	fi
	for word in "${words[@]}"; do
		[[ $word != "$cur"* ]] || COMPREPLY+=("$word")
	done
}

# What an option or an operand takes, as --list-options says it: words, and then a kind.
_xdp_bloom_takes() {
	case $1 in
	*'<file>') _xdp_bloom_offer -f ;;
	*'<directory>') _xdp_bloom_offer -d ;;
	*'<interface>') _xdp_bloom_offer -W "$(find /sys/class/net -mindepth 1 -printf '%f ' 2>/dev/null)" ;;
	*'<list>')
		_xdp_bloom_offer -W "$("${COMP_WORDS[0]}" -j lists 2>/dev/null |
			grep -o '"name":"[^"]*"' | cut -d'"' -f4)"
		;;
	esac
	_xdp_bloom_offer -W "${1%%[<]*}"
}

_xdp_bloom() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb='' name takes i
	local options tab=$'\t' newline=$'\n'

	COMPREPLY=()
	# bash makes three words of --exact=on.
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[ "$cur" != = ] || cur=
	options=$newline$("${COMP_WORDS[0]}" --list-options 2>/dev/null)
	for ((i = 1; i < COMP_CWORD && ${#verb} == 0; i++)); do
		case ${COMP_WORDS[i]} in
		-*) [[ $options != *"$newline${COMP_WORDS[i]}$tab"* ]] || i=$((i + 1)) ;;
		*) verb=${COMP_WORDS[i]} ;;
		esac
	done
	[ -z "$verb" ] || [ "$verb" = help ] || options=$("${COMP_WORDS[0]}" --list-options "$verb" 2>/dev/null)
	# Behind an option that takes something there is nothing else.
	while IFS=$tab read -r name takes; do
		[ "$name" != "$prev" ] || [ -z "$takes" ] || { _xdp_bloom_takes "$takes" && return; }
	done <<<"$options"
	takes=
	while IFS= read -r name; do
		case $name in
		-*) [[ -n $verb && $cur != -* ]] || takes="${name%%"$tab"*} $takes" ;;
		"$tab"*) [[ $cur == -* ]] || takes=$takes${name#"$tab"} ;;
		*) takes="$name $takes" ;;
		esac
	done <<<"$options"
	_xdp_bloom_takes "$takes"
}

[ -z "${BASH_VERSION:-}" ] || complete -o filenames -o bashdefault -F _xdp_bloom xdp-bloom

# trailer succeeds if a message may name a receiver. What follows the scissors
# is the diff of "commit -v". The shell reads byte by byte, so of a message of
# 500 lines or more githandoff itself shall judge.
trailer() {
	[ -r "$1" ] || return 1
	lines=0
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		[Hh][Aa][Nn][Dd][Oo][Ff][Ff]-[Tt][Oo][!A-Za-z0-9-]*) return 0 ;;
		*' ------------------------ >8 ------------------------') return 1 ;;
		esac
		lines=$((lines + 1))
		[ "$lines" -lt 500 ] || return 0
	done <"$1"
	return 1
}

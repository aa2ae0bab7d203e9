# trailer succeeds if the message of the commit may name a receiver. What
# follows the scissors is the diff of "commit -v". The shell reads byte by byte,
# so of a message of 500 lines or more githandoff itself shall judge.
trailer() {
	[ -r "$git_dir/COMMIT_EDITMSG" ] || return 1
	lines=0
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		[Hh][Aa][Nn][Dd][Oo][Ff][Ff]-[Tt][Oo][!A-Za-z0-9-]*) return 0 ;;
		*' ------------------------ >8 ------------------------') return 1 ;;
		esac
		lines=$((lines + 1))
		[ "$lines" -lt 500 ] || return 0
	done <"$git_dir/COMMIT_EDITMSG"
	return 1
}

# wanted decides with what the shell has built in: a commit without a handoff
# starts no process.
wanted() {
	find_git_dir
	[ -e .handoff.json ] || [ -e "$git_dir/githandoff/draft.json" ] || claimed || trailer
}

status=0
if [ -x "$before" ]; then
	"$before" "$@" || status=$?
fi
if wanted; then run "$@"; fi
exit "$status"

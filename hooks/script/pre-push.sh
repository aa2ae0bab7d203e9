# Arguments: remote, url. Standard input: what is pushed, a line for each ref.

# ready succeeds where "githandoff init" was run: elsewhere nothing waits for
# delivery. Linked worktrees share the directory that it makes.
ready() {
	find_git_dir
	common_dir=${GIT_COMMON_DIR:-$git_dir}
	if [ -f "$common_dir/commondir" ]; then
		IFS= read -r common_dir <"$common_dir/commondir"
		case $common_dir in
		/*) ;;
		*) common_dir=$git_dir/$common_dir ;;
		esac
	fi
	[ -d "$common_dir/githandoff" ]
}

# verdict ends the hook. 7 says that the push is outside of the authority under
# which this agent works; nothing else that befalls githandoff stops git.
verdict() {
	if [ "$1" -eq 7 ]; then exit 1; fi
	exit 0
}

if [ ! -x "$before" ]; then
	ready || exit 0
	run "$@"
	verdict $?
fi
ready || {
	chain "$@"
	exit
}
input=$(cat && echo .)
feed chain "$@" || exit
feed run "$@"
verdict $?

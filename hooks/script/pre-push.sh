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

if [ ! -x "$before" ]; then
	if ready; then run "$@"; fi
	exit 0
fi
ready || exec "$before" "$@"
input=$(cat && echo .)
feed "$before" "$@" || exit
feed run "$@"
exit 0

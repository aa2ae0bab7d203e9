# wanted decides with what the shell has built in: a commit without a handoff
# starts no process.
wanted() {
	find_git_dir
	[ -e .handoff.json ] || [ -e "$git_dir/githandoff/draft.json" ] || claimed || trailer "$git_dir/COMMIT_EDITMSG"
}

status=0
if [ -x "$before" ]; then
	chain "$@" || status=$?
fi
if wanted; then run "$@"; fi
exit "$status"

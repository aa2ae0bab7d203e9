# find_git_dir sets git_dir. git starts a hook at the top of the work tree (or,
# if there is none, in the git directory), and sets GIT_DIR where .git would
# not be found from there. In a linked worktree and in a submodule .git is a
# file that says where.
find_git_dir() {
	git_dir=${GIT_DIR:-.git}
	if [ -f "$git_dir" ]; then
		IFS= read -r git_dir <"$git_dir"
		git_dir=${git_dir#gitdir: }
	fi
}

# Only a commit that is made under a claim has something to say.
if [ -x "$before" ]; then
	chain "$@" || exit
fi
find_git_dir
if claimed; then run "$@"; fi
exit 0

# claimed succeeds if a claim is held in this worktree.
claimed() {
	for claim in "$git_dir"/githandoff/claims/*.json; do
		[ ! -e "$claim" ] || return 0
	done
	return 1
}

# borrowed succeeds if git may have taken the message from another commit or
# from a template, together with the name of a receiver, or if it did so the
# last time.
borrowed() {
	[ ! -e "$git_dir/githandoff/borrowed-message" ] || return 0
	case $2 in
	merge | squash | commit | template) trailer "$1" ;;
	*) return 1 ;;
	esac
}

# Elsewhere only a commit made under a claim has something to say.
if [ -x "$before" ]; then
	chain "$@" || exit
fi
find_git_dir
if claimed || borrowed "$@"; then run "$@"; fi
exit 0

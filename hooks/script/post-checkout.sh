# Arguments: old HEAD, new HEAD, and 1 if a branch, not a file, was checked out.
status=0
if [ -x "$before" ]; then
	chain "$@" || status=$?
fi
if [ "$3" = 1 ]; then run "$@"; fi
exit "$status"

# Argument: amend or rebase. Standard input: "old new" for each commit.
if [ ! -x "$before" ]; then
	run "$@"
	exit 0
fi
status=0
input=$(cat && echo .)
feed chain "$@" || status=$?
feed run "$@"
exit "$status"

# Argument: 1 for a squash merge, else 0.
status=0
if [ -x "$before" ]; then
	chain "$@" || status=$?
fi
run "$@"
exit "$status"

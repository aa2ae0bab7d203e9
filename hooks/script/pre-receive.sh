# Standard input: "old new ref" for each ref that a push wants to change. This
# hook guards, so unlike the others it lets nothing pass without githandoff.
[ -x "$githandoff" ] || githandoff=githandoff
if ! command -v "$githandoff" >/dev/null 2>&1; then
	echo 'githandoff: not found, so this push cannot be checked and is refused' >&2
	exit 1
fi
[ -x "$before" ] || exec "$githandoff" hook run "$hook" "$@"
input=$(cat && echo .) || exit
feed chain "$@" || exit
feed "$githandoff" hook run "$hook" "$@"

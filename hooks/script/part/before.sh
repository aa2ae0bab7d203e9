# The hook that was here before goes first. A copy of this file in its place
# must not run itself for ever.
before=${0%/*}/$hook.before-githandoff
if [ "$0" = "$before" ]; then exit 0; fi

# by_name succeeds if the hook of before is a shell script that looks at $0, as
# those of hook managers do to learn which hook they are. One that starts $0
# again comes here twice; then it keeps the name of its file.
by_name() {
	[ "${GITHANDOFF_BEFORE-}" != "$hook" ] || return 1
	{
		IFS= read -r shell
		case $shell in
		'#!'*[/\ ]sh | '#!'*[/\ ]sh' -'[a-z]*) ;;
		'#!'*[/\ ]dash | '#!'*[/\ ]dash' -'[a-z]*) ;;
		'#!'*[/\ ]bash | '#!'*[/\ ]bash' -'[a-z]*) ;;
		*) return 1 ;;
		esac
		found=1
		while IFS= read -r line || [ -n "$line" ]; do
			case $line in
			*BASH_SOURCE* | '# githandoff hook '*) return 1 ;;
			*'$0'* | *'${0'*) found=0 ;;
			esac
		done
	} <"$before"
	return "$found"
}

# chain runs the hook of before.
chain() {
	if by_name; then
		GITHANDOFF_BEFORE=$hook ${shell#??} -c '. "$0.before-githandoff"' "${0%/*}/$hook" "$@"
	else
		"$before" "$@"
	fi
}

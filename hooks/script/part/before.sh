# The hook that was here before goes first. A copy of this file in its place
# must not run itself for ever.
before=${0%/*}/$hook.before-githandoff
if [ "$0" = "$before" ]; then exit 0; fi

# If that hook, run by_name, starts $0 again, it means itself.
case " ${GITHANDOFF_BEFORE-} " in
" $$ "* | " $PPID "*) [ ! -x "$before" ] || exec "$before" "$@" ;;
esac

# by_name succeeds if the hook of before is a shell script that asks $0 for its
# name or directory, as those of hook managers do to learn which hook they are.
# One that reads or starts $0, or follows it as a symbolic link, means its file.
# A chain of hooks that start git ends with the name of the file as well.
by_name() {
	case ${GITHANDOFF_BEFORE-} in *' '*' '*' '*) return 1 ;; esac
	{
		IFS= read -r shell
		case $shell in
		'#!'*[/\ ]sh | '#!'*[/\ ]sh' -'[a-z]*) ;;
		'#!'*[/\ ]dash | '#!'*[/\ ]dash' -'[a-z]*) ;;
		'#!'*[/\ ]bash | '#!'*[/\ ]bash' -'[a-z]*) ;;
		*) return 1 ;;
		esac
		found=1
		while read -r line || [ -n "$line" ]; do
			case $line in
			*BASH_SOURCE* | '# githandoff hook '*) return 1 ;;
			*'$0'* | *'${0'*) ;;
			*) continue ;;
			esac
			case $line in
			*readlink*0* | *realpath*0* | *' -'[Lh]' '*0*) return 1 ;;
			*'${0'[#%]* | *name*'$0'* | *case*'$0'* | *'[ '*'$0'*) found=0 ;;
			*'$0'[-._]* | *'${0}'[-._]*) found=0 ;;
			'#'* | echo* | printf* | *'>&2'*) ;;
			*) return 1 ;;
			esac
		done
	} <"$before"
	return "$found"
}

# chain runs the hook of before.
chain() {
	if by_name; then
		${shell#??} -c 'GITHANDOFF_BEFORE="$$ ${GITHANDOFF_BEFORE-}"; export GITHANDOFF_BEFORE; . "$0.before-githandoff"' "${0%/*}/$hook" "$@"
	else
		"$before" "$@"
	fi
}

# The hook that was here before goes first. A copy of this file in its place
# must not run itself for ever.
before=${0%/*}/$hook.before-githandoff
if [ "$0" = "$before" ]; then exit 0; fi

# If that hook, run under our name, starts $0 again, it means itself.
case " ${GITHANDOFF_BEFORE-} " in
" $$ "* | " $PPID "*) [ ! -x "$before" ] || exec "$before" "$@" ;;
esac

# chain runs the hook of before: as its file, or, where $shell is set, read by
# that shell under the name of the hook. A chain of hooks that start git ends
# with the file as well.
chain() {
	case ${GITHANDOFF_BEFORE-} in *' '*' '*' '*) shell= ;; esac
	if [ -n "$shell" ]; then
		$shell -c 'GITHANDOFF_BEFORE="$$ ${GITHANDOFF_BEFORE-}"; export GITHANDOFF_BEFORE; . "$0.before-githandoff"' "${0%/*}/$hook" "$@"
	else
		"$before" "$@"
	fi
}

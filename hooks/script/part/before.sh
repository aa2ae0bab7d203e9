# The hook that was here before goes first. A copy of this file in its place
# must not run itself for ever.
before=${0%/*}/$hook.before-githandoff
if [ "$0" = "$before" ]; then exit 0; fi

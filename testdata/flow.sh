#!/bin/sh
# Prints how much code a command runs: functions, files and packages of an "emit" to a hub,
# of the "resume" that takes it from there, and of the "ack" that ends it, by a build that
# counts coverage. It fails if one runs more functions or files than testdata/flow.txt
# allows. A change that needs more raises the number there, where a reviewer sees it.
#
#   sh testdata/flow.sh [-v] [emit|resume|ack]...      -v also lists each function
#
# Which functions run depends on the version of git, so that only people run this, not CI.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
verbose=
if [ "${1-}" = -v ]; then
	verbose=1
	shift
fi
[ $# -gt 0 ] || set -- emit resume ack
top=$(mktemp -d "${TMPDIR:-/tmp}/githandoff-flow.XXXXXX")
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM

cd "$root"
mkdir "$top/bin" "$top/aside" "$top/home" "$top/work" "$top/emit" "$top/resume" "$top/ack"
go build -cover -covermode=set -coverpkg=./... -o "$top/bin/githandoff" ./cmd/githandoff

# The caller's own repository, identity and settings stay out of it.
for name in $(env | sed -n 's/^\(GIT[A-Z_0-9]*\)=.*/\1/p'); do
	unset "$name"
done
export PATH="$top/bin:$PATH" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C GOCOVERDIR="$top/aside"
GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE)
export GOCACHE GOMODCACHE HOME="$top/home"
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
git config --global user.name Alice
git config --global user.email alice@example.com
git config --global init.defaultBranch main

cd "$top/work"
git init --quiet --bare hub.git
for agent in planner fixer; do
	git clone --quiet hub.git $agent 2>/dev/null
	githandoff -C $agent --quiet init --as $agent >/dev/null
	githandoff -C $agent key export >$agent.asc
done
(cd planner && githandoff --quiet trust add ../fixer.asc --agent fixer) >/dev/null
(cd fixer && githandoff --quiet trust add ../planner.asc --agent planner) >/dev/null

GOCOVERDIR="$top/emit" githandoff -C planner --quiet emit --to fixer@origin --goal 'keep a nil session out of the handlers' >/dev/null
GOCOVERDIR="$top/resume" githandoff -C fixer --quiet resume >/dev/null
GOCOVERDIR="$top/ack" githandoff -C fixer --quiet ack --summary 'no handler takes a nil session' >/dev/null

# A line of the list is "file:line:  function  percent".
cd "$root"
status=0
for command; do
	go tool covdata textfmt -i "$top/$command" -o "$top/profile"
	go tool cover -func "$top/profile" >"$top/functions"
	awk -v verbose="$verbose" -v command="$command" '
		FNR == NR { most[$1] = $2; mostFiles[$1] = $3; next }
		$NF != "0.0%" && $1 ~ /\.go:/ {
			sub(/:[0-9]+:$/, "", $1)
			functions++
			if (!seen[$1]++) files++
			package = $1
			sub(/\/[^\/]*$/, "", package)
			if (!seen[package]++) packages++
			if (verbose) print command, $1, $2
		}
		END {
			printf "%s at a hub: %d functions in %d files of %d packages\n", command, functions, files, packages
			if (functions > most[command] || files > mostFiles[command]) {
				printf "testdata/flow.txt allows %d functions in %d files\n", most[command], mostFiles[command] > "/dev/stderr"
				exit 1
			}
		}' testdata/flow.txt "$top/functions" || status=1
done
exit $status

#!/bin/sh
# Prints how much code one command runs: functions, files and packages of a
# "resume" that takes a handoff from a hub, by a build that counts coverage.
#
#   sh testdata/flow.sh [-v]      -v also lists each function
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
verbose=${1-}
top=$(mktemp -d "${TMPDIR:-/tmp}/githandoff-flow.XXXXXX")
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM

cd "$root"
mkdir "$top/bin" "$top/cover" "$top/aside" "$top/home" "$top/work"
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
	githandoff -C $agent init --as $agent >/dev/null
	githandoff -C $agent key export >$agent.asc
done
(cd planner && githandoff trust add ../fixer.asc --agent fixer) >/dev/null
(cd fixer && githandoff trust add ../planner.asc --agent planner) >/dev/null
githandoff -C planner emit --to fixer@origin --goal 'keep a nil session out of the handlers' >/dev/null

GOCOVERDIR="$top/cover" githandoff -C fixer --quiet resume >/dev/null

# A block of the profile is "file:from.column,to.column statements count".
cd "$root"
go tool covdata textfmt -i "$top/cover" -o "$top/profile"
go tool cover -func "$top/profile" |
awk -v verbose="$verbose" '
	$NF != "0.0%" && $1 ~ /\.go:/ {
		sub(/:[0-9]+:$/, "", $1)
		functions++
		if (!seen[$1]++) files++
		package = $1
		sub(/\/[^\/]*$/, "", package)
		if (!seen[package]++) packages++
		if (verbose == "-v") print $1, $2
	}
	END { printf "resume from a hub: %d functions in %d files of %d packages\n", functions, files, packages }'

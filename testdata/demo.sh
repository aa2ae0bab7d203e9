#!/bin/sh
# Hands work over between two repositories that share no history, start to end,
# and then checks that nothing else was touched and that nothing is left.
#
#   sh testdata/demo.sh BIN
#
# BIN is the githandoff program. All of it happens in a temporary directory, with a
# home, keys and settings of its own, and is removed at the end.
set -eu

fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

[ $# -eq 1 ] && [ -x "$1" ] || fail 'usage: sh testdata/demo.sh BIN'
payload=$(cd "$(dirname "$0")" && pwd)/kelos-handoff.json
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

top=$(mktemp -d "${TMPDIR:-/tmp}/githandoff-demo.XXXXXX")
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM

# The caller's own repository, identity and settings stay out of it.
for name in $(env | sed -n 's/^\(GIT[A-Z_0-9]*\)=.*/\1/p'); do
	unset "$name"
done
mkdir "$top/bin" "$top/home" "$top/work"
ln -s "$bin" "$top/bin/githandoff"
export PATH="$top/bin:$PATH" HOME="$top/home" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC
export XDG_CONFIG_HOME="$HOME/.config" XDG_DATA_HOME="$HOME/.local/share" XDG_CACHE_HOME="$HOME/.cache"
git config --global user.name Alice
git config --global user.email alice@example.com
git config --global init.defaultBranch main
git config --global gc.autoDetach false
git config --global safe.bareRepository all # git 3.0 finds the hub by its directory only with it
cd "$top/work"

step() { printf '\n=== %s\n' "$*"; }

# run DIR COMMAND prints a command as it would be typed in DIR, and runs it.
run() {
	printf '\n%s$ %s\n' "$1" "$2"
	(cd "$1" && eval "$2") 2>&1 || fail "in $1: $2"
}

# place REPOSITORY is what handing over must not change.
place() {
	git -C "$1" symbolic-ref HEAD
	git -C "$1" for-each-ref refs/heads refs/tags refs/remotes
	[ "$1" = client.git ] || git -C "$1" ls-files --stage
}

step 'Two repositories without a common history: vox finds bugs, client fixes them'
git init --quiet vox
echo 'GET /protected answers 500' >vox/report.txt
git -C vox add report.txt
git -C vox commit --quiet -m 'Record what users see'
git init --quiet --bare client.git
git clone --quiet client.git client 2>/dev/null
echo 'package auth' >client/auth.go
git -C client add auth.go
git -C client commit --quiet -m 'Add package auth'
git -C client push --quiet origin main
run vox 'git log --oneline'
run client 'git log --oneline && git remote -v'
place client >"$top/client.before"
place client.git >"$top/client.git.before"

step 'In each works an agent, with a key of its own; in vox git hooks help it'
run vox 'githandoff init --as investigator --hooks'
run client 'githandoff init --as fixer'
run vox 'githandoff repo add client ../client.git'

step 'Each side pins the key of the other: nothing else is ever believed'
run vox 'githandoff key export >../investigator.asc'
run client 'githandoff key export >../fixer.asc'
run vox 'githandoff trust add ../fixer.asc --agent fixer'
run client 'githandoff trust add ../investigator.asc --agent investigator'

step 'A commit hands work over: its trailers say to whom'
echo 'its session cookie has expired' >>vox/report.txt
git -C vox add report.txt
run vox "git commit --quiet -m 'Find what LIN-423 is' \\
    -m 'The handler takes a session that is nil for one that is not.' \\
    -m 'Handoff-To: fixer@client
Handoff-Task: LIN-423
Handoff-Goal: keep a nil session out of the handlers'"
from_commit=$(git -C vox for-each-ref --format='%(refname:lstrip=4)' refs/handoffs/outbox)
place vox >"$top/vox.before"

step 'So does a file that the agent wrote, here in the format of Kelos'
cp "$payload" vox/.git/findings.json
run vox 'cat .git/findings.json'
run vox 'githandoff emit --to fixer@client --task LIN-423 -f .git/findings.json'
from_file=$(git -C client.git for-each-ref --format='%(refname:lstrip=4)' refs/handoffs/inbox)
rm vox/.git/findings.json

step 'emit delivers at once; what a commit queued goes with the next push or sync'
run vox 'githandoff status && githandoff sync'
run client.git 'git for-each-ref refs/handoffs'
for id in $from_commit $from_file; do
	blobs="${blobs-} $(git -C client.git rev-parse "refs/handoffs/inbox/fixer/$id:handoff.json")"
done

step 'The fixer takes them, each exactly once, works, and acknowledges'
run client 'githandoff inbox'
run client "githandoff resume $from_file"
run client "githandoff show $from_file --detail"
run client "githandoff ack $from_file --summary 'nil check before the session is used' --result pr=17"
run client "githandoff resume $from_commit"
run client "githandoff ack $from_commit --result pr=18"
run client 'githandoff resume || echo "exit $?"'

step 'The receipts come back to vox, and git log shows them'
run vox 'githandoff sync'
run vox 'git log -1'

step 'The log stays: signed, without the content, in every repository that took part'
run vox "git log --reverse --glob='refs/handoffs/*log/*' --date=iso \\
    --format='%ad %s%n    task %(trailers:key=Handoff-Task,valueonly,separator=%x20) %(trailers:key=Handoff-Data,valueonly,separator=%x20)'"
run vox 'githandoff audit'

step 'Nothing else was touched, and nothing is left'
for repo in vox client client.git; do
	git -C $repo gc --quiet --prune=now
	place $repo | cmp -s - "$top/$repo.before" || fail "$repo: HEAD, the index or a branch has changed"
	[ $repo = client.git ] || [ -z "$(git -C $repo status --porcelain --ignored)" ] || fail "$repo: the work tree has changed"
	left=$(git -C $repo for-each-ref --format='%(refname)' | grep -E '^refs/handoffs/(.*/)?(inbox|outbox|sent)/' || :)
	[ -z "$left" ] || fail "$repo: still there: $left"
	for blob in $blobs; do
		! git -C $repo cat-file -e "$blob" 2>/dev/null || fail "$repo: payload $blob outlived its receipt and git gc"
	done
	said=$(git -C $repo fsck --strict --no-progress 2>&1) || fail "$repo: git fsck: $said"
	[ -z "$said" ] || fail "$repo: git fsck --strict says: $said"
	echo "$repo: HEAD, index and branches as before; payloads gone after git gc; git fsck --strict is silent"
done
for repo in vox client; do
	githandoff -C $repo audit >"$top/audit" || fail "$repo: githandoff audit ended with $?"
	[ "$(wc -l <"$top/audit")" -eq 6 ] || fail "$repo: the audit has other than 6 entries: $(cat "$top/audit")"
	if grep -q 'null pointer' "$top/audit"; then fail "$repo: the log has content of a payload"; fi
	echo "$repo: githandoff audit finds 6 entries and nothing wrong"
done

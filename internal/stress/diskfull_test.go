package stress

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/gittest"
)

// The repository is on a full disk. Nothing is recorded, and the same command works once there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	out := inNamespace(t, w, boss, `
		mount -t tmpfs -o size=4m tmpfs "$1"
		cp -a . "$1/repo"; cd "$1/repo"
		before=$("$2" emit --to boss --goal before)
		for size in 1M 64k 4k 1k; do
			n=0
			while dd if=/dev/zero of="$1/fill.$size.$n" bs=$size count=1 2>/dev/null; do n=$((n+1)); done
		done
		rc=0; "$2" emit --to boss --goal full || rc=$?
		echo "emit: $rc"
		rc=0; "$2" resume || rc=$?
		echo "resume: $rc"
		rc=0; said=$("$2" repo add other https://example.com/other.git 2>&1) || rc=$?
		echo "add: $rc, $(echo "$said" | grep -c '^hint: # free some space, then run the same command again')"
		echo "inbox: $(git for-each-ref refs/handoffs/inbox | wc -l)"
		rm "$1"/fill.*
		test "$("$2" resume --json | cut -d'"' -f4)" = "$before"
		"$2" ack
		after=$("$2" emit --to boss --goal after)
		echo "again: $(git for-each-ref --format='%(refname:lstrip=4)' refs/handoffs/inbox)" = "$after"
		"$2" audit >/dev/null
		git fsck --strict --no-dangling
		find .git -name '*.lock' -size 0 -not -path '*/githandoff/*'; ls .git/githandoff/intents
	`)
	assert.Contains(t, out, "no space left on device\n")
	assert.Contains(t, out, "hint: # free some space, then run the same command again")
	assert.Contains(t, out, "emit: 8\n")
	assert.Contains(t, out, "resume: 8\n")
	assert.Contains(t, out, "add: 8, 1\n")
	assert.Contains(t, out, "inbox: 1\n")
	assert.Regexp(t, `again: (ho_\w+) = (ho_\w+)\n$`, out)
}

// The disk of a clone is full, and its hub has work to fetch and to receive. Both errors name the disk of the
// clone.
func TestDiskFullBesideAHub(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	fixer.Must(t, "resume", boss.Must(t, "emit", "--to", "fixer@origin", "--goal", "g"))
	boss.Must(t, "emit", "--to", "fixer@origin", "--goal", "more")
	out := inNamespace(t, w, fixer, `
		mount -t tmpfs -o size=3m tmpfs "$1"
		cp -a . "$1/repo"; cd "$1/repo"
		for size in 64k 4k 1; do
			dd if=/dev/zero of="$1/fill.$size" bs=$size 2>/dev/null || true
		done
		rc=0; "$2" sync 2>&1 || rc=$?
		echo "sync: $rc"
		rc=0; "$2" resume --next 2>&1 || rc=$?
		echo "resume: $rc"
		rm "$1"/fill.*
		"$2" sync
		"$2" ack
		"$2" resume --quiet >"$1/out"
		"$2" ack
	`)
	assert.Regexp(t, `warning: notes at origin are not merged: write an object: .*: no space left on device\n`, out)
	assert.NotContains(t, out, "refuses")
	assert.Contains(t, out, "unpack-objects failed: no space left on device\nhint: # free some space, then run the same command again")
	assert.Contains(t, out, "sync: 8\n")
	assert.Contains(t, out, "resume: 8\n")
	assert.Regexp(t, `acknowledged ho_\w+\nacknowledged ho_\w+\n$`, out)
}

// The hub takes a step, and then the disk of the clone is full. The message does not claim that nothing was
// recorded, and the same command again reports the step that was taken.
func TestDiskFullAfterTheHub(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	fixer.Must(t, "resume", boss.Must(t, "emit", "--to", "fixer@origin", "--goal", "g"))
	out := inNamespace(t, w, fixer, `
		mount -t tmpfs -o size=3m tmpfs "$1"
		cp -a . "$1/repo"; cd "$1/repo"
		cat >../fill.sh <<-EOF
			#!/bin/sh
			for size in 64k 4k 1; do dd if=/dev/zero of="$1/fill.\$size" bs=\$size; done 2>/dev/null
		EOF
		hook=$(git config remote.origin.url)/hooks/post-receive
		cp ../fill.sh "$hook"; chmod +x "$hook"
		rc=0; "$2" ack 2>&1 || rc=$?
		echo "ack: $rc"
		rm "$hook" "$1"/fill.[0-9]*
		"$2" ack
	`)
	assert.Contains(t, out, "no space left on device\nhint: # free some space, then run the same command again\nack: 8\n")
	assert.Regexp(t, `\nho_\w+ already acknowledged at .*\n$`, out)
}

// A hub whose disk is full is reported as such, and not as a hub that refuses the push.
func TestHubDiskFull(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	out := inNamespace(t, w, boss, `
		mount -t tmpfs -o size=1m tmpfs "$1"
		cp -a ../hub.git "$1/hub.git"
		"$2" repo add full "$1/hub.git"
		dd if=/dev/zero of="$1/fill" bs=1k 2>/dev/null || true
		rc=0; "$2" emit --to fixer@full --goal g 2>&1 || rc=$?
		echo "emit: $rc"
		rm "$1/fill"
		"$2" sync
	`)
	assert.Contains(t, out, "No space left on device")
	assert.Contains(t, out, "; the handoff waits in the outbox\nhint: # the disk of full may be full, or read-only\nhint: githandoff sync  # sends it after the fix\nemit: 8\n")
	assert.Regexp(t, `\ndelivered ho_\w+ to full\n$`, out)
}

// Each round leaves a little more space at the hub. At first the objects of a step do not fit, and later one of
// its refs does not.
func TestHubDiskAlmostFull(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	out := inNamespace(t, w, boss, `
		mount -t tmpfs -o size=1m tmpfs "$1"
		cp -a ../hub.git "$1/hub.git"
		"$2" repo add full "$1/hub.git"
		for pages in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
			dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null || true
			truncate -s -$((pages * 4096)) "$1/fill"
			"$2" emit --to fixer@full --goal g 2>&1 || echo "emit: $?"
			rm "$1/fill"
		done
		"$2" sync
		"$2" audit >/dev/null
	`)
	assert.Contains(t, out, "No space left on device")
	assert.Contains(t, out, "(atomic transaction failed)")
	assert.NotContains(t, out, "# the settings or hooks of full")
	assert.NotRegexp(t, `emit: [^8]`, out)
	assert.Regexp(t, `\ndelivered ho_\w+ to full\n$`, out)
}

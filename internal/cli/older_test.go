package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// older turns a handoff that was emitted in this repository, or waits in its outbox, into one
// as the first version of githandoff made it for a review: its sender names an agent, and it
// waits for a decision nevertheless.
func older(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: older ID")
	}
	id := handoff.ID(args[0])
	from := strings.TrimSpace(printed(ts, "git", "for-each-ref", "--format=%(refname)", "refs/handoffs/inbox/*/"+string(id), "refs/handoffs/outbox/*/"+string(id)))
	part := strings.Split(from, "/")
	if len(part) != 5 {
		ts.Fatalf("%q: want one ref", from)
	}
	c, err := record.ParseCommit([]byte(printed(ts, "git", "cat-file", "commit", from)))
	ts.Check(err)
	c.Record.To = handoff.Nobody
	payload := signed(ts, c)
	run(ts, "git", "update-ref", "refs/handoffs/"+part[2]+"/"+handoff.Nobody+"/"+string(id), payload)
	run(ts, "git", "update-ref", "-d", from)
	if part[2] == "outbox" {
		return
	}
	lane := refs.LocalNamespace.Lane(id)
	entry, err := record.ParseCommit([]byte(printed(ts, "git", "cat-file", "commit", lane)))
	ts.Check(err)
	if entry.Record.Nonce != c.Record.Nonce {
		ts.Fatalf("%s has moved on", lane)
	}
	entry.Record.To, entry.Record.Payload = handoff.Nobody, payload
	run(ts, "git", "update-ref", lane, signed(ts, entry))
}

// signed writes a commit anew, with the key of its actor.
func signed(ts *testscript.TestScript, c *record.Commit) string {
	store := sign.Keystore{Dir: filepath.Join(ts.Getenv("XDG_DATA_HOME"), "githandoff", "keys")}
	signer, err := store.Load(c.Record.Actor)
	ts.Check(err)
	c.Signature, err = signer.Sign(context.Background(), sign.NamespaceGit, c.Payload())
	ts.Check(err)
	file := ts.MkAbs(".git/older")
	ts.Check(os.WriteFile(file, c.Encode(), 0o600))
	return strings.TrimSpace(printed(ts, "git", "hash-object", "-t", "commit", "-w", file))
}

// printed returns the output of a program.
func printed(ts *testscript.TestScript, program string, args ...string) string {
	run(ts, program, args...)
	return ts.ReadFile("stdout")
}

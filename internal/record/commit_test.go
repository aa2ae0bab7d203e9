package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/record"
)

func TestEncode(t *testing.T) {
	want := "tree " + gitobj.SHA1.EmptyTree() + "\nparent " + oid + `
author alice@example.com <agent@example.com> 1795212000 +0000
committer alice@example.com <agent@example.com> 1795212000 +0000
gpgsig -----BEGIN SSH SIGNATURE-----
 U1NIU0lHAAAAAQ==
 -----END SSH SIGNATURE-----

` + string(full().Message())
	assert.Equal(t, want, raw(t, full(), oid))
}

func TestPayloadIsTheCommitWithoutItsSignature(t *testing.T) {
	c := &record.Commit{Tree: oid, Email: "agent@example.com", Record: plain()}
	unsigned := string(c.Encode())
	assert.Equal(t, unsigned, string(c.Payload()))
	c.Signature = []byte(signature)
	assert.Equal(t, unsigned, string(c.Payload()))
	assert.NotEqual(t, unsigned, string(c.Encode()))
}

func TestParseCommitReadsWhatEncodeWrites(t *testing.T) {
	for _, event := range record.Events() {
		for _, c := range inPlaces(event) {
			got, err := record.ParseCommit(c.Encode())
			require.NoError(t, err)
			assert.Equal(t, c, got)

			c.Signature = nil
			got, err = record.ParseCommit(c.Encode())
			require.NoError(t, err, "that it is unsigned is for the verifier to say")
			assert.Equal(t, c, got)
		}
	}
}

// inPlaces returns the commits that an event makes: one on the inbox ref, if it moves that ref, and one in the
// lane.
func inPlaces(event record.Event) []*record.Commit {
	r := most(event)
	inbox := &record.Commit{Tree: oid, Email: "agent@example.com", Record: r, Signature: []byte(signature)}
	if event != record.Offered {
		inbox.Parents = []string{oid}
	}
	logged := *r
	logged.Payload = oid
	entry := &record.Commit{Tree: gitobj.SHA1.EmptyTree(), Email: "agent@example.com", Record: &logged, Signature: []byte(signature), Parents: []string{oid}}
	switch {
	case event == record.Joined:
		entry.Parents = []string{oid, oid}
		return []*record.Commit{entry}
	case event.Receipt():
		return []*record.Commit{entry}
	}
	return []*record.Commit{inbox, entry}
}

// A commit must match its place: an entry of a lane, or a commit of an inbox ref.
func TestParseCommitHoldsThePlace(t *testing.T) {
	for _, event := range record.Events() {
		for _, c := range inPlaces(event) {
			for name, edit := range map[string]func(*record.Commit){
				"another tree": func(c *record.Commit) {
					if c.Tree == oid {
						c.Tree = gitobj.SHA1.EmptyTree()
					} else {
						c.Tree = oid
					}
				},
				"another payload": func(c *record.Commit) {
					r := *c.Record
					c.Record = &r
					if r.Payload == "" {
						c.Record.Payload = oid
					} else {
						c.Record.Payload = ""
					}
				},
				"three parents": func(c *record.Commit) { c.Parents = []string{oid, oid, oid} },
				"another number of parents": func(c *record.Commit) {
					c.Parents = map[int][]string{0: {oid}, 1: {oid, oid}, 2: {oid}}[len(c.Parents)]
				},
			} {
				bad := *c
				edit(&bad)
				assert.Error(t, bad.Check(), "%s: %s", event, name)
				_, err := record.ParseCommit(bad.Encode())
				assert.Error(t, err, "%s: %s", event, name)
			}
		}
	}
	for _, event := range record.Events() {
		if !event.Receipt() && event != record.Joined {
			continue
		}
		onInbox := *inPlaces(event)[0]
		r := *onInbox.Record
		r.Payload = ""
		onInbox.Record, onInbox.Tree, onInbox.Parents = &r, oid, []string{oid}
		assert.ErrorContains(t, onInbox.Check(), "is only a lane entry")
		_, err := record.ParseCommit(onInbox.Encode())
		assert.ErrorContains(t, err, "is only a lane entry")
	}
	claim := inPlaces(record.Claimed)[0]
	claim.Parents = []string{strings.Repeat("a", 40)}
	assert.ErrorContains(t, claim.Check(), "Handoff-Previous")
}

// A mail address that the writer would refuse is refused by the reader.
func TestParseCommitRefusesMail(t *testing.T) {
	for _, mail := range []string{"", "a b", "\x1b[2J", "é@b", strings.Repeat("a", 255), "<a"} {
		c := &record.Commit{Tree: oid, Email: mail, Record: plain(), Signature: []byte(signature)}
		_, err := record.ParseCommit(c.Encode())
		assert.Error(t, err, "%q", mail)
	}
}

func TestParseCommitRefuses(t *testing.T) {
	const (
		author    = "author alice@example.com <agent@example.com> 1795212000 +0000\n"
		committer = "committer alice@example.com <agent@example.com> 1795212000 +0000\n"
		sig       = "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lHAAAAAQ==\n -----END SSH SIGNATURE-----\n"
		ident     = "<agent@example.com> 1795212000 +0000"
	)
	for _, tc := range []struct{ name, old, new string }{
		{"no message", "\n\n" + string(full().Message()), "\n"},
		{"no tree", "tree " + gitobj.SHA1.EmptyTree() + "\n", ""},
		{"tree twice", "tree " + gitobj.SHA1.EmptyTree() + "\n", "tree " + gitobj.SHA1.EmptyTree() + "\ntree " + gitobj.SHA1.EmptyTree() + "\n"},
		{"tree id", "tree 4b", "tree 4"},
		{"tree id in upper case", "tree 4b825dc", "tree 4B825DC"},
		{"parent id", "parent 01", "parent g1"},
		{"parent after author", "parent " + oid + "\n" + author, author + "parent " + oid + "\n"},
		{"no author", author, ""},
		{"author twice", author, author + author},
		{"no committer", committer, ""},
		{"committer twice", committer, committer + committer},
		{"committer before author", author + committer, committer + author},
		{"two signatures", sig, sig + sig},
		{"signature before committer", committer + sig, sig + committer},
		{"signature for SHA-256", sig, sig + strings.Replace(sig, "gpgsig", "gpgsig-sha256", 1)},
		{"empty signature", sig, "gpgsig \n"},
		{"signature on one line", sig, "gpgsig\n"},
		{"mergetag", sig, sig + "mergetag object " + oid + "\n type commit\n"},
		{"encoding", sig, "encoding ISO-8859-1\n" + sig},
		{"extra header", sig, sig + "HG:extra branch:default\n"},
		{"folded header before the tree", "tree " + gitobj.SHA1.EmptyTree(), " folded\ntree " + gitobj.SHA1.EmptyTree()},
		{"folded author", author, author + " more\n"},
		{"CRLF in headers", author, strings.TrimSuffix(author, "\n") + "\r\n"},
		{"trailing bytes", "Token: obo_" + nonce + "\n", "Token: obo_" + nonce + "\nmore"},
		{"NUL after the message", "Token: obo_" + nonce + "\n", "Token: obo_" + nonce + "\n\x00"},
		{"message begins with a line feed", "\n\nfailed", "\n\n\nfailed"},
		{"zone", author + committer, strings.ReplaceAll(author+committer, "+0000", "+0100")},
		{"negative zone", author + committer, strings.ReplaceAll(author+committer, "+0000", "-0000")},
		{"time of the commit is another", author + committer, strings.ReplaceAll(author+committer, "1795212000", "1795212001")},
		{"time with a zero in front", author + committer, strings.ReplaceAll(author+committer, "1795212000", "01795212000")},
		{"time with a plus", author + committer, strings.ReplaceAll(author+committer, "1795212000", "+1795212000")},
		{"no mail address", author + committer, strings.ReplaceAll(author+committer, " <agent@example.com>", "")},
		{"author has another address", "author alice@example.com " + ident, "author alice@example.com <bob@example.com> 1795212000 +0000"},
		{"committer is another", "committer alice@example.com", "committer bob@example.com"},
		{"both are another than the message says", author + committer, strings.ReplaceAll(author+committer, "alice@", "bob@")},
		{"name ends in a space", author + committer, strings.ReplaceAll(author+committer, "alice@example.com ", "alice@example.com  ")},
		{"too long", sig, "gpgsig " + strings.Repeat("x", record.MaxCommit) + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := record.ParseCommit([]byte(swap(t, raw(t, full(), oid), tc.old, tc.new)))
			assert.Error(t, err)
		})
	}
}

func TestCheckRefusesToWrite(t *testing.T) {
	ok := record.Commit{Tree: gitobj.SHA1.EmptyTree(), Email: "agent@example.com", Record: full()}
	require.NoError(t, ok.Check())
	for _, email := range []string{"", "a b", "a\nb", "<a>", "a>", "ä@example.com"} {
		c := ok
		c.Email = email
		assert.Error(t, c.Check(), "%q", email)
	}
	for name, edit := range map[string]func(*record.Record){
		"no key":            func(r *record.Record) { r.Key = "" },
		"line feed in data": func(r *record.Record) { r.Data = "{}\nHandoff-Event: offered" },
		"space at the end":  func(r *record.Record) { r.Task = "LIN-423 " },
		"too long":          func(r *record.Record) { r.SkillsMissing = strings.Repeat("x", 64<<10) },
		"no expiry":         func(r *record.Record) { r.Expires = time.Time{} },
	} {
		c := ok
		c.Record = with(edit)
		assert.Error(t, c.Check(), name)
	}
}

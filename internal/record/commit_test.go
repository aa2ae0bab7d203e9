package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/record"
)

func TestEncode(t *testing.T) {
	want := "tree " + oid + "\nparent " + oid + `
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
	for _, r := range []*record.Record{plain(), full()} {
		for parents := range 3 {
			c := &record.Commit{Tree: oid, Email: "agent@example.com", Record: r, Signature: []byte(signature)}
			for range parents {
				c.Parents = append(c.Parents, oid)
			}
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

func TestParseCommitRefuses(t *testing.T) {
	const (
		author    = "author alice@example.com <agent@example.com> 1795212000 +0000\n"
		committer = "committer alice@example.com <agent@example.com> 1795212000 +0000\n"
		sig       = "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lHAAAAAQ==\n -----END SSH SIGNATURE-----\n"
		ident     = "<agent@example.com> 1795212000 +0000"
	)
	for _, tc := range []struct{ name, old, new string }{
		{"no message", "\n\n" + string(full().Message()), "\n"},
		{"no tree", "tree " + oid + "\n", ""},
		{"tree twice", "tree " + oid + "\n", "tree " + oid + "\ntree " + oid + "\n"},
		{"tree id", "tree 01", "tree 0"},
		{"tree id in upper case", "tree 0123456789abcdef", "tree 0123456789ABCDEF"},
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
		{"folded header before the tree", "tree " + oid, " folded\ntree " + oid},
		{"folded author", author, author + " more\n"},
		{"CRLF in headers", author, strings.TrimSuffix(author, "\n") + "\r\n"},
		{"trailing bytes", "code-review, tdd\n", "code-review, tdd\nmore"},
		{"NUL after the message", "code-review, tdd\n", "code-review, tdd\n\x00"},
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
	ok := record.Commit{Tree: oid, Email: "agent@example.com", Record: full()}
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

package attack

import (
	"cmp"
	"crypto/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// forgery is a handoff made by hand. The zero value is a genuine handoff from boss to fixer, and each
// field that is set changes one thing about it.
type forgery struct {
	born     time.Time  // the time in its id, if not now
	id       handoff.ID // if not a new one
	envelope func(*handoff.Envelope)
	blob     func([]byte) []byte // the bytes that are stored, and whose digest is signed
	tree     func(blob string) []entry
	chain    func(forged) []obo.SignedToken // tokens beside the envelope, for this id and digest
	record   func(*record.Record)           // of the payload commit and its entry
	entry    func(*record.Record)           // of the entry alone
	by       sign.Signer                    // who signs, if not boss
	parents  []string                       // of the payload commit
	raw      func([]byte) []byte            // the payload commit, signed
	inbox    string                         // the agent of the inbox, if not the one in the record
}

// forged is a handoff that an attacker left at the hub.
type forged struct {
	id      handoff.ID
	inbox   string // ref
	lane    string // ref
	payload string // object id
	rec     record.Record
}

// forge puts a handoff into the hub: objects, inbox ref, lane entry.
func (s *fixture) forge(t testing.TB, f forgery) forged {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	born := now
	if !f.born.IsZero() {
		born = f.born
	}
	id, err := handoff.NewID(born, rand.Reader)
	for err == nil && s.lanes[id.Lane()] {
		id, err = handoff.NewID(born, rand.Reader)
	}
	require.NoError(t, err)
	id = cmp.Or(f.id, id)
	s.lanes[id.Lane()] = true
	to := "fixer"
	env := &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: strings.Repeat("0", 32), Status: handoff.StatusComplete, Goal: secretGoal,
		CreatedAt: handoff.FormatTime(now), ExpiresAt: handoff.FormatTime(now.Add(time.Hour)),
		Source: handoff.Source{Agent: "boss"}, Target: handoff.Target{Agent: &to},
	}
	if f.envelope != nil {
		f.envelope(env)
	}
	body, err := handoff.Canonical(env)
	require.NoError(t, err)
	if f.blob != nil {
		body = f.blob(body)
	}
	blob := object(t, s.Hub, "blob", body)
	entries := []entry{{"100644", "handoff.json", blob}}
	if f.tree != nil {
		entries = f.tree(blob)
	}
	by := f.by
	if by == nil {
		by = s.boss
	}
	if f.chain != nil {
		links := f.chain(forged{id: id, rec: record.Record{Digest: handoff.Digest(body)}})
		entries = append(entries, entry{"40000", "obo", s.tokens(t, links)})
	}
	rec := record.Record{
		Event: record.Offered, Actor: env.Source.Agent, ID: id, From: env.Source.Agent, To: to, Home: s.home,
		Digest: handoff.Digest(body), Previous: record.None, Key: by.KID(), Nonce: nonce(t),
		At: now, Expires: now.Add(time.Hour), Task: env.Task, Parent: env.Parent, Counts: env.Counts(), Status: env.Status,
	}
	if env.Rollback != nil {
		rec.OnFailure = env.Rollback.OnFailure
	}
	if expires, err := handoff.ParseTime(env.ExpiresAt); err == nil {
		rec.Expires = expires
	}
	if f.record != nil {
		f.record(&rec)
	}
	commit := signed(t, by, &record.Commit{Tree: tree(t, s.Hub, entries...), Parents: f.parents, Email: s.mail, Record: &rec})
	if f.raw != nil {
		commit = f.raw(commit)
	}
	out := forged{
		id: id, inbox: refs.LocalNamespace.Inbox(cmp.Or(f.inbox, rec.To), id), lane: refs.LocalNamespace.Lane(id),
		payload: object(t, s.Hub, "commit", commit), rec: rec,
	}
	s.Hub.Git(t, "update-ref", out.inbox, out.payload)
	logged := rec
	logged.Payload = out.payload
	if f.entry != nil {
		f.entry(&logged)
	}
	s.log(t, by, out.lane, logged)
	return out
}

// tokens stores a chain as a payload holds it.
func (s *fixture) tokens(t testing.TB, links []obo.SignedToken) string {
	t.Helper()
	var entries []entry
	for i, l := range links {
		n := strconv.Itoa(i)
		entries = append(entries,
			entry{"100644", n + ".json", object(t, s.Hub, "blob", l.Token)},
			entry{"100644", n + ".sig", object(t, s.Hub, "blob", l.Sig)})
	}
	return tree(t, s.Hub, entries...)
}

// log appends an entry to a lane.
func (s *fixture) log(t testing.TB, by sign.Signer, lane string, rec record.Record) string {
	t.Helper()
	parents := strings.Fields(s.Hub.Git(t, "for-each-ref", "--format=%(objectname)", lane))
	empty := object(t, s.Hub, "tree", nil)
	oid := object(t, s.Hub, "commit", signed(t, by, &record.Commit{Tree: empty, Parents: parents, Email: s.mail, Record: &rec}))
	s.Hub.Git(t, "update-ref", lane, oid)
	return oid
}

// swap replaces the commit of an inbox ref by another one.
func (s *fixture) swap(t testing.TB, f forged, commit []byte) forged {
	t.Helper()
	f.payload = object(t, s.Hub, "commit", commit)
	s.Hub.Git(t, "update-ref", f.inbox, f.payload)
	return f
}

// parsed returns the commit of an inbox ref, to be changed and signed again.
func (s *fixture) parsed(t testing.TB, f forged) *record.Commit {
	t.Helper()
	c, err := record.ParseCommit(raw(t, s.Hub, f.payload))
	require.NoError(t, err)
	return c
}

func signed(t testing.TB, by sign.Signer, c *record.Commit) []byte {
	t.Helper()
	return enginetest.SignCommit(t, by, c).Body
}

func nonce(t testing.TB) string {
	t.Helper()
	b := make([]byte, 16)
	_, err := rand.Read(b)
	require.NoError(t, err)
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, c := range b {
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

// resigned returns the commit of an inbox ref with other bytes, which the program would not write,
// signed anew by boss.
func (s *fixture) resigned(t testing.TB, f forged, change func([]byte) []byte) []byte {
	t.Helper()
	b := change(s.parsed(t, f).Payload())
	signature, err := s.boss.Sign(t.Context(), sign.NamespaceGit, b)
	require.NoError(t, err)
	folded := strings.ReplaceAll(strings.TrimSuffix(string(signature), "\n"), "\n", "\n ")
	return []byte(strings.Replace(string(b), "\n\n", "\n"+gittest.SignatureHeader()+" "+folded+"\n\n", 1))
}

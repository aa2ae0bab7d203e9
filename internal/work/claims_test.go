package work

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
)

const (
	someID  = "ho_01kahcp3g0000000000000000r"
	otherID = "ho_01kahcp3g0000000000000010r"
)

// at returns the time of the claims in these tests.
func at() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

func claimsIn(gitDir string) Claims { return Claims{GitDir: gitDir, Common: gitDir} }

// store records a claim.
func store(t *testing.T, c Claims, h *Claim) {
	t.Helper()
	require.NoError(t, c.Update(t.Context(), h.ID, func(stored *Claim) error {
		*stored = *h
		return nil
	}))
}

func release(t *testing.T, c Claims, id handoff.ID) {
	t.Helper()
	require.NoError(t, c.Update(t.Context(), id, func(stored *Claim) error {
		stored.Forget()
		return nil
	}))
}

func deriveIDs(n int) []handoff.ID {
	var ids []handoff.ID
	for i := range n {
		ids = append(ids, handoff.DeriveID(at().Add(time.Duration(i)*time.Second), "test"))
	}
	return ids
}

func TestClaims(t *testing.T) {
	c := claimsIn(t.TempDir())
	none, err := c.Held()
	require.NoError(t, err)
	assert.Empty(t, none)
	got, err := c.Get(someID)
	require.NoError(t, err)
	assert.Nil(t, got)
	assert.False(t, got.Mine("a"), "who holds nothing is no holder")

	h := ClaimOf(lifecycle.Place{Agent: "fixer", ID: someID}, &record.Record{
		ID: someID, Actor: "fixer", Home: "local:1", Nonce: "n2", Key: "ssh:SHA256:x", At: at(), Lease: at().Add(time.Hour),
	})
	h.Earlier = []string{"n1"}
	other := &Claim{ID: otherID, Agent: "_", Actor: "fixer", Nonce: "m"}
	store(t, c, other)
	store(t, c, h)
	got, err = c.Get(someID)
	require.NoError(t, err)
	assert.Equal(t, h, got)
	assert.Equal(t, lifecycle.ClaimProof{Place: lifecycle.Place{Agent: "fixer", ID: someID}, Nonce: "n2"}, got.Proof())
	for nonce, mine := range map[string]bool{"n1": true, "n2": true, "m": false, "": false} {
		assert.Equal(t, mine, got.Mine(nonce), nonce)
	}
	list, err := c.Held()
	require.NoError(t, err)
	assert.Equal(t, []*Claim{h, other}, list, "oldest id first")

	for range 2 {
		release(t, c, otherID)
	}
	list, err = c.Held()
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

// A claim that has ended is not held, but is still known: it answers a repeated acknowledgement.
func TestClaimsEnd(t *testing.T) {
	c := claimsIn(t.TempDir())
	h := &Claim{ID: someID, Agent: "fixer", Nonce: "n"}
	store(t, c, h)
	require.NoError(t, c.End(t.Context(), h, at()))
	list, err := c.Held()
	require.NoError(t, err)
	assert.Empty(t, list)
	got, err := c.Get(someID)
	require.NoError(t, err)
	require.NotNil(t, got)
	assert.True(t, got.Ended)
	for arg, found := range map[string]bool{someID: true, "00000r": true, "…00000r": true, "00001r": false, "r": false, "": false} {
		got, err := c.EndedBySuffix(arg)
		require.NoError(t, err)
		assert.Equal(t, found, got != nil, arg)
	}
}

// Records of ended handoffs are removed after a while.
func TestClaimsForget(t *testing.T) {
	c := claimsIn(t.TempDir())
	ids := deriveIDs(70)
	for _, id := range ids {
		require.NoError(t, c.End(t.Context(), &Claim{ID: id}, time.Now()))
	}
	old := time.Now().Add(-2 * rememberEnded)
	for _, id := range ids[:10] {
		require.NoError(t, os.Chtimes(c.ended().Path(id), old, old))
	}
	require.NoError(t, c.End(t.Context(), &Claim{ID: someID}, time.Now()))
	left, err := os.ReadDir(c.ended().Dir)
	require.NoError(t, err)
	assert.Len(t, left, 70-10+1)
}

func TestClaimsDamaged(t *testing.T) {
	c := claimsIn(t.TempDir())
	require.NoError(t, os.MkdirAll(c.current().Dir, 0o700))
	require.NoError(t, os.WriteFile(c.current().Path(someID), []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(c.current().Dir, "README"), []byte("not ours"), 0o600))
	_, err := c.Get(someID)
	assert.ErrorContains(t, err, c.current().Path(someID))
	_, err = c.Held()
	assert.Error(t, err, "what is held must not look as if it were not")
}

// A record with a member that a newer version wrote is refused, and stays as it is: rewriting it would lose the
// member.
func TestClaimOfANewerVersion(t *testing.T) {
	for _, member := range []string{`"printed"`, `"event"`} { // in the record, and in its waiting step
		c := claimsIn(t.TempDir())
		store(t, c, &Claim{ID: someID, Agent: "fixer", Actor: "fixer", Nonce: "n", Pending: &Step{Event: record.Progressed, Nonce: "n", At: at()}})
		b, err := os.ReadFile(c.current().Path(someID))
		require.NoError(t, err)
		newer := strings.Replace(string(b), member, `"color":1,`+member, 1)
		require.NotEqual(t, string(b), newer)
		require.NoError(t, os.WriteFile(c.current().Path(someID), []byte(newer), 0o600))
		err = c.Update(t.Context(), someID, func(h *Claim) error {
			h.Printed = true
			return nil
		})
		require.ErrorIs(t, err, handoff.ErrUnknown)
		assert.ErrorContains(t, err, "color: unknown member")
		b, err = os.ReadFile(c.current().Path(someID))
		require.NoError(t, err)
		assert.Equal(t, newer, string(b))
	}
}

// A record that another user wrote, or that is a link to another file, is not read.
func TestNoteOfAnotherUserIsIgnored(t *testing.T) {
	type note struct{ Text string }
	documents := Documents[note]{Dir: filepath.Join(t.TempDir(), "journal")}
	id := handoff.ID(someID)
	require.NoError(t, documents.Put(id, &note{"ours"}))
	got, err := documents.Get(id)
	require.NoError(t, err)
	assert.Equal(t, "ours", got.Text)
	info, err := os.Stat(documents.Dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	path := filepath.Join(documents.Dir, string(id)+".json")
	require.NoError(t, os.Chmod(path, 0o666))
	_, err = documents.All()
	assert.True(t, fault.Is(err, "unsafe_file"), err)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Rename(path, path+".away"))
	require.NoError(t, os.Symlink(path+".away", path))
	_, err = documents.Get(id)
	assert.True(t, fault.Is(err, "unsafe_file"), err)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Rename(path+".away", path))
		require.NoError(t, os.Chown(path, 12345, 12345))
		_, err = documents.Get(id)
		assert.True(t, fault.Is(err, "unsafe_file"), err)
	}
}

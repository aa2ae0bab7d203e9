package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/guard"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
)

// publish writes a root's list at the hub.
func (h *fixture) publish(t *testing.T, by *lifecycle.Engine, home string, serial int64, keys ...sign.TrustEntry) {
	t.Helper()
	h.publishAs(t, by, by, home, serial, keys...)
}

// publishAs writes a list that names one key as its root and is signed by another.
func (h *fixture) publishAs(t *testing.T, named, by *lifecycle.Engine, home string, serial int64, keys ...sign.TrustEntry) {
	t.Helper()
	raw, err := sign.NewTeam(home, serial-1, h.Now(), named.Author.Signer.KID(), keys).Encode()
	require.NoError(t, err)
	sig, err := by.Author.Signer.Sign(t.Context(), sign.NamespaceTrust, raw)
	require.NoError(t, err)
	before := h.Hub.Env
	h.Hub.Env = append(slices.Clone(before), "GIT_INDEX_FILE="+filepath.Join(t.TempDir(), "index"))
	for name, content := range map[string][]byte{"trust.json": raw, "trust.json.sig": sig} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, content, 0o600))
		blob := strings.TrimSpace(h.Hub.Git(t, "hash-object", "-w", file))
		h.Hub.Git(t, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
	}
	oid := strings.TrimSpace(h.Hub.Git(t, "write-tree"))
	h.Hub.Env = before
	h.Hub.Git(t, "update-ref", "refs/handoffs/trust", strings.TrimSpace(h.Hub.Git(t, "commit-tree", "-m", "list", oid)))
}

// believes reports whether a guard with these pinned entries trusts the key of an engine.
func (h *fixture) believes(t *testing.T, whom *lifecycle.Engine, pinned ...sign.TrustEntry) bool {
	t.Helper()
	trust, err := enginetest.NewTrust(pinned...)
	require.NoError(t, err)
	g := &guard.Guard{
		Home:     &lifecycle.LocalHome{Repo: h.repo, RepoID: homeID},
		Verifier: lifecycle.New(lifecycle.Setup{Repo: h.repo, Trust: trust, Now: h.Now}).Verifier,
	}
	require.NoError(t, g.TakeLists(t.Context()))
	key, ok := trust.Lookup(whom.Author.Signer.KID())
	return ok && key.MayAct(sign.RoleSender, whom.Author.Actor, h.Now()) == nil
}

// The keys that a pinned root lists for this hub count, and no others.
func TestTakeLists(t *testing.T) {
	h := newFixture(t)
	root, other, fixer := h.engine(t, "alice@example.com"), h.engine(t, "bob@example.com"), h.engine(t, "fixer")
	pinned := enginetest.Entry(root.Author.Signer, root.Author.Actor, sign.RoleRoot)
	listed := enginetest.Entry(fixer.Author.Signer, fixer.Author.Actor, sign.RoleSender, sign.RoleRecipient)
	assert.False(t, h.believes(t, fixer, pinned), "there is no list")

	h.publish(t, root, homeID, 1, listed)
	assert.True(t, h.believes(t, fixer, pinned))
	assert.False(t, h.believes(t, fixer, enginetest.Entry(root.Author.Signer, root.Author.Actor, sign.RoleSender)), "a sender lists nobody")
	assert.False(t, h.believes(t, fixer), "nor does whom the hub does not know")
	over := pinned
	over.Until = h.Now().Add(-time.Hour).Format(time.RFC3339)
	assert.False(t, h.believes(t, fixer, over), "nor a root whose time is over")
	narrowed := listed
	narrowed.Retired = h.Now().Add(-time.Minute).Format(time.RFC3339)
	assert.False(t, h.believes(t, fixer, pinned, narrowed), "the hub's own list narrows a root's")

	h.publish(t, other, homeID, 2, listed)
	assert.False(t, h.believes(t, fixer, pinned), "another signer")
	h.publishAs(t, root, other, homeID, 2, listed)
	assert.False(t, h.believes(t, fixer, pinned), "a forged list")
	h.publish(t, root, "git+https://example.com/acme/other", 3, listed)
	assert.False(t, h.believes(t, fixer, pinned), "a list for another hub")
	retired := listed
	retired.Retired = h.Now().Add(-time.Minute).Format(time.RFC3339)
	h.publish(t, root, homeID, 4, retired)
	assert.False(t, h.believes(t, fixer, pinned), "a key that was retired")
	person := enginetest.Entry(fixer.Author.Signer, fixer.Author.Actor, sign.RoleSender, sign.RoleRoot)
	h.publish(t, root, homeID, 5, person)
	assert.False(t, h.believes(t, fixer, pinned), "a list makes nobody a root")
	h.Hub.Git(t, "update-ref", "refs/handoffs/trust", strings.TrimSpace(h.Hub.Git(t, "commit-tree", "-m", "x", h.Hub.Git(t, "hash-object", "-w", "-t", "tree", os.DevNull))))
	assert.False(t, h.believes(t, fixer, pinned), "no list at all")
}

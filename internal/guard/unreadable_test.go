package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// damaged returns ways in which the test breaks a loose object.
func damaged(t *testing.T, h *fixture) map[string]func(oid string) {
	t.Helper()
	file := func(oid string) string {
		name := filepath.Join(h.Hub.Dir, "objects", oid[:2], oid[2:])
		require.NoError(t, os.Chmod(name, 0o600))
		return name
	}
	return map[string]func(oid string){
		"gone":  func(oid string) { require.NoError(t, os.Remove(file(oid))) },
		"empty": func(oid string) { require.NoError(t, os.Truncate(file(oid), 0)) },
		"cut":   func(oid string) { require.NoError(t, os.Truncate(file(oid), 20)) },
	}
}

// If git cannot read the hub's copy of a key, the guard cannot tell whether a pushed copy still has its
// statements, above all a revocation. The push is refused.
func TestCheck_unreadableKey(t *testing.T) {
	for _, prefix := range []string{"", "refs/heads/handoffs"} {
		for _, how := range []string{"", "gone", "empty", "cut"} {
			t.Run(prefix+how, func(t *testing.T) {
				h := newFixture(t)
				public := enginetest.NewKey(t).Public()
				file := func(text, parent string) string {
					blob := refs.NewObject(gittest.Objects(), "blob", []byte(text))
					all := []*refs.Object{blob}
					if prefix != "" {
						all = append(all, refs.Carrier(blob.OID, parent)...)
					}
					require.NoError(t, h.repo.Store.Write(all...))
					return all[len(all)-1].OID
				}
				old := file(public.Text(), "")
				e := refs.Edit{Ref: refs.At(prefix, refs.Root+"keys/"+sign.Hex(public.KID())), Old: old}
				require.NoError(t, h.repo.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: e.Ref, New: old}}}))
				e.New = file(public.Text()+"\n", old)
				if how != "" {
					damaged(t, h)[how](refs.NewObject(gittest.Objects(), "blob", []byte(public.Text())).OID)
				}

				g := &guard.Guard{
					Home:     &lifecycle.LocalHome{Repo: enginetest.Open(t, h.Hub), RepoID: homeID},
					Verifier: lifecycle.New(lifecycle.Setup{Repo: enginetest.Open(t, h.Hub), Trust: h.Trust(t), Now: h.Now}).Verifier,
				}
				if prefix != "" {
					g.KeepBelow(prefix)
				}
				refused, err := g.Check(t.Context(), []refs.Edit{e})
				if how == "" {
					require.NoError(t, err)
					assert.Empty(t, refused, "the same key, in another spelling")
					return
				}
				assert.True(t, err != nil || len(refused) > 0, "it was let in")
			})
		}
	}
}

// A list of keys that git cannot read may retire a key, so no push is judged without it.
func TestTakeLists_unreadable(t *testing.T) {
	for _, how := range []string{"gone", "empty", "cut"} {
		t.Run(how, func(t *testing.T) {
			h := newFixture(t)
			root, fixer := h.engine(t, "alice@example.com"), h.engine(t, "fixer")
			pinned := enginetest.Entry(root.Author.Signer, root.Author.Actor, sign.RoleRoot)
			h.publish(t, root, homeID, 1, enginetest.Entry(fixer.Author.Signer, "fixer", sign.RoleSender))
			require.True(t, h.believes(t, fixer, pinned))
			damaged(t, h)[how](h.Hub.Git(t, "rev-parse", "refs/handoffs/trust:trust.json"))
			trust, err := enginetest.NewTrust(pinned)
			require.NoError(t, err)
			g := &guard.Guard{
				Home:     &lifecycle.LocalHome{Repo: h.repo, RepoID: homeID},
				Verifier: lifecycle.New(lifecycle.Setup{Repo: enginetest.Open(t, h.Hub), Trust: trust, Now: h.Now}).Verifier,
			}
			assert.Error(t, g.TakeLists(t.Context()))
		})
	}
}

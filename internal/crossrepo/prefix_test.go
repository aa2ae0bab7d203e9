package crossrepo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

func TestNamesAtAHub(t *testing.T) {
	usual := namesAt(&Alias{RepoID: "git+https://example.com/a"})
	branches := namesAt(&Alias{RepoID: "git+https://example.com/a", Prefix: BranchPrefix})
	copies, mirror := string(usual.copies), string(usual.Mirror)
	for _, tc := range []struct{ local, usual, branches string }{
		{copies + "inbox/fixer/ho_x", "refs/handoffs/inbox/fixer/ho_x", "refs/heads/handoffs/inbox/fixer/ho_x"},
		{copies + "log/aa", "refs/handoffs/log/aa", "refs/heads/handoffs/log/aa"},
		{mirror + "log/*", "refs/handoffs/log/*", "refs/heads/handoffs/log/*"},
		{mirror + "trust", "refs/handoffs/trust", "refs/heads/handoffs/trust"},
		{"refs/handoffs/log/aa", "refs/handoffs/log/aa", "refs/heads/handoffs/log/aa"},
		{copies + "notes", refs.NotesRef, "refs/heads/handoffs/notes"},
		{refs.NotesRef, refs.NotesRef, "refs/heads/handoffs/notes"},
		{"refs/heads/main", "refs/handoffs/refs/heads/main", "refs/heads/handoffs/refs/heads/main"},
	} {
		assert.Equal(t, tc.usual, usual.RemoteName(tc.local))
		assert.Equal(t, tc.branches, branches.RemoteName(tc.local))
	}
	for _, foreign := range []string{"refs/heads/main", "refs/heads/handoffs", "refs/heads/handoffs-2/log/aa", "refs/handoffs/log/aa", "refs/notes/handoffs", "refs/heads/handoffs/"} {
		_, ok := branches.here(foreign)
		assert.False(t, ok, foreign)
	}
	_, ok := usual.here("refs/handoffs/notes")
	assert.False(t, ok, "it would be taken for the notes")
}

// Each copy has one name at a hub, which maps back to the copy. No two copies have the same name.
func TestNamesGoBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := namesAt(&Alias{RepoID: "git+https://example.com/a", Prefix: rapid.SampledFrom([]string{"", BranchPrefix, "refs/team/a.b"}).Draw(t, "prefix")})
		name := rapid.StringMatching(`[a-z]{1,8}(/[a-z_]{1,8}){0,3}`).Draw(t, "name")
		there := n.RemoteName(string(n.copies) + name)
		assert.True(t, strings.HasPrefix(there, n.root) || there == n.notes, there)
		back, ok := n.here(there)
		require.True(t, ok)
		assert.Equal(t, string(n.copies)+name, back)
	})
}

// Lanes are found below every prefix that handoffs can have. Copies of lanes are not a home, and neither are
// branches with similar names.
func TestHomes(t *testing.T) {
	assert.Empty(t, LanePrefixes([]string{
		"refs/heads/log/aa", "refs/heads/main", "refs/handoffs/log", "refs/handoffs/remotes/0123456789ab/log/aa", "refs/handoffs/mirror/0123456789ab/log/aa",
		"refs/remotes/origin/handoffs/log/aa", "refs/heads/topic/log/long", "refs/heads/Topic/log/aa", "refs/heads/handoffs/inbox/fixer/aa",
	}))
	assert.Equal(t, []string{"refs/handoffs", "refs/heads/handoffs", "refs/heads/team/one"}, LanePrefixes([]string{
		"refs/heads/team/one/log/zz", "refs/heads/handoffs/log/aa", "refs/heads/handoffs/log/0b", "refs/handoffs/log/aa",
	}))
}

func TestCheckPrefix(t *testing.T) {
	for _, good := range []string{"refs/heads/handoffs", "refs/heads/team/handoffs", "refs/changes/handoffs"} {
		require.NoError(t, CheckPrefix(good), good)
	}
	for _, bad := range []string{
		"", "refs", "refs/heads", "refs/heads/", "refs/heads/handoffs/", "heads/handoffs/x", "/refs/heads/x", "refs//x",
		"refs/heads/-x", "refs/heads/.x", "refs/heads/x.", "refs/heads/x.lock", "refs/heads/a..b", "refs/heads/a b", "refs/heads/a:b",
		"refs/heads/*", "refs/heads/A", "refs/heads/é", "refs/heads/x\n", "refs/heads/a~1", "refs/heads/@{x", "+refs/heads/x",
		"refs/handoffs/x", "refs/notes/x", "refs/tags/x", "refs/remotes/x", "refs/heads/" + strings.Repeat("a", maxPrefix),
	} {
		assert.True(t, fault.Is(CheckPrefix(bad), fault.BadUsage), bad)
	}
}

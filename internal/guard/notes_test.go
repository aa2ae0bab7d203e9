package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/notes"
	"githandoff/internal/refs"
)

// noting returns the push of a notes tree, from commit to note, on top of the existing notes.
func (h *fixture) noting(t *testing.T, was string, blobs map[string]string) []refs.Edit {
	t.Helper()
	var entries []gitobj.TreeEntry
	for target, blob := range blobs {
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.File, Name: target, OID: blob})
	}
	raw, err := gitobj.EncodeTree(entries)
	require.NoError(t, err)
	tree := refs.NewObject(gittest.Objects(), "tree", raw)
	commit := refs.NewObject(gittest.Objects(), "commit", notes.Snapshot(tree.OID, ""))
	require.NoError(t, h.repo.Store.Write(tree, commit))
	return []refs.Edit{{Ref: refs.NotesRef, Old: was, New: commit.OID}}
}

// A push of notes is judged by the lines that it adds, however many, and not by those that were there.
func TestCheck_notes(t *testing.T) {
	h := newFixture(t)
	line := func(n int) string {
		return notes.Line(h.Now().Add(time.Duration(n)*time.Second), "offered", "ho_01kahcp3g0000000000000010r", "boss", "fixer@origin", "sha256:"+strings.Repeat("0", 64)) + "\n"
	}
	commits := make([]string, 1100)
	for i := range commits {
		o := refs.NewObject(gittest.Objects(), "commit", gitobj.EncodeCommit(gittest.Objects().EmptyTree(), nil, who, h.Now(), fmt.Sprintf("%d\n", i)))
		require.NoError(t, h.repo.Store.Write(refs.NewObject(gittest.Objects(), "tree", nil), o))
		commits[i] = o.OID
	}
	good := map[string]string{commits[0]: h.blob(t, line(0))}
	assert.Empty(t, h.judge(t, h.Now(), h.noting(t, "", good)))
	h.refuses(t, "malformed_object", h.noting(t, "", map[string]string{commits[0]: h.blob(t, "words\n")}))
	h.refuses(t, "malformed_object", h.noting(t, "", map[string]string{commits[0]: gittest.Objects().EmptyTree()}))

	old := h.commitOf(t, "", gitobj.TreeEntry{Mode: gitobj.File, Name: "README", OID: h.blob(t, "x")})
	for _, was := range []string{h.blob(t, "no commit"), old} {
		h.Hub.Git(t, "update-ref", refs.NotesRef, was)
		assert.Empty(t, h.judge(t, h.Now(), h.noting(t, was, good)))
		h.refuses(t, "malformed_object", h.noting(t, was, map[string]string{commits[0]: h.blob(t, "words\n")}))
	}
	h.Hub.Git(t, "update-ref", "-d", refs.NotesRef)

	var text strings.Builder
	for n := 0; text.Len()+len(line(n)) <= notes.MaxNote; n++ {
		text.WriteString(line(n))
	}
	large, most := h.blob(t, text.String()), 64<<20/text.Len()
	require.Less(t, most, len(commits))
	many := map[string]string{}
	for _, c := range commits[:most] {
		many[c] = large
	}
	assert.Empty(t, h.judge(t, h.Now(), h.noting(t, "", many)))
	many[commits[most]] = large
	h.refuses(t, "too_large", h.noting(t, "", many))
}

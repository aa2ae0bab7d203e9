package crossrepo

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/refs"
)

// The edits of several steps keep the order of a single step: refs that move, lanes, deletions. If git is killed
// between the edits at the hub, each step is left in a state that a single step can be left in.
func TestMerged(t *testing.T) {
	h := NewHub(&Alias{Name: "origin", RepoID: "git+file:///srv/hub"}, &refs.Repo{}, nil)
	at := h.Namespace()
	offer := &waiting{hubStep: hubStep{h, refs.Transaction{Edits: []refs.Edit{
		{Ref: at.Inbox("fixer", "x"), New: "1"}, {Ref: at.Lanes() + "0r", Old: "a", New: "b"},
	}}}}
	end := &waiting{hubStep: hubStep{h, refs.Transaction{Edits: []refs.Edit{
		{Ref: at.Lanes() + "0r", Old: "b", New: "c"}, {Ref: at.Inbox("fixer", "y"), Old: "2"},
	}}}}
	claim := &waiting{hubStep: hubStep{h, refs.Transaction{Edits: []refs.Edit{
		{Ref: at.Inbox("fixer", "z"), Old: "3", New: "4"}, {Ref: at.Lanes() + "1r", Old: "d", New: "e"},
	}}}}
	assert.Equal(t, []refs.Edit{
		{Ref: at.Inbox("fixer", "x"), New: "1"},
		{Ref: at.Inbox("fixer", "z"), Old: "3", New: "4"},
		{Ref: at.Lanes() + "0r", Old: "a", New: "c"},
		{Ref: at.Lanes() + "1r", Old: "d", New: "e"},
		{Ref: at.Inbox("fixer", "y"), Old: "2"},
	}, merged(h, []*waiting{offer, end, claim}))
}

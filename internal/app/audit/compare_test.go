package audit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

const id = "ho_01m7y9empg6cpcmb990axq95cq"

// compared returns a comparison and the reasons of its findings.
func compared() (*comparison, *[]fault.Reason) {
	var found []fault.Reason
	home := &lifecycle.LocalHome{RepoID: "local:000102030405060708090a0b0c0d0e0f"}
	return compare(nil, home, Visitor{
		Finding: func(_ lifecycle.Home, f Finding) error { found = append(found, f.Reason); return nil },
	}), &found
}

// An inbox ref without an entry in its lane is reported once, with its lane, and the lane is not remembered as
// faultless.
func TestUnlogged(t *testing.T) {
	c, found := compared()
	lane := refs.Ref{Name: c.home.Namespace().Lane(id)}
	require.NoError(t, c.openAt(refs.Ref{Name: c.home.Namespace().Inbox("fixer", id)}, &refs.Object{
		Type: "commit", Body: []byte("tree x\nauthor a <b> 1 +0000\n\noffered\n\nHandoff-Id: " + id + "\nHandoff-Event: offered\n"),
	}, false))
	assert.Empty(t, *found)
	fine, err := c.visitor(t.Context()).Done(lane)
	require.NoError(t, err)
	assert.False(t, fine)
	c.rest()
	assert.Empty(t, *found, "the refs are looked at again first")
	require.NoError(t, c.tell())
	assert.Equal(t, []fault.Reason{fault.Unlogged}, *found)
}

// An inbox ref that leads to another kind of object is reported in the same way. No other finding is reported
// about it.
func TestMalformed(t *testing.T) {
	c, found := compared()
	lane := refs.Ref{Name: c.home.Namespace().Lane(id)}
	inbox := refs.Ref{Name: c.home.Namespace().Inbox("fixer", id)}
	require.NoError(t, c.openAt(inbox, &refs.Object{Type: "blob"}, false))
	require.NoError(t, c.visitor(t.Context()).State(lane, &lifecycle.State{ID: id, Offer: &record.Record{}, To: "fixer"}))
	fine, err := c.visitor(t.Context()).Done(lane)
	require.NoError(t, err)
	assert.False(t, fine)
	require.NoError(t, c.tell())
	assert.Equal(t, []fault.Reason{fault.MalformedObject}, *found)
	fine, err = c.visitor(t.Context()).Done(refs.Ref{Name: "refs/handoffs/log/zz"})
	require.NoError(t, err)
	assert.True(t, fine, "nothing is wrong with another lane")
}

// If the commit of an inbox ref or the entries of a lane are lost, only the missing object is reported.
func TestLostObjects(t *testing.T) {
	c, found := compared()
	lane := refs.Ref{Name: c.home.Namespace().Lane(id)}
	inbox := refs.Ref{Name: c.home.Namespace().Inbox("fixer", id)}
	require.NoError(t, c.openAt(inbox, nil, true))
	require.NoError(t, c.visitor(t.Context()).State(lane, &lifecycle.State{ID: id, Offer: &record.Record{}, To: "fixer"}))
	fine, err := c.visitor(t.Context()).Done(lane)
	require.NoError(t, err)
	assert.False(t, fine)
	assert.Empty(t, *found, "a step may have removed it: the refs are looked at again first")
	require.NoError(t, c.tell())
	assert.Equal(t, []fault.Reason{fault.MissingObject}, *found)

	c, found = compared()
	require.NoError(t, c.openAt(inbox, &refs.Object{
		Type: "commit", Body: []byte("tree x\nauthor a <b> 1 +0000\n\noffered\n\nHandoff-Id: " + id + "\nHandoff-Event: offered\n"),
	}, false))
	require.NoError(t, c.visitor(t.Context()).Refused(lane, refs.Missing("lane entry x")))
	fine, err = c.visitor(t.Context()).Done(lane)
	require.NoError(t, err)
	assert.False(t, fine)
	require.NoError(t, c.tell())
	assert.Equal(t, []fault.Reason{fault.MissingObject}, *found)
}

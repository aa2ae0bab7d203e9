package crossrepo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A command line is limited in length. A look at many handoffs fetches all handoffs instead of naming each.
func TestManyHandoffsAreFetchedAsAll(t *testing.T) {
	h := NewHub(&Alias{RepoID: "git+https://example.com/hub"}, &refs.Repo{}, nil)
	var want lifecycle.FetchSpec
	for i := range manyPlaces {
		want.Places = append(want.Places, lifecycle.Place{Agent: "fixer", ID: handoff.ID(fmt.Sprintf("ho_%026d", i))})
	}
	assert.Len(t, h.specs(want, nil), 2*manyPlaces)
	assert.Len(t, h.specs(lifecycle.FetchSpec{Work: want.Places[:MostWork]}, nil), MostWork, "no snapshot that is compared is left out")
	want.Places = append(want.Places, lifecycle.Place{Agent: "fixer", ID: "ho_z"})
	assert.Equal(t, h.specs(lifecycle.FetchSpec{Inboxes: []string{AllInboxes}}, nil), h.specs(want, nil))
}

package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each guard is where the list says, and the source without it is still Go.
func TestListFits(t *testing.T) {
	t.Chdir("../..")
	require.NotEmpty(t, mutants)
	for _, m := range all() {
		text, err := m.mutate()
		if assert.NoError(t, err) {
			_, err = parser.ParseFile(token.NewFileSet(), m.file, text, parser.SkipObjectResolution)
			assert.NoError(t, err, m.guard)
		}
	}
}

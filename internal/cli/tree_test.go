package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A command is found alone by the name that it has in the tree of all.
func TestOneCommand(t *testing.T) {
	for _, g := range groups() {
		for _, e := range g.commands {
			assert.Equal(t, e.name, e.make(&app{}).Name())
			if e.name != "completion" { // prints the others
				assert.Equal(t, e.name, onlyFor([]string{e.name, "--help"}))
			}
		}
	}
	for _, args := range [][]string{
		nil, {"help", "emit"}, {"-C", "emit", "inbox"}, {"__complete", "emit"}, {"completion", "bash"}, {"emti"},
	} {
		assert.Empty(t, onlyFor(args), "%q", args)
	}
}

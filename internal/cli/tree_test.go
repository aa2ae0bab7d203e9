package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// A command is found alone by the name that it has in the tree of all, wherever the flags of
// all commands stand.
func TestOneCommand(t *testing.T) {
	for _, g := range groups() {
		for _, e := range g.commands {
			assert.Equal(t, e.name, e.make(&app{}).build().Name())
			for _, args := range [][]string{
				{e.name, "--help"}, {"-C", "emit", e.name}, {"--directory=x", "-q", "--json", e.name}, {"--as", "all", e.name, "emit"},
			} {
				assert.Equal(t, []string{e.name}, names(newRoot(&app{}, args)), "%q", args)
			}
		}
	}
	all := names(newRoot(&app{}, nil))
	assert.Contains(t, all, "help")
	for _, args := range [][]string{{"help", "emit"}, {"--unheard", "emit"}, {"__complete", "emit"}, {"emti"}, {"--", "emit"}, {"-Cx", "emit"}} {
		assert.Equal(t, all, names(newRoot(&app{}, args)), "%q", args)
	}
}

func names(root *cobra.Command) []string {
	var list []string
	for _, cmd := range root.Commands() {
		list = append(list, cmd.Name())
	}
	return list
}

// The cost of the tree of commands at each start: of one command, and of all.
func BenchmarkTree(b *testing.B) {
	for name, args := range map[string][]string{"one": {"-C", "x", "resume"}, "all": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				newRoot(&app{}, args)
			}
		})
	}
}

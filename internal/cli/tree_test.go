package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// newRoot builds only the command that the arguments name, wherever the flags of all commands stand.
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

// BenchmarkTree measures the tree of commands that each start builds: with one command, and with all.
func BenchmarkTree(b *testing.B) {
	for name, args := range map[string][]string{"one": {"-C", "x", "resume"}, "all": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				newRoot(&app{}, args)
			}
		})
	}
}

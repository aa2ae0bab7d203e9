package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// CommandPaths lists every command and help topic by its words after
// "githandoff".
func CommandPaths() []string {
	root := newRoot(&app{}, "")
	var paths []string
	each(root, func(cmd *cobra.Command) {
		paths = append(paths, strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), root.Name())))
	})
	return paths
}

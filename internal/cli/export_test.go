package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/cli/output"
)

// CommandPaths lists every command and help topic by its words after
// "githandoff".
func CommandPaths() []string {
	root := newRoot(&app{}, nil)
	var paths []string
	each(root, func(cmd *cobra.Command) {
		paths = append(paths, strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), root.Name())))
	})
	return paths
}

// CheckCommandLine says why a command line would be refused before it does
// anything: no such command, flag, or number of arguments.
func CheckCommandLine(args []string) error {
	root := newRoot(&app{Printer: output.Printer{Color: output.Auto}}, nil)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if help, err := cmd.Flags().GetBool("help"); err == nil && help {
		return nil
	}
	if !cmd.Runnable() {
		return usage("%s is no command", cmd.CommandPath())
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

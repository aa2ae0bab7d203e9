package cli

import (
	"context"
	"runtime"

	"githandoff/internal/cli/output"
	"githandoff/internal/gitexec"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version; with --json those of go and git as well",
		Args:  exactArgs(0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.Context(), a) },
	}
}

func printVersion(ctx context.Context, a *app) error {
	return a.Print(func() (any, error) {
		git, err := gitexec.Installed(ctx, a.Vars)
		return versionRow{a.Version, runtime.Version(), git}, err
	}, func(t *output.Lines) error {
		t.Line("githandoff %s", a.Version)
		return nil
	})
}

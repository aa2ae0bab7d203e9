package cli

import (
	"context"
	"fmt"
	"runtime"

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
	if !a.JSON {
		_, err := fmt.Fprintln(a.Stdout, "githandoff", a.Version)
		return err
	}
	git, err := gitVersion(ctx, a)
	if err != nil {
		return err
	}
	a.Object(versionRow{a.Version, runtime.Version(), git})
	return nil
}

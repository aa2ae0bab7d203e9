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
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runVersion(cmd.Context()) },
	}
}

func (a *app) runVersion(ctx context.Context) error {
	if !a.JSON {
		_, err := fmt.Fprintln(a.Stdout, "githandoff", a.Version)
		return err
	}
	git, err := a.gitVersion(ctx)
	if err != nil {
		return err
	}
	a.Object(versionRow{a.Version, runtime.Version(), git})
	return nil
}

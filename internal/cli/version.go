package cli

import (
	"context"
	"runtime"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

func newVersion(a *app) command {
	return command{
		use:   "version",
		short: "Print the version; with --json those of go and git as well",
		example: []string{
			"githandoff version",
			"githandoff version --json",
		},
		exits: []fault.Code{},
		run:   func(ctx context.Context) error { return printVersion(ctx, a) },
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

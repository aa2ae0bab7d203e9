package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"githandoff/internal/app/inspect"
	"githandoff/internal/app/workcopy"
	"githandoff/internal/crossrepo"
	"githandoff/internal/untrusted"
)

// workCommand is "work" and the commands below it.
type workCommand struct {
	*app
	id, bundle, patch string
	from              string // the sender
}

func newWork(a *app) command {
	c := &workCommand{app: a}
	sub := func(use, short string, example []string, do func(context.Context, *workcopy.Brought) error) command {
		return command{
			use: use, short: short, example: example, args: takes(0, "at most one ID", &c.id),
			run: func(ctx context.Context) error { return c.with(ctx, do) },
		}
	}
	export := sub("export [ID]", "Write the snapshot to a file, as a bundle or a patch", []string{
		"githandoff work export 7k3m2q --bundle work.bundle",
		"githandoff work export 7k3m2q --patch work.patch",
	}, c.export)
	export.oneOf = [][]string{{"bundle", "patch"}}
	export.flags = func(f *pflag.FlagSet) {
		f.StringVar(&c.bundle, "bundle", "", "write a git bundle to `FILE`; - is standard output")
		f.StringVar(&c.patch, "patch", "", "write a patch to `FILE`; - is standard output")
	}
	return command{
		use:   "work",
		short: "Look at the snapshot of a handoff, apply it, or write it to a file",
		long: `A snapshot is the state of the sender's work tree. These commands fetch it on demand;
"githandoff resume --worktree" checks it out. They compare it with the sender's newest
commit that the home had.`,
		example: []string{"githandoff work show 7k3m2q"},
		sub: []command{
			sub("show [ID]", "List the files changed by the snapshot", []string{"githandoff work show 7k3m2q"}, c.show),
			sub("diff [ID]", "Print what the snapshot changes", []string{"githandoff work diff 7k3m2q"}, c.diff),
			sub("apply [ID]", "Change the files here as the snapshot changed the sender's, or none of them",
				[]string{"githandoff work apply 7k3m2q"}, func(ctx context.Context, b *workcopy.Brought) error { return b.Apply(ctx, b.Base()) }),
			export,
		},
	}
}

// with fetches the snapshot of a handoff, and lets go of it afterwards.
func (c *workCommand) with(ctx context.Context, do func(context.Context, *workcopy.Brought) error) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	f, v, err := inspect.New(ws).Show(ctx, c.id)
	if err != nil {
		return err
	}
	if v == nil {
		return contentGone(f)
	}
	c.from = v.Offer().From
	handler := &workcopy.Handler{Repo: ws.Repo, Fetcher: crossrepo.Snapshots{Repo: ws.Repo}}
	return handler.With(ctx, f.Home, f.State, v, do)
}

func (c *workCommand) show(ctx context.Context, b *workcopy.Brought) error {
	list, err := b.Diff(ctx, b.Base(), "--name-status", "--find-renames")
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Snapshot: %s\nCommit: %s\nHead: %s\n", workLine(b.Work), b.Work.Commit, b.Work.Head)
	if b.Work.Base != "" {
		fmt.Fprintf(c.Stdout, "Base: %s\n", b.Work.Base)
	}
	if b.Work.Branch != "" {
		list = append([]byte("Branch: "+printable(b.Work.Branch)+"\n"), list...)
	}
	fenced, err := untrusted.Fence(c.Random, string(list), "written by "+c.from)
	if err == nil {
		_, err = c.Foreign(fenced)
	}
	return err
}

func (c *workCommand) diff(ctx context.Context, b *workcopy.Brought) error {
	patch, err := b.Patch(ctx, b.Base())
	if err == nil {
		_, err = c.Foreign(patch)
	}
	return err
}

func (c *workCommand) export(ctx context.Context, b *workcopy.Brought) error {
	if c.bundle == "" && c.patch == "" {
		return usage("work export needs --bundle FILE or --patch FILE")
	}
	var out []byte
	var err error
	if c.bundle != "" {
		out, err = b.Bundle(ctx, b.Ref, b.Work.Base)
	} else {
		out, err = b.Patch(ctx, b.Base())
	}
	if err != nil {
		return err
	}
	name := cmp.Or(c.bundle, c.patch)
	if name == "-" {
		_, err = c.Foreign(out)
		return err
	}
	return writeOutput(inDir(c.Dir, name), out, 0o600)
}

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"githandoff/internal/app/workcopy"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
	"githandoff/internal/workspace"
)

// workCommand is "work" and the commands below it.
type workCommand struct {
	*app
	id, bundle, patch string
}

func newWork(a *app) command {
	c := &workCommand{app: a}
	sub := func(use, short string, example []string, do func(context.Context, *brought) error) command {
		return command{
			use: use, short: short, example: example, args: takes(1, "an ID", &c.id),
			run: func(ctx context.Context) error { return c.with(ctx, do) },
		}
	}
	export := sub("export ID", "Write the snapshot to a file, as a bundle or a patch", []string{
		"githandoff work export 7k3m2q --bundle work.bundle",
		"githandoff work export 7k3m2q --patch work.patch",
	}, c.export)
	export.flags = func(f *pflag.FlagSet) {
		f.StringVar(&c.bundle, "bundle", "", "write a git bundle to `FILE`")
		f.StringVar(&c.patch, "patch", "", "write a patch to `FILE`")
	}
	return command{
		use:   "work",
		short: "Look at the snapshot that comes with a handoff, apply it, or write it to a file",
		long: `A snapshot is the state of the sender's work tree. These commands fetch it on demand;
"githandoff resume --worktree" checks it out. They compare it with the sender's newest
commit that the home had.`,
		example: []string{"githandoff work show 7k3m2q"},
		sub: []command{
			sub("show ID", "List the files that the snapshot changes", []string{"githandoff work show 7k3m2q"}, c.show),
			sub("diff ID", "Print what the snapshot changes", []string{"githandoff work diff 7k3m2q"}, c.diff),
			sub("apply ID", "Change the files here as the snapshot changed the sender's, or none of them",
				[]string{"githandoff work apply 7k3m2q"}, c.apply),
			export,
		},
	}
}

// brought is a snapshot that is readable here.
type brought struct {
	*snapshot.Contents
	work *handoff.Work
	ref  string
}

// base is the commit that the snapshot is compared with.
func (b *brought) base() string {
	if b.work.Base != "" {
		return b.work.Base
	}
	return b.work.Head
}

// with fetches the snapshot of a handoff, and lets go of it afterwards.
func (c *workCommand) with(ctx context.Context, do func(context.Context, *brought) error) error {
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	f, err := d.Find(ctx, c.id, workspace.IfUnknown)
	if err != nil {
		return err
	}
	v, err := (&showCommand{app: c.app}).verified(ctx, d, f)
	if err != nil {
		return err
	}
	if v == nil || v.Envelope().Work == nil {
		return fault.New(fault.NotFound, fault.NoSnapshot, "handoff %s carries no snapshot", f.State.ID).
			WithHints(fault.Run("githandoff", "show", string(f.State.ID)).Because("shows it"))
	}
	w, p := v.Envelope().Work, lifecycle.Place{Agent: f.State.Agent, ID: f.State.ID}
	handler := &workcopy.Handler{Repo: d.Repo, Fetcher: crossrepo.Snapshots{Repo: d.Repo}}
	defer func() { _ = crossrepo.Snapshots{Repo: d.Repo}.ForgetWork(context.WithoutCancel(ctx), f.Home, p) }() // the receipt does so again
	contents, err := handler.Bring(ctx, f.Home, p, w)
	if err != nil {
		return err
	}
	return do(ctx, &brought{contents, w, leads(ctx, d, f.Home, p)})
}

// leads is the ref that leads to a snapshot here.
func leads(ctx context.Context, d *workspace.Workspace, home lifecycle.Home, p lifecycle.Place) string {
	ref := home.Namespace().Work(p.Agent, p.ID)
	if oid, err := d.Repo.Resolve(ctx, ref); err == nil && oid == "" {
		ref = refs.WorkOut(p.ID)
	}
	return ref
}

func (c *workCommand) show(ctx context.Context, b *brought) error {
	list, err := b.Diff(ctx, b.base(), "--name-status", "--find-renames")
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Snapshot: %s\nCommit: %s\nHead: %s\n", workLine(b.work), b.work.Commit, b.work.Head)
	if b.work.Base != "" {
		fmt.Fprintf(c.Stdout, "Base: %s\n", b.work.Base)
	}
	if b.work.Branch != "" {
		fmt.Fprintf(c.Stdout, "Branch: %s\n", printable(b.work.Branch))
	}
	_, err = c.Stdout.Write(list)
	return err
}

func (c *workCommand) diff(ctx context.Context, b *brought) error {
	patch, err := b.Patch(ctx, b.base())
	if err == nil {
		_, err = c.Stdout.Write(patch)
	}
	return err
}

func (c *workCommand) apply(ctx context.Context, b *brought) error {
	if c.repo.Worktree == "" {
		return fault.New(fault.Usage, fault.BareRepository, "a bare repository has no files to change")
	}
	return b.Apply(ctx, b.base())
}

func (c *workCommand) export(ctx context.Context, b *brought) error {
	if (c.bundle == "") == (c.patch == "") {
		return usage("work export needs either --bundle FILE or --patch FILE, not both")
	}
	if c.bundle != "" {
		path, err := c.path(c.bundle)
		if err != nil {
			return err
		}
		return b.Bundle(ctx, path, b.ref, b.work.Base)
	}
	out, err := b.Patch(ctx, b.base())
	if err != nil {
		return err
	}
	path, err := c.path(c.patch)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		return refs.DiskFault(err)
	}
	return nil
}

// path is a file of the user's, seen from where the command was started.
func (c *workCommand) path(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Abs(filepath.Join(c.Dir, name))
}

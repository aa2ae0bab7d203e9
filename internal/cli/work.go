package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/inspect"
	"githandoff/internal/cli/output"
	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
	"githandoff/internal/workcopy"
)

// workCommand is "work" and the commands below it.
type workCommand struct {
	*app
	id, bundle, patch string
	from              string // the sender
	of                handoff.ID
}

// workRow is the JSON object of "work show".
type workRow struct {
	ID      handoff.ID   `json:"id"`               // handoff
	Commit  string       `json:"commit"`           // the snapshot, shaped as a stash
	Head    string       `json:"head"`             // HEAD of the sender
	Base    string       `json:"base,omitempty"`   // newest commit of head that the home had
	Branch  string       `json:"branch,omitempty"` // branch of the sender
	Commits int          `json:"commits"`          // number of commits from base to head
	Files   int          `json:"files"`            // number of files changed since base
	Bytes   int64        `json:"bytes"`            // size of the objects that the home lacked
	Changes []changedRow `json:"changes"`          // changed files, in the order of their paths
}

// changedRow is a file that a snapshot changes.
type changedRow struct {
	Status string `json:"status"`         // A, D, M, R or T, as git diff prints it
	Path   string `json:"path"`           // path from the top of the repository
	From   string `json:"from,omitempty"` // path before a rename
}

func newWork(a *app) command {
	c := &workCommand{app: a}
	sub := func(use, short string, example []string, do func(context.Context, *workcopy.Brought) error) command {
		return command{
			use: use, short: short, example: example, args: takesID(0, &c.id),
			run: func(ctx context.Context) error { return c.with(ctx, do) },
		}
	}
	export := sub("export [ID] --bundle FILE|--patch FILE", "Write the snapshot to a file, as a bundle or a patch", []string{
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
commit that the home had, or with no files if it had none.`,
		example: []string{"githandoff work show 7k3m2q"},
		sub: []command{
			sub("show [ID]", "List the files changed by the snapshot", []string{"githandoff work show 7k3m2q"}, c.show),
			sub("diff [ID]", "Print what the snapshot changes", []string{"githandoff work diff 7k3m2q"}, c.diff),
			sub("apply [ID]", "Change the files here as the snapshot changed the sender's, or none of them",
				[]string{"githandoff work apply 7k3m2q"}, func(ctx context.Context, b *workcopy.Brought) error { return b.Apply(ctx, b.Work.Base) }),
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
	if f.State.Receipt != nil {
		return f.State.Err()
	}
	if v == nil {
		return contentGone(f)
	}
	c.from, c.of = v.Offer().From, v.Offer().ID
	return (&workcopy.Handler{Repo: ws.Repo}).With(ctx, f.Home, f.State, v, do)
}

func (c *workCommand) show(ctx context.Context, b *workcopy.Brought) error {
	changes := func(how ...string) ([]byte, error) {
		return b.Diff(ctx, b.Base(), append(how, "--name-status", "--find-renames")...)
	}
	printed, err := c.Render(func() (any, error) {
		list, err := changes("-z")
		return c.row(b.Work, list), err
	}, func(t *output.Lines) error {
		list, err := changes()
		if err != nil {
			return err
		}
		return c.list(t, b.Work, list)
	})
	if err == nil {
		_, err = c.Foreign(printed)
	}
	return err
}

// row reads the changes as git diff -z lists them.
func (c *workCommand) row(w *handoff.Work, list []byte) workRow {
	r := workRow{
		ID: c.of, Commit: w.Commit, Head: w.Head, Base: w.Base, Branch: w.Branch,
		Commits: w.Commits, Files: w.Files, Bytes: w.Bytes, Changes: []changedRow{},
	}
	fields := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	for len(fields) > 1 {
		one := changedRow{Status: fields[0][:1], Path: fields[1]}
		fields = fields[2:]
		if one.Status == "R" && len(fields) > 0 {
			one.From, one.Path, fields = one.Path, fields[0], fields[1:]
		}
		r.Changes = append(r.Changes, one)
	}
	return r
}

func (c *workCommand) list(t *output.Lines, w *handoff.Work, list []byte) error {
	t.Line("Snapshot: %s\nCommit: %s\nHead: %s", workLine(w), w.Commit, w.Head)
	if w.Base != "" {
		t.Line("Base: %s", w.Base)
	}
	if w.Branch != "" {
		list = append([]byte("Branch: "+untrusted.Line(w.Branch)+"\n"), list...)
	}
	return writeFenced(c.app, t, string(list), c.from)
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

package cli

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/document"
	"githandoff/internal/app/render"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/prompt"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

type renderCommand struct {
	*app

	template               string
	deps, depResults, vars []string
	history                bool
	past                   historyFlags
	maxBytes               int
}

func newRender(a *app) command {
	c := &renderCommand{app: a}
	return command{
		use:   "render --template FILE [--dep NAME=ID|FILE|LOG] [--var K=V]",
		short: "Make a prompt from a template, earlier handoffs and the history",
		long: `Runs a template (Go's text/template) and prints the prompt. The template can use

  .Deps.NAME.Handoff    Version, Summary, Detail, Data: of --dep NAME=…
  .Deps.NAME.Results    branch and commit of the sender, then the results in the
                        receipt or the log, then --dep-result
  .Deps.NAME.Outputs    lines between the markers in a log of Kelos
  .History              the output of "githandoff history", with --history
  .K                    of --var K=V

and the function fence, which marks text that somebody else wrote. A name with a
dash is written {{index .Deps "open-pr" "Handoff" "Summary"}}.

A dependency is one of these: an id, or its last characters, of a handoff that is open,
archived, or quoted by a later one; a document in any format that "githandoff help
formats" lists; a log of Kelos of any size. "NAME=" declares that there is none, and
prints as nothing. A dependency whose content is gone is refused (exit 3), and so is a
template that would print a value that was not given (exit 6). Write ./FILE for a file
whose name looks like an id.`,
		example: []string{
			"githandoff render --template fix.tmpl --dep investigate=7k3m2q",
			"githandoff render --template worker.tmpl --var Title=@title.txt --history --phases Failed",
		},
		args: wordOf("template", takes(0, "flags only")),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.template, "template", "", "fill in the template `FILE` (- is standard input)")
			f.StringArrayVar(&c.deps, "dep", nil, "set .Deps.NAME with `NAME=ID|FILE|LOG`; repeatable")
			f.StringArrayVar(&c.depResults, "dep-result", nil, "set a result of a dependency with `NAME.K=V`; repeatable")
			f.StringArrayVar(&c.vars, "var", nil, "set .K with `K=V` or K=@FILE; repeatable")
			f.BoolVar(&c.history, "history", false, "fill .History")
			c.past.register(f)
			f.IntVar(&c.maxBytes, "max-bytes", 0, "cut the prompt to `N` bytes, at a line")
		},
		run: c.run,
	}
}

func (c *renderCommand) run(ctx context.Context) error {
	if flag := c.past.given(); flag != "" && !c.history {
		return usage("%s needs --history", flag)
	}
	if c.past.set.Changed("max-bytes") && c.maxBytes < 1 {
		return usage("--max-bytes %d: want more than 0", c.maxBytes)
	}
	if c.template == "" {
		return needs(c.app, "render", "--template FILE", "")
	}
	text, err := c.readInput(c.template)
	if err != nil {
		return ofFlag("--template", err)
	}
	r := render.Request{Name: c.template, Template: string(text), MaxBytes: c.maxBytes}
	if r.Vars, err = c.readVars(c.vars); err != nil {
		return err
	}
	if r.Deps, err = readDeps(c.deps); err != nil {
		return err
	}
	for _, flag := range c.depResults {
		result, err := readDepResult(r.Deps, flag)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, result)
	}
	in := &renderInput{app: c.app}
	if c.history {
		if r.History, err = in.history(ctx, &c.past); err != nil {
			return err
		}
	}
	h := &render.Handler{Workspace: in.workspace, Open: in.open, Read: in.read, Random: c.Random, Warn: c.Warn}
	p, err := h.Render(ctx, r)
	if err != nil {
		return err
	}
	return c.Result(promptRow{p.Text, p.Bytes, p.Cut}, func(t *output.Lines) {
		c.Cost(len(p.Text))
		_, _ = io.WriteString(t, p.Text) // Write of Lines never fails
	})
}

// readDeps reads NAME=ID and NAME=FILE.
func readDeps(flags []string) ([]render.Dep, error) {
	var deps []render.Dep
	for _, flag := range flags {
		name, arg, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, usage("--dep %s: want NAME=ID, NAME=FILE, or NAME= for none", untrusted.Line(flag))
		}
		if slices.ContainsFunc(deps, func(d render.Dep) bool { return d.Name == name }) {
			return nil, usage("--dep %s: given twice", untrusted.Line(name))
		}
		deps = append(deps, render.Dep{Name: name, Arg: arg})
	}
	return deps, nil
}

// readDepResult reads NAME.K=V. A name given with --dep may contain dots.
func readDepResult(deps []render.Dep, flag string) (r render.DepResult, err error) {
	path, v, ok := strings.Cut(flag, "=")
	for _, d := range deps {
		if len(d.Name) > len(r.Dep) && strings.HasPrefix(path, d.Name+".") {
			r.Dep = d.Name
		}
	}
	r.Key, r.Value = strings.TrimPrefix(path, r.Dep+"."), v
	switch {
	case !ok || !strings.Contains(path, "."):
		return r, usage("--dep-result %s: want NAME.K=V", untrusted.Line(flag))
	case r.Dep == "":
		return r, usage("--dep-result %s: no such dependency", untrusted.Line(path)).
			WithHints(fault.See("render").Because("--dep names each dependency before its results"))
	case r.Key == "":
		return r, usage("--dep-result %s: want NAME.K=V", untrusted.Line(flag))
	}
	return r, nil
}

func (c *renderCommand) readVars(flags []string) (map[string]string, error) {
	vars := map[string]string{}
	for _, kv := range flags {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usage("--var %s: want K=V", untrusted.Line(kv))
		}
		if err := prompt.CheckVar(k); err != nil {
			return nil, fault.About("--var "+k, err)
		}
		var err error
		if vars[k], err = c.text("--var "+k, v); err != nil {
			return nil, err
		}
	}
	return vars, nil
}

// renderInput gives a prompt its parts. It opens the repository when a part first needs it: a
// prompt of files needs none.
type renderInput struct {
	*app
	opened *workspace.Workspace
}

func (in *renderInput) workspace(ctx context.Context) (*workspace.Workspace, error) {
	if in.opened != nil {
		return in.opened, nil
	}
	ws, err := in.app.workspace(ctx, reads)
	in.opened = ws
	return ws, err
}

// history returns the value of .History.
func (in *renderInput) history(ctx context.Context, h *historyFlags) (string, error) {
	if err := h.check(); err != nil {
		return "", err
	}
	ws, err := in.workspace(ctx)
	if err != nil {
		return "", err
	}
	list, err := h.past(ctx, ws, h.limit)
	return prompt.History(told(list, false, in.Now()), h.keys), err
}

func (in *renderInput) read(format string, b []byte) (*handoff.Envelope, error) {
	return in.documents().Draft(document.Source{Format: format}, b)
}

// open opens a file to be read twice: a pipe is read into memory.
func (in *renderInput) open(name string) (io.ReadSeekCloser, error) {
	if name == "-" {
		b, err := in.readInput(name)
		return inMemory{bytes.NewReader(b)}, err
	}
	f, err := in.openFile(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, nil
	}
	f.Close()
	if err != nil {
		return nil, err
	}
	b, err := in.readInput(name)
	return inMemory{bytes.NewReader(b)}, err
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

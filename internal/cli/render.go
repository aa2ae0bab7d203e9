package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
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

func newRender(a *app) *cobra.Command {
	c := &renderCommand{app: a}
	cmd := &cobra.Command{
		Use:   "render --template FILE [--dep NAME=ID|FILE|LOG] [--var K=V]",
		Short: "Make a prompt from a template, earlier handoffs and the history",
		Long: `Runs a template (Go's text/template) and prints the prompt. It sees

  .Deps.NAME.Handoff    Version, Summary, Detail, Data: of --dep NAME=…
  .Deps.NAME.Results    branch and commit of the sender, then what the receipt
                        or the log says, then --dep-result
  .Deps.NAME.Outputs    lines that a log of Kelos has between its markers
  .History              what "githandoff history" prints, with --history
  .K                    of --var K=V

and the function fence, which marks text that somebody else wrote. A name with a
dash is written {{index .Deps "open-pr" "Handoff" "Summary"}}.

A dependency is an id, or its last characters, of a handoff that is under way,
in the archive, or quoted by a later one; a document in any format that
"githandoff help formats" lists; or a log of Kelos of any size. "NAME=" stands for
none and prints as nothing. One whose content is gone is refused (exit 3), and so
is a template that would print what was not given (exit 6). A file whose name
looks like an id is written ./FILE.`,
		Example: `  githandoff render --template fix.tmpl --dep investigate=7k3m2q
  githandoff render --template worker.tmpl --var Title=@title.txt --history --phases Failed`,
		Args: exactArgs(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flag := c.past.given(cmd.Flags()); flag != "" && !c.history {
				return usage("%s needs --history", flag)
			}
			if cmd.Flags().Changed("max-bytes") && c.maxBytes < 1 {
				return usage("--max-bytes %d: want more than 0", c.maxBytes)
			}
			return c.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.template, "template", "", "the template, `FILE` (- is standard input)")
	f.StringArrayVar(&c.deps, "dep", nil, "what .Deps.NAME is, `NAME=ID|FILE|LOG`; repeatable")
	f.StringArrayVar(&c.depResults, "dep-result", nil, "a result of a dependency, `NAME.K=V`; repeatable")
	f.StringArrayVar(&c.vars, "var", nil, "what .K is, `K=V` or K=@FILE; repeatable")
	f.BoolVar(&c.history, "history", false, "fill .History")
	c.past.register(f)
	f.IntVar(&c.maxBytes, "max-bytes", 0, "cut the prompt to `N` bytes, at a line")
	return cmd
}

func (c *renderCommand) run(ctx context.Context) error {
	if c.template == "" {
		return usage("render needs --template").WithHints(fault.See("render").Because("--template names its file"))
	}
	text, err := c.readInput(c.template)
	if err != nil {
		return err
	}
	w := &workshop{app: c.app, places: map[string]string{}}
	in := prompt.Input{}
	if in.Vars, err = c.readVars(c.vars); err != nil {
		return err
	}
	if in.Deps, err = w.dependencies(ctx, c); err != nil {
		return err
	}
	if c.history {
		if in.History, err = w.history(ctx, &c.past); err != nil {
			return err
		}
	}
	p, err := prompt.Render(c.template, string(text), in, func(s string) (string, error) {
		b, err := untrusted.Fence(c.Random, s, "written by somebody else")
		return string(b), err
	})
	if err != nil {
		return err
	}
	out, cut := p.Text, false
	if c.maxBytes > 0 && len(out) > c.maxBytes {
		cut = true
		if out, err = p.Cut(c.maxBytes, w.rest()); err != nil {
			return err
		}
	}
	return c.Result(promptRow{out, len(p.Text), cut}, func(t *output.Lines) {
		c.Cost(len(out))
		_, _ = io.WriteString(t, out) // Lines take everything
	})
}

func (c *renderCommand) readVars(flags []string) (map[string]string, error) {
	vars := map[string]string{}
	for _, kv := range flags {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usage("--var %s: want K=V", printable(kv))
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

// workshop is where the parts of one prompt are gathered. It opens the
// repository when the first part needs it: a prompt of files needs none.
type workshop struct {
	*app
	opened *workspace.Workspace
	places map[string]string // by dependency: where a reader finds its whole text
}

func (w *workshop) desk(ctx context.Context) (*workspace.Workspace, error) {
	if w.opened != nil {
		return w.opened, nil
	}
	d, err := w.app.desk(ctx, reads)
	w.opened = d
	return d, err
}

func (w *workshop) history(ctx context.Context, h *historyFlags) (string, error) {
	if err := h.check(); err != nil {
		return "", err
	}
	d, err := w.desk(ctx)
	if err != nil {
		return "", err
	}
	list, err := h.past(ctx, d)
	return historyText(list, h.keys, w.Now()), err
}

// rest says where the reader of a prompt that was cut finds all of it.
func (w *workshop) rest() string {
	var where []string
	for _, name := range slices.Sorted(maps.Keys(w.places)) {
		where = append(where, w.places[name])
	}
	if len(where) == 0 {
		return "githandoff render without --max-bytes"
	}
	return strings.Join(where, ", ")
}

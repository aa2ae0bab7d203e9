package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/export"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

type convertCommand struct {
	*app

	file, from, to, task, target string
}

func newConvert(a *app) command {
	c := &convertCommand{app: a}
	return command{
		use:   "convert [FILE|-] --to FORMAT",
		short: "Convert a document from one format to another",
		long: `Reads a document in any format that "githandoff help formats" lists, and prints it in
another one. Members that the other format cannot express are named on standard error.
Converted back to its first format, the document is the same JSON value again. Without
FILE it reads standard input.

Some formats need members that the document may lack: --as names its author, --target
its receiver, and --task its task. If the format needs an id, it is derived from the
content and is always the same.`,
		example: []string{
			"githandoff convert /tmp/kelos-handoff.json --to githandoff",
			"githandoff convert /tmp/kelos-handoff.json --to ho --as investigator --task LIN-423",
			"githandoff resume --peek --format githandoff | githandoff convert --to ho",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Policy},
		args:  takes(0, "at most one file", &c.file),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.from, "from", "", "format of FILE; detected by content")
			f.StringVar(&c.to, "to", "", "`FORMAT` to print")
			f.StringVar(&c.task, "task", "", "the sender's own `KEY` for the work, if the document has none")
			f.StringVar(&c.target, "target", "", "the receiver, `AGENT`, if the document names none")
		},
		values: map[string][]string{"to": dialect.Formats()},
		run:    c.run,
	}
}

func (c *convertCommand) run(context.Context) error {
	if c.to == "" {
		return usage("name the format to write").WithHints(fault.See("convert").Because("--to is one of %s", strings.Join(dialect.Formats(), ", ")))
	}
	draft, _, err := openDocument(c.app, c.from, c.file)
	if err != nil {
		return err
	}
	if err := c.address(&draft.Envelope); err != nil {
		return err
	}
	export.JoinTexts(c.to, &draft.Envelope)
	doc, warnings, err := draft.Export(c.to)
	if fault.CodeOf(err) == fault.Invalid {
		return fault.As(err).WithHints(fault.See("convert").Because("--as names its source, --target its receiver"))
	}
	if err != nil {
		return err
	}
	switch {
	case draft.Token == "":
	case c.to == dialect.Vox:
		if doc, err = dialect.AddToken(doc, draft.Token); err != nil {
			return err
		}
	default:
		warnings = append(warnings, c.to+" cannot say: cryptographic_obo_token")
	}
	for _, w := range warnings {
		c.Warn(errors.New(w))
	}
	_, err = c.Stdout.Write(append(doc, '\n'))
	return err
}

// address fills in, from the flags and for the format to print, what the document
// does not say. Nothing that it says is overruled.
func (c *convertCommand) address(env *handoff.Envelope) error {
	if err := dialect.CheckFormat(c.to); err != nil {
		return err
	}
	env.Task = cmp.Or(env.Task, c.task)
	if wrote := cmp.Or(c.As, c.Getenv("GITHANDOFF_AGENT")); env.Source.Agent == "" && handoff.CheckAgent(wrote) == nil {
		env.Source.Agent = wrote
	}
	if err := dialect.Check(c.to, env); err != nil {
		return err
	}
	said, _, err := dialect.Export(dialect.Githandoff, env)
	if err != nil {
		return err
	}
	if c.to != dialect.Githandoff && env.ID == "" {
		env.ID = handoff.DeriveID(time.UnixMilli(0), "convert", string(said))
	}
	if c.target == "" || env.Target.Agent != nil {
		return nil
	}
	if err := handoff.CheckAgent(c.target); err != nil {
		return usage("--target: %v", err)
	}
	env.Target.Agent = &c.target
	return nil
}

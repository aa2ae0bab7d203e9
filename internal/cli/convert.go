package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/export"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
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
Converted to githandoff and back to its first format, the document is the same JSON value
again. Without FILE it reads standard input.

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
			f.StringVar(&c.from, "from", "", "read FILE in this `FORMAT`; detected by content")
			f.StringVar(&c.to, "to", "", "print it in this `FORMAT`")
			f.StringVar(&c.task, "task", "", "the sender's own `KEY` for the work, if the document has none")
			f.StringVar(&c.target, "target", "", "name `AGENT` as the receiver, if the document names none")
		},
		values: map[string][]string{"to": dialect.Formats()},
		run:    c.run,
	}
}

func (c *convertCommand) run(context.Context) error {
	if c.to == "" {
		word := ""
		if slices.Contains(dialect.Formats(), c.file) {
			word = c.file
		}
		refusal := needs(c.app, "convert", "--to FORMAT", word)
		return refusal.WithHints(append(refusal.Hints, fault.Fact("the formats are %s", strings.Join(dialect.Formats(), ", ")))...)
	}
	draft, _, err := openDocument(c.app, "convert", c.from, c.file)
	if err != nil {
		return err
	}
	doc, warnings, err := export.Convert(draft, export.Conversion{
		Format: c.to, Source: cmp.Or(c.As, c.Getenv("GITHANDOFF_AGENT")), Target: c.target, Task: c.task,
	})
	if err != nil {
		return err
	}
	for _, w := range warnings {
		c.Warn(errors.New(w))
	}
	_, err = c.Stdout.Write(append(doc, '\n'))
	return err
}

package cli

import (
	"bytes"
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"githandoff/internal/app/document"
	"githandoff/internal/cli/output"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/screen"
)

// validateCommand is "validate".
type validateCommand struct {
	*app
	file, format string
}

func newValidate(a *app) command {
	c := &validateCommand{app: a}
	return command{
		use:   "validate [FILE|-]",
		short: "Check a document without sending it",
		long: `Reads a document in any format that "githandoff help formats" lists, and reports whether
emit would accept it: its form and limits, and the content policy (no secrets, no raw
conversations, no invisible characters). It names the member that is refused and never
prints it. Without FILE it reads standard input.`,
		example: []string{"githandoff validate handoff.json"},
		exits:   []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Policy},
		args:    takes(0, "at most one file", &c.file),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.format, "format", "", "read FILE in this `FORMAT`; detected by content")
		},
		run: c.run,
	}
}

// openDocument reads the document given to a command.
func openDocument(a *app, command, format, name string) (*dialect.Draft, []byte, error) {
	name = cmp.Or(name, "-")
	if name == "-" && output.IsTerminal(a.Stdin) {
		return nil, nil, usage("%s needs FILE, or a document on standard input", command).WithHints(fault.Run("githandoff", "help", "formats").Because("says what can be read"))
	}
	b, err := a.readInput(name)
	if err != nil {
		return nil, nil, err
	}
	draft, err := a.documents().Import(document.Source{Name: name, Format: format}, b)
	return draft, b, err
}

// documents reads documents for this command.
func (a *app) documents() *document.Reader {
	return &document.Reader{Warn: a.Warn, Self: a.Self(), Readable: func(name string) bool {
		_, err := a.readBelow(name)
		return err == nil
	}}
}

func (c *validateCommand) run(context.Context) error {
	draft, b, err := openDocument(c.app, "validate", c.format, c.file)
	if err != nil {
		return err
	}
	if err := screen.Envelope(&draft.Envelope); err != nil {
		return err
	}
	warnings := draft.Warnings
	// A draft has its own form; a changed envelope is worth a remark.
	if _, err := handoff.Decode(bytes.TrimSuffix(b, []byte("\n"))); draft.Format == dialect.Githandoff && fault.Is(err, fault.NonCanonical) {
		warnings = append(warnings, err.Error())
		c.Warn(err)
	}
	return c.Row(validRow{draft.Format, true, append([]string{}, warnings...)}, "%s ok", draft.Format)
}

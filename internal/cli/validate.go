package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"githandoff/internal/cli/output"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/screen"
)

// validateCommand is "validate".
type validateCommand struct {
	*app
}

func newValidate(a *app) *cobra.Command {
	c := &validateCommand{app: a}
	var format string
	cmd := &cobra.Command{
		Use:   "validate [FILE|-]",
		Short: "Check a document before it is handed over; nothing is written",
		Long: `Reads a document in any format that "githandoff help formats" lists, and says
whether emit would take it: its form and limits, and the content policy (no
secrets, no raw conversations, nothing invisible). What is refused is named by
its member and never printed. Without FILE it reads standard input.`,
		Args: atMostArgs(1, "at most one file"),
		RunE: func(_ *cobra.Command, args []string) error { return c.run(format, firstArg(args)) },
	}
	cmd.Flags().StringVar(&format, "format", "", "format of FILE; detected by content")
	return cmd
}

// open reads what validate and convert are given.
func (r *documents) open(format, name string) (string, *dialect.Draft, []byte, error) {
	if name == "" {
		name = "-"
	}
	if name == "-" && output.IsTerminal(r.Stdin) {
		return "", nil, nil, usage("name a file, or pipe the document to standard input").WithHints(fault.Run("githandoff", "help", "formats").Because("says what can be read"))
	}
	b, err := r.readInput(name)
	if err != nil {
		return "", nil, nil, err
	}
	draft, err := r.imported(paper{name: name, format: format}, b)
	if err != nil {
		return "", nil, nil, err
	}
	return draft.Format, draft, b, nil
}

func (c *validateCommand) run(format, name string) error {
	format, draft, b, err := (&documents{c.app}).open(format, name)
	if err != nil {
		return err
	}
	if err := screen.Envelope(&draft.Envelope); err != nil {
		return err
	}
	warnings := draft.Warnings
	// A draft has its own form; a whole envelope that was changed is worth a word.
	if _, err := handoff.Decode(bytes.TrimSuffix(b, []byte("\n"))); format == dialect.Githandoff && fault.Is(err, fault.NonCanonical) {
		warnings = append(warnings, err.Error())
		c.Warn(err)
	}
	return c.Row(validRow{format, true, append([]string{}, warnings...)}, "%s ok", format)
}

package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
)

type convertOptions struct{ from, to string }

func newConvert(a *app) *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:   "convert [FILE|-] --to FORMAT",
		Short: "Turn a document of one format into another",
		Long: `Reads a document in any format that "githandoff help formats" lists and prints
it in another. What the other format cannot say is named on standard error.
Converted back to the format that it came from, it is the same JSON value again.
Without FILE it reads standard input.`,
		Example: `  githandoff convert /tmp/kelos-handoff.json --to githandoff
  githandoff resume --peek --format githandoff | githandoff convert --to ho`,
		Args: atMostArgs(1, "at most one file"),
		RunE: func(_ *cobra.Command, args []string) error { return a.runConvert(&o, firstArg(args)) },
	}
	cmd.Flags().StringVar(&o.from, "from", "", "format of FILE; detected by content")
	cmd.Flags().StringVar(&o.to, "to", "", "`FORMAT` to print")
	return cmd
}

func (a *app) runConvert(o *convertOptions, name string) error {
	if o.to == "" {
		return usage("to which format?").WithHint("--to %s", strings.Join(dialect.Formats(), ", --to "))
	}
	_, draft, _, err := a.document(o.from, name)
	if err != nil {
		return err
	}
	doc, warnings, err := dialect.Export(o.to, &draft.Envelope)
	if fault.CodeOf(err) == fault.Invalid {
		return fault.As(err).WithHint("the document has nothing to put there; once it is handed over there is: githandoff show ID --format %s", o.to)
	}
	if err != nil {
		return err
	}
	switch {
	case draft.Token == "":
	case o.to == dialect.Vox:
		if doc, err = dialect.AddToken(doc, draft.Token); err != nil {
			return err
		}
	default:
		warnings = append(warnings, o.to+" cannot say: cryptographic_obo_token")
	}
	for _, w := range warnings {
		a.warn(errors.New(w))
	}
	_, err = a.Stdout.Write(append(doc, '\n'))
	return err
}

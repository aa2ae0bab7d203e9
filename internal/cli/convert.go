package cli

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

type convertOptions struct{ from, to, task, target string }

func newConvert(a *app) *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:   "convert [FILE|-] --to FORMAT",
		Short: "Turn a document of one format into another",
		Long: `Reads a document in any format that "githandoff help formats" lists and prints
it in another. What the other format cannot say is named on standard error.
Converted back to the format that it came from, it is the same JSON value again.
Without FILE it reads standard input.

Where the other format wants what the document does not say, --as says who wrote
it, --target who it is for, and --task what the work is called; where it wants an
id, one is derived from the content, always the same.`,
		Example: `  githandoff convert /tmp/kelos-handoff.json --to githandoff
  githandoff convert /tmp/kelos-handoff.json --to ho --as investigator --task LIN-423
  githandoff resume --peek --format githandoff | githandoff convert --to ho`,
		Args: atMostArgs(1, "at most one file"),
		RunE: func(_ *cobra.Command, args []string) error { return a.runConvert(&o, firstArg(args)) },
	}
	cmd.Flags().StringVar(&o.from, "from", "", "format of FILE; detected by content")
	cmd.Flags().StringVar(&o.to, "to", "", "`FORMAT` to print")
	cmd.Flags().StringVar(&o.task, "task", "", "the sender's own `KEY` for the work, if the document has none")
	cmd.Flags().StringVar(&o.target, "target", "", "the `AGENT` that it is for, if the document names none")
	return cmd
}

func (a *app) runConvert(o *convertOptions, name string) error {
	if o.to == "" {
		return usage("name the format to write").WithHints(fault.See("convert").Because("--to is one of %s", strings.Join(dialect.Formats(), ", ")))
	}
	_, draft, _, err := a.document(o.from, name)
	if err != nil {
		return err
	}
	if err := a.addressed(o, &draft.Envelope); err != nil {
		return err
	}
	tell(o.to, &draft.Envelope)
	doc, warnings, err := draft.Export(o.to)
	if fault.CodeOf(err) == fault.Invalid {
		return fault.As(err).WithHints(fault.See("convert").Because("--as says who wrote it, --target who it is for"))
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
		a.Warn(errors.New(w))
	}
	_, err = a.Stdout.Write(append(doc, '\n'))
	return err
}

// addressed fills in, from the flags and for the format to print, what the document
// does not say. Nothing that it says is overruled.
func (a *app) addressed(o *convertOptions, env *handoff.Envelope) error {
	if err := dialect.CheckFormat(o.to); err != nil {
		return err
	}
	env.Task = cmp.Or(env.Task, o.task)
	if wrote := cmp.Or(a.As, a.Getenv("GITHANDOFF_AGENT")); env.Source.Agent == "" && handoff.CheckAgent(wrote) == nil {
		env.Source.Agent = wrote
	}
	if err := dialect.Check(o.to, env); err != nil {
		return err
	}
	said, _, err := dialect.Export(dialect.Githandoff, env)
	if err != nil {
		return err
	}
	if o.to != dialect.Githandoff && env.ID == "" {
		env.ID = handoff.DeriveID(time.UnixMilli(0), "convert", string(said))
	}
	if o.target == "" || env.Target.Agent != nil {
		return nil
	}
	if err := handoff.CheckAgent(o.target); err != nil {
		return usage("--target: %v", err)
	}
	env.Target.Agent = &o.target
	return nil
}

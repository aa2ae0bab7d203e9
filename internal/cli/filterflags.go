package cli

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/cli/filter"
)

// withFilters gives all commands --jq and --template, which select from the objects of
// --json. A command with a flag of that name keeps its own.
func withFilters(a *app, root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.Var(&filterFlag{a: a, make: filter.JQ}, "jq", "print what a jq `EXPRESSION` makes of --json")
	flags.Var(&filterFlag{a: a, make: func(text string) (filter.Filter, error) { return filter.Template(text, a.Now) }},
		"template", "print what a Go `TEMPLATE` makes of --json")
}

// filterFlag is a flag that makes the filter of the output.
type filterFlag struct {
	a    *app
	text string
	make func(text string) (filter.Filter, error)
}

var _ pflag.Value = (*filterFlag)(nil)

func (f *filterFlag) String() string { return f.text }
func (f *filterFlag) Type() string   { return "string" }

// Set implements pflag.Value. A filter works on JSON, so it implies --json.
func (f *filterFlag) Set(text string) error {
	choose, err := f.make(text)
	if err != nil {
		return err
	}
	f.text, f.a.JSON = text, true
	f.a.Filter = func(w io.Writer, object any) error {
		err := choose(w, object)
		if err == nil {
			return nil
		}
		err = usage("%w", err).WithHints(seeOptions())
		if out, ok := f.a.Stdout.(*results); ok && out.err == nil {
			out.err = err // Main ends with it, whoever passes over this one
		}
		return err
	}
	return nil
}

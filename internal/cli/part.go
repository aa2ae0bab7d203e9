package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/export"
	"githandoff/internal/cli/output"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/untrusted"
)

// partFlags choose one part of a handoff, to save the reader's tokens.
type partFlags struct {
	summary, detail bool
	data            string
}

func (p *partFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&p.summary, "summary", false, "print only the summary, or the goal if there is none")
	f.BoolVar(&p.detail, "detail", false, "print only the detail")
	f.StringVar(&p.data, "data", "", "print only the value `KEY` of data")
}

func (p *partFlags) given() bool { return p.summary || p.detail || p.data != "" }

// partGroup returns the flags for the printed part, or for a format of the whole.
func partGroup() []string { return []string{"summary", "detail", "data", "format"} }

// partRow is the JSON object of a part. Its members are stable.
type partRow struct {
	ID      handoff.ID        `json:"id"`                // handoff
	Summary string            `json:"summary,omitempty"` // the summary; only with --summary
	Detail  string            `json:"detail,omitempty"`  // the detail; only with --detail
	Data    map[string]string `json:"data,omitempty"`    // requested key with its value; only with --data
}

// printPart prints the requested part: prose in a fence, and a value of data alone, for scripts.
func printPart(a *app, p *partFlags, v *lifecycle.Verified) error {
	env, out := v.Envelope(), partRow{ID: v.Offer().ID}
	text := ""
	switch {
	case p.summary:
		out.Summary = cmp.Or(env.Summary, env.Goal)
		text = out.Summary
	case p.detail:
		out.Detail = env.Detail
		text = env.Detail
	default:
		value, err := p.value(v)
		if err != nil {
			return err
		}
		out.Data = map[string]string{p.data: value}
		text = value
	}
	return a.Print(func() (any, error) { return out, nil }, func(t *output.Lines) error {
		var err error
		switch {
		case text == "":
		case p.data == "":
			err = writeFenced(a, t, text, v.Offer().From)
		default:
			fmt.Fprintln(t, strings.TrimSuffix(text, "\n"))
		}
		a.Cost(t.Len())
		return err
	})
}

// value returns the value of the requested key.
func (p *partFlags) value(v *lifecycle.Verified) (string, error) {
	data := v.Envelope().Data
	value, there := data[p.data]
	if there {
		return value, nil
	}
	err := fault.New(fault.NotFound, fault.NoSuchKey, "data of handoff %s has no key %s", v.Offer().ID, untrusted.Line(p.data))
	if len(data) == 0 {
		return "", err.WithHints(fault.Fact("it has no data"))
	}
	keys := slices.Sorted(maps.Keys(data)) // the sender chose them
	return "", err.WithHints(fault.Fact("it has %s: %s", fault.Count(len(keys), "key"), untrusted.Words(keys[:min(len(keys), mostKeys)])))
}

// mostKeys is how many keys of data a hint names.
const mostKeys = 8

// checkFormat refuses an unknown format of a printed document. "json" is not one of them. More are
// formats of this command alone.
func checkFormat(name string, more ...string) error {
	err := dialect.CheckFormat(name, more...)
	if f := fault.As(err); f != nil && name == "json" {
		f.Hints = append(f.Hints, fault.Fact("--json prints the handoff as JSON"))
	}
	return err
}

// exported returns a document as it is printed: with a line end, and counted.
func exported(a *app, format string, v *lifecycle.Verified) ([]byte, error) {
	doc, warnings, err := export.Document(format, v)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		a.Warn(errors.New(w))
	}
	doc = append(doc, '\n')
	a.Cost(len(doc))
	return doc, nil
}

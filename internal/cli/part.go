package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// partFlags choose one part of a handoff, to save the reader's tokens.
type partFlags struct {
	summary, detail bool
	data            string
}

func (p *partFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&p.summary, "summary", false, "print the summary only")
	f.BoolVar(&p.detail, "detail", false, "print the detail only")
	f.StringVar(&p.data, "data", "", "print one value of data only, `KEY`")
}

// pick returns the part that was asked for; ok is false where none was.
func (p *partFlags) pick(env *handoff.Envelope) (text []byte, ok bool, err error) {
	var s string
	switch {
	case p.summary:
		s = env.Summary
	case p.detail:
		s = env.Detail
	case p.data != "":
		v, there := env.Data[p.data]
		if !there {
			return nil, true, fault.New(fault.NotFound, "no_such_key", "data has no key %s", printable(p.data)).
				WithHint("it has: %s", strings.Join(sortedKeys(env.Data), ", "))
		}
		s = v
	default:
		return nil, false, nil
	}
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(s), true, nil
}

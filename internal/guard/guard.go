package guard

import (
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Guard judges pushes to one hub. The trust list of the verifier is the hub's own.
type Guard struct {
	Verifier *lifecycle.Verifier
	Home     lifecycle.Home
}

// Refusal says why a ref must not move. Err is a *fault.Error.
type Refusal struct {
	Ref string
	Err error
}

// maxRefusals bounds what one pusher is told.
const maxRefusals = 10

// verdict collects refusals.
type verdict struct{ refused []Refusal }

// note keeps a refusal of ref. It returns an error that is none: then nothing
// was judged.
func (v *verdict) note(ref string, err error) error {
	if err == nil {
		return nil
	}
	if fault.As(err) == nil {
		return err
	}
	if len(v.refused) < maxRefusals {
		v.refused = append(v.refused, Refusal{ref, err})
	}
	return nil
}

// Check lists the first ten reasons to refuse a push; none means that it may come in. An
// error means that the push could not be judged.
func (g *Guard) Check(ctx context.Context, edits []refs.Edit) ([]Refusal, error) {
	var own, noted, code []refs.Edit
	for _, e := range edits {
		// Where file names have no case, refs have none either.
		switch {
		case strings.HasPrefix(strings.ToLower(e.Ref)+"/", refs.Root):
			own = append(own, e)
		case isNotes(e.Ref):
			noted = append(noted, e)
		default:
			code = append(code, e)
		}
	}
	// Code first: it stands on claims that are there before this push.
	v := &verdict{}
	codes := &codeJudge{Verifier: g.Verifier, Home: g.Home}
	if err := codes.check(ctx, code, v); err != nil {
		return nil, err
	}
	if err := (noteJudge{g.Verifier}).check(ctx, noted, v); err != nil {
		return nil, err
	}
	published := &publishedJudge{Verifier: g.Verifier, Home: g.Home}
	handoffs := &handoffJudge{Verifier: g.Verifier, Home: g.Home, published: published}
	if err := handoffs.check(ctx, own, v); err != nil {
		return nil, err
	}
	return v.refused, nil
}

func denied(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Denied, reason, format, args...)
}

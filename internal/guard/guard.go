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

	names names
}

// Refusal says why a ref must not move. Err is a *fault.Error.
type Refusal struct {
	Ref string
	Err error
}

// maxRefusals bounds the refusals shown to one pusher.
const maxRefusals = 10

// verdict collects refusals.
type verdict struct{ refused []Refusal }

// note keeps err if it is a refusal of ref. It returns any other error, because then the push was
// not judged.
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

// Check lists the first ten reasons to refuse a push; if there is none, the push may come in.
// An error means the push could not be judged.
func (g *Guard) Check(ctx context.Context, edits []refs.Edit) ([]Refusal, error) {
	v := &verdict{}
	edits, err := g.names.allHere(edits, v)
	if err != nil || len(v.refused) > 0 {
		return v.refused, err
	}
	if err := g.judge(ctx, edits, v); err != nil {
		return nil, err
	}
	for i := range v.refused {
		v.refused[i].Ref = g.names.there(v.refused[i].Ref)
	}
	return v.refused, nil
}

// judge is like Check, for refs whose names are already those of the format.
func (g *Guard) judge(ctx context.Context, edits []refs.Edit, v *verdict) error {
	var own, noted, code []refs.Edit
	for _, e := range edits {
		switch {
		case isOwn(e.Ref):
			own = append(own, e)
		case isNotes(e.Ref):
			noted = append(noted, e)
		default:
			code = append(code, e)
		}
	}
	// Code is judged first, because it relies on claims that were made before this push.
	if err := (&codeJudge{Guard: g}).check(ctx, code, v); err != nil {
		return err
	}
	if err := (noteJudge{g}).check(ctx, noted, v); err != nil {
		return err
	}
	return handoffJudge{g}.check(ctx, own, v)
}

// isOwn reports whether a ref is one of handoffs. On a file system that ignores case in file names,
// git ignores case in refs too.
func isOwn(ref string) bool { return strings.HasPrefix(strings.ToLower(ref)+"/", refs.Root) }

func denied(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Denied, reason, format, args...)
}

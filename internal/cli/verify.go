package cli

import (
	"cmp"
	"context"
	"fmt"

	"githandoff/internal/app/inspect"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
)

// verifyCommand is "verify".
type verifyCommand struct {
	*app
	id string
}

func newVerify(a *app) command {
	c := &verifyCommand{app: a}
	return command{
		use:   "verify [ID]",
		short: "Check every signature, digest and ref of one open handoff, or of all",
		example: []string{
			"githandoff verify",
			"githandoff verify 7k3m2q",
		},
		args:     takes(0, "at most one ID", &c.id),
		complete: completions{a}.openIDs,
		run:      c.run,
	}
}

func (c *verifyCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	var first error
	err = inspect.New(ws).Verify(ctx, c.id, func(one inspect.Check) error {
		switch {
		case one.Err != nil && c.id != "":
			return one.Err
		case one.Err != nil:
			first = cmp.Or(first, one.Err)
			return c.failed(&one)
		case one.Sealed != nil:
			c.Warn(one.Sealed) // everything checked without its content is in order
		}
		return c.Row(verifiedLine{ID: one.ID, State: one.State, Verdict: "ok"}, "ok %s %s", one.ID, one.State)
	})
	return cmp.Or(err, first)
}

// failed tells of one handoff among all: a line on standard output for programs, a warning for
// people.
func (c *verifyCommand) failed(one *inspect.Check) error {
	out := verifiedLine{ID: one.ID, Message: one.Err.Error(), Verdict: "error"}
	if f := fault.As(one.Err); f != nil {
		out.Verdict = string(f.Reason)
	}
	return c.Result(out, func(*output.Lines) { c.Warn(fmt.Errorf("%s: %w", one.ID, one.Err)) })
}

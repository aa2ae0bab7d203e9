package cli

import (
	"cmp"
	"context"
	"strings"

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
		args:     takesID(0, &c.id),
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
			named := one.Err
			if !strings.Contains(named.Error(), string(one.ID)) {
				named = fault.About(string(one.ID), named)
			}
			if first == nil {
				first = named // the command ends with this error
				return c.Result(failedLine(&one), func(*output.Lines) {})
			}
			return c.Result(failedLine(&one), func(*output.Lines) { c.Warn(named) })
		case one.Sealed != nil:
			c.Warn(one.Sealed) // all that can be checked without the content is in order
		}
		return c.Row(verifiedLine{ID: one.ID, State: one.State, Verdict: "ok"}, "ok %s %s", one.ID, one.State)
	})
	if err != nil && first != nil {
		c.Warn(first)
	}
	return orEnded(cmp.Or(err, first))
}

// failedLine tells programs of one bad handoff among all.
func failedLine(one *inspect.Check) verifiedLine {
	out := verifiedLine{ID: one.ID, Message: one.Err.Error(), Verdict: "error"}
	if f := fault.As(one.Err); f != nil {
		out.Verdict = string(f.Reason)
	}
	return out
}

package cli

import (
	"context"
	"slices"
	"sync"

	"github.com/spf13/pflag"

	"githandoff/internal/app/pushcheck"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/guard"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

type oboCheckCommand struct {
	*app

	id     string
	scopes []string
	push   bool
	ifHeld bool // nothing that carries authority is held: all is allowed
}

func newOBOCheck(a *app) command {
	c := &oboCheckCommand{app: a}
	return command{
		use:   "check [ID] --scope S...",
		short: "Check whether a held token allows something: exit code 0 or 7",
		long: `Checks whether the token of a held handoff allows every scope that is named: for an
agent's own tools, and for hooks. If it does, nothing is printed. The check uses the
claim, the token and its revocations as this clone knows them; it asks no hub. The exit
code is 7 unless one valid claim allows all of them.

With --push, the scopes are those that a push needs: repo.push of each ref, and
repo.write of each path that its new commits change, under the old name and the new
one. Standard input is then the input that git gives a pre-push hook. This is local
advice; the hub's own hook enforces it (githandoff hook install --server).`,
		example: []string{"githandoff obo check --scope repo.write:go.mod"},
		exits:   []fault.Code{fault.Policy, fault.Unavailable},
		args:    takes(0, "one ID", &c.id),
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&c.scopes, "scope", nil, "`ACTION[:TARGET]` that must be allowed, such as repo.write:src/a.go")
			f.BoolVar(&c.ifHeld, "if-held", false, "allow everything if no held handoff carries authority")
			f.BoolVar(&c.push, "push", false, "check the push on standard input")
		},
		run: c.run,
	}
}

func (c *oboCheckCommand) run(ctx context.Context) error {
	if len(c.scopes) == 0 && !c.push {
		return usage("name the scope to check").WithHints(fault.See("obo check").Because("--scope names it, --push reads a push"))
	}
	repo, err := c.openRepo(ctx, (*refs.Repo).WarmReads)
	if err != nil {
		return err
	}
	// Whoever asks waits for the answer: what a push needs is found out beside
	// what is allowed.
	var needs []string
	var unread error
	var beside sync.WaitGroup
	if c.push {
		beside.Go(func() { needs, unread = c.pushNeeds(ctx, repo) })
	}
	live, err := c.live(ctx, c.id)
	beside.Wait()
	if c.ifHeld && c.id == "" && (fault.Is(err, fault.NothingHeld) || fault.Is(err, fault.NoIdentity)) {
		return nil
	}
	if err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	scopes := append(slices.Clip(c.scopes), needs...)
	if err := pushcheck.Allows(live, scopes); err != nil {
		return err
	}
	row := allowedRow{live.Claim.ID, live.Token.JTI(), scopes, handoff.FormatTime(live.Claim.Lease), handoff.FormatTime(live.Token.Expires())}
	return c.Result(row, func(*output.Lines) {}) // its exit code says it all
}

func (c *oboCheckCommand) live(ctx context.Context, arg string) (*work.Live, error) {
	d, err := c.desk(ctx, reads)
	if err != nil {
		return nil, err
	}
	return d.Work().Live(ctx, arg)
}

// pushNeeds are the scopes that the push on standard input needs.
func (c *oboCheckCommand) pushNeeds(ctx context.Context, repo *refs.Repo) ([]string, error) {
	edits, err := guard.ReadPush(c.Stdin)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return guard.Needs(ctx, repo, edits)
}

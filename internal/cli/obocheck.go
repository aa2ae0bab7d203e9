package cli

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/guard"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

type oboCheckCommand struct {
	*app

	scopes []string
	push   bool
	ifHeld bool // nothing that carries authority is held: all is allowed
}

func newOBOCheck(a *app) *cobra.Command {
	c := &oboCheckCommand{app: a}
	cmd := &cobra.Command{
		Use:   "check [ID] --scope S...",
		Short: "Say whether a held token allows something: exit code 0 or 7",
		Long: `Asks whether the token of what this agent holds allows every scope that is
named: for an agent's own tools, and for hooks. Nothing is printed if it does.
The claim, the token and what revokes it are checked as this clone knows them; no
hub is asked. Anything but one live claim that allows it all is exit code 7.

With --push the scopes are those that a push needs: repo.push of each ref and
repo.write of each path that its new commits change, under the old name and the
new one. Standard input is then what git gives a pre-push hook. This is local
advice; what binds is the hub's own hook (githandoff hook install --server).`,
		Args: atMostArgs(1, "one ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.scopes, "scope", nil, "`ACTION[:TARGET]` that must be allowed, such as repo.write:src/a.go")
	f.BoolVar(&c.ifHeld, "if-held", false, "allow everything where nothing that carries authority is held")
	f.BoolVar(&c.push, "push", false, "what the push on standard input needs")
	return cmd
}

func (c *oboCheckCommand) run(ctx context.Context, arg string) error {
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
	live, err := c.live(ctx, arg)
	beside.Wait()
	if c.ifHeld && arg == "" && (fault.Is(err, fault.NothingHeld) || fault.Is(err, fault.NoIdentity)) {
		return nil
	}
	if err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	scopes := append(slices.Clip(c.scopes), needs...)
	if err := allows(live, scopes); err != nil {
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

func allows(live *work.Live, scopes []string) error {
	for _, scope := range scopes {
		if err := live.Token.Allows(scope); err != nil {
			return about("handoff "+string(live.Claim.ID), err)
		}
	}
	return nil
}

// enforce stops a push that is outside of the authority of every claim that this
// agent holds here with a token, or that brings commits made under a claim which
// somebody else ended. It warns instead where handoff.enforce is false. It reads
// what git gives a pre-push hook only if there is such a claim. The claims are first
// held against what this clone knows, then against what the hub that is pushed to
// says: one that does not answer must not let the push through unchecked.
func (hook *pushHook) enforce(ctx context.Context, repo *refs.Repo, remote string) error {
	d, err := hook.desk(ctx, reads)
	if err != nil {
		return err
	}
	held, err := d.Work().WithToken()
	if err != nil {
		return err
	}
	lost, err := d.Work().LostTokens()
	if err != nil || len(held)+len(lost) == 0 {
		return err
	}
	repo.WarmReads()
	edits, err := guard.ReadPush(hook.Stdin)
	if err != nil || len(edits) == 0 {
		return err
	}
	refused := hook.overstepped(ctx, d, held, edits)
	if refused == nil {
		refused = hook.endedSince(ctx, d, remote)
	}
	if refused == nil && len(lost) > 0 {
		refused = underLost(ctx, d, lost, edits)
	}
	switch {
	case fault.CodeOf(refused) != fault.Policy:
		return refused
	case repo.Config.Off("handoff.enforce"):
		hook.Warn(refused)
		return nil
	}
	return overstep{refusedPush(refused)}
}

// overstepped says why no claim of some allows a push; nil where one does, or none
// is asked.
func (hook *pushHook) overstepped(ctx context.Context, d *workspace.Workspace, held []*work.Claim, edits []refs.Edit) error {
	if len(held) == 0 {
		return nil
	}
	needs, err := guard.Needs(ctx, d.Repo, edits)
	if err != nil || len(needs) == 0 {
		return err
	}
	return anyAllows(ctx, d, held, needs)
}

// anyAllows says why no claim of some allows all scopes; nil where one does, or there
// is none.
func anyAllows(ctx context.Context, d *workspace.Workspace, held []*work.Claim, scopes []string) error {
	var first error
	for _, h := range held {
		live, err := d.Work().LiveClaim(ctx, h)
		if err == nil {
			err = allows(live, scopes)
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// endedSince asks the hub that is pushed to whether somebody ended a claim of this
// agent that carries authority.
func (hook *pushHook) endedSince(ctx context.Context, d *workspace.Workspace, remote string) error {
	ended, err := hubsync.New(d, finish.New(d)).EndedAt(ctx, remote)
	if fault.CodeOf(err) == fault.Unavailable {
		hook.Warn(err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, st := range ended {
		f := work.LostClaim(st)
		if st.Holder.Token != "" {
			f.Code = fault.Policy
			return f
		}
		hook.Warn(f)
	}
	return nil
}

// underLost refuses commits that name the token of a claim which somebody else
// ended, unless this agent has it again.
func underLost(ctx context.Context, d *workspace.Workspace, lost []*work.Claim, edits []refs.Edit) error {
	named, err := guard.Tokens(ctx, d.Repo, edits)
	if err != nil {
		return err
	}
	for _, h := range lost {
		if slices.Contains(named, h.Token) {
			return fault.New(fault.Policy, fault.NotHolder, "a commit was made under handoff %s, which %s no longer holds", h.ID, h.Actor).
				WithHints(fault.Run("githandoff", "show", string(h.ID)).Because("says who ended it"))
		}
	}
	return nil
}

// refusedPush says what helps whoever pushes.
func refusedPush(err error) error {
	f := *fault.As(err)
	f.Message = "this push is outside of what you may do: " + f.Message
	if len(f.Hints) == 0 {
		f.Hints = []fault.Hint{fault.Run("githandoff", "obo", "show").Because("shows the scope and who lent it: ask that person for more")}
	}
	return &f
}

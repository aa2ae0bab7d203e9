package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/annotate"
	"githandoff/internal/app/document"
	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/githook"
	"githandoff/internal/app/hubguard"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/pushcheck"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// setUp reports whether an agent works in this worktree. Hooks can be installed for all
// repositories of a user: in the others they are silent.
func (a *app) setUp(repo *refs.Repo) bool {
	_, err := a.identity(repo)
	return err == nil && repo.Config.Get("handoff.repoid") != ""
}

// postCommit hands over the commit and the draft of the worktree, and renews leases.
func (hook *hookRun) postCommit(ctx context.Context, repo *refs.Repo) error {
	var identity []string
	for _, name := range []string{"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		if value := hook.Getenv(name); value != "" {
			identity = append(identity, name+"="+value)
		}
	}
	h := &githook.Handover{
		Repo: repo, Identity: identity, Now: hook.Now, Say: hook.Say, Hint: hook.Hint, Warn: hook.Warn,
		Open: func(ctx context.Context) (githook.Sender, error) {
			ws, err := hook.workspace(ctx, signs)
			return &commitSender{hook.app, ws}, err
		},
		Draft: func(b []byte) (*handoff.Envelope, error) { return hook.documents().Draft(document.Source{}, b) },
		Briefly: func(ctx context.Context, do func(context.Context) error) error {
			return within(ctx, renewTimeout, do)
		},
	}
	return h.PostCommit(ctx)
}

// commitSender implements githook.Sender.
type commitSender struct {
	*app
	workspace *workspace.Workspace
}

func (c *commitSender) Agent() string { return c.workspace.Agent }

func (c *commitSender) IsHere(repoID string) bool { return c.workspace.Local.Is(repoID) }

func (c *commitSender) Exists(ctx context.Context, id handoff.ID) (bool, error) {
	_, err := c.workspace.Find(ctx, string(id), workspace.Never)
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Send prints the handoff, and the command to deliver it to another repository.
func (c *commitSender) Send(ctx context.Context, env *handoff.Envelope, o githook.Order) (durable bool, err error) {
	flags := snapshotFlags{take: strings.EqualFold(o.Snapshot, "yes"), without: strings.EqualFold(o.Snapshot, "no")}
	send := senderOf(c.app, c.workspace)
	send.Snapshot = flags.taker(c.workspace)
	done, err := send.Send(ctx, env, &emit.Options{
		To: o.To, ID: o.ID, Queue: true, Wanted: emit.Wanted{None: true},
	})
	if done == nil {
		return false, err
	}
	to, when := done.Record.To, ""
	if home, herr := c.workspace.Home(ctx, done.Record.Home); herr == nil && c.workspace.AliasOf(home) != "" {
		to, when = handoff.TargetAt(to, c.workspace.AliasOf(home)), " (githandoff sync delivers it)"
	}
	return true, cmp.Or(err, c.Result(emittedRow(done), func(*output.Lines) { c.Say("githandoff: %s %s to %s%s", done.State, done.ID, to, when) }))
}

func (c *commitSender) Renew(ctx context.Context, claim *work.Claim) error {
	_, err := finish.New(c.workspace).Renew(ctx, claim, 0)
	return err
}

// prePush checks a push against the authority of this agent, then delivers the outbox of its
// hub.
func (hook *hookRun) prePush(ctx context.Context, repo *refs.Repo) error {
	if !hook.setUp(repo) {
		return nil
	}
	remote := ""
	if len(hook.args) > 0 {
		remote = hook.args[0]
	}
	if err := hook.checkPush(ctx, remote); err != nil {
		return err
	}
	if remote == "" || !slices.Contains(crossrepo.Aliases{Repo: repo}.Names(), remote) {
		return nil
	}
	if waiting, err := repo.List(ctx, refs.Root+"outbox/"); err != nil || len(waiting) == 0 {
		return err
	}
	ws, err := hook.workspace(ctx, signs)
	if err != nil {
		return err
	}
	hub, err := ws.Hub(ctx, remote)
	if err != nil {
		return err
	}
	done, err := hubsync.New(ws, finish.New(ws)).DeliverWaiting(ctx, hub)
	for _, one := range done {
		hook.Result(syncedRowOf(one), func(*output.Lines) { hook.Say("githandoff: %s %s to %s", one.What, one.ID, one.Alias) })
	}
	return err
}

// checkPush refuses a push beyond the authority of this agent.
func (hook *hookRun) checkPush(ctx context.Context, remote string) error {
	ws, err := hook.workspace(ctx, reads)
	if err != nil {
		return err
	}
	h := &pushcheck.Handler{Repo: ws.Repo, Work: ws.Work(), Warn: hook.Warn, EndedAt: hubsync.New(ws, finish.New(ws)).EndedAt}
	return h.Check(ctx, hook.Stdin, remote)
}

// postCheckout speaks after the checkout of a branch, not of single files.
func (hook *hookRun) postCheckout(ctx context.Context, repo *refs.Repo) error {
	if len(hook.args) < 3 || hook.args[2] != "1" {
		return nil
	}
	return hook.sayWaiting(ctx, repo)
}

// sayWaiting says in one line which handoffs wait for the agent, as far as this clone knows. It
// asks no hub, and repeats no text of a sender: nobody verified it.
func (hook *hookRun) sayWaiting(ctx context.Context, repo *refs.Repo) error {
	if !hook.setUp(repo) {
		return nil
	}
	ws, err := hook.workspace(ctx, reads)
	if err != nil {
		return err
	}
	ws.OnWarn = func(error) {} // commands that need the alias warn of it
	waiting, err := githook.Waiting(ctx, ws, hook.Now())
	for i, it := range waiting {
		err = cmp.Or(err, hook.Result(itemRow(it, hook.Now()), func(*output.Lines) {
			if i == 0 {
				hook.Say("%s", waitingLine(ws.Agent, waiting))
			}
		}))
	}
	return err
}

// waitingLine names the handoffs waiting for an agent.
func waitingLine(agent string, waiting []*workspace.Item) string {
	const most = 3
	what, more := "handoff waits", ""
	if len(waiting) > 1 {
		what = "handoffs wait"
	}
	if len(waiting) > most {
		more = fmt.Sprintf(" and %d more", len(waiting)-most)
	}
	ids := make([]handoff.ID, len(waiting))
	for i, it := range waiting {
		ids[i] = it.Place.ID
	}
	ends := handoff.EndsOf(ids) // "resume" compares an end with the ids of this inbox
	var named []string
	for _, id := range ids[:min(len(ids), most)] {
		named = append(named, ends.Of(id))
	}
	return fmt.Sprintf("githandoff: %d %s for %s: %s%s (githandoff resume)", len(ids), what, agent, strings.Join(named, ", "), more)
}

// postRewrite copies notes to the commits made by amend and rebase. Of a handoff in the outbox
// there is no note yet.
func (hook *hookRun) postRewrite(ctx context.Context, repo *refs.Repo) error {
	if !hook.setUp(repo) {
		return nil
	}
	if noted, err := repo.List(ctx, refs.NotesRef, refs.Root+"outbox/"); err != nil || len(noted) == 0 {
		return err
	}
	rewrites, err := annotate.ReadRewrites(hook.Stdin)
	if err != nil || len(rewrites) == 0 {
		return err
	}
	ws, err := hook.workspace(ctx, reads)
	if err != nil {
		return err
	}
	return annotate.New(ws).Follow(ctx, rewrites)
}

// preReceive judges a push to this hub. Unlike the hooks of a clone it fails if it cannot do so:
// an unjudged push is refused.
func (hook *hookRun) preReceive(ctx context.Context) error {
	repo, err := hook.openRepo(ctx)
	if err != nil {
		return err
	}
	refused, err := hubguard.Judge(ctx, repo, hook.Getenv("GIT_NAMESPACE"), hook.Stdin, hook.Now)
	if err != nil || len(refused) == 0 {
		return err
	}
	for _, r := range refused {
		f, remedy := fault.As(r.Err), r.Pin.Why
		if r.Pin.Run != nil {
			remedy = "the owner of this repository trusts it there with " + untrusted.Line(fault.Hint{Run: r.Pin.Run}.String())
		}
		if r.Root {
			remedy = "whoever has a root key here puts it on their list, with githandoff sync if it joined their team, else with githandoff trust export --to; or " + remedy
		}
		if remedy != "" {
			remedy = "; " + remedy
		}
		fmt.Fprintf(hook.Stderr, "githandoff: %s: %s: %s%s\n", untrusted.Line(r.Ref), f.Reason, untrusted.Line(f.Message), remedy)
	}
	return exitStatus(fault.CodeOf(refused[0].Err))
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/annotate"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/githook"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/pushcheck"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// setUp reports whether an agent works in this worktree. Hooks can be installed
// for all repositories of a user: in the others they are silent.
func (a *app) setUp(repo *refs.Repo) bool {
	_, err := a.identity(repo)
	return err == nil && repo.Config.Get("handoff.repoid") != ""
}

// pushHook checks a push against the authority of this agent, and delivers with it.
type pushHook struct {
	*app
}

// prePush holds the push against the authority that this agent works under, then
// delivers the outbox of the hub that is pushed to.
func (hook *pushHook) prePush(ctx context.Context, repo *refs.Repo, args []string) error {
	if !hook.setUp(repo) {
		return nil
	}
	remote := ""
	if len(args) > 0 {
		remote = args[0]
	}
	if err := hook.check(ctx, remote); err != nil {
		return err
	}
	if len(args) == 0 || !slices.Contains(crossrepo.Aliases{Repo: repo}.Names(), args[0]) {
		return nil
	}
	if waiting, err := repo.List(ctx, refs.Root+"outbox/"); err != nil || len(waiting) == 0 {
		return err
	}
	d, err := hook.desk(ctx, signs)
	if err != nil {
		return err
	}
	hub, err := d.Hub(ctx, args[0])
	if err != nil {
		return err
	}
	done, err := hubsync.New(d, finish.New(d)).DeliverWaiting(ctx, hub)
	for _, one := range done {
		hook.Result(syncedRowOf(one), func(*output.Lines) { hook.Say("githandoff: %s %s to %s", one.What, one.ID, one.Alias) })
	}
	return err
}

// check refuses a push that exceeds the authority of this agent.
func (hook *pushHook) check(ctx context.Context, remote string) error {
	d, err := hook.desk(ctx, reads)
	if err != nil {
		return err
	}
	h := &pushcheck.Handler{Repo: d.Repo, Claims: d.Work(), Hubs: hubsync.New(d, finish.New(d)), Warn: hook.Warn}
	return h.Check(ctx, hook.Stdin, remote)
}

// waitingHook says what waits, and keeps the notes of rewritten commits.
type waitingHook struct {
	*app
}

func (hook *waitingHook) postMerge(ctx context.Context, repo *refs.Repo, _ []string) error {
	return hook.sayWaiting(ctx, repo)
}

// postCheckout speaks when a branch was checked out, not single files.
func (hook *waitingHook) postCheckout(ctx context.Context, repo *refs.Repo, args []string) error {
	if len(args) < 3 || args[2] != "1" {
		return nil
	}
	return hook.sayWaiting(ctx, repo)
}

// sayWaiting says in one line what this clone knows to wait for the agent. It
// asks no hub, and repeats nothing that a sender wrote: nobody verified it.
func (hook *waitingHook) sayWaiting(ctx context.Context, repo *refs.Repo) error {
	if !hook.setUp(repo) {
		return nil
	}
	d, err := hook.desk(ctx, reads)
	if err != nil {
		return err
	}
	d.OnWarn = func(error) {} // of aliases: a command that needs them says so
	var ids []handoff.ID
	var rows []row
	err = d.List(ctx, false, func(it *workspace.Item) error {
		if it.Fault != nil || itemState(it, hook.Now()) != string(lifecycle.Open) || slices.Contains(ids, it.Place.ID) {
			return nil //nolint:nilerr // a broken tip waits for nobody
		}
		ids = append(ids, it.Place.ID)
		r := rowOf(it.Record, string(lifecycle.Open))
		r.Ref, r.Commit = it.Ref, it.Commit
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range rows {
		err := hook.Result(r, func(*output.Lines) {
			if i == 0 {
				hook.Say("%s", waitingLine(d.Agent, ids))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// waitingLine tells of all that waits for an agent.
func waitingLine(agent string, ids []handoff.ID) string {
	const most = 3
	what, more := "handoff waits", ""
	if len(ids) > 1 {
		what = "handoffs wait"
	}
	if len(ids) > most {
		more = fmt.Sprintf(" and %d more", len(ids)-most)
	}
	ends := handoff.EndsOf(ids) // "resume" compares an end with the ids of this inbox
	var named []string
	for _, id := range ids[:min(len(ids), most)] {
		named = append(named, ends.Of(id))
	}
	return fmt.Sprintf("githandoff: %d %s for %s: %s%s (githandoff resume)", len(ids), what, agent, strings.Join(named, ", "), more)
}

// postRewrite copies notes to the commits that amend and rebase made.
func (hook *waitingHook) postRewrite(ctx context.Context, repo *refs.Repo, _ []string) error {
	if !hook.setUp(repo) {
		return nil
	}
	if tip, err := repo.Resolve(ctx, refs.NotesRef); err != nil || tip == "" {
		return err
	}
	rewritten, err := githook.ReadRewritten(hook.Stdin)
	if err != nil || len(rewritten) == 0 {
		return err
	}
	d, err := hook.desk(ctx, reads)
	if err != nil {
		return err
	}
	return annotate.New(d).Copy(ctx, rewritten)
}

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/githook"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// commitHook hands over what a commit or a draft says.
type commitHook struct {
	*app
}

// postCommit hands over what the commit and the draft say, and renews leases.
// What goes wrong with one of them does not stop the others.
func (hook *commitHook) postCommit(ctx context.Context, repo *refs.Repo, _ []string) error {
	c, amended, err := githook.Own(ctx, repo)
	if err != nil {
		hook.Warn(err)
	}
	if amended != nil {
		hook.sayAmended(amended)
	}
	draft := hook.draftPath(ctx, repo)
	due, err := dueClaims(work.ClaimsOf(repo), hook.Now())
	if err != nil {
		hook.Warn(err)
	}
	if c == nil && draft == "" && len(due) == 0 {
		return nil
	}
	d, err := hook.desk(ctx, signs)
	if err != nil {
		return err
	}
	if draft != "" {
		if err := hook.emitDraft(ctx, d, draft, c); err != nil {
			hook.Warn(err)
			hook.sayHints(err)
		}
	}
	if c != nil {
		for _, to := range c.To {
			if _, err := hook.emitOnce(ctx, d, c.Envelope(), &emit.Options{To: to, ID: c.ID(to), Wanted: emit.Wanted{None: true}}, c); err != nil {
				hook.Warn(fault.About("Handoff-To: "+to, err))
				hook.sayHints(err)
			}
		}
	}
	return hook.renew(ctx, d, due)
}

// sayAmended says that an amended commit hands nothing over, and which command does:
// for whoever changed what it says of the work.
func (hook *commitHook) sayAmended(c *githook.Amended) {
	hook.Say("githandoff: an amended commit hands nothing over, but the text of this one changed")
	for _, to := range c.To[:min(len(c.To), fault.MaxHints)] {
		hook.Hint(emitCommit(c, to).Because("hands over what the amended commit says"))
	}
}

// emitCommit sends what a commit says. A text of several lines is left out of it, since
// a hint is one line: the receiver is shown the commit.
func emitCommit(c *githook.Amended, to string) fault.Hint {
	const most = 200 // bytes of one text
	env := c.Envelope()
	argv := []string{"githandoff", "emit", "--to", to, "--commit", c.Head}
	for _, part := range []struct{ flag, text string }{
		{"--task", env.Task}, {"--goal", literal(env.Goal)}, {"--summary", literal(env.Summary)}, {"--status", c.Status},
	} {
		if part.text != "" && part.text == printable(part.text) && len(part.text) <= most {
			argv = append(argv, part.flag, part.text)
		}
	}
	if strings.EqualFold(c.Snapshot, "yes") {
		argv = append(argv, "--snapshot")
	}
	return fault.Run(argv...)
}

// emitOnce emits a draft with a derived id, o.ID, unless a handoff of that id is
// or was there. It reports whether there is one now, also beside an error. Hubs
// are left to the next push or sync: a commit does not wait for a network. The commit,
// if any, may say whether a snapshot goes along.
func (hook *commitHook) emitOnce(ctx context.Context, d *workspace.Workspace, env *handoff.Envelope, o *emit.Options, c *githook.Commit) (durable bool, err error) {
	flags, err := snapshotOf(c)
	if err != nil {
		return false, err
	}
	switch _, err := d.Find(ctx, string(o.ID), workspace.Never); {
	case err == nil:
		hook.Say("githandoff: %s was already handed over", o.ID)
		return true, nil
	case fault.CodeOf(err) != fault.NotFound:
		return false, err
	}
	o.TTL, o.Queue = lifecycle.DefaultTTL, true
	send := senderOf(hook.app, d)
	send.Snapshot = flags.taker(hook.app, d)
	done, err := send.Send(ctx, env, o)
	if done == nil {
		return false, err
	}
	line := fmt.Sprintf("githandoff: %s %s to %s", done.State, done.ID, done.Record.To)
	if home, herr := d.Home(ctx, done.Record.Home); herr == nil && d.AliasOf(home) != "" {
		line += "@" + d.AliasOf(home) + " (githandoff sync delivers it)"
	}
	if perr := hook.Result(emittedRow(done), func(*output.Lines) { hook.Say("%s", line) }); err == nil {
		err = perr
	}
	return true, err
}

// snapshotOf is what a commit says of the state of the work tree: Handoff-Snapshot.
func snapshotOf(c *githook.Commit) (*snapshotFlags, error) {
	switch {
	case c == nil || c.Snapshot == "":
		return &snapshotFlags{}, nil
	case strings.EqualFold(c.Snapshot, "yes"):
		return &snapshotFlags{take: true}, nil
	case strings.EqualFold(c.Snapshot, "no"):
		return &snapshotFlags{without: true}, nil
	}
	return nil, usage("Handoff-Snapshot: %s: want yes or no", printable(c.Snapshot))
}

// sayHints prints the commands that mend what was warned of.
func (hook *commitHook) sayHints(err error) {
	if f := fault.As(err); f != nil {
		for _, h := range f.Hints {
			hook.Hint(h)
		}
	}
}

// dueClaims lists the claims of which half of the lease is over.
func dueClaims(claims work.Claims, now time.Time) ([]*work.Claim, error) {
	held, err := claims.All()
	if err != nil {
		return nil, err
	}
	var due []*work.Claim
	for _, h := range held {
		if h.Printed && now.After(h.At.Add(h.Lease.Sub(h.At)/2)) {
			due = append(due, h)
		}
	}
	return due, nil
}

// renew renews the leases of what this agent holds: those at this repository,
// then those at hubs, for which git waits a moment only.
func (hook *commitHook) renew(ctx context.Context, d *workspace.Workspace, due []*work.Claim) error {
	renew := func(ctx context.Context, h *work.Claim) {
		_, err := finish.New(d).Take(ctx, h, work.Step{Event: record.Progressed, Nonce: h.Nonce, At: hook.Now().UTC()})
		if err != nil {
			hook.Warn(fault.About("renew the lease of "+string(h.ID), err))
		}
	}
	var afar []*work.Claim
	for _, h := range due {
		switch {
		case h.Actor != d.Agent:
		case d.Local.Is(h.Home):
			renew(ctx, h)
		default:
			afar = append(afar, h)
		}
	}
	if len(afar) == 0 {
		return nil
	}
	return within(ctx, renewTimeout, func(ctx context.Context) error {
		for _, h := range afar {
			renew(ctx, h)
		}
		return nil
	})
}

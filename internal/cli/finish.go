package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/finish"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

type finishCommand struct {
	*app

	id                       string
	summary, reason, message string
	results, deliverables    []string
	lease                    time.Duration
	force                    bool
	snap                     snapshotFlags
}

func newAck(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:     "ack [ID]",
		suggest: []string{"done", "complete", "finish"},
		short:   "Acknowledge a handoff: the work is done, its content is deleted",
		long: `Writes the receipt and deletes the handoff at its home, in one transaction. Only the
holder can. The result "commit" is HEAD by default. Running it again succeeds and says
so. If the hub is down, the step is queued (exit 8) and "githandoff sync" sends it.

With --snapshot, the sender first gets a handoff of its own with the state of this work
tree, at the same home. The result "follow_up" of the receipt is the id of that handoff.`,
		example:  []string{"githandoff ack --summary 'sessions are renewed' --result pr=17"},
		brief:    []string{"summary", "result", "snapshot"},
		args:     takes(0, "at most one ID", &c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.summary, "summary", "", "what was done, `TEXT`; stays in the log")
			f.StringArrayVar(&c.results, "result", nil, "a result, `K=V`; stays in the log; repeatable")
			f.StringArrayVar(&c.deliverables, "deliverable", nil, "what was delivered, `TEXT`; repeatable")
			f.BoolVar(&c.snap.take, "snapshot", false, "send the state of this work tree to the sender")
			f.StringArrayVar(&c.snap.allow, "allow-path", nil, "include `PATH` in the snapshot although the content policy refuses it; repeatable")
		},
		run: func(ctx context.Context) error { return c.run(ctx, record.Acknowledged) },
	}
}

func newFail(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:   "fail [ID] --reason TEXT",
		short: "End a handoff without success, and return it to the agent that its sender named",
		long: `Writes the receipt "failed". If the sender named an agent for this case
(rollback.on_failure), that agent is offered a return handoff with the reason and the
checkpoint, in the same transaction. Without a claim, the command rejects the offer. A
snapshot goes back with the return handoff; --snapshot replaces it with the state of
this work tree.`,
		example:  []string{"githandoff fail --reason 'the database is read-only here'"},
		args:     takes(0, "at most one ID", &c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.reason, "reason", "", "the reason, `TEXT`; stays in the log")
			f.StringArrayVar(&c.results, "result", nil, "a result, `K=V`; stays in the log; repeatable")
			c.snap.registerCarried(f, "the snapshot that came along")
		},
		run: func(ctx context.Context) error { return c.run(ctx, record.Failed) },
	}
}

func newProgress(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:      "progress [ID] [-m TEXT]",
		short:    "Renew the lease of a claim, and report progress",
		example:  []string{"githandoff progress -m 'the test fails as it should'"},
		args:     takes(0, "at most one ID", &c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			f.StringVarP(&c.message, "message", "m", "", "the progress so far, `TEXT`; stays in the log")
			spanVar(f, &c.lease, "lease", 0, "how long the claim holds from now (as before)")
		},
		run: func(ctx context.Context) error { return c.run(ctx, record.Progressed) },
	}
}

func newRelease(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:   "release [ID]",
		short: "Give a claim back, so that another agent can take the handoff",
		example: []string{
			"githandoff release",
			"githandoff release --force 7k3m2q",
		},
		args:     takes(0, "at most one ID", &c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.force, "force", false, "break the claim of another agent; for the source and root keys")
		},
		run: func(ctx context.Context) error {
			if c.force {
				return c.breakClaim(ctx)
			}
			return c.run(ctx, record.Released)
		},
	}
}

// run takes one step of a holder.
func (c *finishCommand) run(ctx context.Context, event record.Event) error {
	if err := c.snap.check(); err != nil {
		return err
	}
	data, reason, err := c.data(event)
	if err != nil {
		return err
	}
	if err := handoff.CheckSuffix(c.id); err != nil && c.id != "" && event == record.Progressed {
		return fault.New(fault.Usage, fault.InvalidID, "%w", err).
			WithHints(fault.Run("githandoff", "progress", "-m", c.id).Because("reports progress"))
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	h, err := c.meant(d, event)
	if err != nil {
		return err
	}
	if h == nil && event == record.Failed {
		h, err = c.offered(ctx, d)
		if err != nil {
			return err
		}
	}
	if h == nil {
		return c.notHeld(ctx, d)
	}
	step := work.Step{Event: event, Nonce: h.Nonce, Data: data, Reason: reason, Lease: c.lease, At: c.Now().UTC(), WithoutWork: c.snap.without}
	handler := finish.New(d)
	var sent handoff.ID
	if event == record.Acknowledged {
		step.Commit = d.Repo.Head
		if sent, err = c.followUp(ctx, d, h, &step); err != nil {
			return err
		}
	} else if c.snap.take {
		handler.Snapshot = c.snap.taker(c.app, d)
	}
	done, err := handler.Take(ctx, h, step)
	if err != nil {
		return err
	}
	if sent != "" {
		done.Next = sent
	}
	return c.print(done, event)
}

func (c *finishCommand) print(done *receipt.Result, event record.Event) error {
	s := done.State
	r := rowOf(lastRecord(s), string(s.Phase()))
	if s.Receipt != nil {
		r.State = string(s.Receipt.Event)
		r.Results = receipt.DecodeResults(s.Receipt.Data)
	}
	r.Commit, r.Next = s.LaneTip, done.Next
	switch {
	case done.Repeated && s.Receipt != nil:
		return c.Row(r, "%s already %s at %s", s.ID, event, handoff.FormatTime(s.Receipt.At))
	case done.Next != "":
		return c.Row(r, "%s %s; %s goes back", event, s.ID, done.Next)
	case event == record.Progressed:
		return c.Row(r, "%s %s, held until %s", event, s.ID, handoff.FormatTime(s.Lease))
	}
	return c.Row(r, "%s %s", event, s.ID)
}

func lastRecord(s *lifecycle.State) *record.Record {
	switch {
	case s.Receipt != nil:
		return s.Receipt
	case s.Claim != nil:
		return s.Claim
	}
	return s.Offer
}

// data collects the values of Handoff-Data and screens them like an envelope.
func (c *finishCommand) data(event record.Event) (data, reason string, err error) {
	r := receipt.Results{}
	for _, kv := range c.results {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return "", "", usage("--result %s: want K=V", printable(kv))
		}
		if _, twice := r[k]; twice {
			return "", "", usage("--result %s: given twice", printable(k))
		}
		if event == record.Acknowledged && k == "commit" && v == "HEAD" {
			continue // the receipt names that commit by itself, by its object id
		}
		r[k] = v
	}
	if len(c.deliverables) > 0 {
		r["deliverables"] = strings.Join(c.deliverables, "; ")
	}
	for key, flag := range map[string]string{"summary": c.summary, "error": c.reason, "progress": c.message} {
		if flag == "" {
			continue
		}
		if _, twice := r[key]; twice {
			return "", "", usage("--result %s: another flag sets it", key)
		}
		r[key] = flag
	}
	if event == record.Failed && r["error"] == "" {
		return "", "", usage("a failure needs a reason").WithHints(fault.See("fail").Because("--reason says why it failed"))
	}
	if err := screen.Map("result", r); err != nil {
		return "", "", err
	}
	data, err = r.Encode()
	return data, r["error"], err
}

// meant finds the claim that a step is about, nil if this worktree holds none.
func (c *finishCommand) meant(d *workspace.Workspace, event record.Event) (*work.Claim, error) {
	h, err := d.Work().Find(c.id)
	if c.id != "" || !fault.Is(err, fault.NothingHeld) {
		return h, err
	}
	if again, aerr := d.Work().Kept(event); again != nil || aerr != nil {
		return again, aerr
	}
	return nil, err
}

// offered finds an offer to reject: nobody holds it.
func (c *finishCommand) offered(ctx context.Context, d *workspace.Workspace) (*work.Claim, error) {
	f, err := d.Find(ctx, c.id, workspace.IfUnknown)
	if err != nil {
		return nil, err
	}
	if err := errUndelivered(f); err != nil {
		return nil, err
	}
	p := f.Place()
	return &work.Claim{ID: p.ID, Agent: p.Agent, Actor: d.Agent, Home: f.Home.ID()}, nil
}

// notHeld refuses a step on a handoff that this worktree does not hold. It names the agent
// that holds or ended it.
func (c *finishCommand) notHeld(ctx context.Context, d *workspace.Workspace) error {
	f, err := d.Find(ctx, c.id, workspace.IfUp)
	if err != nil {
		return err
	}
	s := f.State
	switch {
	case s.Receipt != nil:
		return s.Err()
	case s.Claim != nil:
		return orphaned(d, s, d.Engine.Author.HeldBy(s))
	}
	if err := errUndelivered(f); err != nil {
		return err
	}
	free := fault.New(fault.Conflict, fault.NotHolder, "handoff %s is not held by this worktree", s.ID)
	switch to := f.Place().Agent; {
	case to == refs.Nobody:
		return free.WithHints(fault.Run("githandoff", "route", string(s.ID)).Because("shows the decision that it waits for"))
	case !slices.Contains(d.Inboxes(), to):
		return free.WithHints(fault.Run("githandoff", "show", string(s.ID)).Because("it waits for %s", to))
	}
	return free.WithHints(fault.Run("githandoff", "resume", string(s.ID)).Because("takes it"))
}

// orphaned refuses a step on a handoff that this agent holds in a worktree that was removed,
// and says how the agent continues it here.
func orphaned(d *workspace.Workspace, s *lifecycle.State, held error) error {
	list, err := d.Claims.Orphans(d.Repo, d.Agent, d.Engine.Author.Signer.KID())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(h *work.Claim) bool { return h.ID == s.ID && h.Mine(s.Claim.Nonce) }) {
		return held
	}
	return fault.New(fault.Conflict, fault.NotHolder, "handoff %s is held by %s in a worktree that was removed", s.ID, s.Claim.Actor).
		WithHints(fault.Run("githandoff", "resume", string(s.ID)).Because("continues it here"))
}

// errUndelivered refuses a step on a handoff in the outbox: steps are taken at its home, which
// does not have it yet.
func errUndelivered(f *workspace.View) error {
	if f.Item == nil || f.Item.Kind != "outbox" || f.State.Phase() != lifecycle.Absent {
		return nil
	}
	id := f.State.ID
	return fault.New(fault.Conflict, fault.Undelivered, "handoff %s waits in the outbox: nobody has it yet", id).
		WithHints(fault.Run("githandoff", "sync").Because("delivers it"),
			fault.Run("githandoff", "revoke", string(id)).Because("takes it back"))
}

func (c *finishCommand) breakClaim(ctx context.Context) error {
	if c.id == "" {
		return usage("release --force needs an ID")
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	f, err := d.Find(ctx, c.id, workspace.IfUnknown)
	if err != nil {
		return err
	}
	s, err := d.Engine.Release(ctx, f.Home, lifecycle.ClaimProof{Place: f.Place()}, true)
	if err != nil {
		return err
	}
	return c.print(&receipt.Result{State: s}, record.Released)
}

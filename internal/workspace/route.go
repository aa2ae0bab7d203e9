package workspace

import (
	"context"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/policy"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Policy reads the team's policy from the commit of handoff.policyRef, by
// default origin/HEAD, else HEAD: never from the working tree, so that what is
// not merged decides nothing. A commit without one gives nil, which says
// nothing.
func (d *Workspace) Policy(ctx context.Context) (*policy.Policy, error) {
	revs := []string{"refs/remotes/origin/HEAD", "HEAD"}
	named := d.Repo.Config.Get("handoff.policyref")
	if named != "" {
		revs = []string{named}
	}
	for _, rev := range revs {
		if strings.ContainsAny(rev, " \t\n") {
			break
		}
		commit, err := d.Repo.Resolve(ctx, rev+"^{commit}")
		if err != nil {
			return nil, err
		}
		if commit == "" {
			continue
		}
		o, err := d.Repo.Read(ctx, commit+":"+policy.Name, policy.MaxSize)
		switch {
		case fault.Is(err, fault.TooLarge):
			return nil, fault.New(fault.Invalid, fault.TooLarge, "%s in %s has more than %d bytes", policy.Name, rev, policy.MaxSize)
		case err != nil || o == nil:
			return nil, err
		case o.Type != "blob":
			return nil, fault.New(fault.Invalid, fault.InvalidPolicy, "%s in %s is not a file", policy.Name, rev)
		}
		return policy.Parse(o.Body)
	}
	if named != "" {
		return nil, fault.New(fault.NotFound, fault.NoSuchCommit, "handoff.policyRef: %s is not a commit here", crossrepo.Quote(named)).
			WithHints(fault.Run("git", "fetch").Because("brings it, if a remote has it"),
				fault.Run("git", "config", "--unset", "handoff.policyRef").Because("reads the policy at origin/HEAD again"))
	}
	return nil, nil
}

// takes asks the policy whether an agent takes a kind of work.
func (d *Workspace) takes(ctx context.Context, agent, request string) error {
	if agent == "" || request == "" {
		return nil
	}
	p, err := d.Policy(ctx)
	if err != nil {
		return err
	}
	return p.CheckRequest("", agent, request)
}

// Case is a handoff that waits, or waited, for a decision.
type Case struct {
	Home     lifecycle.Home
	State    *lifecycle.State
	Verified *lifecycle.Verified // nil once it is over
}

// Case finds what a decision is about, freshly: by id or last characters, or
// with none the only handoff that waits.
func (d *Workspace) Case(ctx context.Context, arg string) (*Case, error) {
	var f *Found
	err := error(fault.New(fault.NotFound, fault.UnknownHandoff, "nothing known"))
	if arg != "" {
		f, err = d.Find(ctx, arg)
	}
	if fault.CodeOf(err) == fault.NotFound {
		failed := d.refreshInboxes(ctx, false)
		f, err = d.undecided(ctx, arg)
		if fault.CodeOf(err) == fault.NotFound && len(failed) > 0 {
			return nil, failed[0] // it may wait where nobody could look
		}
		for _, why := range failed {
			d.Warn(why)
		}
	}
	if err != nil {
		return nil, err
	}
	p := lifecycle.Place{Agent: refs.Nobody, ID: f.State.ID}
	if err := f.Home.Refresh(ctx, crossrepo.WantAll(p)); err != nil {
		return nil, err
	}
	c := &Case{Home: f.Home}
	if c.State, err = d.Engine.Locate(ctx, f.Home, p); err != nil || c.State.Receipt != nil {
		return c, err
	}
	c.Verified, err = d.Engine.Verify(ctx, f.Home, c.State, lifecycle.Options{AllowExpired: true, Lapsed: true})
	return c, err
}

func (d *Workspace) undecided(ctx context.Context, arg string) (*Found, error) {
	if arg != "" {
		return d.Find(ctx, arg)
	}
	var ids []string
	err := d.List(ctx, false, func(it *Item) error {
		if it.Place.Agent == refs.Nobody {
			ids = append(ids, string(it.Place.ID))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, fault.New(fault.NotFound, fault.NothingPending, "nothing waits for a decision").
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists all that is open"))
	case len(ids) > 1:
		return nil, fault.New(fault.Usage, fault.AmbiguousID, "%d handoffs wait for a decision: %s", len(ids), strings.Join(ids[:min(len(ids), 5)], ", ")).
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists them"))
	}
	return d.Find(ctx, ids[0])
}

// Route moves a case into the inbox of an agent. With clarify the agent is
// asked to explain, not to take over: the record says so.
//
// An agent gets only work of a kind that it takes; one that is asked for help with
// what is blocked, or to explain, gets no work of that kind.
func (d *Workspace) Route(ctx context.Context, c *Case, to string, clarify bool) error {
	if env := c.Verified.Envelope(); env.Status != handoff.StatusBlocked && !clarify {
		if err := d.takes(ctx, to, env.Target.Request); err != nil {
			return err
		}
	}
	data := ""
	if clarify {
		var err error
		if data, err = (Results{Clarify: "true"}).Encode(); err != nil {
			return err
		}
	}
	s, err := d.Engine.Route(ctx, c.Home, lifecycle.Place{Agent: refs.Nobody, ID: c.State.ID}, to, data)
	if err != nil {
		return err
	}
	c.State = s
	d.note(subject(c.Verified.Envelope(), c.Verified.Sealed()), c.Home, s.Entries[len(s.Entries)-1].Record())
	d.tryNotes(ctx)
	return nil
}

// Clarify is the key in the data of a routed record that says so.
const Clarify = "clarify"

// Routed returns the record of the decision by which a handoff came to the
// agent that has it; nil where it was sent to that agent at once.
func Routed(s *lifecycle.State) *record.Record {
	for i := len(s.Chain) - 1; i > 0; i-- {
		if r := s.Chain[i].Commit.Record; r.Event == record.Routed {
			return r
		}
	}
	return nil
}

// Reply is what a person sends back to the agent that asked.
type Reply struct {
	Goal   string // what the agent shall do with it
	Text   string // answers, or feedback
	Reason string
}

// SendBack ends a case with a child to its own source: the same work, with the
// reply as its summary. The summary that it had is in the lineage. At one home
// that is one transaction.
func (d *Workspace) SendBack(ctx context.Context, c *Case, r Reply) (*Ended, error) {
	if err := d.Engine.MayDecide(); err != nil {
		return nil, err
	}
	child, err := d.replyTo(c, r)
	if err != nil {
		return nil, err
	}
	a, err := d.heir(c.Verified, false)
	if err != nil {
		d.without(child.ID, err)
	}
	payload, err := d.authorized(ctx, c.Home, child, a, false, c.Verified.Sealed())
	if err != nil {
		return nil, err
	}
	p := lifecycle.Place{Agent: refs.Nobody, ID: c.State.ID}
	done := &Ended{Next: child.ID}
	done.State, err = d.withdraw(ctx, c.Home, p, record.Rerouted, lifecycle.Outcome{
		Next: child.ID, Child: payload, Aside: d.outgoingRefs(ctx, p),
	})
	return done, err
}

func (d *Workspace) replyTo(c *Case, r Reply) (*handoff.Envelope, error) {
	env := c.Verified.Envelope()
	child, err := d.childOf(c.Verified, Move{Agent: &env.Source.Agent, Home: c.Home, Reason: r.Reason})
	if err != nil {
		return nil, err
	}
	// A person signs, and the agent goes on under its own name: what it ran and
	// read before is no account of what comes.
	child.Source.Agent = env.Source.Agent
	child.Target.Request = ""
	child.Skills, child.FilesVerified, child.Origin = nil, nil, nil
	child.Goal, child.Summary = r.Goal+": "+firstLine(env.Goal, env.Summary), r.Text
	return child, nil
}

// Skills compares what the source of a handoff says that it invoked with what it
// had to: by the team's policy, and by the handoff on which it worked.
func (d *Workspace) Skills(ctx context.Context, env *handoff.Envelope) (policy.Skills, error) {
	p, err := d.Policy(ctx)
	return p.Skills(env, d.expectedSkills(ctx, env)), err
}

// expectedSkills are those that the source of a handoff was asked for: what a
// handoff expects it expects of its receiver, whose account is in what follows
// from it. They are known as long as that content can be read here. One that
// follows from nothing, and has an account, keeps the list beside it.
func (d *Workspace) expectedSkills(ctx context.Context, env *handoff.Envelope) []string {
	asked := env
	if env.Parent != "" {
		f, err := d.Find(ctx, string(env.Parent))
		if err != nil || f.State.Receipt != nil && f.State.Receipt.Event != record.Acknowledged {
			return nil // what was passed on or given up was not worked on
		}
		if asked, err = d.content(ctx, f); err != nil || asked == nil || f.State.To != env.Source.Agent {
			return nil
		}
	} else if env.Skills == nil {
		return nil
	}
	if asked.Expectations == nil {
		return nil
	}
	return asked.Expectations.Skills
}

// missingSkills is the value of Handoff-Skills-Missing for a payload. Skills are
// an account, not a condition: a policy that cannot be read stops no receipt.
func (d *Workspace) missingSkills(ctx context.Context, env *handoff.Envelope) string {
	s, err := d.Skills(ctx, env)
	if err != nil {
		d.Warn(err)
	}
	return skillList(s.Missing)
}

// maxSkillList bounds the trailer, in bytes.
const maxSkillList = 4096

// skillList joins names into one line of printable ASCII. A comma inside of a
// name, and what is not ASCII, is escaped as in JSON.
func skillList(names []string) string {
	var b strings.Builder
	for _, name := range names {
		name = strings.ReplaceAll(record.ASCII([]byte(strings.TrimSpace(name))), ",", `\u002c`)
		if b.Len()+len(name) > maxSkillList {
			b.WriteString(", ...")
			break
		}
		if name != "" && b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

package emit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// adviseTime bounds how long an emit waits for unrequested advice.
const adviseTime = 300 * time.Millisecond

// advise looks for mistakes of the sender during the work: files left behind, a commit missing at
// the target, unknown agents. The returned function prints the advice; done is the sent handoff, nil for none.
func (s *Handler) advise(ctx context.Context, env *handoff.Envelope, alias string, sealed bool) func(done *Result) {
	if s.Quiet {
		return func(*Result) {}
	}
	ctx, cancel := context.WithTimeout(ctx, adviseTime)
	found := make(chan error, 4)
	go func() {
		defer close(found)
		for _, agent := range receivers(env) {
			err := s.doubtful(ctx, agent, alias)
			if w, ok := errors.AsType[*wrongName](err); ok && (env.Target.Agent == nil || agent != *env.Target.Agent) {
				err = w.error // the agent for its failure: nothing mends that
			}
			if err != nil {
				found <- err
			}
		}
		if env.Work != nil {
			return // the snapshot brings uncommitted and unpushed work along
		}
		if n := refs.Uncommitted(ctx, s.Engine.Repo); n > 0 {
			found <- fmt.Errorf("%s not committed: the receiver does not have that work", changedFiles(n))
		}
		if alias != "" && env.Source.Commit != "" && refs.Unpushed(ctx, s.Engine.Repo, alias, env.Source.Commit) {
			found <- fmt.Errorf("commit %.10s is not on %s yet, as far as this clone knows: push it", env.Source.Commit, alias)
		}
	}()
	return func(done *Result) {
		defer cancel()
		for err := range found {
			w, ok := errors.AsType[*wrongName](err)
			switch {
			case !ok || done == nil:
			case done.State == "queued" || sealed: // a reroute needs a handoff that is there, and that its sender can open
				err = fmt.Errorf("%w (githandoff revoke %s takes it back)", err, done.ID)
			default:
				err = fmt.Errorf("%w (githandoff reroute %s --to %s)", err, done.ID, w.meant)
			}
			s.Workspace.Warn(err)
		}
	}
}

// wrongName doubts that an agent is the one that the sender meant.
type wrongName struct {
	error
	meant string // target, as --to takes it
}

// receivers returns the agents named by an envelope: its target, and the one for its failure.
func receivers(env *handoff.Envelope) []string {
	var agents []string
	if env.Target.Agent != nil {
		agents = append(agents, *env.Target.Agent)
	}
	if r := env.Rollback; r != nil && r.OnFailure != "" && !slices.Contains(agents, r.OnFailure) {
		agents = append(agents, r.OnFailure)
	}
	return agents
}

// AdviseReceiver warns of a receiver that cannot take a handoff, or not with a trusted key. alias
// is its hub, "" for this repository.
func (s *Handler) AdviseReceiver(ctx context.Context, agent, alias string) {
	if s.Quiet {
		return
	}
	if err := s.doubtful(ctx, agent, alias); err != nil {
		s.Workspace.Warn(err)
	}
}

// doubtful returns why an agent may not be the right receiver: the handoff stays in this clone and
// the agent does not work here, or no key of it is trusted.
func (s *Handler) doubtful(ctx context.Context, name, alias string) error {
	known, near := sign.NearestAgent(s.Engine.Keys.Trust, name)
	if misspelled := !known && near != ""; alias == "" && !misspelled {
		if err := s.notHere(name); err != nil {
			return err
		}
	}
	if known {
		return s.retiredAgent(name)
	}
	if until := s.Expected(name); !until.IsZero() {
		return fmt.Errorf("%s was invited and has not joined yet; its invitation ends at %s", name, handoff.FormatTime(until))
	}
	if kid := s.publishedFor(ctx, name); kid != "" {
		return fmt.Errorf("no key of agent %s is trusted here; a published key claims to be for %s: compare its fingerprint with its owner, then run: githandoff trust add %s --agent %s", name, name, kid, name)
	}
	if near != "" {
		return &wrongName{fmt.Errorf("no key of agent %s is trusted here; did you mean %s?", name, near), handoff.TargetAt(near, alias)}
	}
	if alias == "" {
		return fmt.Errorf("no key of agent %s is trusted here: if it acknowledges, that is disputed until one is (githandoff init --as %s, in its worktree)", name, name)
	}
	return fmt.Errorf("no key of agent %s is trusted here: if it acknowledges, that is disputed until one is (githandoff invite --over %s %s)", name, alias, name)
}

// notHere returns the warning for a handoff that stays in this clone, if no worktree of it is the agent's
// and there is another repository where the agent may work. A key in the user's keystore does not
// tell: all clones of the user share it.
func (s *Handler) notHere(agent string) error {
	names := crossrepo.Aliases{Repo: s.Engine.Repo}.Names()
	if len(names) == 0 || s.Engine.Repo.Config.Get("handoff.agent") == agent || slices.Contains(workspace.AgentsOfClone(s.Engine.Repo), agent) {
		return nil
	}
	hub := cmp.Or(s.Workspace.MainRemote(), names[0])
	meant := handoff.TargetAt(agent, hub)
	return &wrongName{fmt.Errorf("%s is not an agent of this clone, and this handoff stays in it; did you mean %s?", agent, meant), meant}
}

// retiredAgent warns if every key of a known agent was retired here.
func (s *Handler) retiredAgent(name string) error {
	if slices.ContainsFunc(s.Engine.Keys.Trust.Entries(), func(e sign.TrustEntry) bool { return e.Retired == "" && slices.Contains(e.Agents, name) }) {
		return nil
	}
	return fmt.Errorf("the key of agent %s was retired here: if it acknowledges, that is disputed until another key is trusted here (githandoff trust add)", name)
}

// publishedFor returns an unpinned published key in the name of an agent.
func (s *Handler) publishedFor(ctx context.Context, agent string) sign.KID {
	unpinned, _, err := s.Published.Unpinned(ctx)
	if err != nil {
		return ""
	}
	for _, public := range unpinned {
		if public.UserID() == sign.UserID(agent) {
			return public.KID()
		}
	}
	return ""
}

func changedFiles(n int) string {
	if n == 1 {
		return "1 changed file is"
	}
	return fault.Count(n, "changed file") + " are"
}

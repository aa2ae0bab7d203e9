package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

// judgeWork judges the refs of the snapshot of a handoff. The handoff itself was judged before, with
// the signature of the envelope naming the snapshot.
func (hj handoffJudge) judgeWork(ctx context.Context, s *lifecycle.State, st *step) error {
	var named *handoff.Work
	if open := s.Phase() == lifecycle.Open || s.Phase() == lifecycle.Held; open {
		named = hj.Verifier.WorkOf(ctx, s)
	}
	for _, agent := range st.agents(s) {
		now, err := hj.Verifier.Repo.Resolve(ctx, refs.LocalNamespace.Work(agent, s.ID))
		if err != nil {
			return err
		}
		want := ""
		if named != nil && agent == s.Agent {
			want = named.Commit
		}
		if err := st.workAt(agent, now, want); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(st.work, func(e agentEdit) bool { return e.New != "" && e.agent == s.Agent }) {
		return hj.weigh(ctx, named)
	}
	return nil
}

// agents returns the agents under whose names the push, or the handoff, may have a snapshot.
func (st *step) agents(s *lifecycle.State) []string {
	list := []string{handoff.Nobody, s.Agent, s.To}
	for _, e := range slices.Concat(st.inbox, st.work) {
		list = append(list, e.agent)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(a string) bool { return a == "" })
}

// workAt compares the new value of one inbox's snapshot ref with the expected value.
func (st *step) workAt(agent, now, want string) error {
	made := slices.ContainsFunc(st.inbox, func(e agentEdit) bool { return e.agent == agent && e.Old == "" && e.New != "" })
	moved := slices.ContainsFunc(st.work, func(e agentEdit) bool { return e.agent == agent && e.Old != "" && e.New != "" })
	switch {
	case moved:
		return denied(fault.DigestMismatch, "a snapshot does not change")
	case now != "" && now != want:
		if want != "" {
			return denied(fault.DigestMismatch, "the envelope of handoff %s names another snapshot, %s", st.id, want)
		}
		return denied(fault.Unlogged, "a snapshot would exist without handoff %s, which names it", st.id)
	case now == "" && want != "" && (made || len(st.work) > 0):
		return denied(fault.Lost, "handoff %s would lose the snapshot that its envelope names", st.id)
	}
	return nil
}

// weigh checks the form of a snapshot and its size, against the limit of this hub.
func (hj handoffJudge) weigh(ctx context.Context, w *handoff.Work) error {
	c, err := snapshot.Open(ctx, hj.Verifier.Repo, w.Commit)
	if err != nil {
		return err
	}
	if c.Head != w.Head {
		return denied(fault.HandoffMismatch, "the snapshot is based on %s, but its envelope names %s", c.Head, w.Head)
	}
	limit, err := snapshot.LimitOf(hj.Verifier.Repo)
	if err != nil {
		return err
	}
	list, err := hj.Verifier.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-list", "--objects", "--no-object-names", w.Commit, "--not", "--all"}})
	if err != nil {
		return fmt.Errorf("list what a snapshot brings: %w", err)
	}
	size, err := refs.SizeOf(ctx, hj.Verifier.Repo, strings.Fields(string(list)))
	if err != nil {
		return fmt.Errorf("count what a snapshot brings: %w", err)
	}
	if size > limit {
		return denied(fault.TooLarge, "a snapshot of %d bytes, limit of this hub %d", size, limit)
	}
	return nil
}

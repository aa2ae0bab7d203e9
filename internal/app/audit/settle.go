package audit

import (
	"context"

	"githandoff/internal/refs"
)

// suspect is a finding that a step taken while the refs were read may explain.
type suspect struct {
	Finding

	lane string
	at   *openRef // tip is empty if the inbox ref is missing
}

// suspect notes a difference between a lane and an inbox ref.
func (c *comparison) suspect(lane string, f Finding, at *openRef) {
	c.wrong[lane], c.faulty = true, true
	c.suspects = append(c.suspects, suspect{f, lane, at})
}

// settle lists the refs again. It reports the suspects whose refs did not move, and returns the
// lanes of the other suspects.
func (c *comparison) settle(ctx context.Context) (moved map[string]bool, err error) {
	if len(c.suspects) == 0 {
		return nil, nil
	}
	now := compare(c.repo, c.home, Visitor{})
	if err := now.list(ctx); err != nil {
		return nil, err
	}
	before, after := tips(c.lanes), tips(append(now.lanes, now.inbox...))
	moved = map[string]bool{}
	for _, s := range c.suspects {
		if before[s.lane] != after[s.lane] || after[s.at.ref] != s.at.tip {
			moved[s.lane] = true
			continue
		}
		if err := c.Finding(c.home, s.Finding); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

// tell reports all suspects.
func (c *comparison) tell() error {
	for _, s := range c.suspects {
		if err := c.Finding(c.home, s.Finding); err != nil {
			return err
		}
	}
	return nil
}

func tips(list []refs.Ref) map[string]string {
	m := make(map[string]string, len(list))
	for _, ref := range list {
		m[ref.Name] = ref.OID
	}
	return m
}

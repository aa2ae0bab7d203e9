package agentwatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agents"
	"githandoff/internal/app/agentwatch"
	"githandoff/internal/handoff"
)

const (
	one = handoff.ID("ho_01m80hk0vrd8tjn3jxcqzfng9t")
	two = handoff.ID("ho_01m80hk0vrd8tjn3jxcr7k3m2q")
)

// scene is an inbox and a session, with a clock that advances when the watch pauses.
type scene struct {
	inbox, told []handoff.ID
	announced   bool
	outcome     agentwatch.Outcome
	lines       []string
	interrupted bool // whether the first line causes an interrupt
	busy        error
	now         time.Time
	steps       map[int]func() // functions to call, by second
}

func (s *scene) Inbox(context.Context) ([]handoff.ID, error) { return slices.Clone(s.inbox), nil }
func (s *scene) Fetch(context.Context) error                 { return nil }

func (s *scene) Untold(_ context.Context, ids []handoff.ID) (string, []agents.Handoff, error) {
	if s.busy != nil {
		return "", nil, s.busy
	}
	var news []agents.Handoff
	for _, id := range ids {
		if !slices.Contains(s.told, id) {
			news, s.told = append(news, agents.Handoff{ID: id}), append(s.told, id)
		}
	}
	return "fixer", news, nil
}

func (s *scene) Forget(ctx context.Context, ids []handoff.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.told = slices.DeleteFunc(s.told, func(id handoff.ID) bool { return slices.Contains(ids, id) })
	return nil
}

// watch runs a watch for some seconds of its clock. Files do not change.
func (s *scene) watch(t *testing.T, seconds int) {
	t.Helper()
	second := 0
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	w := agentwatch.Watch{
		Worktree: s, Files: func() []string { return nil }, Alive: func() bool { return second < seconds },
		Tell: func(line string, _ []agents.Handoff) (agentwatch.Outcome, error) {
			s.lines = append(s.lines, line)
			if s.interrupted {
				interrupt()
			}
			return s.outcome, nil
		},
		Announced: func() bool { return s.announced },
		Now:       func() time.Time { return s.now },
		Pause: func(ctx context.Context, d time.Duration) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.now = s.now.Add(d)
			if second++; s.steps[second] != nil {
				s.steps[second]()
			}
			return nil
		},
	}
	require.NoError(t, w.Run(ctx))
}

// A handoff that arrives after the session's announcement and before the first look of the watch is reported.
func TestNoGapBeforeTheFirstLook(t *testing.T) {
	s := &scene{inbox: []handoff.ID{one, two}, told: []handoff.ID{one}, announced: true}
	s.watch(t, 10)
	assert.Equal(t, []string{"githandoff: 1 handoff arrived for fixer: " + two.Short() + ". `githandoff resume ID` claims one."}, s.lines)

	slow := &scene{inbox: []handoff.ID{one, two}}
	slow.steps = map[int]func(){7: func() { slow.announced, slow.told = true, []handoff.ID{one, two} }}
	slow.watch(t, 10)
	assert.Empty(t, slow.lines, "what a slow hook tells is not told twice")
}

// If no session made an announcement, handoffs from before the watch are not reported.
func TestWatchNamesOnlyNewHandoffs(t *testing.T) {
	s := &scene{inbox: []handoff.ID{one}}
	s.watch(t, 10)
	assert.Empty(t, s.lines)
}

// A line that reached nobody is printed again later, unless a hook has announced the handoff meanwhile.
func TestUnheardLineIsSaidAgain(t *testing.T) {
	s := &scene{inbox: []handoff.ID{one}, announced: true, outcome: agentwatch.Unheard}
	s.steps = map[int]func(){40: func() { s.outcome = agentwatch.Heard }}
	s.watch(t, 120)
	assert.Len(t, s.lines, 3, "at 3, 33 and 63 seconds")
	assert.Equal(t, []handoff.ID{one}, s.told)

	hook := &scene{inbox: []handoff.ID{one}, announced: true, outcome: agentwatch.Unheard}
	hook.steps = map[int]func(){20: func() { hook.told = []handoff.ID{one} }}
	hook.watch(t, 120)
	assert.Len(t, hook.lines, 1)
}

// A look that failed because git was busy is repeated, even if no file changes after it.
func TestFailedLookIsRepeated(t *testing.T) {
	s := &scene{inbox: []handoff.ID{one}, announced: true, busy: errors.New("git is busy")}
	s.steps = map[int]func(){20: func() { s.busy = nil }}
	s.watch(t, 60)
	assert.Len(t, s.lines, 1)
	assert.Equal(t, []handoff.ID{one}, s.told)
}

// If the watch is interrupted while it prints a line, the handoffs that nobody learned of are left to the hooks.
func TestInterruptedLineIsNotTold(t *testing.T) {
	s := &scene{inbox: []handoff.ID{one}, announced: true, outcome: agentwatch.Unheard, interrupted: true}
	s.watch(t, 120)
	assert.Len(t, s.lines, 1)
	assert.Empty(t, s.told)
}

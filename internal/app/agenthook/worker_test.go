package agenthook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/handoff"
)

func worker(t *testing.T) *session {
	s := newSession(t)
	s.settings.Session, s.settings.End = "take", "release"
	return s
}

// gives makes the next Take claim a handoff with this text.
func (s *session) gives(id handoff.ID, text string) {
	s.offer = &agenthook.Taken{Handoff: agents.Handoff{ID: id}, Text: text, Shown: func() { s.shown = true }}
}

func TestTakeAtTheStart(t *testing.T) {
	s := worker(t)
	s.gives(one, "<the work>\n")
	s.waiting = list(two)
	said := s.says("SessionStart", map[string]any{"source": "startup"})
	assert.Contains(t, said, "1 handoff waits for agent fixer: "+two.Short())
	assert.Contains(t, said, "Held: "+one.Short())
	assert.Contains(t, said, "this hook took "+one.Short()+` for the session; it follows.\n\u003cthe work\u003e\n`)
	assert.True(t, s.shown)
	assert.NotContains(t, said, "initialUserMessage", "a prompt may come")

	s.vars = map[string]string{"CLAUDE_CODE_SESSION_ATTENDED": "0"}
	assert.Contains(t, s.says("SessionStart", nil), `"initialUserMessage":"Work on handoff `+one.Short()+`."`)
	s.vars["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
	assert.NotContains(t, s.says("SessionStart", nil), "initialUserMessage")
}

// A handoff that is too long for an answer is left to "githandoff resume", which then prints it first.
func TestTakenIsTooLong(t *testing.T) {
	s := worker(t)
	s.gives(one, strings.Repeat("x", agents.MaxAnswer))
	said := s.says("SessionStart", nil)
	assert.Contains(t, said, "took "+one.Short()+" for the session; `githandoff resume` prints it.")
	assert.Less(t, len(said), 1000)
	assert.False(t, s.shown)
}

func TestWorkerGoesOn(t *testing.T) {
	s := worker(t)
	s.gives(two, "<another>")
	s.held = list(one)
	said := s.says("SessionStart", map[string]any{"source": "startup"})
	assert.Contains(t, said, "Held since an earlier session: "+one.Short())
	assert.Contains(t, said, `\u003cfence `+one.Short(), "what is held is shown")
	assert.NotContains(t, said, "another", "and nothing else is taken")
	assert.NotContains(t, said, "took")
	s.held = list(one, two)
	assert.NotContains(t, s.says("SessionStart", nil), "fence", "of several none is chosen")
	for _, source := range []string{"resume", "compact"} {
		s.held = nil
		assert.NotContains(t, s.says("SessionStart", map[string]any{"source": source}), "another", "a session that goes on takes nothing")
	}
}

func TestNothingToTake(t *testing.T) {
	s := worker(t)
	assert.Empty(t, s.says("SessionStart", nil))
	s.waiting, s.takeErr = list(one), errors.New("no key")
	assert.Contains(t, s.says("SessionStart", nil), "1 handoff waits for agent fixer: "+one.Short(), "it is announced")
	assert.Len(t, s.noted, 1)
}

func TestReleaseAtTheEnd(t *testing.T) {
	s := worker(t)
	s.held = list(one, two)
	s.says("SessionEnd", map[string]any{"reason": "clear"})
	s.says("SessionEnd", map[string]any{"reason": "resume"})
	assert.Empty(t, s.released, "the client goes on")
	s.says("SessionEnd", map[string]any{"reason": "other"})
	assert.Equal(t, []handoff.ID{one, two}, s.released)
	for _, end := range []string{"", "keep"} {
		s.released, s.settings.End = nil, end
		s.says("SessionEnd", map[string]any{"reason": "other"})
		assert.Empty(t, s.released)
	}
}

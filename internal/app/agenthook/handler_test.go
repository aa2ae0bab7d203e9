package agenthook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// worktree is a worktree whose content a test sets. These tests check the rules of a session; the content of
// real worktrees is tested with the program.
type worktree struct {
	waiting, held []agents.Handoff
	lost          []agenthook.Loss
	check         error
	facts         int
	offer         *agenthook.Taken // the handoff that Take claims
	takeErr       error
	shown         bool
	released      []handoff.ID
	noted         []error
	read          int // number of offers read
	tree          string
}

func (d *worktree) Agent() string { return "fixer" }
func (d *worktree) Top() string   { return d.tree }

func (d *worktree) Inbox(context.Context) ([]handoff.ID, error) {
	var ids []handoff.ID
	for _, h := range d.waiting {
		ids = append(ids, h.ID)
	}
	return ids, nil
}

func (d *worktree) Waiting(_ context.Context, ids []handoff.ID) ([]agents.Handoff, error) {
	var some []agents.Handoff
	for _, h := range d.waiting {
		if slices.Contains(ids, h.ID) {
			some = append(some, h)
		}
	}
	d.read += len(ids)
	return some, nil
}

func (d *worktree) Held(context.Context) ([]agents.Handoff, error) { return d.held, nil }
func (d *worktree) Lost(context.Context) ([]agenthook.Loss, error) { return d.lost, nil }
func (d *worktree) Check(context.Context, []string) error          { return d.check }

func (d *worktree) Peek(_ context.Context, id handoff.ID) (string, error) {
	return "<fence " + id.Short() + ">\n", nil
}

func (d *worktree) Take(context.Context) (*agenthook.Taken, error) { return d.offer, d.takeErr }

func (d *worktree) Release(_ context.Context, id handoff.ID) error {
	d.released = append(d.released, id)
	return nil
}

func (d *worktree) Facts(context.Context, []agents.Handoff) error {
	d.facts++
	return nil
}

const (
	one   = handoff.ID("ho_01m80hk0vrd8tjn3jxcqzfng9t")
	two   = handoff.ID("ho_01m80hk0vrd8tjn3jxcq7k3m2q")
	three = handoff.ID("ho_01m80hk0vrd8tjn3jxcqabcdef")
)

func list(all ...handoff.ID) []agents.Handoff {
	var out []agents.Handoff
	for _, id := range all {
		out = append(out, agents.Handoff{ID: id})
	}
	return out
}

// session is one session of Claude Code whose hooks the tests call.
type session struct {
	*worktree
	t        *testing.T
	dir      string
	settings agenthook.Settings
	vars     map[string]string
}

func newSession(t *testing.T) *session {
	return &session{worktree: &worktree{tree: "/tree"}, t: t, dir: filepath.Join(t.TempDir(), "sessions")}
}

func (s *session) call(event string, payload map[string]any) (string, error) {
	s.t.Helper()
	if payload == nil {
		payload = map[string]any{}
	}
	payload["session_id"] = "s1"
	b, err := json.Marshal(payload)
	require.NoError(s.t, err)
	call, err := agents.Read("claude", event, strings.NewReader(string(b)), func(name string) string { return s.vars[name] })
	require.NoError(s.t, err)
	h := agenthook.Handler{Worktree: s.worktree, Settings: s.settings, Stamp: agenthook.LoadStamp(s.dir, call.Session)}
	h.Warn = func(err error) { s.noted = append(s.noted, err) }
	out, err := h.Handle(s.t.Context(), call)
	return string(out), err
}

func (s *session) says(event string, payload map[string]any) string {
	s.t.Helper()
	out, err := s.call(event, payload)
	require.NoError(s.t, err)
	return out
}

func TestNothingToSay(t *testing.T) {
	s := newSession(t)
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PreCompact", "Stop", "SessionEnd"} {
		assert.Empty(t, s.says(event, map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}}))
	}
	assert.Zero(t, s.facts)
	_, err := os.Stat(s.dir)
	assert.ErrorIs(t, err, os.ErrNotExist, "no stamp is written")
}

func TestToldOnce(t *testing.T) {
	s := newSession(t)
	s.waiting = list(one)
	assert.Contains(t, s.says("SessionStart", map[string]any{"source": "startup"}), one.Short())
	assert.Empty(t, s.says("UserPromptSubmit", nil))
	assert.Empty(t, s.says("SessionStart", map[string]any{"source": "resume"}))

	s.waiting = list(one, two)
	said := s.says("UserPromptSubmit", nil)
	assert.Contains(t, said, two.Short())
	assert.NotContains(t, said, one.Short())
	assert.Empty(t, s.says("UserPromptSubmit", nil))

	s.held = list(one)
	assert.Contains(t, s.says("SessionStart", map[string]any{"source": "resume"}), "Held: "+one.Short())
	assert.Empty(t, s.says("SessionStart", map[string]any{"source": "resume"}))
	assert.Contains(t, s.says("SessionStart", map[string]any{"source": "clear"}), one.Short(), "a cleared session knows nothing")
}

// A crowded inbox is announced with the number of its handoffs and a few ids. Later arrivals are still
// announced. No more handoffs are read than can be announced.
func TestCrowdedInboxIsAnnouncedByItsNumber(t *testing.T) {
	s := newSession(t)
	crowd := func(from, n int) (all []agents.Handoff) {
		for i := range n {
			all = append(all, agents.Handoff{ID: handoff.ID(fmt.Sprintf("ho_01m80hk0vrd8tjn3jxcq%06d", from+i))})
		}
		return all
	}
	s.waiting = crowd(0, 10_000)
	said := s.says("SessionStart", nil)
	assert.Contains(t, said, "the inbox of fixer has 10000 handoffs; these wait: …cq000000, …cq000001, …cq000002. `githandoff resume")
	assert.LessOrEqual(t, s.read, 32)
	assert.Empty(t, s.says("UserPromptSubmit", nil))

	s.waiting = append(s.waiting, crowd(10_000, 1)...)
	assert.Contains(t, s.says("UserPromptSubmit", nil), "1 handoff arrived for fixer: …cq010000. `githandoff resume ID` claims one.")
	assert.Empty(t, s.says("UserPromptSubmit", nil))
	s.waiting = append(s.waiting, crowd(20_000, 100)...)
	assert.Contains(t, s.says("UserPromptSubmit", nil), "100 handoffs came into the inbox of fixer; these wait: …cq020000, …cq020001, …cq020002.")
	assert.Empty(t, s.says("UserPromptSubmit", nil))
	assert.LessOrEqual(t, s.read, 2*32+1)
}

// An inbox with more handoffs than a stamp can record is announced only once.
func TestInboxLargerThanAStampIsToldOnce(t *testing.T) {
	s := newSession(t)
	for i := range 40_000 {
		s.waiting = append(s.waiting, agents.Handoff{ID: handoff.ID(fmt.Sprintf("ho_01m80hk0vrd8tjn3jxcq%06d", i))})
	}
	assert.Contains(t, s.says("SessionStart", nil), "has 40000 handoffs")
	assert.Empty(t, s.says("UserPromptSubmit", nil))
}

func TestCompactionShowsWhatIsHeld(t *testing.T) {
	s := newSession(t)
	s.waiting = list(two)
	assert.Empty(t, s.says("SessionStart", map[string]any{"source": "compact"}))
	assert.Empty(t, s.says("PreCompact", nil))
	assert.Zero(t, s.facts)
	s.held = list(one)
	assert.Empty(t, s.says("PreCompact", nil))
	assert.Equal(t, 1, s.facts)
	said := s.says("SessionStart", map[string]any{"source": "compact"})
	assert.Contains(t, said, `\u003cfence `+one.Short())
	assert.LessOrEqual(t, len(said), 4200)
}

func TestSessionSettingsPeekAndOff(t *testing.T) {
	s := newSession(t)
	s.waiting = list(one, two)
	s.settings.Session = "peek"
	assert.Contains(t, s.says("SessionStart", nil), `\u003cfence `+one.Short())
	s.settings.Session = "off"
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "Stop"} {
		assert.Empty(t, s.says(event, nil))
	}
}

func TestLostClaimIsTold(t *testing.T) {
	s := newSession(t)
	s.lost = []agenthook.Loss{{Handoff: agents.Handoff{ID: one}, How: "revoked"}}
	assert.Empty(t, s.says("UserPromptSubmit", nil), "an earlier session lost it")
	s.lost, s.held = nil, list(one, two)
	s.settings.Stop = "off"
	assert.Empty(t, s.says("UserPromptSubmit", nil))
	s.lost, s.held = []agenthook.Loss{{Handoff: agents.Handoff{ID: one}, How: "revoked"}}, list(two)
	assert.Contains(t, s.says("UserPromptSubmit", nil), "it was revoked")
	assert.Empty(t, s.says("UserPromptSubmit", nil))
	s.lost, s.held = append(s.lost, agenthook.Loss{Handoff: agents.Handoff{ID: two}, How: "released"}), nil
	assert.Contains(t, s.says("SessionStart", map[string]any{"source": "resume"}), "it was released")
	assert.Empty(t, s.says("SessionStart", nil))
}

func TestEditOutsideTheTokenIsDenied(t *testing.T) {
	s := newSession(t)
	edit := map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": "/tree/go.mod"}}
	assert.Empty(t, s.says("PreToolUse", edit))
	s.check = fault.New(fault.Policy, "scope", "\"repo.write:go.mod\" is not within what obo_1 allows")
	said := s.says("PreToolUse", edit)
	assert.Contains(t, said, `"permissionDecision":"deny"`)
	assert.Contains(t, said, "not within what obo_1 allows")
	assert.NotContains(t, said, "allow\"")
	assert.Empty(t, s.says("PreToolUse", map[string]any{"tool_name": "Read", "tool_input": map[string]any{"file_path": "/tree/go.mod"}}))
	s.check = errors.New("no git")
	_, err := s.call("PreToolUse", edit)
	assert.Error(t, err, "what is no refusal denies nothing")
}

func TestRemindedOnce(t *testing.T) {
	s := newSession(t)
	s.held = list(one)
	assert.Empty(t, s.says("Stop", map[string]any{"stop_hook_active": true}))
	assert.Empty(t, s.says("Stop", map[string]any{"agent_id": "sub"}))
	assert.Contains(t, s.says("Stop", nil), `"decision":"block"`)
	for range 3 {
		assert.Empty(t, s.says("Stop", nil))
	}
	s.held = list(one, three)
	assert.Contains(t, s.says("Stop", nil), three.Short())

	s.held, s.settings.Stop = list(two), "off"
	assert.Empty(t, s.says("Stop", nil))
	s.settings.Stop, s.vars = "", map[string]string{"CLAUDE_CODE_SESSION_ATTENDED": "1"}
	assert.Contains(t, s.says("Stop", nil), `"systemMessage"`, "a person watches")
}

// A reminder that cannot be recorded is not given, since it would come at the end of every turn.
func TestNoReminderWithoutStamp(t *testing.T) {
	s := newSession(t)
	require.NoError(t, os.WriteFile(s.dir, nil, 0o600))
	s.held = list(one)
	out, err := s.call("Stop", nil)
	require.Error(t, err)
	assert.Empty(t, out)
}

// newStamp returns a session that was told of a handoff, and the path of its stamp.
func newStamp(t *testing.T) (s *session, path string) {
	s = newSession(t)
	s.waiting = list(one)
	s.says("SessionStart", nil)
	files, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	return s, filepath.Join(s.dir, files[0].Name())
}

func TestStamps(t *testing.T) {
	s, stamp := newStamp(t)
	require.NoError(t, agenthook.SweepStamps(s.dir, time.Now()))
	require.NoError(t, os.WriteFile(stamp, []byte("torn"), 0o600))
	assert.NotEmpty(t, s.says("SessionStart", nil), "a stamp that cannot be read is none")
	require.NoError(t, agenthook.SweepStamps(s.dir, time.Now().Add(agenthook.StampAge+time.Hour)))
	files, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	assert.Empty(t, files)
	require.NoError(t, agenthook.SweepStamps(filepath.Join(s.dir, "none"), time.Now()))
}

// The file that a stamp is written to is a new one: a link in its place leads nowhere.
func TestStampFollowsNoLink(t *testing.T) {
	s, stamp := newStamp(t)
	mine := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(mine, fmt.Sprintf("%s.%d", stamp, os.Getpid())))
	s.waiting = list(one, two)
	assert.NotEmpty(t, s.says("UserPromptSubmit", nil))
	b, err := os.ReadFile(mine)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(b))
}

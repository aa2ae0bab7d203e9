package agenthook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/footprint"
)

// place is a repository whose hooks look only at its files. The clock of the hooks can be moved.
type place struct {
	*session
	ground *agenthook.Ground
	later  time.Duration
}

func newPlace(t *testing.T) *place {
	git := filepath.Join(t.TempDir(), ".git")
	p := &place{session: newSession(t)}
	p.ground = &agenthook.Ground{GitDir: git, CommonDir: git, Now: func() time.Time { return time.Now().Add(p.later) }}
	p.dir = filepath.Join(git, "githandoff", "sessions")
	p.touch("HEAD")
	p.touch("config")
	p.touch("packed-refs")
	p.ref("inbox/fixer/" + string(one))
	return p
}

func (p *place) touch(name string) {
	p.t.Helper()
	path := filepath.Join(p.ground.GitDir, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o700))
	temp := path + ".lock"
	require.NoError(p.t, os.WriteFile(temp, []byte("x"), 0o600))
	require.NoError(p.t, os.Rename(temp, path))
}

func (p *place) ref(name string) { p.touch("refs/handoffs/" + name) }

// age makes all changes look old. The change time of an inode cannot be set, so the clock of the hooks is moved
// on.
func (p *place) age() { p.later += footprint.Settling + time.Second }

func (p *place) ask(event string, payload map[string]any) *agents.Call {
	p.t.Helper()
	if payload == nil {
		payload = map[string]any{}
	}
	payload["session_id"] = "s1"
	b, err := json.Marshal(payload)
	require.NoError(p.t, err)
	call, err := agents.Read("claude", event, strings.NewReader(string(b)), func(string) string { return "" })
	require.NoError(p.t, err)
	return call
}

// quiet reports whether a hook decides without git that it has nothing to say. Otherwise the hook runs as in the
// program.
func (p *place) quiet(event string, payload map[string]any) bool {
	p.t.Helper()
	call := p.ask(event, payload)
	if p.ground.Quiet(call, p.ground.Stamp("s1")) {
		return true
	}
	view := p.ground.Look()
	p.ground.Listen(view, []string{"fixer"})
	h := agenthook.Handler{Worktree: p.worktree, Settings: p.settings, Stamp: p.ground.Stamp("s1"), View: view}
	_, err := h.Handle(p.t.Context(), call)
	require.NoError(p.t, err)
	return false
}

// settle brings a session into a state in which it has been told everything, some time ago.
func (p *place) settle() {
	p.t.Helper()
	p.quiet("UserPromptSubmit", nil)
	p.age()
	p.quiet("UserPromptSubmit", nil)
	require.True(p.t, p.quiet("UserPromptSubmit", nil))
}

// A prompt starts no git if nothing has changed. Everything that could be news counts as a change.
func TestQuietUntilSomethingChanges(t *testing.T) {
	for what, change := range map[string]func(p *place){
		"a loose offer":             func(p *place) { p.ref("inbox/fixer/" + string(two)) },
		"a step of an offer":        func(p *place) { p.ref("inbox/fixer/" + string(one)) },
		"packed refs":               func(p *place) { p.touch("packed-refs") },
		"a table of refs":           func(p *place) { p.touch("reftable/tables.list") },
		"a first copy of a hub":     func(p *place) { p.ref("remotes/0123456789ab/inbox/fixer/" + string(two)) },
		"a setting":                 func(p *place) { p.touch("config") },
		"a setting of the worktree": func(p *place) { p.touch("config.worktree") },
		"trust":                     func(p *place) { p.touch("githandoff/trust.json") },
		"another agent":             func(p *place) { p.touch("githandoff/agent") },
		"a claim":                   func(p *place) { p.touch("githandoff/claims/" + string(one) + ".json") },
		"an end":                    func(p *place) { p.touch("githandoff/claims/ended/" + string(one) + ".json") },
		"a word of the environment": func(p *place) { p.ground.Said = []string{"GITHANDOFF_AGENT=other"} },
		"time":                      func(p *place) { p.later += 11 * time.Minute },
	} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t)
			p.settle()
			assert.True(t, p.quiet("SessionStart", map[string]any{"source": "resume"}))
			assert.False(t, p.ground.Quiet(p.ask("SessionStart", map[string]any{"source": "startup"}), p.ground.Stamp("s1")))
			change(p)
			assert.False(t, p.quiet("UserPromptSubmit", nil))
		})
	}
}

func TestStepsInOtherInboxesAreNoChange(t *testing.T) {
	p := newPlace(t)
	p.ref("inbox/other/" + string(three))
	p.settle()
	p.ref("inbox/other/" + string(two))
	assert.True(t, p.quiet("UserPromptSubmit", nil))
}

// A change of a held handoff's lane is noticed, since the lane may contain its receipt.
func TestLanesOfWhatIsHeldAreListenedTo(t *testing.T) {
	p := newPlace(t)
	p.touch("githandoff/claims/" + string(one) + ".json")
	p.ref("log/" + one.Lane())
	p.held = list(one)
	p.settle()
	p.ref("log/" + one.Lane())
	assert.False(t, p.quiet("UserPromptSubmit", nil))
	p.settle()
	p.ref("remotes/0123456789ab/log/" + one.Lane())
	assert.False(t, p.quiet("UserPromptSubmit", nil))
}

// Two changes within one tick of the clock can look the same, so a recent change is read again until it has
// settled. A stamp that another hook writes later does not make an earlier look count as settled.
func TestFreshChangesAreReadAgain(t *testing.T) {
	p := newPlace(t)
	for range 3 {
		assert.False(t, p.quiet("UserPromptSubmit", nil))
	}
	p.age()
	p.touch("githandoff/claims/" + string(two) + ".json")
	p.held = list(two)
	p.later = 0
	assert.False(t, p.quiet("UserPromptSubmit", nil))
	p.age()
	p.held = list(three)
	assert.False(t, p.quiet("Stop", nil))
	assert.False(t, p.quiet("UserPromptSubmit", nil), "the stamp is newer than its look")
	assert.True(t, p.quiet("UserPromptSubmit", nil))
}

// No handoff is held, so no hook has to refuse, remind or record anything.
func TestQuietWithoutClaims(t *testing.T) {
	p := newPlace(t)
	edit := map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": "/tree/a"}}
	for event, payload := range map[string]map[string]any{"PreToolUse": edit, "Stop": nil, "PreCompact": nil, "SessionEnd": nil} {
		assert.True(t, p.quiet(event, payload), event)
	}
	p.touch("githandoff/claims/" + string(one) + ".json")
	p.held = list(one)
	for event, payload := range map[string]map[string]any{"PreToolUse": edit, "PreCompact": nil, "SessionEnd": nil} {
		assert.False(t, p.quiet(event, payload), event)
	}
	read := map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}}
	assert.True(t, p.quiet("PreToolUse", read), "nothing that a token could forbid")
	p.settle()
	assert.False(t, p.quiet("Stop", nil), "it is reminded")
	p.settle()
	assert.True(t, p.quiet("Stop", nil), "once")
}

// A stamp that another user could have written is ignored.
func TestStampThatOthersCouldWriteIsIgnored(t *testing.T) {
	p := newPlace(t)
	p.settle()
	files, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(p.dir, files[0].Name()), 0o666))
	assert.False(t, p.quiet("UserPromptSubmit", nil))
}

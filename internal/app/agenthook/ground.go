package agenthook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/footprint"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
)

// maxViewAge is how long a view counts as complete. Changes outside the watched files, such as an
// included git configuration or a record whose time comes, are noticed after it.
const maxViewAge = 10 * time.Minute

// Ground is the set of files behind a session's answers. If they have not changed, it tells
// without git that an answer would be empty. Otherwise the answer is worked out.
type Ground struct {
	GitDir    string   // git directory of the worktree
	CommonDir string   // git's common directory
	Files     []string // files with git's configuration and this user's trust list
	Said      []string // agent and git configuration given by the command line and the environment
	Now       func() time.Time
}

// GroundOf returns the worktree of a directory, found from files alone; nil if they do not show it.
// agent is the name from the command line, and vars are the environment.
func GroundOf(dir, agent string, vars []string, getenv func(string) string, now func() time.Time) *Ground {
	dirs, ok := refs.Locate(dir, vars)
	if !ok {
		return nil
	}
	g := &Ground{GitDir: dirs.GitDir, CommonDir: dirs.CommonDir, Files: []string{"/etc/gitconfig"}, Said: []string{agent}, Now: now}
	if home, err := private.Home(getenv); err == nil {
		g.Files = append(g.Files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
	}
	if config := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(config) {
		g.Files = append(g.Files, filepath.Join(config, "git/config"))
	}
	if trust, err := sign.UserTrustPath(getenv); err == nil {
		g.Files = append(g.Files, trust)
	}
	for _, kv := range vars {
		if strings.HasPrefix(kv, "GIT_CONFIG") || strings.HasPrefix(kv, "GITHANDOFF_AGENT=") {
			g.Said = append(g.Said, kv)
		}
	}
	return g
}

// own returns one of githandoff's own files of the worktree.
func (g *Ground) own(name string) string { return filepath.Join(g.GitDir, "githandoff", name) }

// Stamp returns the stamp of a session in this worktree.
func (g *Ground) Stamp(session string) *Stamp { return LoadStamp(g.own("sessions"), session) }

// held lists the claims recorded by the worktree.
func (g *Ground) held() ([]handoff.ID, error) {
	return work.Documents[work.Claim]{Dir: g.own("claims")}.IDs()
}

// View is the state of everything behind a session's answers, at one moment.
type View struct {
	inboxes    []string
	at         time.Time // before the first look, by the clock of this process
	base, refs footprint.Print
}

func (v *View) sum() string {
	sum := sha256.Sum256([]byte(v.base.Sum + v.refs.Sum))
	return hex.EncodeToString(sum[:])
}

func (v *View) settled(at time.Time) bool { return v.base.Settled(at) && v.refs.Settled(at) }

// Look begins a view: it records the files that name the agent and the refs to listen to. It does
// so before it reads any of them, so a change meanwhile is noticed.
func (g *Ground) Look() *View {
	v := &View{at: g.Now()}
	v.base = footprint.Of(append([]string{
		filepath.Join(g.GitDir, "config.worktree"), filepath.Join(g.CommonDir, "config"),
		g.own(""), g.own("agent"), g.own("claims"), g.own("claims/ended"),
		filepath.Join(g.CommonDir, "githandoff"), filepath.Join(g.CommonDir, "githandoff/trust.json"),
	}, g.Files...)...)
	v.base.Sum += fmt.Sprintf("%q", g.Said)
	return v
}

// Of reports whether these are the directories found by git.
func (g *Ground) Of(gitDir, commonDir string) bool {
	return same(g.GitDir, gitDir) && same(g.CommonDir, commonDir)
}

func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// Listen completes a view with the refs for these inboxes: the inboxes here and in the copies of
// hubs, and the lanes of held handoffs. It does so before it reads any of them.
func (g *Ground) Listen(v *View, inboxes []string) {
	held, err := g.held()
	var lanes []string
	for _, id := range held {
		lanes = append(lanes, id.Lane())
	}
	v.inboxes, v.refs = inboxes, footprint.Of(refs.Kept(g.CommonDir, inboxes, lanes)...)
	if err != nil {
		v.refs.Newest = v.at.Add(time.Hour) // the claims could not be listed: the view must not count as settled
	}
}

// Quiet reports whether a call needs no answer: it concerns no held handoff, and nothing has
// changed since the session was told everything.
func (g *Ground) Quiet(call *agents.Call, stamp *Stamp) bool {
	switch call.Event {
	case agents.BeforeTool:
		if call.Unread == nil && len(call.Scopes(string(filepath.Separator))) == 0 {
			return true // the call needs no scope, wherever the worktree is
		}
		return g.holdsNothing()
	case agents.BeforeCut:
		return g.holdsNothing()
	case agents.SessionEnd:
		return len(stamp.Held) == 0 && g.holdsNothing()
	case agents.TurnEnd:
		if call.Again || call.Subagent || len(stamp.Held) == 0 && g.holdsNothing() {
			return true
		}
		return !slices.ContainsFunc(stamp.Held, stamp.unreminded) && g.unchanged(stamp)
	case agents.Prompt:
		return g.unchanged(stamp)
	case agents.SessionStart:
		return call.Source == "resume" && g.unchanged(stamp)
	}
	return false
}

func (g *Ground) holdsNothing() bool {
	held, err := g.held()
	return err == nil && len(held) == 0
}

// unchanged reports whether everything is as it was when the session was told all of it.
func (g *Ground) unchanged(stamp *Stamp) bool {
	if stamp.Seen == "" || g.Now().Sub(stamp.Taken).Abs() > maxViewAge {
		return false
	}
	v := g.Look()
	g.Listen(v, stamp.Inboxes)
	return v.sum() == stamp.Seen && v.settled(stamp.Taken)
}

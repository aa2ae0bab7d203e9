package agentdoctor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/agentdoctor"
	"githandoff/internal/app/agentsetup"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// place is a directory with a home directory and a worktree.
type place struct {
	*agentdoctor.Request

	env map[string]string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	top := t.TempDir()
	p := &place{env: map[string]string{}}
	p.Request = &agentdoctor.Request{
		Home: filepath.Join(top, "home"), ConfigHome: filepath.Join(top, "home", ".config"),
		Worktree: filepath.Join(top, "repo"), CommonDir: filepath.Join(top, "repo", ".git"),
		Log: filepath.Join(top, "repo", ".git", "githandoff", "agent.log"), Binary: "/opt/bin/githandoff",
		Getenv: func(name string) string { return p.env[name] },
		Now:    time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
		Wrote:  func(string) bool { return true },
		Run:    func(context.Context, []string) (int, error) { return 0, nil },
	}
	return p
}

func (p *place) file(t *testing.T, path, content string) string {
	t.Helper()
	path = filepath.Join(filepath.Dir(p.Home), path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// problems returns the text of each problem with its hint.
func (p *place) problems(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, f := range p.Look(t.Context()) {
		assert.NotContains(t, f.Text, "\n")
		if !f.OK {
			require.NotEmpty(t, f.Hint.String(), "a problem without a hint: %s", f.Text)
			all = append(all, f.Client+": "+f.Text+" => "+f.Hint.String())
		}
	}
	return all
}

const codexHooks = `{"hooks": {
  "Stop": [{"hooks": [{"command": "say done"}, {"command": "githandoff hook agent codex Stop"}]}],
  "SessionStart": [{"hooks": [{"command": "githandoff hook agent codex SessionStart"}]}]
}}`

func TestNothingSetUpIsSilence(t *testing.T) {
	p := newPlace(t)
	p.Vars = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0="}
	p.Run = func(context.Context, []string) (int, error) {
		t.Error("a process was started")
		return 0, nil
	}
	p.file(t, "home/.codex/hooks.json", `{"hooks": {}}`)
	p.file(t, "home/.claude/settings.json", `{"hooks": {"Stop": []}}`)
	assert.Empty(t, p.Look(t.Context()))
}

func TestTwoRoutes(t *testing.T) {
	const claude = `"githandoff hook agent claude Stop"`
	for name, tc := range map[string]struct {
		files map[string]string
		wrote string // part of a path that setup wrote
		want  string // part of the only problem; "" for none
	}{
		"this user":  {map[string]string{"home/.claude/skills/githandoff/hooks/hooks.json": claude}, "", ""},
		"repository": {map[string]string{"repo/.claude/settings.json": claude}, "", ""},
		"both": {
			map[string]string{"home/.claude/skills/githandoff/hooks/hooks.json": claude, "repo/.claude/settings.json": claude},
			"/", "githandoff setup --remove claude --project",
		},
		"both, the repository's by somebody else": {
			map[string]string{"home/.claude/skills/githandoff/hooks/hooks.json": claude, "repo/.claude/settings.json": claude},
			"/skills/", "=> githandoff setup --remove claude  #",
		},
		"plugin and settings": {
			map[string]string{"home/.claude/plugins/installed_plugins.json": `{"githandoff@githandoff": []}`, "home/.claude/settings.json": claude},
			"none", "claude plugin uninstall githandoff",
		},
		"neither by setup": {
			map[string]string{"home/.claude/settings.json": claude, "repo/.claude/settings.json": claude},
			"none", "remove the entries of githandoff from one of them",
		},
		"Copilot CLI reads Claude's of a repository": {
			map[string]string{"home/.copilot/hooks/githandoff.json": "githandoff hook agent copilot Stop", "repo/.claude/settings.json": claude},
			"/", "githandoff setup --remove copilot  #",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			for path, content := range tc.files {
				p.file(t, path, content)
			}
			p.Wrote = func(path string) bool { return strings.Contains(path, tc.wrote) }
			got := p.problems(t)
			if tc.want == "" {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Contains(t, got[0], "answered more than once")
			assert.Contains(t, got[0], tc.want)
		})
	}
}

func TestRepositoryThatIsAHomeDirectoryHasOneRoute(t *testing.T) {
	p := newPlace(t)
	p.Worktree = p.Home
	p.file(t, "home/.claude/settings.json", "githandoff hook agent claude Stop")
	assert.Empty(t, p.problems(t))
}

func TestProgramThatIsGone(t *testing.T) {
	for name, path := range map[string]string{"plain": "/old/githandoff", "quoted": "/it's old/a \"b\"/githandoff"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			here := filepath.Join(filepath.Dir(p.Home), filepath.FromSlash(path))
			for _, client := range agentsetup.Clients() {
				r := agentsetup.Request{
					Clients: []string{client}, Home: p.Home, ConfigHome: p.ConfigHome, StateHome: p.Home + "/.state",
					Binary: here, Getenv: p.Getenv, Without: []string{agentsetup.Skill},
				}
				changes, err := r.Plan()
				if client == "agents-md" {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, r.Apply(changes))
			}
			var gone []string
			for _, problem := range p.problems(t) {
				if strings.Contains(problem, "call "+here+", which does not exist: they do nothing => githandoff setup ") {
					gone = append(gone, problem[:strings.Index(problem, ":")])
				}
			}
			assert.Equal(t, []string{"claude", "codex", "gemini", "opencode", "copilot", "cursor"}, gone)
			require.NoError(t, os.MkdirAll(filepath.Dir(here), 0o755))
			require.NoError(t, os.WriteFile(here, nil, 0o600))
			assert.NotContains(t, strings.Join(p.problems(t), "\n"), "which does not exist")
		})
	}
}

func TestReviewOfCodex(t *testing.T) {
	p := newPlace(t)
	path := p.file(t, "home/.codex/hooks.json", codexHooks)
	problems := p.problems(t)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "not reviewed: 2 of 2 hooks in "+path)
	assert.Contains(t, problems[0], "=> codex  #")

	start := "[hooks.state.\"" + path + ":session_start:0:0\"]\ntrusted_hash = \"sha256:00\"\n"
	p.file(t, "home/.codex/config.toml", start+"\n[hooks.state.\""+path+":stop:0:1\"]\nenabled = true\n")
	problems = p.problems(t)
	require.Len(t, problems, 1, "a hook without a digest was not reviewed")
	assert.Contains(t, problems[0], "not reviewed: 1 of 2 hooks")

	p.file(t, "home/.codex/config.toml", start+"\n[hooks.state.\""+path+":stop:0:1\"]\ntrusted_hash = \"sha256:11\"\n")
	assert.Empty(t, p.problems(t))

	p.file(t, "home/.codex/config.toml", "\uFEFF[hooks]\nstate = { \""+path+":session_start:0:0\" = { trusted_hash = 'sha256:00' }, '"+path+":stop:0:1'.trusted_hash = \"sha256:11\" }\n")
	assert.Empty(t, p.problems(t), "another spelling of the same")

	p.file(t, "home/.codex/config.toml", start+"[broken\n")
	problems = p.problems(t)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "config.toml cannot be read: toml: ")
}

func TestCodexTrustsTheRepository(t *testing.T) {
	p := newPlace(t)
	path := p.file(t, "repo/.codex/hooks.json", codexHooks)
	state := "[hooks.state.\"" + path + ":session_start:0:0\"]\ntrusted_hash = \"sha256:00\"\n" +
		"[hooks.state.\"" + path + ":stop:0:1\"]\ntrusted_hash = \"sha256:11\"\n"
	p.file(t, "home/.codex/config.toml", state+"[projects.\""+p.Worktree+"\"]\ntrust_level = \"untrusted\"\n")
	problems := p.problems(t)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "does not trust "+p.Worktree)
	p.file(t, "home/.codex/config.toml", state+"[projects.\""+p.Worktree+"\"]\ntrust_level = \"trusted\"\n")
	assert.Empty(t, p.problems(t))
}

// A shell runs the hint, as if a user had pasted it.
func TestLoginShell(t *testing.T) {
	p := newPlace(t)
	path := p.file(t, "home/.codex/hooks.json", `{"hooks": {}, "x": "hook agent codex"}`)
	p.file(t, "home/.bash_profile", "PATH=/usr/bin:/bin")
	p.Binary = p.file(t, "it's a \"bün\" of `$HOME`/githandoff", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(p.Binary, 0o755))
	env := []string{"HOME=" + p.Home, "PATH=" + os.Getenv("PATH")}
	p.Run = func(ctx context.Context, argv []string) (int, error) {
		return gitexec.Pipe(ctx, p.Home, env, argv, nil, nil, nil)
	}
	problems := p.problems(t)
	require.Len(t, problems, 1, path)
	assert.Contains(t, problems[0], "bash -l does not find githandoff")

	_, hint, _ := strings.Cut(problems[0], "=> ")
	code, err := gitexec.Pipe(t.Context(), p.Home, env, []string{"sh", "-c", hint}, nil, nil, nil)
	require.NoError(t, err)
	require.Zero(t, code)
	assert.Empty(t, p.problems(t))

	p.Run = func(context.Context, []string) (int, error) { return 127, os.ErrNotExist }
	assert.Empty(t, p.problems(t), "a shell that is not there says nothing of PATH")
}

func TestGitOfGemini(t *testing.T) {
	p := newPlace(t)
	off := []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.sshCommand", "GIT_CONFIG_VALUE_0=", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="}
	p.env["GEMINI_CLI"] = "1"
	assert.Empty(t, p.problems(t))
	p.Vars = off
	problems := p.problems(t)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "=> githandoff setup gemini  #")

	p.Vars = slices.Concat(off[:4], []string{"GIT_CONFIG_VALUE_1=.githooks"})
	assert.Empty(t, p.problems(t), "these hooks run")

	p.Vars = off
	p.file(t, "home/.gemini/extensions/githandoff/hooks/hooks.json", "githandoff hook agent gemini BeforeTool")
	assert.Empty(t, p.problems(t))
}

func TestNotedFailures(t *testing.T) {
	p := newPlace(t)
	p.file(t, "repo/.git/githandoff/agent.log", "2026-11-01T00:00:00Z claude Stop: old\nno line of ours\n")
	assert.Empty(t, p.problems(t), "a failure of three weeks ago")
	p.file(t, "repo/.git/githandoff/agent.log", "2026-11-01T00:00:00Z claude Stop: old\n"+
		"2026-11-21T00:00:00Z claude Stop: first\n2026-11-22T00:00:00Z codex Stop: second\n")
	problems := p.problems(t)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "2 hooks of agents failed within a week, the last: 2026-11-22T00:00:00Z codex Stop: second => rm "+fault.Arg(p.Log))
}

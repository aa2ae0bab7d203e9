package agentdoctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
)

// codexConfig holds the user's decisions about hooks, as Codex CLI keeps them.
type codexConfig struct {
	Projects map[string]struct {
		TrustLevel string `toml:"trust_level"`
	} `toml:"projects"`
	Hooks struct {
		State map[string]struct { // key: FILE:EVENT:GROUP:NUMBER
			TrustedHash string `toml:"trusted_hash"`
		} `toml:"state"`
	} `toml:"hooks"`
}

// reviewed checks whether the user let Codex CLI run the hooks. Codex CLI silently skips
// unreviewed hooks, and the hooks of an untrusted repository.
func (r *Request) reviewed(routes []route) []agents.Finding {
	path := filepath.Join(r.dir("codex"), "config.toml")
	var config codexConfig
	if err := toml.Unmarshal(bytes.TrimPrefix(read(path), []byte("\uFEFF")), &config); err != nil {
		return []agents.Finding{{
			Client: "codex", Text: path + " cannot be read: " + err.Error(),
			Hint: fault.Run("codex").Because("says what is wrong with it"),
		}}
	}
	review := fault.Run("codex").Because("asks to review them; /hooks lists them")
	var all []agents.Finding
	for _, o := range routes {
		if o.plugin {
			continue // the hooks of a plugin have keys of another form
		}
		if o.project && !config.trusts(r.Worktree) && !config.trusts(filepath.Dir(r.CommonDir)) {
			all = append(all, agents.Finding{
				Client: "codex", Text: "Codex CLI does not trust " + r.Worktree + ", and skips its hooks without a word",
				Hint: fault.Run("codex").Because("asks whether to trust it"),
			})
			continue
		}
		keys := hookKeys(read(o.path))
		missing := 0
		for _, key := range keys {
			if !config.reviewed(o.path, key) {
				missing++
			}
		}
		switch {
		case missing > 0:
			all = append(all, agents.Finding{
				Client: "codex", Hint: review,
				Text: fmt.Sprintf("not reviewed: %d of %s in %s; Codex CLI skips such a hook without a word", missing, fault.Count(len(keys), "hook"), o.path),
			})
		case len(keys) > 0:
			all = append(all, agents.Finding{Client: "codex", OK: true, Text: "hooks of " + o.path + " were reviewed"})
		}
	}
	return all
}

// hookKeys lists our hooks of a file as Codex CLI names them: event, group, number.
func hookKeys(b []byte) []string {
	var file struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string `json:"command"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	if json.Unmarshal(b, &file) != nil {
		return nil // "setup --check" reports a malformed file
	}
	var keys []string
	for event, groups := range file.Hooks {
		for i, g := range groups {
			for j, h := range g.Hooks {
				if strings.Contains(h.Command, "hook agent codex") {
					keys = append(keys, fmt.Sprintf("%s:%d:%d", snake(event), i, j))
				}
			}
		}
	}
	return keys
}

// snake returns an event as keys spell it: SessionStart is session_start.
func snake(event string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(event, "${1}_${2}"))
}

// reviewed reports whether the configuration holds a digest for a hook. Only Codex CLI knows
// whether it is the digest of today's command.
func (c *codexConfig) reviewed(path, key string) bool {
	paths := []string{path}
	if to, err := filepath.EvalSymlinks(path); err == nil && to != path {
		paths = append(paths, to)
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		return c.Hooks.State[p+":"+key].TrustedHash != ""
	})
}

// trusts reports whether the configuration trusts the repository in a directory.
func (c *codexConfig) trusts(dir string) bool { return c.Projects[dir].TrustLevel == "trusted" }

const shellTime = time.Minute // limit for the start of a login shell

// loginShell checks whether the shell in which Codex CLI runs commands finds githandoff. Profiles
// often set PATH again.
func (r *Request) loginShell(ctx context.Context) []agents.Finding {
	shell, profile := r.shell()
	ctx, cancel := context.WithTimeout(ctx, shellTime)
	defer cancel()
	code, err := r.Run(ctx, []string{shell, "-lc", "command -v githandoff >/dev/null 2>&1"})
	switch {
	case err != nil || ctx.Err() != nil:
		return nil // a shell that is missing or does not start says nothing about PATH
	case code == 0:
		return []agents.Finding{{Client: "codex", OK: true, Text: "a login shell (" + shell + " -l) finds githandoff"}}
	}
	hint := fault.Fact("add the directory of %s to PATH in %s", r.Binary, profile)
	if dir := filepath.Dir(r.Binary); !strings.Contains(dir, ":") { // no PATH can name a directory with a colon
		line := "export PATH=" + fault.Arg(dir) + `:"$PATH"`
		hint = fault.Run("sh", "-c", `printf '\n%s\n' "$1" >>"$2"`, "sh", line, profile).Because("adds its directory to PATH")
	}
	return []agents.Finding{{
		Client: "codex", Hint: hint,
		Text: "Codex CLI runs commands in a login shell, and " + shell + " -l does not find githandoff",
	}}
}

// shell returns the user's login shell, and its profile.
func (r *Request) shell() (program, profile string) {
	if path := r.Getenv("SHELL"); filepath.Base(path) == "zsh" {
		home := r.Home
		if d := r.Getenv("ZDOTDIR"); filepath.IsAbs(d) {
			home = d
		}
		return path, filepath.Join(home, ".zprofile")
	}
	for _, name := range []string{".bash_profile", ".bash_login"} {
		if path := filepath.Join(r.Home, name); read(path) != nil {
			return "bash", path // bash reads only the first of these files
		}
	}
	return "bash", filepath.Join(r.Home, ".profile")
}

package agenttest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// varying matches the parts that differ between two runs of a client: ids, times, and the client's measurements
// of itself.
var varying = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	`(prt|msg|ses|toolu|call|fc|resp|item)_[0-9A-Za-z-]+`,
	`(run_shell_command|write_file)_\d+`,
	`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?`,
	`cch=[0-9a-f]+`,
	`Wall time: [0-9.]+ seconds`, `chunk_id\W+[0-9a-f]+`, `Chunk ID: [0-9a-f]+`,
	`"(created|timestamp|thread_id|prompt_cache_key)":"?[^,"]*`,
	`\d+ms`, `PGID: \d+`,
}, "|"))

// skill matches the description of a skill in a request of Gemini CLI, which lists skills in the order in which
// it has read them.
var skill = regexp.MustCompile(`<skill>.*?</skill>`)

func constant(t *testing.T, turns []agenttest.Request) []string {
	t.Helper()
	var bodies []string
	for _, r := range turns {
		// Codex CLI lists its own properties in a different order each time. They are not part of the prompt.
		var body map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(r.Body), &body))
		text := r.Body
		if meta, ok := body["client_metadata"]; ok {
			text = strings.Replace(text, string(meta), "{}", 1)
		}
		skills := skill.FindAllString(text, -1)
		slices.Sort(skills)
		next := 0
		text = skill.ReplaceAllStringFunc(text, func(string) string { next++; return skills[next-1] })
		bodies = append(bodies, varying.ReplaceAllString(text, "_"))
	}
	return bodies
}

// withoutHooks removes the hooks that "setup" installed, and nothing else.
func (w *world) withoutHooks() {
	w.t.Helper()
	switch w.client.Name {
	case "claude":
		w.write(filepath.Join(w.Home, ".claude/skills/githandoff/hooks/hooks.json"), `{"hooks":{}}`)
	case "codex":
		w.write(filepath.Join(w.Home, ".codex/hooks.json"), `{"hooks":{}}`)
	case "gemini":
		w.write(filepath.Join(w.Home, ".gemini/extensions/githandoff/hooks/hooks.json"), `{"hooks":{}}`)
	case "opencode":
		require.NoError(w.t, os.Remove(filepath.Join(w.Home, ".config/opencode/plugins/githandoff.js")))
	case "copilot":
		w.write(filepath.Join(w.Home, ".copilot/hooks/githandoff.json"), `{"version":1,"hooks":{}}`)
	}
}

// While no handoff waits and none is held, the hooks cost no tokens: the requests to the model are the same,
// byte for byte, as without hooks.
func TestQuiet(t *testing.T) {
	for _, c := range agenttest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t, c)
			w.fix.Must(w.t, "setup", c.Name)
			script := func() *agenttest.Model {
				return agenttest.NewModel(t, w.command("echo hello"), w.file("src/auth/a.go", "package auth"), agenttest.Step{Text: "I am done."})
			}
			run := func() []string {
				m := script()
				out := c.Run(t, w.Session, m)
				require.Len(t, m.Turns(), 3, out)
				require.NoError(t, os.Remove(filepath.Join(w.Dir, "src/auth/a.go")))
				return constant(t, m.Turns())
			}
			run() // a client writes its settings at its first run
			with := run()
			w.withoutHooks()
			without := run()
			for i := range with {
				assert.Empty(t, difference(without[i], with[i]), "request %d", i)
			}
			assert.NotContains(t, strings.Join(with, ""), "githandoff: ")
		})
	}
}

// difference returns the first difference of two texts, with the text around it.
func difference(without, with string) string {
	if without == with {
		return ""
	}
	at := 0
	for at < min(len(without), len(with)) && without[at] == with[at] {
		at++
	}
	around := func(s string) string { return s[max(0, at-80):min(len(s), at+80)] }
	return "without: " + around(without) + "\nwith: " + around(with)
}

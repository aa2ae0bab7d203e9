package agentdoctor

import (
	"os"
	"strings"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
)

// gitOfGemini reports that the shell of Gemini CLI switches git hooks off, so only its own hooks
// check a push.
func (r *Request) gitOfGemini(routes []route) []agents.Finding {
	if len(routes) > 0 {
		return []agents.Finding{{
			Client: "gemini", OK: true,
			Text: "its shell switches git hooks off: its own hooks check a plain git push, and commits get no trailers by themselves",
		}}
	}
	if !hooksOff(r.Vars) {
		return nil
	}
	if _, err := os.Stat(r.dir("gemini")); err != nil && r.Getenv("GEMINI_CLI") == "" {
		return nil
	}
	return []agents.Finding{{
		Client: "gemini", Text: "the environment switches git hooks off, as the shell of Gemini CLI does: nothing here checks a push",
		Hint: fault.Run("githandoff", "setup", "gemini").Because("installs hooks that Gemini CLI runs"),
	}}
}

// hooksOff reports whether the environment gives git an empty core.hooksPath.
func hooksOff(vars []string) bool {
	values := map[string]string{}
	for _, kv := range vars {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "GIT_CONFIG_") {
			values[name] = value
		}
	}
	for name, key := range values {
		number, isKey := strings.CutPrefix(name, "GIT_CONFIG_KEY_")
		if !isKey || !strings.EqualFold(key, "core.hooksPath") {
			continue
		}
		if value, set := values["GIT_CONFIG_VALUE_"+number]; set && (value == "" || value == os.DevNull) {
			return true
		}
	}
	return false
}

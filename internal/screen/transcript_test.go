package screen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// mayMark accepts every line that marker matches, and skips ordinary lines.
func TestMayMark(t *testing.T) {
	for _, line := range []string{
		"", "The store is opened read-only after a crash; two tests show it.", "2026-11-20T22:00:00Z", "git+https://example.com/acme/client",
		"sha256:00ff", "main.go: again", "* run the tests", "[10:32] done", "the user clicks", "<html>", "ſ:",
	} {
		assert.False(t, mayMark(line), line)
		assert.False(t, marker().MatchString(line), line)
	}

	roles := []string{
		"User", "human", "Assistant", "AI Assistant", "AI", "Claude", "ChatGPT", "GPT", "GPT-4.1x", "Gemini", "Copilot",
		"System", "Developer", "Tool", "Agent", "BOT", "Model", "uſer", "aſſistant", "ſyſtem",
	}
	for _, role := range roles {
		for _, line := range []string{role + ":", "**" + role + "**", "## " + role, "[" + role + "]", "<" + role + ">", "[10:32] " + role + "：hi"} {
			assert.True(t, marker().MatchString(line), line)
			assert.True(t, mayMark(line), line)
		}
	}

	lead := rapid.SliceOfN(rapid.SampledFrom([]string{" ", ">", "- ", "*", "_", "#", "`", "[", "<", "[10:32]", "\xff", "x", "1"}), 0, 4)
	tail := rapid.SliceOfN(rapid.SampledFrom([]string{":", "：", "**", "_", "`", "]", ">", " (10:32)", " ", "x", "\xff"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(lead.Draw(t, "lead"), "") + rapid.SampledFrom(roles).Draw(t, "role") + strings.Join(tail.Draw(t, "tail"), "")
		if marker().MatchString(line) {
			assert.True(t, mayMark(line), "%q", line)
		}
	})
}

package fault_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
)

func TestArg(t *testing.T) {
	for in, want := range map[string]string{
		"":                             `''`,
		"/srv/git/client.git":          `/srv/git/client.git`,
		"https://example.com/a?b=c":    `'https://example.com/a?b=c'`,
		"git@example.com:acme/a_b.git": `git@example.com:acme/a_b.git`,
		"/home/alice/my hub.git":       `'/home/alice/my hub.git'`,
		"it's":                         `'it'\''s'`,
		"~/hub":                        `'~/hub'`,
		"$(reboot)":                    `'$(reboot)'`,
		"a\nb":                         "'a\nb'",
		"größe":                        `größe`,
		"…7k3m2q":                      `…7k3m2q`,
	} {
		assert.Equal(t, want, fault.Arg(in))
	}
}

// A shell reads back what was meant, whatever it is.
func TestArgInAShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.StringMatching(`[^\x00]{0,12}`), 1, 40).Draw(t, "args")
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+fault.Arg(args...)).Output()
		require.NoError(t, err)
		assert.Equal(t, strings.Join(args, "\x00")+"\x00", string(out))
	})
}

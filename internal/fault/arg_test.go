package fault_test

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

// A shell reads each quoted argument back unchanged.
func TestArgInAShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.StringMatching(`[^\x00]{0,12}`), 1, 40).Draw(t, "args")
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+fault.Arg(args...)).Output()
		require.NoError(t, err)
		assert.Equal(t, strings.Join(args, "\x00")+"\x00", string(out))
	})
}

// A hint contains no character that the printer would escape, and bash reads its arguments back unchanged.
func TestHintInAShell(t *testing.T) {
	assert.Equal(t, `githandoff -C $'a\nb' status`, fault.Run("githandoff", "-C", "a\nb", "status").String())
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`[^\x00]{0,12}`), rapid.StringMatching(`[\n\t'\\a-c0-7\x{202e}\x{a0}]{0,9}`)), 1, 40).Draw(t, "args")
		args = append(args, "\xff0\xc2'")
		hint := fault.Run(args...).String()
		assert.True(t, untouched(hint), hint)
		out, err := exec.Command("bash", "-c", `printf '%s\0' `+hint).Output()
		require.NoError(t, err)
		assert.Equal(t, strings.Join(args, "\x00")+"\x00", string(out))
	})
}

func untouched(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

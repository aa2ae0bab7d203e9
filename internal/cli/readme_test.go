package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A tourStep is a command of README.md or of another page, with its output there.
type tourStep struct {
	command, printed string
	block            int // of its section
}

// tour returns the commands in one section of README.md, or on a whole page of docs.
func tour(t *testing.T, place string) []tourStep {
	t.Helper()
	file, heading, _ := strings.Cut(place, "#")
	text, err := os.ReadFile(filepath.Join("../..", file))
	require.NoError(t, err)
	section := string(text)
	if heading != "" {
		_, after, found := strings.Cut(section, "\n## "+heading+"\n")
		require.True(t, found, "%s has no section %q", file, heading)
		section, _, _ = strings.Cut(after, "\n## ")
	}
	var steps []tourStep
	for i, block := range strings.Split(section, "```") {
		block = strings.TrimPrefix(block, "text\n")
		if i%2 == 0 || !strings.HasPrefix(block, "$ ") {
			continue
		}
		for _, one := range strings.Split("\n"+block, "\n$ ")[1:] {
			step := newTourStep(one)
			step.block = i / 2
			steps = append(steps, step)
		}
	}
	require.NotEmpty(t, steps)
	return steps
}

// newTourStep splits a command from its output. A command goes on after a backslash, and up to
// the end of a quotation.
func newTourStep(text string) tourStep {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		command := strings.Join(lines[:i+1], "\n")
		if !strings.HasSuffix(line, `\`) && strings.Count(command, "'")%2 == 0 {
			return tourStep{command: command, printed: strings.Join(lines[i+1:], "\n")}
		}
	}
	return tourStep{command: text}
}

// unlike are the texts that differ from run to run.
var unlike = []struct {
	text *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| \+0000)`), "TIME"},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ [\d:]+ \d{4} \+0000`), "TIME"},
	{regexp.MustCompile(`(?m)^next:\n(  githandoff .*\n?)+`), ""}, // README.md says that it leaves this out
	{invitation, "INVITATION"},
	{regexp.MustCompile(`\d+ bytes, about \d+ tokens`), "SIZE"},
	{regexp.MustCompile(`refs/handoffs/log/[0-9a-z]{2}\b`), "LANE"},
	{regexp.MustCompile(`ho_[0-9a-z]{26}`), "HANDOFF"},
	{regexp.MustCompile(`…[0-9a-z]{8}`), "END"},
	{regexp.MustCompile(`([0-9A-F]{4} +){9}[0-9A-F]{4}`), "FINGERPRINT"},
	{regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{16})\b`), "HASH"},
	{regexp.MustCompile(`(local:|obo_)[0-9a-f]{32}`), "${1}NUMBER"},
}

// invitation is a pasted invitation, cut short.
var invitation = regexp.MustCompile(`githandoff join pair1\S+`)

func alike(text string) string {
	for _, v := range unlike {
		text = v.text.ReplaceAllString(text, v.name)
	}
	return strings.TrimRight(text, "\n")
}

// inOrder sorts the lines of a note, which git sorts by their times.
func inOrder(command, printed string) string {
	if !strings.HasPrefix(command, "git notes ") {
		return printed
	}
	lines := strings.Split(printed, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// twoRepositories makes the client of README.md with its hub, and vox, whose agents trust each other.
const twoRepositories = `
	git init -q client && git -C client commit -q --allow-empty -m Start
	git clone -q --bare client client.git && git -C client remote add origin /tmp/tour/client.git
	git init -q vox && git -C vox commit -q --allow-empty -m Start
	githandoff -C client init -q --as fixer
	githandoff -C vox repo add client /tmp/tour/client.git
	line=$(githandoff -C client invite investigator)
	(cd vox && $line) && githandoff -C client sync`

// Every command of the tours in README.md and in docs runs as it stands there, and prints what
// stands there. The tour of two machines has a script of its own, join_readme.
func TestReadmeTours(t *testing.T) {
	for place, before := range map[string][]string{ // of each block
		"README.md#Five minutes: one clone, two agents": {},
		"README.md#Two repositories":                    {},
		"docs/hooks.md":                                 {twoRepositories},
		"docs/authority.md": {`
			git init -q --bare /tmp/tour/shop.git
			git clone -q /tmp/tour/shop.git shop
			mkdir -p shop/src/auth && echo package auth >shop/src/auth/session.go
			git -C shop add . && git -C shop commit -q -m Start && git -C shop push -q origin HEAD
			git clone -q /tmp/tour/shop.git fix
			githandoff -C shop init -q --as boss
			line=$(githandoff -C shop invite fixer)
			(cd fix && $line) && githandoff -C fix hook install && githandoff -C shop sync
			cd shop`},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			gittest.Need(t, "bash")
			top := plainDir(t)
			env := gittest.Env(t)
			const config = "[user]\n\tname = Alice\n\temail = alice@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tautoDetach = false\n"
			require.NoError(t, os.WriteFile(gittest.Getenv(env, "GIT_CONFIG_GLOBAL"), []byte(config), 0o600))
			env = append(env, "PATH="+filepath.Dir(gittest.BuildBinary(t))+":"+gittest.Getenv(env, "PATH"))
			here := strings.NewReplacer("/tmp/tour", top)

			const mark = "\x01"
			var script strings.Builder
			script.WriteString("exec >/tmp/tour/printed\n")
			steps := tour(t, place)
			for i, s := range steps {
				if first := i == 0 || s.block != steps[i-1].block; first && s.block < len(before) {
					fmt.Fprintf(&script, "set -e\n{ %s\n} >&2\nset +e\n", before[s.block])
				}
				// An invitation is pasted as the command before it has printed it.
				command := invitation.ReplaceAllString(s.command, `$$(grep -ao 'githandoff join .*' /tmp/tour/printed | tail -n 1)`)
				fmt.Fprintf(&script, "printf '%s'\n{ %s\n} 2>&1\n", mark, command)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", here.Replace(script.String()))
			cmd.Dir, cmd.Env = top, env
			var diag strings.Builder
			cmd.Stderr = &diag
			_ = cmd.Run() // the last command may be one that is refused
			out, err := os.ReadFile(filepath.Join(top, "printed"))
			require.NoError(t, err)
			printed := strings.Split(string(out), mark)[1:]
			require.Len(t, printed, len(steps), "%s", diag.String())
			var want, got strings.Builder
			for i, s := range steps {
				fmt.Fprintf(&want, "$ %s\n%s\n", s.command, inOrder(s.command, alike(here.Replace(s.printed))))
				fmt.Fprintf(&got, "$ %s\n%s\n", s.command, inOrder(s.command, alike(printed[i])))
			}
			assert.Equal(t, want.String(), got.String(), "%s", diag.String())
		})
	}
}

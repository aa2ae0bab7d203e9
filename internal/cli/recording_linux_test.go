package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// The picture of a session in README.md is a recording of two users, each with a home
// and a clone of one hub, at a terminal. The clock stands still during each command, and
// ids, keys, object ids and the place of the hub are replaced, so that each recording of
// one program is the same.
//
//	make recording
func TestRecording(t *testing.T) {
	s := newStage(t)
	s.scene("laptop", "the first machine")
	s.types("githandoff init")
	code := s.types("githandoff invite reviewer")
	s.types(`githandoff emit --to reviewer@origin --task LIN-423 --goal 'Review the login'`)
	s.scene("server", "the second machine, with the line from the first one")
	join := regexp.MustCompile(`githandoff join \S+`).FindString(code)
	require.NotEmpty(t, join)
	s.types(join)
	s.types("githandoff resume")
	s.types("githandoff ack --summary 'looks good'")
	s.scene("laptop", "the first machine again")
	s.types("githandoff sync")
	s.types("githandoff history")

	path := filepath.Join("..", "..", "docs", "session.svg")
	drawn := drawSession(s.lines)
	if *update {
		require.NoError(t, os.WriteFile(path, drawn, 0o644))
	}
	recorded, err := os.ReadFile(path)
	require.NoError(t, err)
	now, before := strings.Split(string(drawn), "\n"), strings.Split(string(recorded), "\n")
	for i := range min(len(now), len(before)) {
		require.Equal(t, before[i], now[i], "docs/session.svg shows another program; if that is meant, run: make recording")
	}
	assert.Len(t, now, len(before))
}

// hubURL is the hub, as readers are shown it.
const hubURL = "https://example.com/acme/client.git"

// stage is where a session is recorded.
type stage struct {
	t       *testing.T
	top     string
	env     map[string][]string // of each machine
	machine string
	minute  int
	replace *replacer
	lines   []sessionLine
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, top: plainDir(t), env: map[string][]string{}}
	hub := filepath.Join(s.top, "hub.git")
	s.replace = &replacer{hub: hub, now: map[string]string{}}
	for _, machine := range []string{"laptop", "server"} {
		home := filepath.Join(s.top, machine)
		require.NoError(t, os.Mkdir(home, 0o700))
		config := gittest.GitConfig("Alice", "alice@example.com") +
			fmt.Sprintf("[url %q]\n\tinsteadOf = %s\n", hub, hubURL)
		require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
		s.env[machine] = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_DEFAULT_HASH=sha1", "GIT_CEILING_DIRECTORIES=" + s.top,
			"TERM=xterm-256color", "LC_ALL=C", "TZ=UTC", "GIT_PAGER=cat",
			"GIT_AUTHOR_DATE=2026-11-22T08:00:00Z", "GIT_COMMITTER_DATE=2026-11-22T08:00:00Z",
		}, gittest.Cover()...)
	}
	seed := filepath.Join(s.top, "seed")
	s.quietly("laptop", s.top, "git", "init", "-q", "--bare", hub)
	s.quietly("laptop", s.top, "git", "init", "-q", seed)
	s.quietly("laptop", seed, "git", "commit", "-q", "--allow-empty", "-m", "Start the client")
	s.quietly("laptop", seed, "git", "push", "-q", hub, "main")
	for machine := range s.env {
		s.quietly(machine, filepath.Join(s.top, machine), "git", "clone", "-q", hubURL)
	}
	return s
}

func (s *stage) quietly(machine, dir, program string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, s.env[machine]
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s", out)
}

// scene changes to a machine.
func (s *stage) scene(machine, title string) {
	s.machine = machine
	s.lines = append(s.lines, sessionLine{title: title})
}

// types runs a command at the terminal of the machine, and returns what the screen got.
func (s *stage) types(command string) string {
	s.t.Helper()
	s.minute++
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = filepath.Join(s.top, s.machine, "client")
	cmd.Env = append(s.env[s.machine], fmt.Sprintf("CLOCK=2026-11-22T09:%02d:00Z", s.minute))
	terminal := gittest.OpenTerminal(s.t, 50, recordedColumns)
	require.NoError(s.t, terminal.Start(cmd))
	var screen bytes.Buffer
	_, err := io.Copy(&screen, terminal)
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Wait(), "%s\n%s", command, screen.String())
	s.lines = append(s.lines, sessionLine{prompt: s.machine, text: s.replace.all(command)})
	for line := range strings.SplitSeq(strings.TrimSuffix(screen.String(), "\r\n"), "\r\n") {
		s.lines = append(s.lines, sessionLine{text: s.replace.all(line)})
	}
	return screen.String()
}

// replacer gives what differs from run to run a name of its kind, always the same.
type replacer struct {
	hub string
	now map[string]string
}

// varying finds an invitation, an id, the end of one, the number of a fence, and other
// hexadecimal numbers.
var varying = regexp.MustCompile(`pair1[0-9a-z]+|ho_[0-9a-z]{26}|…[0-9a-z]{8}|[0-9a-f]{10,40}`)

// standIns are the values that a reader sees instead, by length in characters.
var standIns = map[int][]string{
	29: {"ho_01m817bq1w3m6k6ry8ns5cq7w3"},
	40: {"949c14597a7afbde99da837d71097450ad04d64d", "923638b88fde4339c62ffcbbbfd1d1480077fd9b", "fc45760d5d70ec8021265924238e33fcdea54494"},
	16: {"f3683cbe79dd586f"},
}

func (r *replacer) all(line string) string {
	line = strings.TrimRight(strings.ReplaceAll(line, r.hub, hubURL), " ")
	return varying.ReplaceAllStringFunc(line, func(found string) string {
		switch {
		case strings.HasPrefix(found, "pair1"):
			return "pair1jmhmrxpc3tvjvlj7cbq6zhmexrvqj6…"
		case strings.HasPrefix(found, "…"):
			return "…" + r.part(func(whole string) bool { return strings.HasSuffix(whole, found[len("…"):]) }, -8)
		case len(found) == 10:
			return r.part(func(whole string) bool { return strings.HasPrefix(whole, found) }, 10)
		}
		if _, ok := r.now[found]; !ok {
			used := 0
			for other := range r.now {
				if len(other) == len(found) {
					used++
				}
			}
			choice := standIns[len(found)]
			if used >= len(choice) {
				return found // the comparison with the next recording fails
			}
			r.now[found] = choice[used]
		}
		return r.now[found]
	})
}

// part returns the end (n < 0) or the beginning of the stand-in for a value that was seen before.
func (r *replacer) part(of func(whole string) bool, n int) string {
	for whole, now := range r.now {
		switch {
		case !of(whole):
		case n < 0:
			return now[len(now)+n:]
		default:
			return now[:n]
		}
	}
	return "" // the comparison with the next recording fails
}

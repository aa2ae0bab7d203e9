package cli_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// screen collects what a terminal gets.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// gated is a git that stops where the test wants, until the file "open" is there. It
// stops before it asks a hub, or after a few objects that it was asked for.
const gated = `#!/bin/sh
wait() {
	until [ -e "$GATE/open" ]; do
		[ -d "$GATE" ] || exit 1 # the test is over
		sleep 0.05
	done
}
case " $* " in
*" $STOPS_AT "*) ;;
*) exec "$GIT" "$@" ;;
esac
case $STOPS_AT in
fetch) wait; exec "$GIT" "$@" ;;
esac
n=0
while IFS= read -r line; do
	n=$((n+1))
	[ $n -le 3 ] || wait
	printf '%s\n' "$line"
done | "$GIT" "$@"
`

// slowWorld returns a clone in which a handoff went its way, with a git that can be stopped.
func slowWorld(t *testing.T) (clone, gate string, env []string) {
	t.Helper()
	top, home := t.TempDir(), t.TempDir()
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	config := filepath.Join(home, ".gitconfig")
	require.NoError(t, os.WriteFile(config, []byte(gittest.GitConfig("Alice", "alice@example.com")), 0o600))
	env = []string{"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", gittest.DefaultObjects(), "TERM=xterm-256color", "LC_ALL=C", "TZ=UTC", "GIT_PAGER=cat", "PATH=" + os.Getenv("PATH")}
	env = append(env, gittest.Cover()...)
	clone, gate = filepath.Join(top, "clone"), filepath.Join(top, "gate")
	steps := fmt.Sprintf(`set -e
git init -q --bare hub.git; git clone -q hub.git clone; cd clone
git commit -q --allow-empty -m first; git push -q origin HEAD
githandoff init --as fixer
for n in 1 2 3; do githandoff emit --to fixer@origin --goal g --task LIN-$n; githandoff resume --next; githandoff ack; done
mkdir %[1]s; cat >%[1]s/git; chmod +x %[1]s/git`, fault.Arg(gate))
	cmd := exec.Command("sh", "-c", steps)
	cmd.Dir, cmd.Env, cmd.Stdin = top, env, strings.NewReader(gated)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return clone, gate, append(env, "PATH="+gate+":"+os.Getenv("PATH"), "GATE="+gate, "GIT="+git)
}

// slowly runs a command that git stops, at a terminal. It returns what the screen got once the waiting
// line was drawn twice, and a function that waits for the command to end.
func slowly(t *testing.T, dir string, env []string, line string, args ...string) (seen *screen, terminal *gittest.Terminal, end func() error) {
	t.Helper()
	cmd := exec.Command("githandoff", args...)
	cmd.Dir, cmd.Env = dir, env
	terminal = gittest.OpenTerminal(t, 40, 120)
	require.NoError(t, terminal.Start(cmd))
	seen = &screen{}
	over := make(chan struct{})
	go func() {
		defer close(over)
		b := make([]byte, 4096)
		for {
			n, err := terminal.Read(b)
			_, _ = seen.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // in case the test fails
	drawn := regexp.MustCompile(`\r\x1b\[K` + line + `, \d+s`)
	require.Eventually(t, func() bool { return len(drawn.FindAllString(seen.String(), -1)) > 1 }, 2*time.Minute, 10*time.Millisecond,
		"the line is drawn, and drawn again")
	assert.NotContains(t, seen.String(), "\n", "it stays one line")
	return seen, terminal, func() error {
		err := cmd.Wait()
		<-over
		return err
	}
}

// A command that waits at a terminal names the reason, in one line that rewrites itself and is
// gone before the result. In a pipe it prints nothing.
func TestPatienceAtATerminal(t *testing.T) {
	clone, gate, env := slowWorld(t)
	env = append(env, "STOPS_AT=fetch")
	piped := exec.Command("githandoff", "inbox", "--all")
	var out, diag bytes.Buffer
	piped.Dir, piped.Env, piped.Stdout, piped.Stderr = clone, env, &out, &diag
	require.NoError(t, piped.Start())
	seen, _, end := slowly(t, clone, env, `reading from \S+`, "audit")
	require.NoError(t, os.WriteFile(filepath.Join(gate, "open"), nil, 0o600))
	require.NoError(t, end())
	assert.Regexp(t, `, \d+s\r\x1b\[KTIME `, seen.String(), "the line is gone when the result comes")
	require.NoError(t, piped.Wait())
	assert.Empty(t, diag.String())
	assert.NotContains(t, out.String(), "\r")
}

// touched is an ssh-agent whose key signs when somebody touches it.
type touched struct {
	sshagent.Agent
	touch chan struct{}
}

func (k *touched) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	<-k.touch
	return k.Agent.Sign(key, data)
}

// A command says at a terminal that it waits for a signature: somebody may have to touch a key.
func TestPatienceWithASigner(t *testing.T) {
	clone, _, env := slowWorld(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key := &touched{sshagent.NewKeyring(), make(chan struct{})}
	require.NoError(t, key.Add(sshagent.AddedKey{PrivateKey: private}))
	public, err := ssh.NewPublicKey(private.Public())
	require.NoError(t, err)
	env = append(env, "PATH="+os.Getenv("PATH"), "SSH_AUTH_SOCK="+gittest.ServeAgent(t, key))
	start := exec.Command("githandoff", "init", "--as", "fixer", "--force", "--key", string(ssh.MarshalAuthorizedKey(public)))
	start.Dir, start.Env = clone, env
	out, err := start.CombinedOutput()
	require.NoError(t, err, "%s", out)

	quiet := exec.Command("githandoff", "emit", "--quiet", "--to", "fixer", "--goal", "q")
	quiet.Dir, quiet.Env = clone, env
	terminal := gittest.OpenTerminal(t, 40, 120)
	require.NoError(t, terminal.Start(quiet))
	seen, _, end := slowly(t, clone, env, "waiting for ssh-agent", "emit", "--to", "fixer", "--goal", "g")
	close(key.touch)
	require.NoError(t, end())
	require.NoError(t, quiet.Wait())
	said, _ := io.ReadAll(terminal) // it ends with an error
	assert.Regexp(t, `^ho_\w+\r\n$`, string(said))
	assert.Regexp(t, `, \d+s\r\x1b\[Kho_`, seen.String())
}

// ^C ends a command that waits, and it says that nothing is half done.
func TestPatienceInterrupted(t *testing.T) {
	clone, gate, env := slowWorld(t)
	t.Cleanup(func() { _ = os.RemoveAll(gate) }) // which ends the git
	seen, terminal, end := slowly(t, clone, append(env, "STOPS_AT=fetch"), `reading from \S+`, "sync")
	_, err := terminal.Write([]byte{3})
	require.NoError(t, err)
	err = end()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	assert.Equal(t, 130, exit.ExitCode())
	assert.Contains(t, seen.String(), "nothing is half done")
}

// A command that reads many entries of the log counts them at a terminal. In this test a second
// passes with each look at the clock, so that nothing depends on the time that it takes.
func TestPatienceCountsEntries(t *testing.T) {
	clone, _, env := slowWorld(t)
	env = append(env, "PATH="+os.Getenv("PATH"))
	emit := exec.Command("githandoff", "emit", "--to", "fixer", "--goal", "g", "--ttl", "1h")
	emit.Dir, emit.Env = clone, env
	out, err := emit.CombinedOutput()
	require.NoError(t, err, "%s", out)
	env = append(env, "CLOCK="+time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339), "CLOCK_STEP=1s")
	for _, args := range [][]string{{"audit"}, {"history"}, {"gc", "--expired", "--dry-run"}, {"sync"}} {
		require.NoError(t, os.RemoveAll(filepath.Join(clone, ".git", "githandoff", "audited"))) // so that the log is read again
		cmd := exec.Command("githandoff", args...)
		cmd.Dir, cmd.Env = clone, env
		terminal := gittest.OpenTerminal(t, 40, 120)
		require.NoError(t, terminal.Start(cmd))
		out, err := io.ReadAll(terminal)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait(), "%s", out)
		assert.Regexp(t, `\r\x1b\[Kreading [^\r\n]* [1-9]\d*, \d+\w+`, string(out), "%v", args)
		assert.NotRegexp(t, `reading [^\r\n]*\n`, string(out), "%v: the line is gone before a result is printed", args)
	}
}

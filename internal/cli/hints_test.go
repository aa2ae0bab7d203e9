package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
	"githandoff/internal/fault"
)

// hintLog names the file in which the program, as the scripts run it, notes its
// command line and the hints that it printed.
const hintLog = "HINT_LOG"

// told is a line of the file that hintLog names.
type told struct {
	Args  []string
	Hints []string
}

// teller passes standard error on and keeps the hints among its lines.
type teller struct {
	io.Writer
	mu   sync.Mutex
	text strings.Builder
}

func (t *teller) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(b)
	return t.Writer.Write(b)
}

// note appends what was told. Lines of this size are written in one piece.
func (t *teller) note(path string, args []string) {
	one := told{Args: args}
	for line := range strings.Lines(t.text.String()) {
		if hint, ok := strings.CutPrefix(strings.TrimSpace(line), "hint: "); ok {
			one.Hints = append(one.Hints, hint)
		}
	}
	if len(one.Hints) == 0 {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(one); err != nil {
		panic(err)
	}
}

// noteHints prepares a test of scripts: whatever hints the program prints are
// judged when all of them have run.
func noteHints(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "hints")
	t.Cleanup(func() {
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			return // none of the chosen scripts got a hint
		}
		require.NoError(t, err)
		defer f.Close()
		seen := map[string]bool{}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var one told
			require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
			for _, h := range one.Hints {
				if !seen[h] {
					seen[h] = true
					assert.NoError(t, checkHint(one.Args, h), "githandoff %q was told: %s", one.Args, h)
				}
			}
		}
	})
	return path
}

var (
	placeholder = regexp.MustCompile(`^(AGENT|KID|MAIL|URL|NAME|TEXT|FILE|ID|TARGET|ALIAS|DIR|REV|PERSON|SCOPE|S|A|P|D|T|CMD\.*|WORKTREE|HUB\.git|[A-Z]=[A-Z]|NAME=.*|…|\.\.\.|<.*>)$`)

	// harmful matches a hint that steps over a fence, or makes a root.
	harmful = regexp.MustCompile(`handoff\.enforce|--no-verify|--person|--role root|hook uninstall|safe\.directory '?\*`)

	// helpers are the programs besides githandoff and git that a hint may run.
	helpers = []string{"gpg", "ssh-add", "chmod", "chown", "mv", "ls", "diff"}
)

// checkHint says what is wrong with a hint: it is no command of this program, asks
// for a value, or steps over a fence.
func checkHint(args []string, hint string) error {
	if harmful.MatchString(hint) {
		return fmt.Errorf("it steps over a fence")
	}
	if strings.HasPrefix(hint, "# ") {
		return nil
	}
	argv, err := words(hint)
	if err != nil {
		return err
	}
	for i, arg := range argv {
		if placeholder.MatchString(arg) && !slices.Contains(args, arg) {
			return fmt.Errorf("%q is a placeholder", arg)
		}
		if arg == "--as" && strings.Contains(argv[i+1], "@") && !slices.Contains(args, argv[i+1]) {
			return fmt.Errorf("an agent is not told to act as %s", argv[i+1])
		}
	}
	if argv[0] == "env" && strings.HasPrefix(argv[1], "GIT_DIR=/") { // for a bare repository
		argv = argv[2:]
	}
	switch argv[0] {
	case "githandoff":
		return cli.CheckCommandLine(argv[1:])
	case "git":
		return nil
	}
	if !slices.Contains(helpers, argv[0]) {
		return fmt.Errorf("it runs %s", argv[0])
	}
	return nil
}

// words lets a shell read a line. It is bash: see fault.Hint for a word with a line break.
func words(line string) ([]string, error) {
	argv, err := wordsOf(line)
	if err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(line, fault.Run(argv...).String())
	if !ok || rest != "" && !strings.HasPrefix(rest, "  # ") {
		return nil, fmt.Errorf("sh: it is not one command and its reason")
	}
	return argv, nil
}

func wordsOf(line string) ([]string, error) {
	sh := exec.Command("bash", "-c", "set -f\nset -- "+line+"\nprintf '%s\\0' \"$@\"")
	sh.Env = []string{"PATH="} // a second command in that line is not run
	out, err := sh.Output()
	if err != nil {
		return nil, fmt.Errorf("sh: %w: %s", err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// checkHint refuses each kind of bad hint.
func TestCheckHint(t *testing.T) {
	for hint, want := range map[string]string{
		"githandoff sync  # delivers it": "", "githandoff -C 'a b' --as x show …7k3m2q": "", "# ask user:alice@example.com": "",
		"githandoff audit   (a root key can end it)": "sh: ", "githandoff sync; githandoff audit": "sh: ", "githandoff init --as AGENT": "\"AGENT\" is a placeholder",
		"githandoff synk": "", "githandoff sync --now": "unknown flag", "githandoff revoke": "takes", "git config handoff.enforce false": "fence",
		"githandoff trust add x --role root": "fence", "githandoff --as alice@example.com route x": "told to act", "rm -r .git": "it runs rm",
	} {
		err := checkHint(nil, hint)
		switch {
		case hint == "githandoff synk":
			assert.Error(t, err)
		case want == "":
			assert.NoError(t, err, hint)
		default:
			assert.ErrorContains(t, err, want, hint)
		}
	}
}

// paste runs a hint of the last command that was refused, as a shell does: the
// first one, or the one with the given number.
func paste(ts *testscript.TestScript, neg bool, args []string) {
	n := 1
	if len(args) == 1 {
		var err error
		n, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		hint, ok := strings.CutPrefix(strings.TrimSpace(line), "hint: ")
		if !ok {
			continue
		}
		if n--; n > 0 {
			continue
		}
		if strings.HasPrefix(hint, "#") || neg {
			ts.Fatalf("not to be pasted: %s", hint)
		}
		ts.Logf("> %s", hint)
		ts.Check(ts.Exec("bash", "-c", hint))
		return
	}
	ts.Fatalf("there is no such hint")
}

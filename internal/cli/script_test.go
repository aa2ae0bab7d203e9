package cli_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// The commands are tested by scripts, testdata/script/<command>_<scenario>.txtar,
// that run this program and git as a user does. testscript's documentation describes
// its own commands (exec, cmp, stdout, stderr, env, cd). These are added here:
//
//	exitcode N CMD...     run a program; its exit code must be exactly N, or one of
//	                      several: 3,4,5
//	env CLOCK=TIME        stop the clock of githandoff, at 2026-11-20T22:00:00Z
//	env LANE=N            give new handoffs ids of the lane with this number, 0 to 1023
//	capture VAR CMD...    run a program, which must succeed, and put its output,
//	                      without spaces around it, into a variable
//	clone2                make hub.git and its clones src, where investigator
//	                      works, and tgt, where fixer does, each with one commit
//	                      on main; both trust each other
//	agent DIR NAME        make a repository with one commit, the place of an agent
//	older ID              let a handoff that names an agent wait for a decision, as the
//	                      first version of githandoff did for what needs a review
//	lose [-empty] PATTERN [REVISION]
//	                      remove an object of this repository, or empty its file: the tip
//	                      of the first ref that the pattern matches, or what the revision
//	                      reaches from there (~1, :code, ^{tree})
//	paste [N]             run the first hint (or the Nth) that the last command gave
//	[have:PROGRAM]        a condition, for "[!have:gpg] skip"; where the variable CI
//	                      says that nothing may be missing, it fails instead
//
// Each script has a home, configuration and keys of its own, of the user Alice
// (alice@example.com).
//
//	go test ./internal/cli -run 'TestScript/emit_local' -v
//	go test ./internal/cli -run 'TestScript/emit_local' -update   rewrites what cmp compares
var update = flag.Bool("update", false, "rewrite golden files")

// TestMain makes this very program the githandoff of the scripts, which start it thousands of
// times: what its tests import adds to each of these starts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"githandoff": githandoff})
}

func githandoff() {
	now := time.Now
	if text := os.Getenv("CLOCK"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(70)
		}
		step, _ := time.ParseDuration(os.Getenv("CLOCK_STEP")) // from one look at the clock to the next
		var looks atomic.Int64
		now = func() time.Time { return at.Add(time.Duration(looks.Add(1)-1) * step) }
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var diag io.Writer = os.Stderr
	log, captures := os.Getenv(hintLog), slices.Contains(os.Args, "capture") // a child of capture gets the file itself
	hints := &teller{Writer: os.Stderr}
	if log != "" && !captures {
		diag = hints
	}
	code := cli.Main(ctx, cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: diag,
		Getenv: os.Getenv, Vars: os.Environ(), Now: now, Random: random{}, Version: "test",
	}, os.Args[1:])
	stop()
	if log != "" && !captures {
		hints.note(log, os.Args[1:])
	}
	os.Exit(code)
}

// random is rand.Reader, except that the variable LANE chooses the lane of an id: the last ten of
// its 80 random bits.
type random struct{}

func (random) Read(p []byte) (int, error) {
	n, err := rand.Read(p)
	if lane, bad := strconv.ParseUint(os.Getenv("LANE"), 10, 10); bad == nil && len(p) == 10 {
		p[8], p[9] = p[8]&^3|byte(lane>>8), byte(lane)
	}
	return n, err
}

func TestScript(t *testing.T) {
	t.Setenv("GOTMPDIR", plainTemp())
	log := noteHints(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv(hintLog, log)
			return newUser(e)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Condition:           have,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"capture":  capture,
			"clone2":   clone2,
			"agent":    agent,
			"paste":    paste,
			"older":    older,
			"lose":     lose,
		},
	})
}

// plainTemp returns where the directories of the scripts are made. Scripts name files without quotes and
// compare ids with paths, so that must be ASCII and mean nothing to a shell, whatever TMPDIR says.
func plainTemp() string {
	dir := cmp.Or(os.Getenv("GOTMPDIR"), os.TempDir())
	if fault.Arg(dir) != dir || strings.ContainsFunc(dir, func(r rune) bool { return r > '~' }) {
		return "/tmp"
	}
	return dir
}

// plainDir returns a directory for texts with paths in them that stand as they are.
func plainDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(plainTemp(), "githandoff-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// newUser gives a script a home in which nobody worked before.
func newUser(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	config := filepath.Join(home, ".gitconfig")
	if err := os.WriteFile(config, []byte(gittest.GitConfig("Alice", "alice@example.com")), 0o600); err != nil {
		return err
	}
	docs, err := filepath.Abs("../../docs") // commands in them are run as they stand
	if err != nil {
		return err
	}
	e.Setenv("DOCS", docs)
	e.Setenv("HOME", home)
	e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	e.Setenv("XDG_DATA_HOME", filepath.Join(home, ".local", "share"))
	e.Setenv("GIT_CONFIG_GLOBAL", config)
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GIT_DEFAULT_HASH", string(gittest.Objects()))
	e.Setenv("OBJECTS", string(gittest.Objects()))
	e.Setenv("DIGITS", fmt.Sprint(gittest.Objects().Digits()))
	e.Setenv("ZERO", gittest.Objects().Zero())
	e.Setenv("GIT_CEILING_DIRECTORIES", e.WorkDir)
	e.Setenv("LC_ALL", "C")
	e.Setenv("TZ", "UTC")
	if dir := os.Getenv("GITHANDOFF_COVER"); dir != "" {
		e.Setenv("GOCOVERDIR", dir)
	}
	return nil
}

// have answers the conditions "have:PROGRAM" and "git:VERSION", which is that version or a later one.
func have(cond string) (bool, error) {
	if version, ok := strings.CutPrefix(cond, "git:"); ok {
		have, err := gitexec.Installed(context.Background(), os.Environ())
		return !gitexec.OlderThan(have, version), err
	}
	program, ok := strings.CutPrefix(cond, "have:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") != "" {
		return false, err
	}
	return err == nil, nil
}

func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch got := 0; {
	case errors.As(err, &exit):
		got = exit.ExitCode()
		fallthrough
	case err == nil:
		if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
			ts.Fatalf("exit code %d, want %s", got, args[0])
		}
	default:
		ts.Check(err)
	}
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: capture VAR command...")
	}
	ts.Check(ts.Exec(args[1], args[2:]...))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func agent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: agent DIR NAME")
	}
	dir := ts.MkAbs(args[0])
	run(ts, "git", "init", "--quiet", dir)
	run(ts, "git", "-C", dir, "commit", "--quiet", "--allow-empty", "-m", "first")
	run(ts, "githandoff", "-C", dir, "init", "--as", args[1])
}

func lose(ts *testscript.TestScript, neg bool, args []string) {
	empty := len(args) > 0 && args[0] == "-empty"
	if empty {
		args = args[1:]
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: lose [-empty] PATTERN [REVISION]")
	}
	gitPath := func(name string) string {
		return ts.MkAbs(strings.TrimSuffix(printed(ts, "git", "rev-parse", "--git-path", name), "\n"))
	}
	objects := gitPath("objects")
	packs, away := filepath.Join(objects, "pack"), filepath.Join(objects, "away")
	ts.Check(os.Rename(packs, away)) // git unpacks only what no pack of the repository has
	ts.Check(os.Mkdir(packs, 0o777))
	run(ts, "sh", "-ec", `for pack in "$0"/*.pack; do test ! -e "$pack" || git unpack-objects -q <"$pack"; done`, away)
	ts.Check(os.RemoveAll(away))

	ref := strings.TrimSpace(printed(ts, "git", "for-each-ref", "--count=1", "--format=%(refname)", args[0]))
	oid := strings.TrimSpace(printed(ts, "git", "rev-parse", "--verify", ref+strings.Join(args[1:], "")))
	file := filepath.Join(objects, oid[:2], oid[2:])
	ts.Check(os.Remove(file))
	if empty {
		ts.Check(os.WriteFile(file, nil, 0o444))
	}
	old := time.Now().Add(-time.Hour) // no read waits for the object of a ref that moved long ago
	ts.Check(filepath.WalkDir(gitPath("refs"), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	}))
}

// run is a step of a command of the script language.
func run(ts *testscript.TestScript, program string, args ...string) {
	if err := ts.Exec(program, args...); err != nil {
		ts.Fatalf("%s: %v", fmt.Sprint(program, " ", strings.Join(args, " ")), err)
	}
}

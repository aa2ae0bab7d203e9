package cli_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
)

// output runs a command in this process.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, diag bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diag,
		Getenv: os.Getenv, Vars: os.Environ(), Now: time.Now, Random: rand.Reader, Version: "test",
	}, args)
	require.Zero(t, code, "%s: %s", args, diag.String())
	return out.String()
}

func goldenName(words string) string {
	if words == "" {
		return "githandoff.txt"
	}
	return strings.ReplaceAll(words, " ", "_") + ".txt"
}

// help returns the full page of a command, or a topic.
func help(t *testing.T, words string) string {
	return output(t, append([]string{"help"}, strings.Fields(words)...)...)
}

// short returns the page of a command that --help prints.
func short(t *testing.T, words string) string {
	return output(t, append(strings.Fields(words), "--help")...)
}

// Users rely on the help pages. They are golden files, so that they change on purpose only.
func TestHelp(t *testing.T) {
	const dir = "testdata/help"
	want := map[string]bool{"short": true}
	for _, words := range cli.CommandPaths() {
		name := goldenName(words)
		want[name] = true
		t.Run(words, func(t *testing.T) {
			for file, got := range map[string]string{name: help(t, words), filepath.Join("short", name): short(t, words)} {
				for line := range strings.Lines(got) {
					assert.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), "space at the end of a line")
				}
				path := filepath.Join(dir, file)
				if *update {
					require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
				}
				golden, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, string(golden), got)
			}
		})
	}
	for _, dir := range []string{dir, filepath.Join(dir, "short")} {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			assert.True(t, want[f.Name()], "%s/%s is the help of no command", dir, f.Name())
		}
	}
}

// A flag that takes a value names it by a word of its own, not by a type of Go.
func TestHelp_placeholders(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+) (\S+)`)
	for _, words := range cli.CommandPaths() {
		for _, m := range flag.FindAllStringSubmatch(help(t, words), -1) {
			assert.Regexp(t, `[A-Z]`, m[2], "%s --%s", words, m[1])
		}
	}
}

// A command tells how it can end, and "help exit-codes" says what that means.
func TestHelp_exitCodes(t *testing.T) {
	all := help(t, "exit-codes")
	for _, words := range cli.CommandPaths() {
		page := help(t, words)
		_, list, ok := strings.Cut(page, "\nExit codes: ")
		if strings.Contains(page, "\nUsage:\n") {
			assert.True(t, ok, "%q does not say its exit codes", words)
		}
		list, _, _ = strings.Cut(list, " (")
		list, _, _ = strings.Cut(list, ",") // the status of a command
		for code := range strings.FieldsSeq(list) {
			assert.Regexp(t, `(?m)^ +`+code+`  `, all)
		}
	}
}

// tokens returns how this program estimates what a text costs a model.
func tokens(text string) int { return (len(text) + 3) / 4 }

// The pages that a model has to read before its first handoff cost few tokens: the first page, and those
// of the commands that it runs.
func TestHelp_costsLittle(t *testing.T) {
	agents := tokens(help(t, "agents"))
	assert.LessOrEqual(t, agents, 400, "help agents")
	sum := 0
	for _, words := range []string{"", "init", "emit", "resume", "ack"} {
		n := tokens(short(t, words))
		t.Logf("%4d tokens: githandoff %s --help", n, words)
		sum += n
	}
	t.Logf("%4d tokens in all; help agents has %d", sum, agents)
	assert.LessOrEqual(t, sum, 1000)
}

// Every command has examples, and they are command lines that it takes.
func TestHelp_examples(t *testing.T) {
	for _, words := range cli.CommandPaths() {
		page := help(t, words)
		if !strings.Contains(page, "\nUsage:\n") || words == "hook run" || words == "hook agent" {
			continue // a topic, or a command that no person types
		}
		_, list, ok := strings.Cut(page, "\nExamples:\n")
		assert.True(t, ok, "%q has no example", words)
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			args, ours := strings.CutPrefix(strings.TrimSpace(line), "githandoff ")
			if !ours || strings.ContainsAny(args, "…|") {
				continue
			}
			args = regexp.MustCompile(` >.*`).ReplaceAllString(args, "")
			argv, err := wordsOf(args)
			require.NoError(t, err, line)
			assert.NoError(t, cli.CheckCommandLine(argv), line)
		}
	}
}

// No page says twice what help options says once.
func TestHelp_optionsOnce(t *testing.T) {
	assert.Contains(t, help(t, "options"), "--directory DIR")
	for _, words := range cli.CommandPaths() {
		if words != "options" {
			assert.NotContains(t, help(t, words), "--directory DIR", words)
			assert.NotContains(t, short(t, words), "--directory DIR", words)
		}
	}
}

// Each setting that the code reads stands in "help environment".
func TestSettingsAreListed(t *testing.T) {
	page := output(t, "help", "environment")
	read := regexp.MustCompile(`\.(?:Get|All|Bool|Off|Set)\((?:ctx, )?"(handoff\.[a-zA-Z]+)"`)
	names := map[string]bool{}
	for _, file := range sources(t) {
		for _, m := range read.FindAllStringSubmatch(file, -1) {
			names[strings.ToLower(m[1])] = true
		}
	}
	delete(names, "handoff.repoid") // the repository's own id, not a setting of users
	assert.Greater(t, len(names), 15)
	for name := range names {
		assert.Regexp(t, `(?i)\b`+regexp.QuoteMeta(name)+`\b`, page)
	}

	_, aliases, _ := strings.Cut(page, "handoffrepo.ALIAS.")
	aliases, _, _ = strings.Cut(aliases, "\n\n")
	of := regexp.MustCompile(`"handoffrepo\." ?\+ ?[a-zA-Z.]+ ?\+ ?"\.([a-z]+)"`)
	for _, file := range sources(t) {
		for _, m := range of.FindAllStringSubmatch(file, -1) {
			assert.Regexp(t, `(?i)\b`+m[1]+`\b`, aliases, "handoffrepo.ALIAS.%s", m[1])
		}
	}
}

// sources returns the code below internal, without the tests.
func sources(t *testing.T) (texts []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		texts = append(texts, string(b))
		return err
	})
	require.NoError(t, err)
	return texts
}

// Completions come from the tree as well, and their shell reads them.
func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text := output(t, "completion", shell)
		assert.Contains(t, text, "githandoff", shell)
		if _, err := exec.LookPath(shell); err != nil {
			continue // the script completion_shells says which must be here
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s: %s", shell, out)
	}
}

package agenttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/require"
)

// Session is a place for one run of a client: a home of its own and a directory to
// work in.
type Session struct {
	Home string
	Dir  string
	Path string   // PATH, with the githandoff to test in front
	Env  []string // added to the client's environment
	Args []string // added to the client's arguments
}

// Client is a coding agent's program, as npm installs it.
type Client struct {
	Name     string
	Package  string // npm package and version to test
	Shell    string // regular expression for the name of the tool that runs a command
	ShellArg string
	binary   string // path of the program below the client's directory in $GITHANDOFF_AGENTS
	run      func(s *Session, url string) (env, args []string)
	prepare  func(s *Session, url string) error
}

// Clients returns the clients that run without an account and without a terminal. The versions
// are those that docs/agents.md names.
func Clients() []Client {
	return []Client{
		{
			Name: "claude", Package: "@anthropic-ai/claude-code@2.1.332", Shell: "^Bash$", ShellArg: "command",
			binary: "node_modules/@anthropic-ai/claude-code-linux-x64/claude", run: claude,
		},
		{
			Name: "codex", Package: "@openai/codex@0.171.0", Shell: "^exec_command$", ShellArg: "cmd",
			binary: "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", run: codex, prepare: codexHome,
		},
		{
			Name: "gemini", Package: "@google/gemini-cli@0.61.0", Shell: "^run_shell_command$", ShellArg: "command",
			binary: "node_modules/.bin/gemini", run: geminiCLI, prepare: geminiSettings,
		},
		{
			Name: "opencode", Package: "opencode-ai@1.18.33", Shell: "^bash$", ShellArg: "command",
			binary: "node_modules/opencode-linux-x64/bin/opencode", run: opencode,
		},
		{
			Name: "copilot", Package: "@github/copilot@1.0.102", Shell: "^bash$", ShellArg: "command",
			binary: "node_modules/@github/copilot-linux-x64/copilot", run: copilot,
		},
	}
}

// required are the clients that the gate installs: there their absence is a failure.
var required = map[string]bool{"claude": true, "codex": true}

// Find returns the program of a client that was installed below $GITHANDOFF_AGENTS, one
// directory a client ("make agents" does so). Elsewhere the test is skipped, but in the
// gate it fails for a client that the gate must have.
func (c Client) Find(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GITHANDOFF_AGENTS")
	path := filepath.Join(dir, c.Name, c.binary)
	if _, err := os.Stat(path); dir != "" && err == nil {
		return path
	}
	why := fmt.Sprintf("%s is not installed: make agents installs it below $GITHANDOFF_AGENTS", c.Package)
	if os.Getenv("CI") != "" && required[c.Name] {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// Command returns a shell command as the client's model calls it.
func (c Client) Command(line string) Step {
	in := map[string]any{c.ShellArg: line}
	if c.Name != "codex" {
		in["description"] = "x"
	}
	return Step{Tool: c.Shell, Input: in}
}

// File returns a call of the client's tool that writes a file, which it names by its absolute
// path or, in a patch, by that below the directory of the session.
func (c Client) File(abs, rel, content string) Step {
	switch c.Name {
	case "codex":
		return c.Command("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: " + rel + "\n+" + content + "\n*** End Patch\nEOF")
	case "gemini":
		return Step{Tool: "^write_file$", Input: map[string]any{"file_path": abs, "content": content}}
	case "opencode":
		return Step{Tool: "^write$", Input: map[string]any{"filePath": abs, "content": content}}
	case "copilot":
		return Step{Tool: "^create$", Input: map[string]any{"path": abs, "file_text": content}}
	}
	return Step{Tool: "^Write$", Input: map[string]any{"file_path": abs, "content": content}}
}

// Run gives the client a prompt and waits until it is done. It returns what it printed.
// A client reaches nothing but loopback: the proxy for all else does not answer.
func (c Client) Run(t testing.TB, s *Session, m *Model) string {
	t.Helper()
	stdout, stderr := c.Apart(t, s, m)
	return stdout + stderr
}

// Apart is like Run, but returns the two output streams of the client.
func (c Client) Apart(t testing.TB, s *Session, m *Model) (stdout, stderr string) {
	t.Helper()
	program := c.Find(t)
	if c.prepare != nil {
		require.NoError(t, c.prepare(s, m.URL))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	env, args := c.run(s, m.URL)
	cmd := exec.CommandContext(ctx, program, append(args, s.Args...)...) //nolint:gosec // the test installed this program
	cmd.Dir = s.Dir
	cmd.Env = append(s.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Logf("%s ended with %v:\n%s\n%s", c.Name, err, tail(out.String(), 4000), tail(said.String(), 4000))
	}
	return out.String(), said.String()
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// Environ returns the environment of the client, and of the commands that a test runs in its place.
func (s *Session) Environ() []string {
	env := []string{
		"HOME=" + s.Home, "PATH=" + s.Path, "TERM=dumb", "LANG=C.UTF-8", "SHELL=/bin/bash", "USER=alice",
		"XDG_CONFIG_HOME=" + filepath.Join(s.Home, ".config"), "XDG_DATA_HOME=" + filepath.Join(s.Home, ".local/share"),
		"XDG_STATE_HOME=" + filepath.Join(s.Home, ".local/state"), "XDG_CACHE_HOME=" + filepath.Join(s.Home, ".cache"),
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
		"GIT_CONFIG_NOSYSTEM=1", gittest.DefaultObjects(), "TMPDIR=" + os.TempDir(),
	}
	return append(env, s.Env...)
}

const prompt = "do the work"

func claude(s *Session, url string) (env, args []string) {
	return []string{
			"CLAUDE_CONFIG_DIR=" + filepath.Join(s.Home, ".claude"), "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=mock",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1",
		},
		[]string{"-p", prompt, "--output-format", "stream-json", "--verbose"}
}

func codex(s *Session, url string) (env, args []string) {
	provider := `model_providers.mock={name="mock",base_url="` + url + `/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`
	return []string{"CODEX_HOME=" + filepath.Join(s.Home, ".codex")},
		[]string{"exec", "-c", "model_provider=mock", "-c", provider, "-c", "model=mock-model", "--json", prompt}
}

// codexHome makes the directory, without which Codex CLI does not start.
func codexHome(s *Session, _ string) error {
	return os.MkdirAll(filepath.Join(s.Home, ".codex"), 0o755)
}

func geminiCLI(_ *Session, url string) (env, args []string) {
	return []string{
			"GEMINI_API_KEY=mock", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true",
			"GEMINI_TELEMETRY_ENABLED=false",
		},
		[]string{"-m", "gemini-2.5-flash", "-p", prompt, "-o", "stream-json"}
}

// geminiSettings chooses the key as the way to sign in, unless a test has settings.
func geminiSettings(s *Session, _ string) error {
	path := filepath.Join(s.Home, ".gemini", "settings.json")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},`+
		`"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}`), 0o600)
}

func opencode(_ *Session, url string) (env, args []string) {
	config := `{"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"mock","options":{"baseURL":"` + url + `/v1","apiKey":"mock"},` +
		`"models":{"m":{"name":"m","tool_call":true,"limit":{"context":100000,"output":4096}}}}},"model":"mock/m","small_model":"mock/m"}`
	return []string{
			"OPENCODE_CONFIG_CONTENT=" + config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			"npm_config_offline=true", "npm_config_fetch_retries=0",
		},
		[]string{"run", "--format", "json", prompt}
}

func copilot(s *Session, url string) (env, args []string) {
	return []string{
			"COPILOT_HOME=" + filepath.Join(s.Home, ".copilot"), "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
			"COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_API_KEY=mock", "COPILOT_MODEL=mock-model",
		},
		[]string{"-p", prompt, "--output-format", "json"}
}

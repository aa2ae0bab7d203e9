package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"githandoff/internal/app/agenthook"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/mcp"
	"githandoff/internal/untrusted"
)

func newMCP(a *app) command {
	return command{
		use:   "mcp",
		short: "Serve handoffs over MCP",
		long: `Serves the Model Context Protocol on standard input and output, as the agent of the
worktree that it is started in, until its input ends. It has six tools:
handoff_inbox, handoff_show, handoff_take, handoff_progress, handoff_finish and
handoff_give. They do the same as inbox, show, resume, progress, ack, fail, release and
emit. No tool takes a path, a URL or a key, and none gives away authority that this
agent does not hold.

A client that gives its agent a shell needs no server: the agent runs githandoff there.
"githandoff setup --with mcp" adds the server to a client's configuration.`,
		example: []string{
			"claude mcp add githandoff -- githandoff mcp",
			"codex mcp add githandoff -- githandoff mcp",
		},
		run: func(ctx context.Context) error { return serveMCP(ctx, a) },
	}
}

func serveMCP(ctx context.Context, a *app) error {
	// A closed output ends the server; the result of a command is not at stake.
	in, out := io.NopCloser(a.Stdin), nopCloser{a.Stdout}
	box := newToolbox(a)
	defer box.close()
	box.stay(ctx, a)
	return mcp.Serve(ctx, box, a.Version, in, out)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// toolbox carries out the calls of MCP tools. Each runs a command in this process, with empty
// input. Those that take a step follow one another; the others wait for nobody.
type toolbox struct {
	env          Env
	dir, as, key string
	person       bool           // a person with a shell reads the output
	outside      error          // why no call is carried out; nil if the server was started in a repository
	steps        chan struct{}  // holds a token while a step is taken
	calls        sync.WaitGroup // calls that are under way
	ending       sync.Mutex     // guards over, and the start of a call
	over         bool           // close was called: no further call begins
}

func newToolbox(a *app) *toolbox {
	return &toolbox{env: a.Env, dir: a.Dir, as: a.As, key: a.Key, steps: make(chan struct{}, 1)}
}

// stay keeps all calls in the repository in which the server was started. An agent in a sandbox can make
// another one there, and the server, which runs outside of the sandbox, would run the programs named by its
// settings.
func (t *toolbox) stay(ctx context.Context, a *app) {
	repo, err := a.openRepo(ctx)
	defer a.close()
	if f := fault.As(err); f != nil {
		err = f.WithHints(append(slices.Clone(f.Hints), fault.Fact("the tools work in the repository in which their client is started, and nowhere else: start the client again"))...)
	}
	if err != nil {
		t.outside = err
		return
	}
	t.env.Vars = append(slices.Clone(t.env.Vars), "GIT_DIR="+repo.GitDir)
	if repo.Worktree != "" {
		t.env.Vars = append(t.env.Vars, "GIT_WORK_TREE="+repo.Worktree)
	}
}

// close waits for the calls whose context has ended, so they leave no git behind.
func (t *toolbox) close() {
	t.ending.Lock()
	t.over = true
	t.ending.Unlock()
	ended := make(chan struct{})
	go func() {
		t.calls.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(gitexec.EndTime):
	}
}

// app returns the world of one call; notes takes what a command says beside its result.
func (t *toolbox) app(ctx context.Context, out, notes io.Writer) *app {
	env := t.env
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), out, notes
	a := &app{Env: env, Printer: output.New(out, notes, false, env.Getenv, env.Now), input: &input{ctx: ctx, r: env.Stdin}}
	if !t.person {
		a.hook, a.tools, a.Spell = true, true, mcp.Hint
	}
	a.Dir, a.As, a.Key, a.Color = t.dir, t.as, t.key, output.Never
	return a
}

// step is run for a command that changes something.
func (t *toolbox) step(ctx context.Context, args ...string) (out []byte, notes []string, err error) {
	select {
	case t.steps <- struct{}{}:
		defer func() { <-t.steps }()
		return t.run(ctx, args...)
	case <-ctx.Done():
		return nil, nil, refusalOf(ctx, ctx.Err())
	}
}

// run carries out a command and returns what it printed, and its notes. An error has the notes too.
func (t *toolbox) run(ctx context.Context, args ...string) (out []byte, notes []string, err error) {
	if t.outside != nil {
		return nil, nil, t.outside
	}
	if !t.begin() {
		return nil, nil, context.Canceled
	}
	defer t.calls.Done()
	defer recovered(&err)
	var printed, said bytes.Buffer
	a := t.app(ctx, &printed, &said)
	root := newRoot(a, args)
	args = append(args[:1:1], append(t.globals(), args[1:]...)...)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(&printed)
	root.SetErr(&said)
	err = refusalOf(ctx, root.ExecuteContext(ctx))
	a.close()
	for line := range strings.Lines(said.String()) {
		notes = append(notes, strings.TrimSpace(line))
	}
	return printed.Bytes(), notes, mcp.WithNotes(err, notes)
}

// begin counts a call that begins; false if close waits for the others already.
func (t *toolbox) begin() bool {
	t.ending.Lock()
	defer t.ending.Unlock()
	if t.over {
		return false
	}
	t.calls.Add(1)
	return true
}

// globals repeats the flags of the server's own command line: a command sets its own before it
// runs.
func (t *toolbox) globals() []string {
	var flags []string
	for _, f := range [][2]string{{"directory", t.dir}, {"as", t.as}, {"key", t.key}} {
		if f[1] != "" {
			flags = append(flags, "--"+f[0]+"="+f[1])
		}
	}
	return append(flags, "--color=never")
}

// recovered makes an error of a crash: the server goes on.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fault.New(fault.Bug, fault.Crashed, "%v", r)
	}
}

// result takes a step with a command whose --json output is one object.
func (t *toolbox) result(ctx context.Context, to any, args ...string) (notes []string, err error) {
	out, notes, err := t.step(ctx, append(args[:1:1], append([]string{"--json"}, args[1:]...)...)...)
	if err != nil && len(out) == 0 {
		return notes, err
	}
	if err := json.Unmarshal(out, to); err != nil {
		return notes, fmt.Errorf("read what %s printed: %w", args[0], err)
	}
	return notes, err
}

// withID adds an id behind "--", where no id is taken for a flag.
func withID(args []string, id string) []string {
	if id == "" {
		return args
	}
	return append(args, "--", id)
}

// lookTime bounds how long an inbox waits for a hub, whose last known handoffs it then lists.
const lookTime = 4 * time.Second

// Inbox names the waiting and the held handoffs.
func (t *toolbox) Inbox(ctx context.Context) (in mcp.Inbox, err error) {
	defer func() { err = refusalOf(ctx, err) }()
	defer recovered(&err)
	if t.outside != nil {
		return in, t.outside
	}
	a := t.app(ctx, io.Discard, io.Discard)
	defer a.close()
	ws, err := a.workspace(ctx, reads)
	if err != nil {
		return in, err
	}
	if ws.Agent == "" {
		_, err := a.identity(ws.Repo)
		return in, err
	}
	var unread []string
	ws.OnUnread = func(err error) { unread = append(unread, fault.OneLine(err)) }
	ws.Repo.Runner.Limit = lookTime
	for _, err := range ws.RefreshInboxes(ctx, false) {
		ws.Unread(err)
	}
	ws.Repo.Runner.Limit = 0
	waits, err := agenthook.NewLocal(ws, a.Now).Overview(ctx)
	waits.Unread = unread
	return waits, err
}

// Show prints a handoff without claiming it.
func (t *toolbox) Show(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", usage("handoff_show needs an id")
	}
	out, _, err := t.run(ctx, withID([]string{"show"}, id)...)
	return string(out), err
}

// Take claims a handoff and prints it, after its notes: such as that its lease is over, or that another claim is lost.
func (t *toolbox) Take(ctx context.Context, id string) (string, error) {
	out, notes, err := t.step(ctx, withID([]string{"resume"}, id)...)
	return strings.Join(append(notes, string(out)), "\n"), err
}

// Progress renews a lease.
func (t *toolbox) Progress(ctx context.Context, id, message string) (done mcp.Lease, err error) {
	done.Notes, err = t.result(ctx, &done, withID([]string{"progress", "--message=" + message}, id)...)
	return done, err
}

// Finish ends a claim.
func (t *toolbox) Finish(ctx context.Context, f mcp.Finish) (done mcp.State, err error) {
	var args []string
	switch f.Outcome {
	case mcp.Done:
		args = []string{"ack", "--summary=" + f.Summary}
	case mcp.Failed:
		if f.Summary == "" && f.Results["error"] == "" {
			return done, usage("outcome failed needs a summary: the reason")
		}
		args = []string{"fail", "--reason=" + f.Summary}
	case mcp.Release:
		if f.Summary != "" || len(f.Results) > 0 {
			return done, usage("a release has no summary and no results: handoff_progress leaves a message for whoever takes it next")
		}
		args = []string{"release"}
	default:
		return done, usage("outcome %s: want done, failed or release", untrusted.Line(f.Outcome))
	}
	for _, k := range slices.Sorted(maps.Keys(f.Results)) {
		if strings.Contains(k, "=") { // what follows the = would become a part of the value
			return done, usage("results %s: a name cannot contain =", untrusted.Line(k))
		}
		args = append(args, "--result="+k+"="+f.Results[k])
	}
	done.Notes, err = t.result(ctx, &done, withID(args, f.ID)...)
	return done, err
}

// Give offers work to another agent. With a task, the open handoff of the same source, target and
// task is returned instead of a second one. A text is never a path: "@" at its start is escaped,
// so no file is read.
func (t *toolbox) Give(ctx context.Context, g mcp.Give) (done mcp.Given, err error) {
	args := []string{"emit", "--to=" + g.To, "--goal=" + literal(g.Goal)}
	if g.To == "" {
		return done, usage("handoff_give needs to: the agent that takes the work")
	}
	if g.Summary != "" {
		args = append(args, "--summary="+literal(g.Summary))
	}
	if g.Task != "" {
		args = append(args, "--task="+g.Task, "--once")
	}
	for flag, texts := range map[string][]string{"--done=": g.Done, "--blocker=": g.Blockers} {
		for _, s := range texts {
			args = append(args, flag+literal(s))
		}
	}
	for flag, words := range map[string][]string{"--relevant-file=": g.Files, "--scope=": g.Scope} {
		for _, s := range words {
			args = append(args, flag+s)
		}
	}
	done.Notes, err = t.result(ctx, &done, args...)
	if done.ID != "" && fault.CodeOf(err) == fault.Unavailable { // the handoff is in the outbox: another call would double it
		done.Notes, err = append(done.Notes, fault.OneLine(err)), nil
	}
	return done, err
}

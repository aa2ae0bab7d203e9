package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/app/agentwatch"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// watchCommand is "watch".
type watchCommand struct {
	*app

	session, wake string
}

// arrivalRow is the JSON object of "watch".
type arrivalRow struct {
	Agent    string       `json:"agent"`    // receiver
	Handoffs []arrivedRow `json:"handoffs"` // arrived since the last object
}

// arrivedRow is a handoff that arrived.
type arrivedRow struct {
	ID   handoff.ID `json:"id"`             // handoff
	From string     `json:"from,omitempty"` // sender, if this clone trusts the name
	Task string     `json:"task,omitempty"` // the sender's key for the work
}

// The ways to wake a session.
const (
	wakeLine  = "line"
	wakeExit  = "exit"
	wakeQueue = "queue"
)

// wakeCode is the exit code with which a hook in the background wakes its session of Claude Code.
const wakeCode = 2

func newWatch(a *app) command {
	c := &watchCommand{app: a}
	return command{
		use:   "watch",
		short: "Print a line when handoffs arrive",
		long: `Looks at the refs of this repository once a second and prints one line when handoffs
arrive: their ids and senders. Handoffs that already waited are not printed. With
--session, that session is told of each handoff once, by this command or by its hooks.
The command asks no hub, unless git config handoff.poll sets an interval, such as 5m. An
interrupt ends it as planned, with the exit code 0.

An agent runs this beside a session that waits for its user: "githandoff setup --wake"
installs that. --wake selects how the client wakes its session:

line    a line on standard output: monitors of Claude Code, the plugin of OpenCode
exit    the first arrival on standard error, and the exit code 2: hooks of Claude Code
queue   codex queue --thread SESSION --message LINE

With --wake, JSON on standard input, as clients give it to hooks, names the session. If
no agent is set up here, the command ends at once and prints nothing.`,
		example: []string{
			"githandoff watch",
			"githandoff watch --wake line --session s1",
		},
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.session, "session", "", "`ID` of the agent's session")
			f.StringVar(&c.wake, "wake", "", "wake a session by `HOW`: line, exit or queue")
		},
		run: c.run,
	}
}

func (c *watchCommand) run(ctx context.Context) error {
	if c.wake != "" && !slices.Contains([]string{wakeLine, wakeExit, wakeQueue}, c.wake) {
		return usage("--wake %s: want line, exit or queue", untrusted.Line(c.wake))
	}
	if c.wake != "" && c.session == "" && !output.IsTerminal(c.Stdin) {
		var call struct {
			Session string `json:"session_id"`
		}
		if err := json.NewDecoder(io.LimitReader(c.input, agents.MaxInput)).Decode(&call); err == nil {
			c.session = call.Session
		}
	}
	repo, err := c.openRepo(ctx)
	if c.wake != "" && (err != nil || !c.setUp(repo)) {
		return nil //nolint:nilerr // a user's hooks run in every directory
	}
	if err != nil {
		return err
	}
	name, err := c.identity(repo)
	if err != nil {
		return err
	}
	parent := os.Getppid()
	inboxes := (&workspace.Workspace{Homes: workspace.Homes{Repo: repo}, Agent: name}).Inboxes()
	w := agentwatch.Watch{
		Worktree: &watchWorktree{app: c.app, session: c.session},
		Files:    func() []string { return refs.Kept(repo.CommonDir, inboxes, nil) },
		Alive:    func() bool { return os.Getppid() == parent },
		Tell: func(line string, news []agents.Handoff) (agentwatch.Outcome, error) {
			return c.tell(ctx, line, name, news)
		},
		Now: c.Now, Pause: refs.Wait,
	}
	if c.session != "" {
		w.Announced = func() bool { return agenthook.StampOf(repo, c.session).Announced() }
	}
	if text := repo.Config.Get("handoff.poll"); text != "" {
		if w.Poll, err = time.ParseDuration(text); err != nil || w.Poll < time.Second {
			return usage("git config handoff.poll %s: want a time of at least a second, such as 5m", untrusted.Line(text))
		}
	}
	c.close() // a git that waits for hours would keep open files that others want to remove
	return w.Run(ctx)
}

// tell reports an arrival. Claude Code takes one per process, so the watch ends.
func (c *watchCommand) tell(ctx context.Context, line, agent string, news []agents.Handoff) (agentwatch.Outcome, error) {
	switch c.wake {
	case wakeExit:
		fmt.Fprintln(c.Stderr, line)
		return agentwatch.Last, exitStatus(wakeCode)
	case wakeQueue:
		return c.queue(ctx, line)
	}
	r := arrivalRow{Agent: agent, Handoffs: []arrivedRow{}}
	for _, h := range news {
		r.Handoffs = append(r.Handoffs, arrivedRow{h.ID, h.From, h.Task})
	}
	return agentwatch.Heard, c.Row(r, "%s", line)
}

// queue gives Codex CLI a message for the session. It refuses one for a session not saved yet,
// and may take it later. agent.log has its answer.
func (c *watchCommand) queue(ctx context.Context, line string) (agentwatch.Outcome, error) {
	var said bytes.Buffer
	argv := []string{"codex", "queue", "--thread", c.session, "--message", line}
	code, err := gitexec.Pipe(ctx, c.Dir, c.Vars, argv, nil, io.Discard, &said)
	if err == nil && code == 0 {
		return agentwatch.Heard, nil
	}
	if err == nil {
		err = fmt.Errorf("codex queue ended with exit code %d: %s", code, fault.OneLine(errors.New(said.String())))
	}
	c.log(ctx, "codex", "queue", err)
	return agentwatch.Unheard, nil
}

// watchWorktree opens the repository for each question and closes it again.
type watchWorktree struct {
	app     *app
	session string
}

// do asks the files here, and no hub.
func (d *watchWorktree) do(ctx context.Context, ask func(*session) error) error {
	a := d.app.quiet(d.app.Dir)
	a.offline = true
	return d.in(ctx, a, ask)
}

func (d *watchWorktree) in(ctx context.Context, a *app, ask func(*session) error) error {
	defer a.close()
	ws, err := a.workspace(ctx, reads)
	if err != nil {
		return err
	}
	if handoff.CheckAgent(ws.Agent) != nil {
		return fault.New(fault.Usage, fault.NoIdentity, "this worktree has no agent").
			WithHints(fault.See("init").Because("--as names the agent that works here"))
	}
	ws.OnWarn, ws.OnUnread = func(error) {}, func(error) {}
	return ask(newSession(a, ws))
}

func (d *watchWorktree) Inbox(ctx context.Context) (ids []handoff.ID, err error) {
	err = d.do(ctx, func(s *session) error {
		ids, err = s.Inbox(ctx)
		return err
	})
	return ids, err
}

func (d *watchWorktree) Untold(ctx context.Context, ids []handoff.ID) (agent string, news []agents.Handoff, err error) {
	err = d.do(ctx, func(s *session) (err error) {
		agent = s.Agent()
		news, err = s.Untold(ctx, d.session, ids)
		return err
	})
	return agent, news, err
}

func (d *watchWorktree) Forget(ctx context.Context, ids []handoff.ID) error {
	if d.session == "" {
		return nil
	}
	return d.do(ctx, func(s *session) error {
		return agenthook.StampOf(s.Repo, d.session).Forget(ids)
	})
}

func (d *watchWorktree) Fetch(ctx context.Context) error {
	return d.in(ctx, d.app.quiet(d.app.Dir), func(s *session) error {
		s.workspace.RefreshInboxes(ctx, false)
		return nil
	})
}

package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// inboxCommand is "inbox".
type inboxCommand struct {
	*app
	agent      string // argument AGENT
	all, local bool
}

func newInbox(a *app) command {
	c := &inboxCommand{app: a}
	return command{
		use:     "inbox [AGENT]",
		suggest: []string{"list", "ls"},
		short:   "List the handoffs waiting for this agent",
		long: `Lists the handoffs in the inboxes of AGENT, or of the agent of this worktree, and the
handoffs that wait for a decision, in this repository and in the hubs that "resume"
asks. With --all it lists those of every agent, and the handoffs that this repository
has sent or still has to deliver.

The list comes from the refs alone. "resume", "show" and "verify" check signatures.`,
		example: []string{
			"githandoff inbox",
			"githandoff inbox --all --json",
		},
		args: takes(0, "at most one agent", &c.agent),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.all, "all", false, "list those of all agents, and sent handoffs")
			f.BoolVar(&c.local, "local", false, "ask no hub; list what this clone knows")
		},
		run: c.run,
	}
}

func (c *inboxCommand) run(ctx context.Context) error {
	if c.agent != "" {
		if err := handoff.CheckAgent(c.agent); err != nil && !strings.Contains(c.agent, "@") {
			return usage("%v", err).WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists the handoffs of every agent"))
		}
		// The list is the other agent's; hints are for the agent of this worktree.
		defer func(as string) { c.As = as }(c.As)
		c.As = c.agent
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	if strings.Contains(c.agent, "@") {
		if err := strangePerson(c.app, ws); err != nil {
			return err
		}
	}
	if ws.Agent == "" && !c.all {
		_, err := c.identity(ws.Repo)
		return err
	}
	read := c.unread(ws)
	if !c.local {
		for _, err := range ws.RefreshInboxes(ctx, c.all) {
			ws.Unread(err)
		}
	}
	now := c.Now()
	ends, err := endsFor(ctx, c.app, ws)
	if err != nil {
		return err
	}
	header := []string{"HANDOFF", "STATE", "FROM", "TO", "TASK", "SINCE", "HOLDER", "DEADLINE"}
	known := false // whether a listed handoff is in an inbox of this agent
	return read(printList(ctx, c.app, ws.Repo, header, func(l *list) error {
		l.ends = ends
		err := ws.List(ctx, c.all, func(it *workspace.Item) error {
			known = known || it.Place.Agent == ws.Agent
			l.Row(itemRow(it, now), itemCells(ws, it, now, l)...)
			return nil
		})
		if err == nil && !known && !c.all {
			err = strangerInbox(c.app, ws)
		}
		return err
	}))
}

// strangerInbox refuses the empty inbox of an unknown name on the command line: the name is
// probably misspelled.
func strangerInbox(a *app, ws *workspace.Workspace) error {
	known, near := sign.NearestAgent(ws.Engine.Keys.Trust, ws.Agent)
	if known || a.As == "" || slices.Contains(workspace.AgentsOfClone(ws.Repo), ws.Agent) || strings.Contains(ws.Agent, "@") {
		return nil
	}
	f := fault.New(fault.NotFound, fault.UnknownAgent, "no agent %s is known here, and no handoff waits for it", ws.Agent)
	if near != "" {
		return f.WithHints(fault.Instead(ws.Agent, near))
	}
	return f.WithHints(fault.Run("githandoff", "trust", "list").Because("lists the trusted names"))
}

// strangePerson refuses the inbox of an unknown person, or of the target of a handoff,
// fixer@origin, as lists show it.
func strangePerson(a *app, ws *workspace.Workspace) error {
	principal := "user:" + ws.Agent
	if slices.ContainsFunc(ws.Engine.Keys.Trust.Entries(), func(e sign.TrustEntry) bool { return slices.Contains(e.Principals, principal) }) {
		return nil
	}
	if _, err := a.keystore().Public(ws.Agent); err == nil {
		return nil
	}
	name, alias, _ := strings.Cut(ws.Agent, "@")
	if slices.Contains(ws.Aliases.Names(), alias) && handoff.CheckAgent(name) == nil {
		return fault.New(fault.NotFound, fault.UnknownAgent, "inbox takes an agent, not a target: %s", untrusted.Line(ws.Agent)).
			WithHints(fault.Instead(ws.Agent, name))
	}
	f := fault.New(fault.NotFound, fault.UnknownAgent, "no person %s is known here", untrusted.Line(ws.Agent))
	if known, _ := sign.NearestAgent(ws.Engine.Keys.Trust, name); known || slices.Contains(workspace.AgentsOfClone(ws.Repo), name) {
		return f.WithHints(fault.Instead(ws.Agent, name))
	}
	return f.WithHints(fault.Run("githandoff", "trust", "list").Because("lists the trusted names"))
}

// unread makes a command fail if a hub could not be read, or a setting names none: the caller must not take it
// for an empty one. The returned function is called after everything else was printed, with the error of
// the command itself.
func (a *app) unread(ws *workspace.Workspace) func(error) error {
	first := fault.First{Warn: a.Warn}
	ws.OnUnread = func(err error) {
		if code := fault.CodeOf(err); code != fault.Unavailable && code != fault.Denied && !fault.Is(err, fault.UnknownAlias) {
			a.Warn(err) // not a hub that failed, but a mirror, or a remote of two URLs
			return
		}
		first.Keep(err)
	}
	return func(err error) error {
		if err != nil && first.Err != nil {
			a.Warn(first.Err)
		}
		return cmp.Or(err, first.Err)
	}
}

// itemRow returns an item as --json prints it.
func itemRow(it *workspace.Item, now time.Time) row {
	if it.Fault != nil {
		return row{ID: it.Place.ID, State: "refused", Ref: it.Ref, Commit: it.Commit, To: it.Place.Agent}
	}
	r := rowOf(it.Record, it.WordAt(now))
	r.To, r.Ref, r.Commit = it.Place.Agent, it.Ref, it.Commit
	return r
}

// goesTo returns the alias of an item's home; "" if that is this repository. A queued handoff
// lies here, and its record names the hub that is to get it.
func goesTo(ws *workspace.Workspace, it *workspace.Item) string {
	if alias := ws.AliasOf(it.Home); alias != "" || it.Record == nil || ws.Local.Is(it.Record.Home) {
		return alias
	}
	return ws.Aliases.NameOf(it.Record.Home)
}

// nameOfHome returns how a list for people names a home: its alias, "" for this repository, or its
// id if no alias leads to it.
func nameOfHome(ws *workspace.Workspace, alias, home string) string {
	if alias != "" || home == "" || ws.Local.Is(home) {
		return alias
	}
	return untrusted.Place(home)
}

// itemCells returns the columns of an item.
func itemCells(ws *workspace.Workspace, it *workspace.Item, now time.Time, l *list) []output.Cell {
	id, at := l.id(it.Place.ID), goesTo(ws, it)
	if it.Fault != nil {
		return append([]output.Cell{id, output.State("refused")}, texts("", handoff.TargetAt(it.Place.Agent, at), "", "", "", "")...)
	}
	to := handoff.TargetAt(it.Place.Agent, nameOfHome(ws, at, it.Record.Home))
	since, holder, end := it.Record.At.UTC().Format(time.RFC3339), "", it.Record.Expires
	if !it.Record.Lease.IsZero() {
		holder, end = untrusted.Name(it.Record.Actor), it.Record.Lease
	}
	deadline := end.UTC().Format(time.RFC3339)
	if l.ForPeople() {
		since, deadline = output.Ago(now, it.Record.At), left(now, end)
	}
	return append([]output.Cell{id, output.State(it.WordAt(now))},
		texts(untrusted.Name(it.Record.From), to, untrusted.Task(it.Record.Task), since, holder, deadline)...)
}

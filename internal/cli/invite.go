package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/join"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/invite"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// inviteCommand is "invite".
type inviteCommand struct {
	*app
	agent                string
	team, list, withdraw bool
	over, until          string
	roles, maxScope      []string
	life                 time.Duration
}

func newInvite(a *app) command {
	c := &inviteCommand{app: a}
	return command{
		use:   "invite [AGENT]",
		short: "Print the one line by which an agent on another machine joins",
		long: `Prints a line, "githandoff join CODE", to paste in a clone of the same hub on
another machine. Then both sides trust each other's keys, and nobody has to compare a
fingerprint. The code contains a secret that the hub never sees. Anyone who has the code
can use it: send it to one person or agent, through a channel that the hub's users
cannot read. It works once, and for a day unless --for says otherwise.

The agent that joins gets the name AGENT. Without AGENT it keeps the name that it has in
the other clone. --role and --until limit what it may do here. This clone learns which
agent joined, and deletes the invitation, at its next sync, at an emit to that hub, or
when resume meets a handoff of that agent.

A hub with a guard trusts the lists of the root keys that it has pinned: use --team
there. Otherwise the hub's owner adds the new key with the command in the first refusal.

--team invites to the team of a person. Run it with --as and the mail address of a
person whose root key is trusted here. The joining side trusts that root key, within its
principals and --max-scope, and the list of keys that it publishes; the new key is added
to that list.`,
		example: []string{
			"githandoff invite reviewer",
			"githandoff invite --role recipient --until 2030-01-01T00:00:00Z ci",
			"githandoff --as alice@example.com invite --team fixer",
			"githandoff invite --withdraw reviewer",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		args:  takes(0, "at most one agent", &c.agent),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.team, "team", false, "invite to the team of a root key")
			f.BoolVar(&c.list, "list", false, "list open invitations")
			f.BoolVar(&c.withdraw, "withdraw", false, "withdraw the invitations for AGENT, or those without a name")
			f.StringVar(&c.over, "over", "", "meet at the hub `ALIAS` (the remote of the current branch)")
			f.StringArrayVar(&c.roles, "role", []string{sign.RoleSender, sign.RoleRecipient}, "give its key the role `ROLE` here; repeatable")
			f.StringArrayVar(&c.maxScope, "max-scope", nil, "with --team, let the root key authorize only `SCOPE` there; repeatable")
			f.StringVar(&c.until, "until", "", "trust its key only before this `TIME`")
			spanVar(f, &c.life, "for", join.Life, "let the invitation hold for `DURATION`, at most 7d")
		},
		oneOf: [][]string{{"list", "withdraw"}},
		run:   c.run,
	}
}

// inviteRow is the JSON object of an invitation. Its members are stable.
type inviteRow struct {
	Agent   string `json:"agent,omitempty"` // name of the joiner
	Alias   string `json:"alias"`           // hub where both meet
	Code    string `json:"code,omitempty"`  // code with which the other side joins; a secret
	Expires string `json:"expires"`         // end of the invitation
	Team    bool   `json:"team"`            // invitation to a team, otherwise to a pair
}

// needsHub returns the refusal of an invitation in a clone of which no repository is the hub by itself.
func needsHub(names []string) error {
	if len(names) == 0 {
		return usage("an invitation needs a remote, and this clone has none").WithHints(fault.See("repo add").Because("names a hub, for githandoff invite --over NAME"))
	}
	hint := fault.With("--over=" + names[0])
	return usage("an invitation is for one hub, and none of %s is called origin", strings.Join(names, ", ")).WithHints(hint.Because("chooses one of them"))
}

func (c *inviteCommand) run(ctx context.Context) error {
	for _, role := range c.roles {
		if role != sign.RoleSender && role != sign.RoleRecipient {
			return usage("--role %s: an invitation makes only senders and recipients", untrusted.Line(role))
		}
	}
	if c.life <= 0 {
		return usage("--for %s: an invitation would expire before anyone could join", spanText(c.life))
	}
	if c.life > invite.MaxLife {
		return usage("--for %s: an invitation is valid for at most %s", spanText(c.life), spanText(invite.MaxLife))
	}
	if len(c.maxScope) > 0 && !c.team {
		return usage("--max-scope needs --team: it limits the root key of a team")
	}
	if err := checkMaxScope(c.app, c.maxScope); err != nil {
		return err
	}
	if c.list {
		return c.listOpen(ctx)
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	if c.over == "" {
		if c.over = ws.MainRemote(); c.over == "" {
			return needsHub(ws.Aliases.Names())
		}
	}
	hub, err := ws.Hub(ctx, c.over)
	if err != nil {
		return err
	}
	h := join.New(ws)
	if c.withdraw {
		n, err := h.Withdraw(ctx, hub, c.agent)
		if n > 0 {
			c.Say("%s withdrawn", fault.Count(n, "invitation"))
		}
		return err
	}
	r := join.Request{Kind: invite.Pair, Agent: c.agent, Roles: c.roles, Life: c.life}
	if c.team {
		r.Kind, r.MaxScope = invite.Team, c.maxScope
	}
	if r.Until, err = until(c.until); err != nil {
		return err
	}
	if r.Until != "" && r.Until <= handoff.FormatTime(c.Now()) {
		return usage("--until %s: that time has passed, and the joiner's key would never be trusted", untrusted.Line(c.until))
	}
	code, err := h.Invite(ctx, hub, r)
	if err != nil {
		return err
	}
	row := inviteRow{c.agent, c.over, code.String(), handoff.FormatTime(code.Expires), c.team}
	return c.Result(row, func(t *output.Lines) {
		c.Say("paste this in a clone of %s on the other machine, before %s; anyone who has this line can join, once:",
			crossrepo.URL(code.URL), row.Expires)
		t.Line("githandoff join %s", code)
	})
}

func (c *inviteCommand) listOpen(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	all, err := join.MemoryOf(repo).Open()
	if err != nil {
		return err
	}
	return printList(ctx, c.app, repo, []string{"FOR", "HUB", "ENDS"}, func(l *list) error {
		for _, k := range all {
			row := inviteRow{Agent: k.Agent, Alias: k.Alias, Expires: handoff.FormatTime(k.Expires), Team: k.Kind == invite.Team}
			ends := "until " + row.Expires
			if l.ForPeople() {
				ends = left(c.Now(), k.Expires)
			}
			l.Row(row, texts(k.Whom(), k.Alias, ends)...)
		}
		return nil
	})
}

// joined says who answered an invitation, and whether the list of the team has them.
func (a *app) joined(one join.Joined, listed bool) {
	a.Say("%s joined, with key %s", one.Agent, one.Key)
	if !listed {
		a.Say("the list of the team has it after a %s by %s, who invited it", fault.Run("githandoff", "sync", one.Alias), one.Root)
	}
}

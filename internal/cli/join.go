package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/initrepo"
	"githandoff/internal/app/join"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/invite"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// joinCommand is "join". It implements join.Worktree: the worktree in which somebody joins.
type joinCommand struct {
	*app
	text  string // argument CODE
	hooks bool

	alias  *crossrepo.Alias // alias of the hub where both meet
	prefix string           // prefix that the invitation names; "" for the usual one
}

func newJoin(a *app) command {
	c := &joinCommand{app: a}
	return command{
		use:   "join CODE",
		short: "Accept an invitation: set up this clone, and trust the inviter's key",
		long: `Accepts an invitation: the line that "githandoff invite" printed on another machine. Run
it in a clone of the same hub, or where "githandoff repo add" names that hub. It does
the work of init, trusts the key of the inviter, and proves to the inviter that this
clone's key is the invited one. A code that is for another agent, expired or already
used changes nothing.

Join trusts the sender of the line. A code that begins with team1 trusts their root key:
that key then decides here, and lends authority for its people.`,
		example: []string{
			"git clone https://example.com/acme/client.git && cd client",
			"githandoff join pair1…",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		args:  takes(1, "the code of an invitation", &c.text),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.hooks, "hooks", false, "install the git hooks as well")
		},
		run: c.run,
	}
}

// joinRow is the JSON object of a join. Its members are stable.
type joinRow struct {
	Agent  string   `json:"agent"`  // agent of this worktree
	Key    string   `json:"key"`    // key id of the agent
	Alias  string   `json:"alias"`  // hub where both meet
	Trusts trustRow `json:"trusts"` // inviter, as it is trusted here now
}

func (c *joinCommand) run(ctx context.Context) error {
	code, err := invite.Parse(c.text)
	if err != nil {
		return err
	}
	repo, err := c.openRepo(ctx)
	if fault.Is(err, fault.NotARepository) {
		return fault.New(fault.Usage, fault.NotARepository, "this is not a clone of %s", crossrepo.URL(code.URL)).
			WithHints(fault.Run("git", "clone", "--", code.URL).Because("makes one; run the same line there"))
	}
	if err != nil {
		return err
	}
	c.prefix = code.Prefix
	if c.alias, err = join.MeetingPlace(ctx, repo, code); err != nil {
		return err
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	there := *c.alias // the hub of the offer; only a valid offer changes the prefix of the alias
	there.Prefix = code.Prefix
	done, err := join.New(ws).Join(ctx, ws.HubAt(&there), code, c)
	if err != nil {
		return err
	}
	if code.Kind == invite.Team {
		if err := c.adoptTeam(ctx); err != nil {
			c.Warn(err)
		}
	}
	return c.print(ws.Engine.Keys.Trust, done)
}

func (c *joinCommand) print(trust *sign.Trust, done *join.Answered) error {
	key, ok := trust.Lookup(done.Inviter.KID())
	if !ok {
		return fault.New(fault.Denied, fault.UntrustedKey, "%s is not trusted here", done.Inviter.KID())
	}
	row := trustRowOf(key, c.Now())
	return c.Result(joinRow{done.Agent, done.Key, c.alias.Name, row}, func(t *output.Lines) {
		t.Line("%s  %s", done.Agent, done.Key)
		t.Line("trusts %s: %s", row.KID, row.says())
		t.Then(func() {
			c.Say("next:")
			c.Say("  githandoff resume  # takes a handoff that waits for %s", done.Agent)
		})
	})
}

// adoptTeam adopts the list published by the root, if there is one.
func (c *joinCommand) adoptTeam(ctx context.Context) error {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	_, err = hubsync.New(ws, finish.New(ws)).Sync(ctx, []string{c.alias.Name})
	return err
}

// Asked implements join.Worktree.
func (c *joinCommand) Asked() string {
	name, err := c.identity(c.repo)
	if err != nil || strings.Contains(name, "@") {
		return ""
	}
	return name
}

// Suggested implements join.Worktree.
func (c *joinCommand) Suggested() string { return initrepo.SuggestedName(c.repo) }

// SetUp implements join.Worktree.
func (c *joinCommand) SetUp(ctx context.Context, agent string) (sign.Signer, error) {
	if err := (crossrepo.Aliases{Repo: c.repo}).SetPrefix(ctx, c.alias, cmp.Or(c.prefix, crossrepo.UsualPrefix)); err != nil {
		return nil, err
	}
	if now, err := workspace.AgentOf(c.repo); err != nil || now != agent {
		c.As = agent
	}
	if _, err := (&initCommand{app: c.app, hooks: c.hooks}).setUp(ctx); err != nil {
		return nil, err
	}
	return sign.OpenSigner(ctx, c.signerOptions(ctx, c.repo, agent))
}

// Holds implements join.Worktree.
func (c *joinCommand) Holds(kid sign.KID) bool {
	if _, err := c.keystore().Public(kid); err == nil {
		return true
	}
	name, err := c.identity(c.repo)
	if err != nil {
		return false
	}
	signer, err := sign.OpenSigner(context.Background(), c.signerOptions(context.Background(), c.repo, name))
	return err == nil && signer.KID() == kid
}

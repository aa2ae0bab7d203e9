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
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

func newJoin(a *app) command {
	var o initOptions
	var code string
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
		args:  takes(1, "the code of an invitation", &code),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.hooks, "hooks", false, "install the git hooks as well")
		},
		run: func(ctx context.Context) error { return runJoin(ctx, a, o, code) },
	}
}

// joinRow is the JSON object of a join. Its members are stable.
type joinRow struct {
	Agent  string   `json:"agent"`  // agent of this worktree
	Key    string   `json:"key"`    // key id of the agent
	Alias  string   `json:"alias"`  // hub where both meet
	Trusts trustRow `json:"trusts"` // inviter, as it is trusted here now
}

func runJoin(ctx context.Context, a *app, o initOptions, text string) error {
	code, err := invite.Parse(text)
	if err != nil {
		return err
	}
	repo, err := a.openRepo(ctx)
	if fault.Is(err, fault.NotARepository) {
		return fault.New(fault.Usage, fault.NotARepository, "this is not a clone of %s", crossrepo.URL(code.URL)).
			WithHints(fault.Run("git", "clone", "--", code.URL).Because("makes one; run the same line there"))
	}
	if err != nil {
		return err
	}
	alias, err := join.MeetingPlace(ctx, repo, code)
	if err != nil {
		return err
	}
	ws, err := a.workspace(ctx, reads)
	if err != nil {
		return err
	}
	there := *alias // the hub of the offer; only a valid offer changes the prefix of the alias
	there.Prefix = code.Prefix
	done, err := join.New(ws).Join(ctx, ws.HubOf(&there), code, &joining{app: a, repo: repo, options: o, alias: alias, prefix: code.Prefix})
	if err != nil {
		return err
	}
	if code.Kind == invite.Team {
		if err := adoptTeam(ctx, a, alias.Name); err != nil {
			a.Warn(err)
		}
	}
	return printJoined(a, ws.Engine.Keys.Trust, alias.Name, done)
}

func printJoined(a *app, trust *sign.Trust, alias string, done *join.Answered) error {
	key, ok := trust.Lookup(done.Inviter.KID())
	if !ok {
		return fault.New(fault.Denied, fault.UntrustedKey, "%s is not trusted here", done.Inviter.KID())
	}
	row := trustRowOf(key, a.Now())
	return a.Result(joinRow{done.Agent, done.Key, alias, row}, func(t *output.Lines) {
		t.Line("%s  %s", done.Agent, done.Key)
		t.Line("trusts %s: %s", row.KID, row.says())
		t.Then(func() {
			a.Say("next:")
			a.Say("  githandoff resume  # takes a handoff that waits for %s", done.Agent)
		})
	})
}

// adoptTeam adopts the list published by the root, if there is one.
func adoptTeam(ctx context.Context, a *app, alias string) error {
	ws, err := a.workspace(ctx, signs)
	if err != nil {
		return err
	}
	_, err = hubsync.New(ws, finish.New(ws)).Sync(ctx, []string{alias})
	return err
}

// joining is the worktree in which somebody joins.
type joining struct {
	app     *app
	repo    *refs.Repo
	options initOptions
	alias   *crossrepo.Alias // alias of the hub where both meet
	prefix  string           // prefix that the invitation names; "" for the usual one
}

// Asked implements join.Worktree.
func (j *joining) Asked() string {
	name, err := j.app.identity(j.repo)
	if err != nil || strings.Contains(name, "@") {
		return ""
	}
	return name
}

// Suggested implements join.Worktree.
func (j *joining) Suggested() string { return initrepo.SuggestedName(j.repo) }

// SetUp implements join.Worktree.
func (j *joining) SetUp(ctx context.Context, agent string) (sign.Signer, error) {
	if err := (crossrepo.Aliases{Repo: j.repo}).SetPrefix(ctx, j.alias, cmp.Or(j.prefix, crossrepo.UsualPrefix)); err != nil {
		return nil, err
	}
	if now, err := workspace.AgentOf(j.repo); err != nil || now != agent {
		j.app.As = agent
	}
	if _, err := (&initCommand{j.app, j.options}).setUp(ctx); err != nil {
		return nil, err
	}
	return sign.OpenSigner(ctx, j.app.signerOptions(ctx, j.repo, agent))
}

// Holds implements join.Worktree.
func (j *joining) Holds(kid sign.KID) bool {
	if _, err := j.app.keystore().Public(kid); err == nil {
		return true
	}
	name, err := j.app.identity(j.repo)
	if err != nil {
		return false
	}
	signer, err := sign.OpenSigner(context.Background(), j.app.signerOptions(context.Background(), j.repo, name))
	return err == nil && signer.KID() == kid
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/annotate"
	"githandoff/internal/app/initrepo"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// initCommand is "init"; "join" does it as well.
type initCommand struct {
	*app
	person                                 string
	hooks, notes, force, gitSigns, private bool
	everywhere                             bool // also for worktrees of this clone without an agent
}

func newInit(a *app) command {
	c := &initCommand{app: a}
	return command{
		use:   "init [--as AGENT | --person MAIL]",
		short: "Set up this worktree for an agent: name, key, trust, git settings",
		long: `Names the agent of this worktree, after its directory or as --as says. Makes its key
(OpenPGP Ed25519, without passphrase, in $XDG_DATA_HOME/githandoff/keys) unless there is
one, trusts that key here as sender and recipient, and pins which repository each remote
is. The first run, and one with another key, publish the public key at the hub, if that accepts
it; nobody trusts it there.

Running init again changes only settings that are wrong, and brings the published key up
to date, for example if it expires later now. It gives the worktree to
another agent only with --force.

A person who only decides and lends authority needs no worktree: githandoff key
generate MAIL, then githandoff trust add MAIL --role root --principal user:MAIL.

It writes these settings to git config: handoff.repoid and handoffrepo.<remote>.*, the
ids of this repository and its remotes; notes.rewriteRef and notes.rewriteMode, so that
notes stay with rewritten commits; with --notes also notes.displayRef, so that git log
shows them; and, for a remote that is fetched into refs/handoffs, as by a mirror, a
refspec that protects the handoffs from git fetch --prune.`,
		example: []string{
			"githandoff init",
			"githandoff init --as fixer --hooks",
		},
		brief: []string{"hooks", "person"},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		args:  wordOf("as", takes(0, "no arguments")),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.person, "person", "", "set up the person `MAIL`, who decides and issues authority")
			f.BoolVar(&c.hooks, "hooks", false, "install the git hooks as well")
			f.BoolVar(&c.gitSigns, "sign-commits", false, "let git sign commits here with the agent's key, as a guarded hub requires")
			f.BoolVar(&c.notes, "notes", false, "let git log show the last state of each handoff about a commit")
			f.BoolVar(&c.private, "no-publish", false, "do not publish the public key at the hub")
			f.BoolVar(&c.everywhere, "all-worktrees", false, "use this agent also in worktrees where init did not run")
			f.BoolVar(&c.force, "force", false, "take over another agent's worktree")
		},
		run: c.run,
	}
}

func (c *initCommand) run(ctx context.Context) error {
	done, err := c.setUp(ctx)
	if done == nil {
		return err
	}
	fresh := done.Fresh || done.Other
	if !c.private && c.person == "" && (!fresh || !needsPrefix(ctx, c.app)) {
		publishOwn(ctx, c.app, fresh) // also if the hooks are not installed: the next init is not the first
	}
	if err != nil {
		return err
	}
	return c.Result(initRow{done.Agent, done.Key.KID(), done.RepoID}, func(t *output.Lines) {
		t.Line("%s  %s", done.Agent, done.Key.KID())
		if done.Fresh && c.person == "" {
			t.Then(func() { tellWhatComesNext(c.app) })
		}
	})
}

// setUp is like init without its output. If only a wish beyond the agent itself failed, such as its hooks, the
// result is returned with the error.
func (c *initCommand) setUp(ctx context.Context) (*initrepo.Result, error) {
	if c.gitSigns && c.Key == "" && c.Getenv(gitexec.KeyVariable) != "" {
		return nil, usage("--sign-commits: git cannot sign with the key in $%s", gitexec.KeyVariable).
			WithHints(fault.Fact("a key in a file can be named with --key"))
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	r := initrepo.Request{Person: c.person != "", Key: sign.KeyIn(c.Dir, c.Key), Notes: c.notes, Force: c.force, AllWorktrees: c.everywhere}
	if r.Agent, err = c.name(repo); err != nil {
		return nil, err
	}
	h := &initrepo.Handler{Key: c.publicKey, Keystore: c.keystore(), Trust: c.loadTrust, Now: c.Now, Random: c.Random, Warn: c.Warn}
	done, err := h.SetUp(ctx, repo, r)
	if err != nil {
		return nil, err
	}
	if c.notes {
		if err := c.showNotes(ctx); err != nil {
			c.Warn(err)
		}
	}
	if c.hooks {
		if err := (&hookCommand{app: c.app}).install(ctx); err != nil {
			return done, err
		}
	}
	if c.gitSigns {
		return done, h.SignCommits(ctx, repo, r.Agent, done.Key)
	}
	return done, nil
}

// showNotes makes the ref for git log to show: git complains of a missing one.
func (c *initCommand) showNotes(ctx context.Context) error {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	return annotate.New(ws).Show(ctx)
}

// publicKey returns the key that signs as the agent or person of a name, and makes one if there is none.
func (c *initCommand) publicKey(ctx context.Context, repo *refs.Repo, name string) (public sign.PublicKey, made bool, err error) {
	opts := c.signerOptions(ctx, repo, name)
	if opts.Key == "" && opts.Env == "" {
		if _, set := gitexec.Lookup(c.Vars, gitexec.KeyVariable); set { // a key made now would be gone with the job
			return public, false, fault.New(fault.Invalid, fault.Malformed, "$%s is empty", gitexec.KeyVariable).
				WithHints(fault.Fact("a CI service passes no secret to a job that may not have it, such as one for a fork; without the variable, init makes a key"))
		}
		return makeKey(c.app, name)
	}
	signer, err := sign.OpenSigner(ctx, opts)
	if err != nil {
		return public, false, err
	}
	return signer.Public(), false, nil
}

// name returns the person or agent to work in this worktree: the one named, else the one set up
// already, else an agent named after the worktree.
func (c *initCommand) name(repo *refs.Repo) (string, error) {
	switch {
	case c.person != "" && c.As != "":
		return "", usage("use either --as or --person, not both")
	case c.person != "" && c.everywhere:
		return "", usage("--all-worktrees is for agents: a person decides in a worktree of their own")
	case c.person != "" && !strings.Contains(c.person, "@"):
		return "", usage("--person %s: want a mail address", untrusted.Line(c.person))
	case c.person != "":
		return c.person, nil
	}
	name, err := c.identity(repo)
	if !fault.Is(err, fault.NoIdentity) {
		return name, err
	}
	if repo.Worktree == "" {
		return "", fault.New(fault.Usage, fault.NoIdentity, "there is no work tree here to name an agent after").
			WithHints(fault.Run("githandoff", "init", "--as", initrepo.SuggestedName(repo)).Because("names it; the name is yours to choose"))
	}
	c.As = initrepo.FreeName(repo)
	return c.As, nil
}

// tellWhatComesNext says which commands come after init, in their order.
func tellWhatComesNext(a *app) {
	type step struct{ run, why string }
	steps := []step{
		{"githandoff setup", "lets the coding agents of this machine find their handoffs"},
		{"githandoff emit --help", "how to hand work over"},
		{"githandoff resume", "takes what waits for this agent"},
	}
	if len(crossrepo.Aliases{Repo: a.repo}.Names()) > 0 {
		steps = slices.Insert(steps, 1, step{"githandoff invite", "prints the line by which another machine joins"})
	}
	a.Say("next:")
	for _, s := range steps {
		a.Say("  %-22s  # %s", s.run, s.why)
	}
}

// needsPrefix tells a fresh clone of its hub's prefix, if it does not look there yet. Without the
// prefix no other clone would look for the key where it would be published.
func needsPrefix(ctx context.Context, a *app) bool {
	hub, prefix := initrepo.MissingPrefix(ctx, a.repo)
	if hub == nil {
		return false
	}
	a.Warn(fmt.Errorf("%s keeps handoffs below %s, where this clone does not look yet", hub.Name, prefix))
	a.Hint(fault.Run("githandoff", "repo", "add", hub.Name, hub.URL.Bare(), "--prefix", prefix).Because("looks there"),
		fault.Run("githandoff", "key", "export", "--to", hub.Name).Because("then publishes this agent's key there"))
	return true
}

// publishOwn publishes the key of this worktree at the hub of its branch, or says how to.
func publishOwn(ctx context.Context, a *app, first bool) {
	ws, err := a.workspace(ctx, signs)
	if err != nil {
		return
	}
	switch err := initrepo.Publish(ctx, ws, first); {
	case err != nil && first:
		a.Say("its public key is not published at %s; run: githandoff key export --to %s", ws.MainRemote(), ws.MainRemote())
	case err != nil:
		a.Say("its public key could not be brought up to date at %s; run: githandoff key export --to %s", ws.MainRemote(), ws.MainRemote())
	}
}

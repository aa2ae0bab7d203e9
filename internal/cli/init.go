package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/annotate"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

type initOptions struct {
	person                                 string
	hooks, notes, force, gitSigns, private bool
	everywhere                             bool // for worktrees of this clone that nobody set up
}

// initCommand is "init"; "join" does it as well.
type initCommand struct {
	*app
	initOptions
}

func newInit(a *app) *cobra.Command {
	c := &initCommand{app: a}
	cmd := &cobra.Command{
		Use:   "init [--as AGENT | --person MAIL]",
		Short: "Make this worktree the place of an agent: name, key, trust, git settings",
		Long: `Names the agent that works in this worktree, after its directory unless --as says
how, makes its key (OpenPGP Ed25519, without passphrase, in
$XDG_DATA_HOME/githandoff/keys) unless there is one, trusts that key here as sender
and recipient, and pins which repository each remote is. The first time the public
key goes to the hub, if that takes it: nobody trusts it there.

Running it again changes nothing that is right already, and gives the worktree to
nobody else without --force.

A person who only decides and lends authority needs no worktree: githandoff key
generate MAIL, then githandoff trust add MAIL --role root --principal user:MAIL.

It writes these to git config: handoff.repoid and handoffrepo.<remote>.*, who this
repository and its remotes are; notes.rewriteRef and notes.rewriteMode, so that
notes stay with commits that are rewritten; with --notes also notes.displayRef, so
that git log shows them; and for a remote that is fetched into refs/handoffs, as
into a mirror, a refspec that keeps git fetch --prune off the handoffs.`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&c.person, "person", "", "set up a person, `MAIL`, who decides and issues authority")
	cmd.Flags().BoolVar(&c.hooks, "hooks", false, "install the git hooks as well")
	cmd.Flags().BoolVar(&c.gitSigns, "sign-commits", false, "let git sign commits here with the agent's key, as a guarded hub wants it")
	cmd.Flags().BoolVar(&c.notes, "notes", false, "let git log show what became of the handoffs about a commit")
	cmd.Flags().BoolVar(&c.private, "no-publish", false, "leave the public key out of the hub, where others find it")
	cmd.Flags().BoolVar(&c.everywhere, "all-worktrees", false, "also where nobody ran it")
	cmd.Flags().BoolVar(&c.force, "force", false, "also if this worktree is somebody else's")
	return cmd
}

func (c *initCommand) run(ctx context.Context) error {
	row, fresh, err := c.setUp(ctx)
	if err != nil {
		return err
	}
	if fresh && !c.private && c.person == "" {
		publishOwn(ctx, c.app)
	}
	return c.Result(row, func(t *output.Lines) {
		t.Line("%s  %s", row.Agent, row.Key)
		if fresh && c.person == "" {
			t.Then(func() { tellWhatComesNext(c.app) })
		}
	})
}

// setUp is init without its output. Fresh says that nobody worked in the worktree before.
func (c *initCommand) setUp(ctx context.Context) (row initRow, fresh bool, err error) {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return row, false, err
	}
	name, err := c.name(repo)
	if err != nil {
		return row, false, err
	}
	if err := c.mayTake(repo, name); err != nil {
		return row, false, err
	}
	if err := c.makeDirs(repo); err != nil {
		return row, false, err
	}
	if err := c.configure(ctx, repo, crossrepo.Aliases{Repo: repo}, c.notes); err != nil {
		return row, false, err
	}
	kid, err := c.pinKey(ctx, repo, name, c.person != "")
	if err != nil {
		return row, false, err
	}
	before, err := worktreeOf(repo)
	if err != nil {
		return row, false, err
	}
	if err := private.WriteFile(repo.OwnWorktree("agent"), []byte(name+"\n")); err != nil {
		return row, false, err
	}
	if c.key != "" {
		if err := private.WriteFile(repo.OwnWorktree("key"), []byte(c.key+"\n")); err != nil {
			return row, false, err
		}
	}
	if c.everywhere {
		if err := (crossrepo.Aliases{Repo: repo}).Set(ctx, "handoff.agent", name); err != nil {
			return row, false, err
		}
	}
	if err := unexcludeDraft(repo); err != nil {
		c.Warn(err)
	}
	if c.notes {
		if err := c.showNotes(ctx); err != nil {
			c.Warn(err)
		}
	}
	if c.hooks {
		err = (&hookCommand{c.app}).install(ctx)
	}
	if c.gitSigns && err == nil {
		err = signCommits(ctx, c.app, repo, name, kid)
	}
	return initRow{name, kid, repo.Config.Get("handoff.repoid")}, before != name, err
}

// showNotes makes the ref that git log is to show: git complains of one that is not
// there.
func (c *initCommand) showNotes(ctx context.Context) error {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	return annotate.New(d).Show(ctx)
}

// worktreeOf is whose worktree this is, as init wrote it; "" before that.
func worktreeOf(repo *refs.Repo) (string, error) {
	b, err := private.ReadState(repo.OwnWorktree("agent"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(bytes.TrimSpace(b)), err
}

// mayTake refuses to give a worktree to somebody else: what is done in it is signed with
// another key from then on, a person's perhaps, and who held a handoff there holds none.
func (c *initCommand) mayTake(repo *refs.Repo, name string) error {
	now, err := worktreeOf(repo)
	if err != nil {
		return err
	}
	if now == "" || now == name || c.force {
		return nil
	}
	f := fault.New(fault.Conflict, fault.WorktreeTaken, "this worktree belongs to %s", printable(now))
	if c.person != "" {
		return f.WithHints(fault.Run("githandoff", "key", "generate", name).
			Because("makes the key of %s, and leaves this worktree to %s", name, now))
	}
	return f.WithHints(
		fault.Run("githandoff", "status").Because("lists the handoffs that %s holds here", now),
		fault.Run("githandoff", "init", "--as", name, "--force").Because("gives this worktree to %s", name),
	)
}

func (c *initCommand) makeDirs(repo *refs.Repo) error {
	for _, dir := range []string{repo.Own(""), repo.OwnWorktree("claims")} {
		if err := private.MakeDir(dir); err != nil {
			return fault.New(fault.Unavailable, fault.ReadOnly, "set up githandoff: %w", err).
				WithHints(fault.Run("ls", "-ld", repo.GitDir).Because("says who owns the repository; it must be writable for this user"))
		}
	}
	return nil
}

// configure pins who this repository and its remotes are, keeps handoffs out
// of refspecs that reach them, and lets plain git keep the notes, and show them
// where that is asked for.
func (c *initCommand) configure(ctx context.Context, repo *refs.Repo, aliases crossrepo.Aliases, shown bool) error {
	for _, name := range aliases.Names() {
		if _, err := aliases.Get(ctx, name); fault.Is(err, fault.MirrorRemote) {
			return err
		} else if err != nil {
			c.Warn(err)
		}
	}
	if repo.Config.Get("handoff.repoid") == "" {
		var b [16]byte
		if _, err := io.ReadFull(c.Random, b[:]); err != nil {
			return err
		}
		// Two inits in two worktrees at once: the first to write wins.
		if err := c.setOnce(ctx, repo, aliases, "handoff.repoid", "local:"+hex.EncodeToString(b[:])); err != nil {
			return err
		}
	}
	for _, remote := range repo.Config.Subsections("remote", "fetch") {
		if err := gitconfig.Of(repo).SetKeepOut(ctx, remote); err != nil {
			return err
		}
	}
	notes := [][2]string{{"notes.rewriteref", refs.NotesRef}}
	if shown {
		notes = append(notes, [2]string{"notes.displayref", refs.ShownRef})
	}
	for _, n := range notes {
		if !slices.Contains(repo.Config[n[0]], n[1]) {
			if err := gitconfig.Of(repo).Add(ctx, n[0], n[1]); err != nil {
				return err
			}
		}
	}
	if repo.Config.Get("notes.rewritemode") == "" {
		return aliases.Set(ctx, "notes.rewritemode", "cat_sort_uniq")
	}
	return nil
}

// setOnce writes a value unless another process did meanwhile: a marker file
// that only one can create decides.
func (c *initCommand) setOnce(ctx context.Context, repo *refs.Repo, aliases crossrepo.Aliases, key, value string) error {
	marker := repo.Own("repo-id")
	f, err := os.OpenFile(marker, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(value + "\n")
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		return aliases.Set(ctx, key, value)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	for try := range 10 {
		b, err := private.ReadState(marker)
		if err != nil {
			return err
		}
		if v := strings.TrimSpace(string(b)); v != "" {
			return aliases.Set(ctx, key, v)
		}
		if err := refs.Pause(ctx, try); err != nil {
			return err
		}
	}
	return aliases.Set(ctx, key, value)
}

// pinKey makes or finds the key and pins it here.
func (c *initCommand) pinKey(ctx context.Context, repo *refs.Repo, name string, person bool) (string, error) {
	public, fresh, err := c.publicKey(ctx, c.signerOptions(repo, name), name)
	if err != nil {
		return "", err
	}
	trust, err := c.loadTrust(repo)
	if err != nil {
		return "", err
	}
	if fresh {
		c.tellOfLostKeys(trust, name, public.KID())
	}
	entry := sign.TrustEntry{KID: public.KID(), Key: public.Text(), Agents: []string{name}, Roles: []string{sign.RoleSender, sign.RoleRecipient}}
	if person {
		entry.Agents, entry.Roles, entry.Principals = nil, []string{sign.RoleRoot}, []string{"user:" + name}
	} else if err := handoff.CheckAgent(name); err != nil {
		return "", usage("%v", err).WithHints(fault.Fact("an agent's name looks like fixer or ci-bot.2"))
	}
	if key, ok := trust.Lookup(entry.KID); ok && covers(key.Entry(), entry) {
		return entry.KID, nil
	}
	return entry.KID, trust.Add(trustPath(repo), entry)
}

// publicKey finds the key that was named, or makes one.
func (c *initCommand) publicKey(ctx context.Context, opts sign.Options, name string) (public sign.PublicKey, fresh bool, err error) {
	if opts.Key == "" && opts.Env == "" {
		return makeKey(c.app, name)
	}
	signer, err := sign.OpenSigner(ctx, opts)
	if err != nil {
		return public, false, err
	}
	return signer.Public(), false, nil
}

// tellOfLostKeys says that a new key is not the one that others trust under its name.
func (c *initCommand) tellOfLostKeys(trust *sign.Trust, name string, kid sign.KID) {
	var old []string
	for _, e := range trust.Entries() {
		if e.KID != kid && e.Retired == "" && (slices.Contains(e.Agents, name) || slices.Contains(e.Principals, "user:"+name)) {
			old = append(old, e.KID)
		}
	}
	if len(old) > 0 {
		c.Warn(fmt.Errorf("%s has a new key, %s; the key that is trusted under that name, %s, is not in the keystore here: "+
			"others accept the new one only after githandoff trust add", name, kid, strings.Join(old, ", ")))
	}
}

// covers reports whether a pinned entry says all of another already.
func covers(have, want sign.TrustEntry) bool {
	all := func(have, want []string) bool {
		return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
	}
	return have.Retired == "" && all(have.Agents, want.Agents) && all(have.Roles, want.Roles) && all(have.Principals, want.Principals)
}

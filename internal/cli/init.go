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

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

type initOptions struct {
	person              string
	hooks, notes, force bool
}

func newInit(a *app) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [--as AGENT | --person MAIL]",
		Short: "Make this worktree the place of an agent: name, key, trust, git settings",
		Long: `Names the agent that works in this worktree, after its directory unless --as says
how, makes its key (OpenPGP Ed25519, without passphrase, in
$XDG_DATA_HOME/githandoff/keys) unless there is one, trusts that key here as sender
and recipient, and pins which repository each remote is. Running it again changes nothing that is right already, and gives the
worktree to nobody else without --force.

A person who only decides and lends authority needs no worktree: githandoff key
generate MAIL, then githandoff trust add MAIL --role root --principal user:MAIL.

It writes these to git config: handoff.repoid and handoffrepo.<remote>.*, who this
repository and its remotes are; notes.rewriteRef and notes.rewriteMode, so that
notes stay with commits that are rewritten; with --notes also notes.displayRef, so
that git log shows them; and for a remote that is fetched into refs/handoffs, as
into a mirror, a refspec that keeps git fetch --prune off the handoffs.`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runInit(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.person, "person", "", "set up a person, `MAIL`, who decides and issues authority")
	cmd.Flags().BoolVar(&o.hooks, "hooks", false, "install the git hooks as well")
	cmd.Flags().BoolVar(&o.notes, "notes", false, "let git log show what became of the handoffs about a commit")
	cmd.Flags().BoolVar(&o.force, "force", false, "also if this worktree is somebody else's")
	return cmd
}

func (a *app) runInit(ctx context.Context, o initOptions) error {
	row, fresh, err := setUp(ctx, a, o)
	if err != nil {
		return err
	}
	if a.JSON {
		a.Object(row)
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s  %s\n", row.Agent, row.Key)
	if fresh && o.person == "" {
		tellWhatComesNext(a)
	}
	return nil
}

// setUp is init without its output. Fresh says that nobody worked in the worktree before.
func setUp(ctx context.Context, a *app, o initOptions) (row initRow, fresh bool, err error) {
	repo, err := a.openRepo(ctx)
	if err != nil {
		return row, false, err
	}
	name, err := initName(a, repo, o)
	if err != nil {
		return row, false, err
	}
	if err := a.mayTake(repo, name, o); err != nil {
		return row, false, err
	}
	if err := a.initDirs(repo); err != nil {
		return row, false, err
	}
	if err := a.initConfig(ctx, repo, crossrepo.Aliases{Repo: repo}, o.notes); err != nil {
		return row, false, err
	}
	kid, err := a.initKey(ctx, repo, name, o.person != "")
	if err != nil {
		return row, false, err
	}
	before, err := worktreeOf(repo)
	if err != nil {
		return row, false, err
	}
	if err := lifecycle.WriteFile(repo.OwnWorktree("agent"), []byte(name+"\n")); err != nil {
		return row, false, err
	}
	if a.key != "" {
		if err := lifecycle.WriteFile(repo.OwnWorktree("key"), []byte(a.key+"\n")); err != nil {
			return row, false, err
		}
	}
	if err := unexcludeDraft(repo); err != nil {
		a.Warn(err)
	}
	if o.notes {
		if err := a.showNotes(ctx); err != nil {
			a.Warn(err)
		}
	}
	if o.hooks {
		err = a.installHooks(ctx)
	}
	return initRow{name, kid, repo.Config.Get("handoff.repoid")}, before != name, err
}

// showNotes makes the ref that git log is to show: git complains of one that is not
// there.
func (a *app) showNotes(ctx context.Context) error {
	d, err := a.desk(ctx, signs)
	if err != nil {
		return err
	}
	return d.ShowNotes(ctx)
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
func (a *app) mayTake(repo *refs.Repo, name string, o initOptions) error {
	now, err := worktreeOf(repo)
	if err != nil {
		return err
	}
	if now == "" || now == name || o.force {
		return nil
	}
	f := fault.New(fault.Conflict, fault.WorktreeTaken, "this worktree is that of %s", printable(now))
	if o.person != "" {
		return f.WithHints(fault.Run("githandoff", "key", "generate", name).
			Because("makes the key of %s, and leaves this worktree to %s", name, now))
	}
	return f.WithHints(
		fault.Run("githandoff", "status").Because("says what %s holds here", now),
		fault.Run("githandoff", "init", "--as", name, "--force").Because("gives this worktree to %s", name),
	)
}

func (a *app) initDirs(repo *refs.Repo) error {
	for _, dir := range []string{repo.Own(""), repo.OwnWorktree("claims")} {
		if err := private.MakeDir(dir); err != nil {
			return fault.New(fault.Unavailable, fault.ReadOnly, "set up githandoff: %w", err).
				WithHints(fault.Run("ls", "-ld", repo.GitDir).Because("says who owns the repository; it must be writable for this user"))
		}
	}
	return nil
}

// initConfig pins who this repository and its remotes are, keeps handoffs out
// of refspecs that reach them, and lets plain git keep the notes, and show them
// where that is asked for.
func (a *app) initConfig(ctx context.Context, repo *refs.Repo, aliases crossrepo.Aliases, shown bool) error {
	for _, name := range aliases.Names() {
		if _, err := aliases.Get(ctx, name); fault.Is(err, fault.MirrorRemote) {
			return err
		} else if err != nil {
			a.Warn(err)
		}
	}
	if repo.Config.Get("handoff.repoid") == "" {
		var b [16]byte
		if _, err := io.ReadFull(a.Random, b[:]); err != nil {
			return err
		}
		// Two inits in two worktrees at once: the first to write wins.
		if err := a.setOnce(ctx, repo, aliases, "handoff.repoid", "local:"+hex.EncodeToString(b[:])); err != nil {
			return err
		}
	}
	for _, remote := range repo.Config.Subsections("remote", "fetch") {
		if err := a.setRefspec(ctx, repo, remote); err != nil {
			return err
		}
	}
	notes := [][2]string{{"notes.rewriteref", refs.NotesRef}}
	if shown {
		notes = append(notes, [2]string{"notes.displayref", refs.ShownRef})
	}
	for _, n := range notes {
		if !slices.Contains(repo.Config[n[0]], n[1]) {
			if err := a.addConfig(ctx, repo, n[0], n[1]); err != nil {
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
func (a *app) setOnce(ctx context.Context, repo *refs.Repo, aliases crossrepo.Aliases, key, value string) error {
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

func (a *app) addConfig(ctx context.Context, repo *refs.Repo, key, value string) error {
	return a.setConfig(ctx, key, func() error {
		_, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--add", key, value}, Finish: true})
		if err == nil {
			repo.Config[key] = append(repo.Config[key], value)
		}
		return err
	})
}

// setConfig repeats a write of git config: another git may hold its lock.
func (a *app) setConfig(ctx context.Context, key string, write func() error) error {
	for try := 0; ; try++ {
		err := write()
		if err == nil {
			return nil
		}
		if try == 8 {
			return fault.New(fault.Unavailable, fault.ConfigUnwritable, "write %s to git config: %w", key, err)
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

// initKey makes or finds the key and pins it here.
func (a *app) initKey(ctx context.Context, repo *refs.Repo, name string, person bool) (string, error) {
	public, fresh, err := a.initPublic(ctx, a.signerOptions(repo, name), name)
	if err != nil {
		return "", err
	}
	trust, err := a.loadTrust(repo)
	if err != nil {
		return "", err
	}
	if fresh {
		a.tellOfLostKeys(trust, name, public.KID())
	}
	entry := sign.Entry{KID: public.KID(), Key: public.Text(), Agents: []string{name}, Roles: []string{sign.RoleSender, sign.RoleRecipient}}
	if person {
		entry.Agents, entry.Roles, entry.Principals = nil, []string{sign.RoleRoot}, []string{"user:" + name}
	} else if err := handoff.CheckAgent(name); err != nil {
		return "", usage("%v", err).WithHints(fault.Fact("an agent's name looks like fixer or ci-bot.2"))
	}
	if key, ok := trust.Lookup(entry.KID); ok && covers(key.Entry(), entry) {
		return entry.KID, nil
	}
	return entry.KID, trust.Add(a.trustPath(repo), entry)
}

// initPublic finds the key that was named, or makes one.
func (a *app) initPublic(ctx context.Context, opts sign.Options, name string) (public sign.PublicKey, fresh bool, err error) {
	if opts.Key == "" && opts.Env == "" {
		return a.makeKey(name)
	}
	signer, err := sign.OpenSigner(ctx, opts)
	if err != nil {
		return public, false, err
	}
	return signer.Public(), false, nil
}

// tellOfLostKeys says that a new key is not the one that others trust under its name.
func (a *app) tellOfLostKeys(trust *sign.Trust, name string, kid sign.KID) {
	var old []string
	for _, e := range trust.Entries() {
		if e.KID != kid && e.Retired == "" && (slices.Contains(e.Agents, name) || slices.Contains(e.Principals, "user:"+name)) {
			old = append(old, e.KID)
		}
	}
	if len(old) > 0 {
		a.Warn(fmt.Errorf("%s has a new key, %s; trusted under that name is %s, which is not in the keystore here: "+
			"who trusts that one does not believe the new one before githandoff trust add", name, kid, strings.Join(old, ", ")))
	}
}

// covers reports whether a pinned entry says all of another already.
func covers(have, want sign.Entry) bool {
	all := func(have, want []string) bool {
		return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
	}
	return have.Retired == "" && all(have.Agents, want.Agents) && all(have.Roles, want.Roles) && all(have.Principals, want.Principals)
}

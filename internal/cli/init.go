package cli

import (
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
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

type initOptions struct {
	person string
	hooks  bool
}

func newInit(a *app) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [--as AGENT | --person MAIL]",
		Short: "Make this worktree the place of an agent: name, key, trust, git settings",
		Long: `Names the agent that works in this worktree, makes its key (OpenPGP Ed25519,
without passphrase, in $XDG_DATA_HOME/githandoff/keys) unless there is one,
trusts that key here as sender and recipient, and pins which repository each
remote is. Running it again changes nothing that is right already.`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runInit(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.person, "person", "", "set up a person, `MAIL`, who decides and issues authority")
	cmd.Flags().BoolVar(&o.hooks, "hooks", false, "install the git hooks as well")
	return cmd
}

func (a *app) runInit(ctx context.Context, o initOptions) error {
	repo, err := a.openRepo(ctx)
	if err != nil {
		return err
	}
	if o.person != "" && a.as != "" {
		return usage("--as and --person: one of them")
	}
	name := o.person
	if name == "" {
		if name, err = a.identity(repo); err != nil {
			return err
		}
	} else if !strings.Contains(name, "@") {
		return usage("--person %s: want a mail address", printable(name))
	}
	aliases := crossrepo.Aliases{Repo: repo}
	if err := a.initDirs(repo); err != nil {
		return err
	}
	if err := a.initConfig(ctx, repo, aliases); err != nil {
		return err
	}
	kid, err := a.initKey(ctx, repo, name, o.person != "")
	if err != nil {
		return err
	}
	if err := lifecycle.WriteFile(repo.OwnWorktree("agent"), []byte(name+"\n")); err != nil {
		return err
	}
	if a.key != "" {
		if err := lifecycle.WriteFile(repo.OwnWorktree("key"), []byte(a.key+"\n")); err != nil {
			return err
		}
	}
	if err := unexcludeDraft(repo); err != nil {
		a.warn(err)
	}
	if o.hooks {
		if err := a.installHooks(ctx); err != nil {
			return err
		}
	}
	if a.json {
		a.object(a.Stdout, initRow{name, kid, repo.Config.Get("handoff.repoid")})
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s  %s\n", name, kid)
	return nil
}

func (a *app) initDirs(repo *refs.Repo) error {
	for _, dir := range []string{repo.Own(""), repo.OwnWorktree("claims")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fault.New(fault.Unavailable, "read_only", "set up githandoff: %w", err).
				WithHints(fault.Run("ls", "-ld", repo.GitDir).Because("says who owns the repository; it must be writable for this user"))
		}
	}
	return nil
}

// initConfig pins who this repository and its remotes are, keeps handoffs out
// of the ordinary refspecs, and lets plain git show and keep the notes.
func (a *app) initConfig(ctx context.Context, repo *refs.Repo, aliases crossrepo.Aliases) error {
	for _, name := range aliases.Names() {
		if _, err := aliases.Get(ctx, name); fault.Is(err, "mirror_remote") {
			return err
		} else if err != nil {
			a.warn(err)
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
		if !slices.Contains(repo.Config["remote."+remote+".fetch"], keepOut) {
			if err := a.addConfig(ctx, repo, "remote."+remote+".fetch", keepOut); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"notes.displayref", "notes.rewriteref"} {
		if !slices.Contains(repo.Config[key], refs.NotesRef) {
			if err := a.addConfig(ctx, repo, key, refs.NotesRef); err != nil {
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
	f, err := os.OpenFile(marker, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
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
		b, err := os.ReadFile(marker)
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
	for try := 0; ; try++ {
		_, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--add", key, value}, Finish: true})
		if err == nil {
			repo.Config[key] = append(repo.Config[key], value)
			return nil
		}
		if try == 8 {
			return fault.New(fault.Unavailable, "config", "write %s to git config: %w", key, err)
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

// initKey makes or finds the key and pins it here.
func (a *app) initKey(ctx context.Context, repo *refs.Repo, name string, person bool) (string, error) {
	public, err := a.initPublic(ctx, a.signerOptions(repo, name), name)
	if err != nil {
		return "", err
	}
	trust, err := a.loadTrust(repo)
	if err != nil {
		return "", err
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
func (a *app) initPublic(ctx context.Context, opts sign.Options, name string) (sign.PublicKey, error) {
	if opts.Key == "" && opts.Env == "" {
		public, _, err := a.makeKey(name)
		return public, err
	}
	signer, err := sign.OpenSigner(ctx, opts)
	if err != nil {
		return sign.PublicKey{}, err
	}
	return signer.Public(), nil
}

// covers reports whether a pinned entry says all of another already.
func covers(have, want sign.Entry) bool {
	all := func(have, want []string) bool {
		return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
	}
	return have.Retired == "" && all(have.Agents, want.Agents) && all(have.Roles, want.Roles) && all(have.Principals, want.Principals)
}

// keepOut is the refspec that keeps "git fetch --prune" off our refs.
const keepOut = "^refs/handoffs/*"

package initrepo

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// SignCommits lets git sign commits in this worktree with the key of its agent, as
// docs/guard.md says. Where a clone has several worktrees, the settings are those of this
// one alone.
func (h *Handler) SignCommits(ctx context.Context, repo *refs.Repo, r Request, kid sign.KID) error {
	settings := [][2]string{{"commit.gpgSign", "true"}}
	if fingerprint, ok := strings.CutPrefix(kid, "openpgp:"); ok {
		if err := h.importKey(ctx, repo, r.Agent); err != nil {
			return err
		}
		settings = append(settings, [2]string{"gpg.format", "openpgp"}, [2]string{"user.signingKey", fingerprint})
	} else {
		if r.Key == "" || !filepath.IsAbs(r.Key) {
			return fault.New(fault.Usage, fault.BadUsage, "git signs with an SSH key from its file").
				WithHints(fault.SeeAll("init").Because("--key takes the absolute path of that file"))
		}
		settings = append(settings, [2]string{"gpg.format", "ssh"}, [2]string{"user.signingKey", r.Key})
	}
	own, err := ownSettings(ctx, repo)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if err := own.Set(ctx, s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// importKey puts the agent's key beside the keys in the keyring of gpg.
func (h *Handler) importKey(ctx context.Context, repo *refs.Repo, name string) error {
	path := filepath.Join(h.KeyDir, name+".asc")
	secret, err := private.Read(path, private.Others|0o044, sign.MaxKey)
	if err != nil {
		return fault.New(fault.NotFound, fault.NoKey, "the key of %s is not in a file here, so it cannot be given to gpg: %w", name, err).
			WithHints(fault.Fact("git can already use a key behind gpg-agent: git config user.signingKey"))
	}
	_, err = repo.Runner.Run(ctx, gitexec.Cmd{
		Name: cmp.Or(repo.Config.Get("gpg.program"), "gpg"), Args: []string{"--batch", "--no-tty", "--quiet", "--pinentry-mode", "error", "--import"},
		Stdin: strings.NewReader(string(secret)), Timeout: gitexec.SignerTimeout,
	})
	if err != nil {
		return fault.New(fault.Unavailable, fault.SignerUnavailable, "give the key of %s to gpg: %w", name, err)
	}
	return nil
}

// ownSettings returns the settings of this worktree: those of the repository, unless it has linked
// worktrees.
func ownSettings(ctx context.Context, repo *refs.Repo) (gitconfig.Settings, error) {
	shared := gitconfig.Of(repo)
	linked, err := os.ReadDir(filepath.Join(repo.CommonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return shared, err
	}
	if len(linked) == 0 {
		return shared, nil
	}
	return gitconfig.OfWorktree(repo), shared.Set(ctx, "extensions.worktreeConfig", "true")
}

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
	"githandoff/internal/workspace"
)

// SignCommits lets git sign commits in this worktree with the key of its agent, as
// docs/guard.md says. Where a clone has several worktrees, the settings are those of this
// one alone.
func (h *Handler) SignCommits(ctx context.Context, repo *refs.Repo, agent string, key sign.PublicKey) error {
	named := workspace.KeyOf(repo, agent)
	format, signing := "openpgp", strings.TrimPrefix(key.KID(), "openpgp:")
	switch {
	case !key.IsSSH():
		if err := h.importKey(ctx, repo, named, key.KID()); err != nil {
			return err
		}
	case filepath.IsAbs(named):
		format, signing = "ssh", named
	default: // ssh-agent has the key
		format, signing = "ssh", sshLiteral(key)
	}
	own := gitconfig.Of(repo)
	linked, err := os.ReadDir(filepath.Join(repo.CommonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(linked) > 0 {
		if own, err = gitconfig.OfWorktree(ctx, repo); err != nil {
			return err
		}
	}
	for _, s := range [][2]string{{"commit.gpgSign", "true"}, {"gpg.format", format}, {"user.signingKey", signing}} {
		if err := own.Set(ctx, s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// sshLiteral spells a public SSH key for user.signingKey. git before 2.35 knows no "key::".
func sshLiteral(key sign.PublicKey) string {
	line := strings.TrimSpace(key.Text())
	if strings.HasPrefix(line, "ssh-") {
		return line
	}
	return "key::" + line
}

// importKey puts an OpenPGP key beside the keys in the keyring of gpg, from the named file or from the
// keystore. If neither has it, gpg has it already.
func (h *Handler) importKey(ctx context.Context, repo *refs.Repo, named string, kid sign.KID) error {
	path := named
	if !filepath.IsAbs(path) {
		var err error
		if path, err = h.Keystore.File(kid); fault.Is(err, fault.NoKey) {
			return nil
		} else if err != nil {
			return err
		}
	}
	secret, err := private.Read(path, private.Others|0o044, sign.MaxKey)
	if err != nil {
		return fault.New(fault.NotFound, fault.NoKey, "read the key for gpg: %w", err)
	}
	_, err = repo.Runner.Run(ctx, gitexec.Cmd{
		Name: cmp.Or(repo.Config.Get("gpg.program"), "gpg"), Args: []string{"--batch", "--no-tty", "--quiet", "--pinentry-mode", "error", "--import"},
		Stdin: strings.NewReader(string(secret)), Timeout: gitexec.SignerTimeout,
	})
	if err != nil {
		return fault.New(fault.Unavailable, fault.SignerUnavailable, "give the key of %s to gpg: %w", path, err)
	}
	return nil
}

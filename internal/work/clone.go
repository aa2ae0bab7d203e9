package work

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Located is a claim, and the worktree of the clone that holds it.
type Located struct {
	*Claim `json:"claim"`
	GitDir string `json:"git_dir"` // git directory of the worktree; "" if git has forgotten it
}

// OfClone returns the held claims of all worktrees of a clone.
func OfClone(repo *refs.Repo) (held []Located, err error) {
	main := Claims{GitDir: repo.CommonDir, Common: repo.CommonDir}
	own, err := main.Held()
	if err != nil {
		return nil, err
	}
	for _, h := range own {
		held = append(held, Located{Claim: h, GitDir: repo.CommonDir})
	}
	linked, err := Claims{GitDir: repo.GitDir, Common: repo.CommonDir}.linked()
	for _, o := range linked {
		if o.Held() {
			held = append(held, *o)
		}
	}
	return held, err
}

// Worktree returns the directory of the worktree, and whether its files are missing without "git worktree lock"; "" if
// git has forgotten it.
func (l Located) Worktree() (dir string, missing bool, err error) {
	if l.GitDir == "" {
		return "", false, nil
	}
	link, err := refs.LinkOf(l.GitDir)
	if errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSuffix(l.GitDir, "/.git"), false, nil // the main worktree has no file that links to it
	}
	if err != nil {
		return "", false, err
	}
	if _, err := os.Stat(filepath.Join(l.GitDir, "locked")); err == nil {
		return filepath.Dir(link), false, nil // its user says that it will come back
	}
	_, err = os.Stat(link)
	return filepath.Dir(link), errors.Is(err, fs.ErrNotExist), nil
}

// OnlyGitMissing reports whether a worktree that counts as missing still has its directory.
func OnlyGitMissing(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// ifDeleted mends a claim in a worktree whose files are missing. "git worktree prune" would take the claims of all
// such worktrees, also of those in other containers. If only its file .git is missing, git does not remove it.
func ifDeleted(dir string) fault.Hint {
	if OnlyGitMissing(dir) {
		return fault.Run("git", "worktree", "repair").Because("writes the missing file .git of %s again", dir)
	}
	return fault.Run("git", "worktree", "remove", dir).Because("if it was deleted: then githandoff resume continues the claim here")
}

// HeldElsewhere refuses a step on a handoff held outside this worktree. It names the worktree of
// this clone that holds it; if that is gone, and this agent's, the hint continues it here.
func (w *Held) HeldElsewhere(s *lifecycle.State) error {
	by := w.Verifier.Author
	held, err := OfClone(w.Verifier.Repo)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(held, func(l Located) bool { return l.ID == s.ID && l.Is(s.Claim) })
	if i < 0 {
		return by.HeldBy(s)
	}
	dir, missing, err := held[i].Worktree()
	switch own := held[i].Actor == w.Agent && held[i].Key == by.Signer.KID(); {
	case err != nil || (dir == "" || missing) && !own:
		return by.HeldBy(s)
	case dir == "":
		return fault.New(fault.Conflict, fault.NotHolder, "handoff %s is held by %s in a worktree that was removed", s.ID, s.Claim.Actor).
			WithHints(fault.Run("githandoff", "resume", string(s.ID)).Because("continues it here"))
	}
	hint := fault.Run("githandoff", "-C", dir, "status").Because("shows it there")
	if missing {
		hint = ifDeleted(dir)
	}
	return fault.New(fault.Conflict, fault.NotHolder, "handoff %s is held by %s in another worktree, until %s", s.ID, s.Claim.Actor, handoff.FormatTime(s.Lease)).
		WithHints(hint)
}

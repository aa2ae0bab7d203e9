// Package initrepo makes a worktree the place of an agent: its name, its key, the list of trusted
// keys, and the git settings for handoffs and notes.
package initrepo

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// Request says which agent or person a worktree is for.
type Request struct {
	Agent        string // name of the agent, or mail address of a person
	Person       bool
	Key          string // key to sign with; "" for the key of the name
	Notes        bool   // let git log show the notes
	Force        bool   // take the worktree over from another agent
	AllWorktrees bool   // also name the agent for worktrees where init never ran
}

// Result is a worktree set up for its agent.
type Result struct {
	Agent  string
	Key    sign.PublicKey
	RepoID string
	Fresh  bool // the worktree had another agent before, or none
	Other  bool // the key is new here
}

// Handler sets up worktrees.
type Handler struct {
	// Key finds the key named by the request, or the key of the name; made is true for a new one.
	Key func(ctx context.Context, repo *refs.Repo, name string) (public sign.PublicKey, made bool, err error)

	Keystore sign.Keystore
	Trust    func(repo *refs.Repo) (*sign.Trust, error) // returns the keys pinned in the repository
	Now      func() time.Time
	Random   io.Reader
	Warn     func(error)
}

// SetUp sets up a worktree. Doing it again changes nothing if all is right.
func (h *Handler) SetUp(ctx context.Context, repo *refs.Repo, r Request) (*Result, error) {
	if err := mayTake(repo, r); err != nil {
		return nil, err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	if err := refuseMirror(aliases); err != nil {
		return nil, err
	}
	key, err := h.key(ctx, repo, r) // without a key, the repository stays as it was
	if err != nil {
		return nil, err
	}
	if err := makeDirs(repo); err != nil {
		return nil, err
	}
	if err := h.configure(ctx, repo, aliases, r.Notes); err != nil {
		return nil, err
	}
	if err := key.pin(repo, h.Now()); err != nil {
		return nil, err
	}
	before, err := workspace.AgentOf(repo)
	if err != nil {
		return nil, err
	}
	if err := writeNames(ctx, repo, r, before); err != nil {
		return nil, err
	}
	if err := unexcludeDraft(repo); err != nil {
		h.Warn(err)
	}
	return &Result{r.Agent, key.public, repo.Config.Get("handoff.repoid"), before != r.Agent, key.other}, nil
}

// writeNames stores which agent works here, and with which key. The key of the former agent is
// removed.
func writeNames(ctx context.Context, repo *refs.Repo, r Request, before string) error {
	if before != r.Agent {
		if err := os.Remove(repo.OwnWorktree("key")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := private.WriteFile(repo.OwnWorktree("agent"), []byte(r.Agent+"\n")); err != nil {
		return err
	}
	key, err := sign.AbsoluteKey(r.Key)
	if err != nil {
		return err
	}
	if key != "" {
		if err := private.WriteFile(repo.OwnWorktree("key"), []byte(key+"\n")); err != nil {
			return err
		}
	}
	if !r.AllWorktrees {
		return nil
	}
	settings := gitconfig.Of(repo)
	if key != "" {
		err = settings.Set(ctx, "handoff.key", key)
	} else {
		err = settings.Unset(ctx, "handoff.key")
	}
	if err != nil {
		return err
	}
	return settings.Set(ctx, "handoff.agent", r.Agent)
}

// mayTake refuses to give a worktree to another agent: its commands would be signed with
// another key from then on, and its claims would be lost.
func mayTake(repo *refs.Repo, r Request) error {
	now, err := workspace.AgentOf(repo)
	if err != nil {
		return err
	}
	if now == "" || now == r.Agent || r.Force {
		return nil
	}
	f := fault.New(fault.Conflict, fault.WorktreeTaken, "this worktree belongs to %s", untrusted.Line(now))
	if r.Person {
		return f.WithHints(fault.Run("githandoff", "key", "generate", r.Agent).
			Because("makes the key of %s, and leaves this worktree to %s", r.Agent, now))
	}
	return f.WithHints(
		fault.Run("githandoff", "--as", now, "status").Because("lists the handoffs that %s holds here", now),
		fault.See("init").Because("--force gives this worktree to %s, once %s holds nothing here", r.Agent, now),
	)
}

func makeDirs(repo *refs.Repo) error {
	for _, dir := range []string{repo.Own(""), repo.OwnWorktree("claims")} {
		if err := private.MakeDir(dir); err != nil {
			return fault.New(fault.Unavailable, fault.ReadOnly, "set up githandoff: %w", err).
				WithHints(refs.WhoMayWrite(repo.GitDir))
		}
	}
	return nil
}

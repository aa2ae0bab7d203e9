package crossrepo

import (
	"context"
	"sync"

	"githandoff/internal/gitexec"
	"githandoff/internal/sshshare"
)

// sharedSSH is the decision about the connections to one hub, made once a command.
type sharedSSH struct {
	once sync.Once
	is   sshshare.Sharing
}

// SSHSharing says whether the ssh connections to a hub are shared.
func SSHSharing(ctx context.Context, h *Hub) sshshare.Sharing { return sharing(ctx, &h.remote) }

func sharing(ctx context.Context, h *remote) sshshare.Sharing {
	h.ssh.once.Do(func() { h.ssh.is = sshshare.For(ctx, h.Repo, h.Alias.URL) })
	return h.ssh.is
}

// connect runs a git that talks to the hub.
func connect(ctx context.Context, h *remote, c gitexec.Cmd) ([]byte, error) {
	c.Env = append(c.Env, sharing(ctx, h).Env...)
	return h.Repo.Runner.Run(ctx, c)
}

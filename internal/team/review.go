package team

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/sign"
)

// FetchKeys fetches the keys published at a hub, and remembers them.
func (t *Team) FetchKeys(ctx context.Context, hub *crossrepo.Hub) error {
	if err := hub.FetchPublished(ctx, keysOf(hub.Namespace())); err != nil {
		return err
	}
	_, err := t.rememberKeys(ctx, hub, "")
	return err
}

// Review fetches the keys published at these hubs, or at all of them, and lists the ones neither
// trusted here nor refused. unread is the first error of a hub.
func (t *Team) Review(ctx context.Context, aliases []string) (unpinned []sign.PublicKey, unread, err error) {
	if len(aliases) == 0 {
		aliases = t.Aliases.Names()
	}
	for _, name := range aliases {
		hub, err := t.Workspace.Hub(ctx, name)
		if err == nil {
			err = t.FetchKeys(ctx, hub)
		}
		if err != nil && unread == nil {
			unread = err
		} else if err != nil {
			t.Workspace.Warn(err)
		}
	}
	unpinned, err = t.Unpinned(ctx)
	return unpinned, unread, err
}

// PublishOwn publishes a key at a hub not known to have it.
func (t *Team) PublishOwn(ctx context.Context, hub *crossrepo.Hub, public sign.PublicKey) error {
	if there, err := hub.Repo.Resolve(ctx, keysOf(hub.Namespace())+sign.Hex(public.KID())); err != nil || there != "" {
		return err
	}
	_, err := t.PublishKey(ctx, hub, public)
	return err
}

package team

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/sign"
)

// FetchKeys brings in the keys that are published at a hub, and remembers them.
func (t *Team) FetchKeys(ctx context.Context, hub *crossrepo.Hub) error {
	if err := hub.FetchPublished(ctx, keysOf(hub.Namespace())); err != nil {
		return err
	}
	_, err := t.rememberKeys(ctx, hub)
	return err
}

// Review fetches the keys that are published at these hubs, or at all of them, and lists the
// ones that are not trusted here and were not refused. unread is the first error of a hub.
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

// PublishOwn puts a key at a hub that is not known to have it.
func (t *Team) PublishOwn(ctx context.Context, hub *crossrepo.Hub, public sign.PublicKey) error {
	if there, err := hub.Repo.Resolve(ctx, keysOf(hub.Namespace())+sign.Hex(public.KID())); err != nil || there != "" {
		return err
	}
	_, err := t.PublishKey(ctx, hub, public)
	return err
}

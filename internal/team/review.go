package team

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
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

// PublishOwn publishes an agent's own key at a hub: the first time if the hub is not known to have
// it, and later if the known copy there lacks something of it, such as a later end.
func (t *Team) PublishOwn(ctx context.Context, hub *crossrepo.Hub, public sign.PublicKey, first bool) error {
	there, err := keyIn(ctx, t.Repo, keysOf(hub.Namespace())+sign.Hex(public.KID()), public.KID())
	if err == nil && there.Holds(public) || fault.Is(err, fault.NoKey) && !first {
		return nil
	}
	_, err = t.PublishKey(ctx, hub, public)
	return err
}

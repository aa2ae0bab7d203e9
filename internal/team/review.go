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

// PublishOwn puts a key at a hub that is not known to have it.
func (t *Team) PublishOwn(ctx context.Context, hub *crossrepo.Hub, public sign.PublicKey) error {
	if there, err := hub.Repo.Resolve(ctx, keysOf(hub.Namespace())+sign.Hex(public.KID())); err != nil || there != "" {
		return err
	}
	_, err := t.PublishKey(ctx, hub, public)
	return err
}

package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/sign"
)

// FetchKeys brings in the keys that are published at a hub, and remembers them.
func FetchKeys(ctx context.Context, d *Workspace, hub *crossrepo.Hub) error {
	if err := hub.FetchPublished(ctx, keysOf(hub.Space())); err != nil {
		return err
	}
	_, err := d.rememberKeys(ctx, hub)
	return err
}

// PublishOwn puts a key at a hub that is not known to have it.
func PublishOwn(ctx context.Context, d *Workspace, hub *crossrepo.Hub, public sign.PublicKey) error {
	if there, err := d.Repo.Resolve(ctx, keysOf(hub.Space())+sign.Hex(public.KID())); err != nil || there != "" {
		return err
	}
	_, err := d.PublishKey(ctx, hub, public)
	return err
}

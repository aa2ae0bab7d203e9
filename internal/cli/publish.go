package cli

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/team"
)

// publish puts a public key at a hub, for whoever gets its fingerprint from
// its owner.
func (c *keyCommand) publish(ctx context.Context) error {
	public, err := c.publicKey(ctx)
	if err != nil {
		return err
	}
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	hub, err := d.Hub(ctx, c.to)
	if err != nil {
		return err
	}
	ref, err := team.New(d).PublishKey(ctx, hub, public)
	if err != nil {
		return err
	}
	r := keyRowOf(c.keystore(), "", public, d.Engine.Keys.Trust)
	r.Ref = ref
	return c.Row(r, "%s", ref)
}

// publish signs what is trusted here as the list of a hub's team.
func (c *trustCommand) publish(ctx context.Context) error {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	hub, err := d.Hub(ctx, c.to)
	if err != nil {
		return err
	}
	team, err := team.New(d).Publish(ctx, hub)
	if err != nil {
		return err
	}
	if team == nil {
		c.Say("%s already has this list", c.to)
		return nil
	}
	return c.Row(teamRow{c.to, len(team.Keys), int64(team.Serial)},
		"%s  list %d, %s", c.to, team.Serial, fault.Count(len(team.Keys), "key"))
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

// publish puts a public key at a hub, for whoever gets its fingerprint from
// its owner.
func (c *keyCommand) publish(ctx context.Context, arg, alias string) error {
	public, err := c.publicKey(ctx, arg)
	if err != nil {
		return err
	}
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	hub, err := d.Hub(ctx, alias)
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
func (c *trustCommand) publish(ctx context.Context, alias string) error {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	hub, err := d.Hub(ctx, alias)
	if err != nil {
		return err
	}
	team, err := team.New(d).Publish(ctx, hub)
	if err != nil {
		return err
	}
	if team == nil {
		c.Say("%s already has this list", alias)
		return nil
	}
	return c.Row(teamRow{alias, len(team.Keys), int64(team.Serial)},
		"%s  list %d, %s", alias, team.Serial, fault.Count(len(team.Keys), "key"))
}

// pinHint is how a published key is pinned. Its user id is the word of its owner,
// whom somebody has to ask first.
func pinHint(public sign.PublicKey) fault.Hint {
	name, _, _ := strings.Cut(public.UserID(), " ")
	if handoff.CheckAgent(name) != nil || sign.UserID(name) != public.UserID() {
		return fault.See("trust add").Because("pins %s, once its owner has confirmed that fingerprint", public.KID())
	}
	return fault.Run("githandoff", "trust", "add", public.KID(), "--agent", name).
		Because("only after the owner of %s has confirmed that fingerprint", name)
}

// checkPublished names the published keys that nobody pinned here: no problem,
// but perhaps why somebody's work is not believed.
func (d *doctor) checkPublished(ctx context.Context) {
	desk, err := d.desk(ctx, reads)
	if err != nil {
		return // another check says why
	}
	unpinned, err := team.New(desk).Unpinned(ctx)
	if err != nil {
		d.problem("published", err)
		return
	}
	for _, public := range unpinned {
		says := "it does not say whose"
		if id := public.UserID(); id != "" {
			says = "it claims to belong to " + id
		}
		hints := d.Pasted([]fault.Hint{pinHint(public)})
		d.report(finding{
			Check: "published", Status: "ok", Message: fmt.Sprintf("key %s is published and not trusted here; %s", public.KID(), says),
			Hint: output.First(hints), Hints: hints,
		})
	}
}

// checkTrust counts the keys that are trusted here, and names those that their
// owners revoked.
func (d *doctor) checkTrust(trust *sign.Trust) {
	entries := trust.Entries()
	d.ok("trust", "%s", fault.Count(len(entries), "key"))
	for _, e := range entries {
		k, _ := trust.Lookup(e.KID)
		if err := k.Revoked(d.Now()); err != nil && e.Retired == "" {
			d.problem("trust", fault.New(fault.Denied, fault.KeyRevoked, "%w", err).
				WithHints(fault.Run("githandoff", "trust", "remove", e.KID).Because("retires it here too; the revocation decides which of its signatures count")))
		}
	}
}

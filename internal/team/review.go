package team

import (
	"context"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// fetchKeys fetches the keys published at a hub, and remembers them.
func (t *Team) fetchKeys(ctx context.Context, hub *crossrepo.Hub) error {
	if err := hub.Fetch(ctx, lifecycle.FetchSpec{Published: []string{keysOf(hub.Namespace())}, Few: t.Pinned(hub)}); err != nil {
		return err
	}
	_, err := t.rememberKeys(ctx, hub, "")
	return err
}

// Review fetches the keys published at these hubs, or at all of them, and lists the ones neither
// trusted here nor refused, and how many more there may be. unread is the first error of a hub.
func (t *Team) Review(ctx context.Context, aliases []string) (unpinned []sign.PublicKey, more int, unread, err error) {
	if len(aliases) == 0 {
		aliases = t.Aliases.Names()
	}
	for _, name := range aliases {
		hub, err := t.Workspace.Hub(ctx, name)
		if err == nil {
			err = t.fetchKeys(ctx, hub)
		}
		if err != nil && unread == nil {
			unread = err
		} else if err != nil {
			t.Workspace.Warn(err)
		}
	}
	unpinned, more, err = t.Unpinned(ctx)
	return unpinned, more, unread, err
}

// PublishOwn publishes an agent's own key at a hub: the first time if the hub is not known to have
// it, and later if the known copy there lacks something of it, such as a later end.
func (t *Team) PublishOwn(ctx context.Context, hub *crossrepo.Hub, public sign.PublicKey, first bool) error {
	there, err := keyIn(ctx, t.Engine.Repo, keysOf(hub.Namespace())+sign.Hex(public.KID()), public.KID())
	if err == nil && there.Holds(public) || fault.Is(err, fault.NoKey) && !first {
		return nil
	}
	_, err = t.PublishKey(ctx, hub, public)
	return err
}

// Claimed returns the agent named in a key; not ok without a name in the form of githandoff's keys.
// It is an unproved claim by the maker of the key.
func Claimed(public sign.PublicKey) (agent string, ok bool) {
	agent, _, _ = strings.Cut(public.UserID(), " ")
	return agent, handoff.CheckAgent(agent) == nil && sign.UserID(agent) == public.UserID()
}

// Says tells whose a key claims to be.
func Says(public sign.PublicKey) string {
	if public.UserID() == "" {
		return "it does not say whose"
	}
	return "it claims to belong to " + untrusted.Owner(public.UserID())
}

// PinHint returns the command to pin a published key, once its alleged owner has been asked.
func PinHint(public sign.PublicKey) fault.Hint {
	name, ok := Claimed(public)
	if !ok {
		return fault.See("trust add").Because("pins %s, once its owner has confirmed that fingerprint", public.KID())
	}
	return fault.Run("githandoff", "trust", "add", public.KID(), "--agent", name).
		Because("only after the owner of %s has confirmed that fingerprint", name)
}

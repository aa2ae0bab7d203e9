package join

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/invite"
)

// sharedURL returns the URL of a hub for others: absolute, and without a user or password, which
// could be a secret. It must lead to the same repository there.
func sharedURL(al *crossrepo.Alias) (string, error) {
	shared := string(al.URL)
	if path, ok := al.Path(); ok {
		if shared = path; strings.ContainsFunc(path, invite.Forbidden) {
			shared = (&url.URL{Scheme: "file", Path: path}).String()
		}
	} else if u, err := url.Parse(shared); err == nil && u.Host != "" {
		if strings.HasPrefix(u.Scheme, "http") {
			u.User = nil
		} else if u.User != nil {
			u.User = url.User(u.User.Username())
		}
		shared = u.String() // String escapes blanks
	}
	id, err := crossrepo.RepoID(shared, "/")
	if err == nil && id != al.RepoID {
		err = fault.New(fault.Denied, fault.AudienceMismatch, "%s is pinned as %s here, but others would derive %s from its URL", al.Name, al.RepoID, id).
			WithHints(fault.Run("githandoff", "repo", "add", al.Name, al.URL.Bare(), "--id", id, "--id", al.RepoID).
				Because("has new records name it as others do, and keeps the other id"))
	}
	return shared, err
}

// Finish pins the joiners at these hubs, and reports each; no alias means all hubs. A joiner of a
// team is added to its list, if this agent's key is the inviting root. Without an open invitation
// it does nothing.
func (h *Handler) Finish(ctx context.Context, aliases []string, tell func(one Joined, listed bool)) error {
	open, err := h.Memory.All()
	if err != nil {
		return err
	}
	var first error
	var done []string
	for _, k := range open {
		if slices.Contains(done, k.Home) || len(aliases) > 0 && !slices.Contains(aliases, k.Alias) {
			continue
		}
		done = append(done, k.Home)
		first = cmp.Or(first, h.admit(ctx, k.Alias, tell))
	}
	return first
}

func (h *Handler) admit(ctx context.Context, alias string, tell func(Joined, bool)) error {
	hub, err := h.Workspace.Hub(ctx, alias)
	if err != nil {
		return err
	}
	joined, err := h.finishAt(ctx, crossrepo.Invites{Hub: hub})
	for _, j := range joined {
		tell(j, h.Signer.KID() == j.Inviter || j.Kind != invite.Team)
	}
	return errors.Join(err, h.list(ctx, hub))
}

// list publishes the list of the team if somebody joined it with an invitation of this agent's
// key. Another agent of this clone may have synced when that happened.
func (h *Handler) list(ctx context.Context, hub *crossrepo.Hub) error {
	kept, err := h.Memory.At(hub.ID())
	kept = slices.DeleteFunc(kept, func(k Kept) bool { return !k.Unlisted || k.By != h.Signer.KID() })
	if err != nil || len(kept) == 0 {
		return err
	}
	if _, err := h.Team.Publish(ctx, hub); err != nil {
		return err
	}
	for _, k := range kept {
		if k.Unlisted = false; k.Over {
			err = errors.Join(err, h.Memory.Put(k))
		} else {
			err = errors.Join(err, h.Memory.Drop(k.ID))
		}
	}
	return err
}

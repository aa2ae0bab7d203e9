package join

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/invite"
	"githandoff/internal/refs"
)

// MeetingPlace returns the alias of the hub named by a code.
func MeetingPlace(ctx context.Context, repo *refs.Repo, code invite.Code) (*crossrepo.Alias, error) {
	if code.Prefix != "" {
		if err := crossrepo.CheckPrefix(code.Prefix); err != nil {
			return nil, err
		}
	}
	id, err := crossrepo.RepoID(code.URL, "/")
	if err != nil {
		return nil, err
	}
	al, err := crossrepo.Aliases{Repo: repo}.ByID(ctx, id)
	if fault.Is(err, fault.UnknownHome) {
		return nil, fault.New(fault.NotFound, fault.UnknownHome, "this is not a clone of %s", crossrepo.URL(code.URL)).
			WithHints(fault.Run("git", "clone", "--", code.URL).Because("makes one, outside this directory; run the same line there"),
				fault.See("repo add").Because("adds that hub, if this repository is to work with it"))
	}
	return al, err
}

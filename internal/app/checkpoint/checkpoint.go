// Package checkpoint finds the commit to which a handoff can be rolled back.
package checkpoint

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// nearest names the handoff with the checkpoint for another one: itself, or its nearest ancestor
// with one; "" if there is none here.
func nearest(ctx context.Context, ws *workspace.Workspace, arg string) (handoff.ID, error) {
	f, err := ws.Find(ctx, arg, workspace.Never)
	if err != nil {
		return "", err
	}
	id := f.State.ID
	for range handoff.MaxChain {
		if oid, err := ws.Repo.Resolve(ctx, refs.Checkpoint(id)); err != nil || oid != "" {
			return id, err
		}
		if f == nil {
			break // the parent of this handoff is not known here
		}
		if id = f.Parent(); id == "" {
			break
		}
		f, err = ws.Find(ctx, string(id), workspace.Never)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return "", err
		}
	}
	return "", nil
}

package lifecycle

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Home is the repository that decides who holds a handoff.
type Home interface {
	// ID is the repo id that new records name as their home.
	ID() string
	// Is reports whether a record that names this repo id belongs here.
	Is(repoID string) bool
	// Namespace is where the home's refs, or their copies, stand in this repository.
	Namespace() refs.Namespace
	// Refresh brings the copies up to date. In this repository it does nothing.
	Refresh(ctx context.Context, spec FetchSpec) error
	// LaneIsFresh reports whether the lane of id was read from the home itself in
	// this command, so that what it does not say is not there.
	LaneIsFresh(id handoff.ID) bool
	// Apply makes the transaction, whole or not at all. It returns a
	// *refs.StaleError when a ref had moved; the caller refreshes and decides
	// again.
	Apply(ctx context.Context, t refs.Transaction) error
}

// RemoteHome is a Home of which this repository has only copies.
type RemoteHome interface {
	Home
	// LooksFirst reports whether others are likely to have moved the lane of an id
	// since it was read, so that a first try without a look would be in vain.
	LooksFirst(ctx context.Context, id handoff.ID) bool
	// Refused says why the home's lane is not believed; nil if it is.
	Refused(lane string) error
	// LaneTip is where the copy of a lane stands, or will stand when the steps that wait
	// for a common push have been sent.
	LaneTip(ctx context.Context, lane string) (string, error)
	// Named returns the hints for a record that names another home than this one. A
	// repository can have more than one name.
	Named(repoID string) []fault.Hint
	// FetchWork fetches the snapshot of a handoff, which must be the commit oid.
	FetchWork(ctx context.Context, p Place, oid string) error
}

// FetchSpec says which part of a home is needed. The cost of a refresh depends on
// this alone, not on the size of the home.
type FetchSpec struct {
	Inboxes []string // whole inboxes of these agents
	Places  []Place  // single handoffs
	Lanes   []handoff.ID

	// Log brings the other lanes along, so that what they say of an id can be read
	// without another question. A clone that wants no history leaves them out.
	Log bool
	// Once leaves out the lanes that this command has brought already.
	Once bool
}

// covers reports whether s asks for all places and lanes of o.
func (s FetchSpec) covers(o FetchSpec) bool {
	for _, p := range o.Places {
		if !slices.Contains(s.Places, p) {
			return false
		}
	}
	for _, id := range o.Lanes {
		if !slices.ContainsFunc(s.Lanes, func(have handoff.ID) bool { return have.Lane() == id.Lane() }) {
			return false
		}
	}
	return true
}

// Place is a handoff and the agent whose inbox it is in, or was last.
type Place struct {
	Agent string
	ID    handoff.ID
}

// LocalHome is this repository as the home of its own handoffs.
type LocalHome struct {
	Repo   *refs.Repo
	RepoID string   // "local:<32 hex>"
	Paths  []string // under which others may know it: "git+file://<path>"
}

// ID implements Home.
func (h *LocalHome) ID() string { return h.RepoID }

// Is implements Home: a repository answers to its own id and to its path. Whoever
// pushes to it as a hub reaches the agents that work in it.
func (h *LocalHome) Is(repoID string) bool {
	return repoID == h.RepoID || slices.Contains(h.Paths, repoID)
}

// Namespace implements Home.
func (h *LocalHome) Namespace() refs.Namespace { return refs.LocalNamespace }

// Refresh implements Home.
func (h *LocalHome) Refresh(context.Context, FetchSpec) error { return nil }

// LaneIsFresh implements Home.
func (h *LocalHome) LaneIsFresh(handoff.ID) bool { return true }

// Apply implements Home.
func (h *LocalHome) Apply(ctx context.Context, t refs.Transaction) error {
	return h.Repo.Apply(ctx, t)
}

// elsewhere returns the hints for a record that names another home than the one where it
// lies.
func elsewhere(home Home, repoID string) []fault.Hint {
	if hub, ok := home.(RemoteHome); ok {
		return hub.Named(repoID)
	}
	return nil
}

// FetchSpecFor is the part of a home that edits touch.
func FetchSpecFor(home Home, edits []refs.Edit) FetchSpec {
	var spec FetchSpec
	for _, edit := range edits {
		if p, ok := home.Namespace().ParseHandoffRef(edit.Ref); ok {
			spec.Places = append(spec.Places, Place{Agent: p.Agent, ID: p.ID})
			spec.Lanes = append(spec.Lanes, p.ID)
		}
		// The end of a handoff whose inbox ref is gone moves only its lane.
		if name, ok := strings.CutPrefix(edit.Ref, home.Namespace().Lanes()); ok {
			spec.Lanes = append(spec.Lanes, handoff.ID(name))
		}
	}
	return spec
}

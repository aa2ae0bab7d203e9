package lifecycle

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Home is the repository where the holder of a handoff is decided.
type Home interface {
	// ID is the repo id of the home in new records.
	ID() string
	// Is reports whether a record with this repo id as its home belongs here.
	Is(repoID string) bool
	// Namespace is where the home's refs, or their copies, stand in this repository.
	Namespace() refs.Namespace
	// Refresh brings the copies up to date. In this repository it does nothing.
	Refresh(ctx context.Context, spec FetchSpec) error
	// LaneIsFresh reports whether the lane of id was read from the home itself in this command.
	// If so, an entry not found in it does not exist.
	LaneIsFresh(id handoff.ID) bool
	// Apply makes the transaction, whole or not at all. It returns a
	// *refs.StaleError when a ref had moved; the caller refreshes and decides
	// again.
	Apply(ctx context.Context, t refs.Transaction) error
}

// RemoteHome is a Home with only copies in this repository.
type RemoteHome interface {
	Home
	// LooksFirst reports whether a step should begin with a look: others are likely to have moved the
	// lane of an id since it was read, so a first try without one would be in vain.
	LooksFirst(ctx context.Context, id handoff.ID) bool
	// LaneTip is the tip of the copy of a lane, including steps still waiting for a common push. The
	// error says why the home's lane is not believed.
	LaneTip(ctx context.Context, lane string) (string, error)
	// WrongHome returns the hints for a record naming another home than this one. A repository can
	// have more than one name.
	WrongHome(repoID string) []fault.Hint
	// Moved asks a home that shows no log any more, and returns its refusal if it keeps its handoffs below
	// another prefix by now; nil if it does not, or does not answer.
	Moved(ctx context.Context) error
	// FetchWork fetches the snapshot of a handoff, which must be the commit oid.
	FetchWork(ctx context.Context, p Place, oid string) error
}

// FetchSpec says which part of a home is needed: what one fetch brings. It alone determines the cost of the
// fetch, not the size of the home.
type FetchSpec struct {
	Inboxes []string // agents whose inboxes are needed as a whole
	Places  []Place  // handoffs whose inbox refs are needed

	// Lanes are handoffs whose lanes are needed. The last two characters of an id are enough.
	Lanes []handoff.ID

	// Log brings the other lanes along, so they can be searched for an id without another fetch.
	// A clone that wants no history leaves them out.
	Log bool
	// Once leaves out the lanes already fetched by this command.
	Once bool
	// Lost brings what the copies of these places and lanes lack as well: a fetch alone does not
	// bring what their tips lead to.
	Lost bool

	// Further refs, for sync and audit.
	Published []string // copies of published refs; a trailing "/" means all refs below
	Few       []string // the refs below those that are needed even from a hub with too many
	Notes     bool
	Work      []Place    // snapshots that are here: their copies then say what the home has
	Memory    []refs.Ref // copies of lanes; those lanes are fetched one by one if the whole log is not fetched
}

// WholeHandoffs asks for the inbox refs and the lanes of some handoffs.
func WholeHandoffs(places ...Place) FetchSpec {
	spec := FetchSpec{Places: places}
	for _, p := range places {
		spec.Lanes = append(spec.Lanes, p.ID)
	}
	return spec
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
	RepoID string   // id of the repository: "local:<32 hex>"
	Paths  []string // further ids of the repository: "git+file://<path>"
}

// IsLocal reports whether a home is this repository.
func IsLocal(home Home) bool { return home.Namespace() == refs.LocalNamespace }

// ID implements Home.
func (h *LocalHome) ID() string { return h.RepoID }

// Is implements Home: a repository answers to its own id and to its path. Whoever pushes to it
// as a hub reaches the agents working in it.
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

// wrongHome returns the hints for a record found at another home than the one it names.
func wrongHome(home Home, repoID string) []fault.Hint {
	if hub, ok := home.(RemoteHome); ok {
		return hub.WrongHome(repoID)
	}
	return nil
}

// errNoPayload is returned for an open handoff whose payload the home does not have.
func errNoPayload(home Home, id handoff.ID) error {
	return fault.New(fault.NotFound, fault.UnknownHandoff, "handoff %s is open at %s, but its payload is missing", id, home.ID()).
		WithHints(fault.Fact("the next githandoff sync of its sender delivers it again"))
}

// whyNoPayload is like errNoPayload. A home that keeps its handoffs elsewhere by now says so.
func whyNoPayload(ctx context.Context, home Home, id handoff.ID) error {
	if hub, ok := home.(RemoteHome); ok {
		if err := hub.Moved(ctx); err != nil {
			return err
		}
	}
	return errNoPayload(home, id)
}

// FetchSpecFor returns the part of a home touched by edits.
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

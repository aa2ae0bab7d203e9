package refs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"githandoff/internal/handoff"
)

// NotesRef holds the notes pointing from code commits to handoffs.
const NotesRef = "refs/notes/handoffs"

// NotesPattern matches NotesRef alone, for notes.rewriteRef. git warns at each amend of a missing
// ref that is named there, but not of a pattern.
const NotesPattern = "refs/notes/handoff[s]"

// ShownRef holds the short notes shown by "git log", one line a handoff, after "githandoff init
// --notes". It is derived from NotesRef and never pushed.
const ShownRef = "refs/notes/handoffs-shown"

// NotesBelow is the name of notes that have no name of their own: of a hub's notes
// below its prefix, and of the copy of a hub's notes.
const NotesBelow = "notes"

// At returns the name of a ref of the format at a hub with handoffs below prefix; "" is the usual
// prefix. Other refs keep their names.
func At(prefix, ref string) string {
	if prefix == "" {
		return ref
	}
	if rest, ok := strings.CutPrefix(ref, Root); ok {
		return prefix + "/" + rest
	}
	if after, ok := strings.CutPrefix(ref, NotesRef); ok && (after == "" || after[0] == '/') {
		return prefix + "/" + NotesBelow + after
	}
	return ref
}

// Root is the prefix of everything owned by githandoff, besides NotesRef.
const Root = "refs/handoffs/"

// Namespace is a prefix under which a home's inbox and lanes stand: [LocalNamespace] for
// this repository, a tracking namespace for a hub. The shape below it is the same.
type Namespace string

// LocalNamespace is where this repository's own inbox and lanes are.
const LocalNamespace Namespace = Root

// TrackingNamespace holds the copies of a hub's refs: it is named by the hub's repo id, so a
// renamed remote forgets nothing.
func TrackingNamespace(repoID string) Namespace {
	sum := sha256.Sum256([]byte(repoID))
	return Namespace(Root + "remotes/" + hex.EncodeToString(sum[:6]) + "/")
}

// NamespaceOf returns the namespace in which a ref stands: that of the copies of a hub, or else
// that of this repository.
func NamespaceOf(name string) Namespace {
	rest, ok := strings.CutPrefix(name, Root+"remotes/")
	if !ok {
		return LocalNamespace
	}
	hash, _, _ := strings.Cut(rest, "/")
	return Namespace(Root + "remotes/" + hash + "/")
}

// IsCopy reports whether a ref is the copy of a hub's ref.
func IsCopy(name string) bool {
	return strings.HasPrefix(name, Root+"remotes/") || strings.HasPrefix(name, Root+"mirror/")
}

// MirrorNamespace holds the lanes of a hub as they were fetched last. They are not
// verified: verified lanes are copied to the tracking namespace.
func MirrorNamespace(repoID string) Namespace {
	return Namespace(Root + "mirror/" + strings.TrimPrefix(string(TrackingNamespace(repoID)), Root+"remotes/"))
}

// Inbox returns the ref of a handoff at its home. An empty id gives the prefix of
// the agent's inbox.
func (s Namespace) Inbox(agent string, id handoff.ID) string {
	return string(s) + "inbox/" + agent + "/" + string(id)
}

// Lane returns the ref of id's lane.
func (s Namespace) Lane(id handoff.ID) string { return string(s) + "log/" + id.Lane() }

// Lanes returns the prefix of all lanes.
func (s Namespace) Lanes() string { return string(s) + "log/" }

// InLog reports whether a ref stands below the prefix of the lanes.
func (s Namespace) InLog(ref string) bool { return strings.HasPrefix(ref, s.Lanes()) }

// Work returns the ref of a handoff's snapshot, at its home.
func (s Namespace) Work(agent string, id handoff.ID) string {
	return string(s) + "work/" + agent + "/" + string(id)
}

// WorkOut returns the ref keeping the snapshot of a sent handoff until its receipt was seen.
func WorkOut(id handoff.ID) string { return Root + "work-out/" + string(id) }

// Outbox returns the ref of a handoff waiting for delivery.
func Outbox(agent string, id handoff.ID) string { return Root + "outbox/" + agent + "/" + string(id) }

// Sent returns the ref of a delivered handoff whose receipt was not seen yet.
func Sent(agent string, id handoff.ID) string { return Root + "sent/" + agent + "/" + string(id) }

// Archive returns the ref under which a receiver keeps an ended handoff.
func Archive(id handoff.ID) string { return Root + "archive/" + string(id) }

// Checkpoint returns the ref keeping the commit to roll back to alive.
func Checkpoint(id handoff.ID) string { return Root + "checkpoints/" + string(id) }

// Seen returns the ref keeping a list of tips alive: those of the lanes seen when a key was
// retired.
func Seen(tree string) string { return Root + "seen/" + tree }

// The kinds of refs of one handoff: the first part of their names below a namespace.
const (
	KindInbox  = "inbox"  // the handoff waits for an agent, or an agent holds it
	KindOutbox = "outbox" // the handoff waits for delivery
	KindSent   = "sent"   // the handoff was delivered, and its receipt was not seen yet
	KindWork   = "work"   // the ref leads to the snapshot of the handoff
	KindLog    = "log"    // lanes, which many handoffs share
)

// probes is the directory of trial refs. No agent and no lane has this name.
const probes = "/_probe/"

// Probe returns the ref of a trial push below a kind of refs.
func (s Namespace) Probe(kind, name string) string { return string(s) + kind + probes + name }

// IsProbe reports whether a ref is that of a trial push, which nobody takes for a handoff or its snapshot.
func (s Namespace) IsProbe(ref string) bool {
	for _, kind := range []string{KindInbox, KindWork} {
		if name, ok := strings.CutPrefix(ref, s.Probe(kind, "")); ok {
			return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
		}
	}
	return false
}

// HandoffRef is the parsed name of a ref of one handoff.
type HandoffRef struct {
	Kind  string
	Agent string // agent name, or handoff.Nobody
	ID    handoff.ID
}

// ParseHandoffRef reads the name of an inbox, outbox or sent ref within a namespace. It refuses
// names breaking the grammar of agents or ids: they came from somebody else.
func (s Namespace) ParseHandoffRef(name string) (HandoffRef, bool) {
	return s.parse(name, KindInbox, KindOutbox, KindSent)
}

// ParseWork reads the name of a snapshot's ref within a namespace.
func (s Namespace) ParseWork(name string) (HandoffRef, bool) { return s.parse(name, KindWork) }

func (s Namespace) parse(name string, kinds ...string) (HandoffRef, bool) {
	rest, ok := strings.CutPrefix(name, string(s))
	part := strings.Split(rest, "/")
	if !ok || len(part) != 3 || !slices.Contains(kinds, part[0]) {
		return HandoffRef{}, false
	}
	id, err := handoff.ParseID(part[2])
	if err != nil || part[1] != handoff.Nobody && handoff.CheckAgent(part[1]) != nil {
		return HandoffRef{}, false
	}
	return HandoffRef{Kind: part[0], Agent: part[1], ID: id}, true
}

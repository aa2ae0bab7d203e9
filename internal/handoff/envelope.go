package handoff

import (
	"cmp"
	"slices"
)

// Schema is the only value of Envelope.Schema this version reads.
const Schema = "githandoff/1"

// Statuses of the sender's work, Envelope.Status.
const (
	StatusComplete           = "complete"
	StatusBlocked            = "blocked"
	StatusNeedsReview        = "needs_review"
	StatusNeedsClarification = "needs_clarification"
)

// Limits, in bytes unless said otherwise.
const (
	MaxEnvelope      = 131072 // size of the canonical document
	MaxDepth         = 16     // nesting of JSON values
	MaxTask          = 128
	MaxSummary       = 4096 // size of the summary, and of the goal
	MaxDetail        = 65536
	MaxDetailAndData = 65536 // detail plus keys and values of data
	MaxRelevantFiles = 5     // number of files
	MaxLineage       = 16    // number of ancestors
	maxLineageBytes  = 32768 // size of the whole array in canonical form
	MaxResults       = 4096  // size of the JSON of results in the trailer Handoff-Data
	MaxChain         = 32    // number of handoffs in a chain of parents
)

// Envelope is the document of a handoff. The JSON member names, and which of
// them may be absent, are the wire format. An absent array and an empty one are
// the same value and are written as absent.
type Envelope struct {
	Schema    string `json:"schema"`
	ID        ID     `json:"id"`
	CreatedAt string `json:"created_at"`           // RFC 3339, UTC, whole seconds
	ExpiresAt string `json:"expires_at,omitempty"` // RFC 3339, UTC, whole seconds
	Salt      string `json:"salt"`                 // 32 random hex digits
	Task      string `json:"task,omitempty"`
	Source    Source `json:"source"`
	Target    Target `json:"target"`
	Status    string `json:"status"`

	Summary string            `json:"summary,omitempty"`
	Goal    string            `json:"goal,omitempty"`
	Detail  string            `json:"detail,omitempty"`
	Data    map[string]string `json:"data,omitempty"`

	CompletedSteps  []string `json:"completed_steps,omitempty"`
	PendingBlockers []string `json:"pending_blockers,omitempty"`
	RelevantFiles   []string `json:"relevant_files,omitempty"`

	BlockedReason string     `json:"blocked_reason,omitempty"`
	Attempted     []string   `json:"attempted,omitempty"`
	Questions     []Question `json:"questions,omitempty"`

	Context       *Context      `json:"context,omitempty"`
	Expectations  *Expectations `json:"expectations,omitempty"`
	Rollback      *Rollback     `json:"rollback,omitempty"`
	Skills        *Skills       `json:"skills,omitempty"`
	FilesVerified []string      `json:"files_verified,omitempty"` // paths, or path:from-to for lines

	Parent  ID         `json:"parent,omitempty"`
	Lineage []Ancestor `json:"lineage,omitempty"`
	OBO     *OBORef    `json:"obo,omitempty"`
	Work    *Work      `json:"work,omitempty"`
	Origin  *Origin    `json:"origin,omitempty"`
}

// Source says who hands over, and from where.
type Source struct {
	Agent   string `json:"agent"`
	Repo    string `json:"repo,omitempty"` // repo id
	Phase   string `json:"phase,omitempty"`
	Commit  string `json:"commit,omitempty"` // full object id
	Branch  string `json:"branch,omitempty"`
	Session string `json:"session,omitempty"`
}

// Target says who shall take over. A nil Agent means a decision is due.
type Target struct {
	Agent   *string `json:"agent"`
	Repo    string  `json:"repo,omitempty"` // repo id
	Reason  string  `json:"reason,omitempty"`
	Request string  `json:"request,omitempty"`
}

// Question is a question of a needs_clarification handoff to a person.
type Question struct {
	Question string   `json:"question"`
	Options  []string `json:"options"` // always present; may be empty
	Category string   `json:"category,omitempty"`
}

// Context has the sender's knowledge.
type Context struct {
	Artifacts []string `json:"artifacts,omitempty"`
	Decisions []string `json:"decisions,omitempty"`
	Memories  []string `json:"memories,omitempty"`
}

// Expectations are the results the sender wants.
type Expectations struct {
	Deliverables       []string `json:"deliverables,omitempty"`
	Constraints        []string `json:"constraints,omitempty"`
	AcceptanceCriteria []string `json:"acceptance_criteria,omitempty"`
	Skills             []string `json:"skills,omitempty"`
}

// Rollback says who takes the work back when it fails, and from where.
type Rollback struct {
	OnFailure  string `json:"on_failure,omitempty"` // an agent at the same home
	Checkpoint string `json:"checkpoint,omitempty"` // full object id, or opaque text from another system
}

// Skills lists the skills invoked and the files read by the sender.
type Skills struct {
	Invoked     []string `json:"invoked,omitempty"`
	LibraryRead []string `json:"library_read,omitempty"`
}

// Ancestor is the part of an earlier handoff of the chain still quotable after its payload was
// erased.
type Ancestor struct {
	ID      ID                `json:"id"`
	Agent   string            `json:"agent"`
	Task    string            `json:"task,omitempty"`
	Summary string            `json:"summary,omitempty"`
	Data    map[string]string `json:"data,omitempty"`
}

// OBORef points to the leaf of the token chain beside the envelope.
type OBORef struct {
	JTI  string `json:"jti"`
	Path string `json:"path"` // path of the token: obo/<i>.json
}

// Work is the snapshot of a handoff: the state of the sender's work tree as a commit of the
// shape of a stash. Its ref is refs/handoffs/work/<agent>/<id> at the home.
type Work struct {
	Commit  string `json:"commit"`           // full object id
	Head    string `json:"head"`             // HEAD of the sender, the commit's first parent
	Base    string `json:"base,omitempty"`   // newest commit of Head's history known to be at the home
	Branch  string `json:"branch,omitempty"` // short name of the sender's branch
	Commits int    `json:"commits"`          // number of commits from Base to Head
	Files   int    `json:"files"`            // number of files that differ from Base
	Bytes   int64  `json:"bytes"`            // unpacked size of the objects not known to be at the home
}

// Origin keeps the dialect a handoff came from and the members the envelope does not have, so
// an export gives the same value back.
type Origin struct {
	Format string         `json:"format"`
	Extra  map[string]any `json:"extra,omitempty"`
}

// LacksTarget reports whether a draft needs a target and names none: a person chooses one for a draft
// that is not complete.
func (e *Envelope) LacksTarget() bool { return e.Target.Agent == nil && e.Status == StatusComplete }

// Follow begins the envelope of a handoff following from parent: the same task, the parent's
// id, and a lineage to quote the ancestors after their payloads are gone. When the lineage is
// full, data is left out first, from the ancestor with most of it, and then the oldest
// ancestors. The caller sets id, salt, source and target.
func Follow(parent *Envelope, createdAt, expiresAt string) *Envelope {
	child := &Envelope{
		Schema: Schema, CreatedAt: createdAt, ExpiresAt: expiresAt,
		Task: parent.Task, Parent: parent.ID, Status: StatusComplete,
	}
	child.Lineage = append(slices.Clone(parent.Lineage), Ancestor{
		ID: parent.ID, Agent: parent.Source.Agent, Task: parent.Task, Summary: cmp.Or(parent.Summary, parent.Goal), Data: parent.Data,
	})
	if over := len(child.Lineage) - MaxLineage; over > 0 {
		child.Lineage = child.Lineage[over:]
	}
	for lineageBytes(child.Lineage) > maxLineageBytes {
		if most := mostData(child.Lineage); child.Lineage[most].Data != nil {
			child.Lineage[most].Data = nil
		} else {
			child.Lineage = child.Lineage[1:] // an entry without data always fits
		}
	}
	return child
}

// mostData returns the index of the ancestor whose data is largest.
func mostData(l []Ancestor) int {
	most, size := 0, 0
	for i, a := range l {
		if n := sizeOf(a.Data); n > size {
			most, size = i, n
		}
	}
	return most
}

func lineageBytes(l []Ancestor) int {
	b, err := Canonical(l)
	if err != nil {
		return 0 // Encode reports the error
	}
	return len(b)
}

package cli

import (
	"encoding/json"

	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
)

// The objects printed by --json, except those declared beside their commands. Their members are
// stable: docs/json.md lists them with the comments here.

// row is the JSON object of a handoff. Its members are stable.
type row struct {
	ID        handoff.ID        `json:"id"`                  // handoff
	State     string            `json:"state"`               // phase, or event of the receipt; in lists: offered, claimed, overdue, undecided, expired, early, queued, sent, refused; in sync also delivered, or a step that was kept; in gc what is gone: swept, expired, checkpoint, snapshot, copy
	Task      string            `json:"task,omitempty"`      // the sender's own key for the work
	From      string            `json:"from"`                // sender; empty for a refused handoff, and in gc
	To        string            `json:"to"`                  // agent whose inbox has it, _ for nobody; empty in gc
	Home      string            `json:"home,omitempty"`      // repo id
	Ref       string            `json:"ref,omitempty"`       // its ref in this repository
	Commit    string            `json:"commit,omitempty"`    // object id of the tip, or of the entry of the log
	Digest    string            `json:"digest,omitempty"`    // digest of the stored envelope
	At        string            `json:"at"`                  // time of the event, RFC 3339 in UTC; empty whenever "from" is
	Actor     string            `json:"actor,omitempty"`     // who took the step
	Expires   string            `json:"expires,omitempty"`   // end of the handoff
	Lease     string            `json:"lease,omitempty"`     // end of the claim
	Parent    handoff.ID        `json:"parent,omitempty"`    // handoff from which it follows
	Next      handoff.ID        `json:"next,omitempty"`      // handoff in which the work goes on
	Principal string            `json:"principal,omitempty"` // "user:alice@example.com (token)" or "(declared)"
	Token     string            `json:"token,omitempty"`     // id of the token
	Scope     []string          `json:"scope,omitempty"`     // what the token allows, and until when
	Until     string            `json:"until,omitempty"`     // end of the token
	Lapsed    string            `json:"lapsed,omitempty"`    // reason for which the token allows nothing any more
	Worktree  string            `json:"worktree,omitempty"`  // worktree with the snapshot
	Branch    string            `json:"branch,omitempty"`    // branch of the worktree
	Results   map[string]string `json:"results,omitempty"`   // results of the receipt
	Envelope  json.RawMessage   `json:"envelope,omitempty"`  // content; docs/format.md describes it
}

func rowOf(r *record.Record, state string) row {
	out := row{
		ID: r.ID, State: state, Task: r.Task, From: r.From, To: r.To, Home: r.Home, Digest: r.Digest,
		At: handoff.FormatTime(r.At), Actor: r.Actor, Parent: r.Parent, Next: r.Next,
		Principal: r.Principal, Token: r.Token,
	}
	if !r.Expires.IsZero() {
		out.Expires = handoff.FormatTime(r.Expires)
	}
	if !r.Lease.IsZero() {
		out.Lease = handoff.FormatTime(r.Lease)
	}
	return out
}

// adoptedRow is the JSON object of "sync" for an adopted list of keys.
type adoptedRow struct {
	Alias  string `json:"alias"`  // hub of the list
	Serial int64  `json:"serial"` // serial number of the list
	State  string `json:"state"`  // always "adopted"
}

// aliasRow is the JSON object of "repo add" and "repo list".
type aliasRow struct {
	Alias string `json:"alias"` // short name
	Repo  string `json:"repo"`  // repo id
	URL   string `json:"url"`   // where it is reached

	Also []string `json:"also,omitempty"` // further repo ids of the same repository

	Prefix string `json:"prefix,omitempty"` // prefix of its refs, if not refs/handoffs
}

// initRow is the JSON object of "init".
type initRow struct {
	Agent string `json:"agent"` // agent of this worktree
	Key   string `json:"key"`   // key id of the agent
	Repo  string `json:"repo"`  // repo id of this repository
}

// hookRow is the JSON object of a hook, in "hook install", "hook uninstall" and "hook status".
type hookRow struct {
	Backup string `json:"backup,omitempty"` // where the former hook is kept
	Before string `json:"before"`           // state before the command
	Hook   string `json:"hook"`             // name of the hook
	Path   string `json:"path"`             // file of the hook, or the setting of git that calls githandoff
	State  string `json:"state"`            // state after the command
}

// hookLineRow is the JSON object of "hook install" if a hook manager, or a file of the work tree,
// has to call githandoff.
type hookLineRow struct {
	File    string `json:"file"`    // file in which the line belongs
	Hook    string `json:"hook"`    // name of the hook
	Line    string `json:"line"`    // line to add
	Manager string `json:"manager"` // hook manager, empty if there is none
}

// fileRow is the JSON object of "trust export" for a written file.
type fileRow struct {
	File string `json:"file"` // path of the file
}

// leftoverRow is the JSON object of "gc" for an incomplete file.
type leftoverRow struct {
	Path  string `json:"path"`  // path of the file
	State string `json:"state"` // always "leftover"
}

// teamRow is the JSON object of "trust export --to".
type teamRow struct {
	Alias  string `json:"alias"`  // hub
	Keys   int    `json:"keys"`   // number of keys in the list
	Serial int64  `json:"serial"` // serial number of the list
}

// versionRow is the JSON object of "version".
type versionRow struct {
	Version string `json:"version"` // version of githandoff
	Go      string `json:"go"`      // version of Go
	Git     string `json:"git"`     // version of the git in PATH
}

// validRow is the JSON object of "validate".
type validRow struct {
	Format   string   `json:"format"`   // format of the document
	OK       bool     `json:"ok"`       // always true
	Warnings []string `json:"warnings"` // oddities for which the document is not refused
}

// promptRow is the JSON object of "render".
type promptRow struct {
	Prompt string `json:"prompt"` // text of the prompt
	Bytes  int    `json:"bytes"`  // size of the whole prompt, before a cut
	Cut    bool   `json:"cut"`    // whether --max-bytes cut it
}

// verifiedLine is the JSON object of "verify" for a handoff.
type verifiedLine struct {
	ID      handoff.ID `json:"id"`                // handoff
	Message string     `json:"message,omitempty"` // what is wrong
	State   string     `json:"state,omitempty"`   // phase, queued, or event of the receipt
	Verdict string     `json:"verdict"`           // ok, or the reason of the refusal
}

// allowedRow is the JSON object of "obo check".
type allowedRow struct {
	ID      handoff.ID `json:"id"`      // handoff whose token allows the scopes
	Token   string     `json:"token"`   // id of the token
	Checked []string   `json:"checked"` // allowed scopes
	Lease   string     `json:"lease"`   // end of the claim
	Expires string     `json:"expires"` // end of the token
}

// chainRow is the JSON object of "obo show".
type chainRow struct {
	Chain     []*obo.Claims `json:"chain"`     // tokens, from the person's to the last; docs/format.md describes them
	ID        handoff.ID    `json:"id"`        // handoff
	Principal string        `json:"principal"` // person on whose behalf the agent acts
	Token     string        `json:"token"`     // id of the last token
	Verdict   string        `json:"verdict"`   // ok, or the reason why the token is worth nothing now
}

// entryRow is the JSON object of "audit" for an entry of a log.
type entryRow struct {
	row
	Verdict   string `json:"verdict"`             // ok, or the reason why it does not count
	Overtaken bool   `json:"overtaken,omitempty"` // a withdrawal after the receipt: nothing is wrong
	Key       string `json:"key,omitempty"`       // key id of the signature
}

// contradictionRow is the JSON object of "audit" for a problem.
type contradictionRow struct {
	Finding string     `json:"finding"`        // reason word: docs/reasons.md
	ID      handoff.ID `json:"id,omitempty"`   // handoff
	Home    string     `json:"home"`           // repo id
	Lane    string     `json:"lane,omitempty"` // ref of the lane
	Message string     `json:"message"`        // one line for people
}

// setupRow is the JSON object of "setup" for a file.
type setupRow struct {
	Client string `json:"client"`        // coding agent
	Path   string `json:"path"`          // absolute path of the file
	State  string `json:"state"`         // write, same, edited, delete, or foreign (written in another work tree)
	Why    string `json:"why,omitempty"` // why a file is left as it is
}

// setupFindingRow is the JSON object of "setup --check" for one check.
type setupFindingRow struct {
	Client string `json:"client"` // coding agent
	OK     bool   `json:"ok"`     // nothing needs to be done
	Text   string `json:"text"`   // one line for people
}

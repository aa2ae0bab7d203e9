package receipt

import (
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
)

// Results are the results reported by the holder: the content of Handoff-Data.
type Results map[string]string

// Encode renders results as one line of printable ASCII JSON with sorted keys;
// "" for none. More than handoff.MaxResults bytes are refused, not cut.
func (r Results) Encode() (string, error) {
	s := record.EncodeData(r)
	if len(s) > handoff.MaxResults {
		return "", fault.New(fault.Invalid, fault.TooLarge, "results have %d bytes, limit %d", len(s), handoff.MaxResults).
			WithHints(fault.Fact("put long text into the repository, and its path into the result"))
	}
	return s, nil
}

// Screened is like Encode for results typed by a person or an agent: the content policy judges them
// like an envelope.
func (r Results) Screened() (string, error) {
	if err := screen.Map("result", r); err != nil {
		return "", err
	}
	return r.Encode()
}

// DecodeResults reads Handoff-Data.
func DecodeResults(s string) Results {
	r, _ := record.DecodeData(s) // data in another form is not shown
	return r
}

// Result is the outcome of a step of a holder, or of one that ends a handoff.
type Result struct {
	State    *lifecycle.State
	Repeated bool       // the step was taken before
	Next     handoff.ID // the return handoff, the reply, or the child of a reroute
	Snapshot *Snapshot  // snapshot made for the return handoff; nil for none
}

// Snapshot is a snapshot made for a step.
type Snapshot struct {
	ID      handoff.ID // id of the handoff that carries the snapshot
	Work    *handoff.Work
	Objects []*refs.Object
}

// WithCommit adds commit, the value of HEAD, to the results of an acknowledgement, unless they
// name one, or have no room for it.
func WithCommit(data, commit string) string {
	r := DecodeResults(data)
	if _, said := r["commit"]; said || commit == "" || data != "" && r == nil {
		return data
	}
	if r == nil {
		r = Results{}
	}
	r["commit"] = commit
	with, err := r.Encode()
	if err != nil {
		return data
	}
	return with
}

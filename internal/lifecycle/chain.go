package lifecycle

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// readChain reads the commits below the tip of an inbox ref, down to the orphan payload
// commit. A commit that is not in our form, or that speaks of another handoff, is left out,
// and so is all that stands on it: anybody who may push can put it there, and the lane
// does not name it. Broken says why a commit was left out.
func readChain(ctx context.Context, repo *refs.Repo, id handoff.ID, tip *refs.Object) (chain []Link, broken, err error) {
	for n, o := 0, tip; ; n++ {
		if o == nil || o.Type != "commit" {
			return nil, denied(fault.MalformedObject, "a commit of the handoff is missing"), nil
		}
		if n == maxChain {
			return nil, denied(fault.MalformedObject, "commit %s: too many commits for one handoff", o.OID), nil
		}
		c, wrong := chainLink(id, o)
		if wrong != nil {
			chain, broken = nil, wrong
		} else {
			chain = append([]Link{{OID: o.OID, Commit: c}}, chain...)
		}
		parent := firstParent(o.Body)
		if parent == "" {
			return chain, broken, nil
		}
		o, err = repo.Read(ctx, parent, record.MaxCommit)
		if fault.Is(err, fault.TooLarge) {
			return nil, denied(fault.MalformedObject, "commit %s: %w", parent, err), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// chainLink parses one commit of an inbox ref, or says why it is none.
func chainLink(id handoff.ID, o *refs.Object) (*record.Commit, error) {
	c, err := record.ParseCommit(o.Body)
	switch {
	case err != nil:
		return nil, denied(fault.MalformedObject, "commit %s: %w", o.OID, err)
	case c.Record.ID != id:
		return nil, denied(fault.HandoffMismatch, "commit %s in the inbox of %s is about %s", o.OID, id, c.Record.ID)
	case len(c.Parents) > 1:
		return nil, denied(fault.MalformedObject, "commit %s: too many parents for a handoff", o.OID)
	}
	return c, nil
}

// cut leaves only the commits of the chain that the lane names. A commit above them is a
// step that was cut off, or a stranger's: the next step overwrites it, under the old
// values of both refs. A chain that does not lead to the payload in the lane is no chain
// of this handoff.
func (s *State) cut() {
	n := len(s.Chain)
	for n > 0 && s.Chain[n-1].OID != s.Payload && !s.logged(s.Chain[n-1].Commit) {
		n--
	}
	if n == 0 || s.Payload != "" && s.Chain[0].OID != s.Payload {
		s.foreign, s.Chain = s.Chain, nil
		return
	}
	s.Chain = s.Chain[:n]
}

// misled is the error of an inbox ref that does not lead to the payload that the lane
// names; nil if there is none.
func (vr *Verifier) misled(ctx context.Context, home Home, s *State) error {
	if len(s.foreign) == 0 {
		return s.broken
	}
	other := *s
	other.Chain = s.foreign
	_, err := vr.verifyChain(ctx, home, &other)
	return err
}

// logged reports whether the lane has an entry for a commit of the inbox ref.
func (s *State) logged(c *record.Commit) bool {
	for _, e := range s.Entries {
		if e.Record().Nonce == c.Record.Nonce && sameRecord(c, e.Commit) {
			return true
		}
	}
	return false
}

package guard

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Limits of one push below refs/handoffs. One step of a client moves a handful of refs, and a lane
// by one or two entries.
const (
	maxRefs    = 256
	maxEntries = 256     // new entries of one lane
	maxJoined  = 1 << 16 // new entries of a lane joined by a root key
	maxPointer = 1 << 20 // size of an object to which a ref leads, in bytes
)

// step is the change a push makes to one handoff.
type step struct {
	id      handoff.ID
	ref     string             // ref named in a refusal: an inbox ref, or else the first ref about the handoff
	entries []*lifecycle.Entry // new entries in its lane, oldest first; not yet judged
	inbox   []agentEdit        // edits of its inbox refs
	work    []agentEdit        // edits of the refs of its snapshot
}

// agentEdit is an edit of a ref under the name of an agent.
type agentEdit struct {
	refs.Edit
	agent string
}

// sets reports whether edits give some ref a value.
func sets(list []agentEdit) bool {
	return slices.ContainsFunc(list, func(e agentEdit) bool { return e.New != "" })
}

// steps are the handoffs of a push, in the order of the push.
type steps struct {
	byID  map[handoff.ID]*step
	order []*step
}

func (s *steps) of(id handoff.ID, ref string) *step {
	if s.byID[id] == nil {
		s.byID[id] = &step{id: id, ref: ref}
		s.order = append(s.order, s.byID[id])
	}
	return s.byID[id]
}

// handoffJudge judges the pushed refs below refs/handoffs. The state machine reads them as if they
// had moved already.
type handoffJudge struct{ *Guard }

func (hj handoffJudge) check(ctx context.Context, edits []refs.Edit, v *verdict) error {
	if len(edits) > maxRefs {
		return v.note(edits[0].Ref, denied(fault.TooLarge, "a push of %d refs below %s, limit %d", len(edits), hj.names.there(refs.Root), maxRefs))
	}
	all := &steps{byID: map[handoff.ID]*step{}}
	seen := map[string]bool{}
	for _, e := range edits {
		var err error
		if seen[e.Ref] {
			err = denied(fault.Malformed, "it is named twice")
		} else {
			err = hj.admit(ctx, e)
		}
		seen[e.Ref] = true
		if err := v.note(e.Ref, err); err != nil {
			return err
		}
	}
	if len(v.refused) > 0 {
		return nil // the checks below rely on valid names and old values
	}
	hj.Verifier.Repo.Overlay(edits)
	for _, e := range edits {
		if err := v.note(e.Ref, hj.sort(ctx, e, all)); err != nil {
			return err
		}
	}
	if len(v.refused) > 0 {
		return nil
	}
	for _, s := range all.order {
		if err := v.note(s.ref, hj.judge(ctx, s)); err != nil {
			return err
		}
	}
	return nil
}

// admit checks the name of a ref, and whether it still has the old value of the push.
func (hj handoffJudge) admit(ctx context.Context, e refs.Edit) error {
	if !homely(e.Ref) {
		return denied(fault.InvalidPath, "a home has no ref of this name")
	}
	o, err := hj.Verifier.Repo.Read(ctx, e.Ref, maxPointer)
	if err != nil {
		return err
	}
	now := ""
	if o != nil {
		now = o.OID
	}
	if now != e.Old {
		return denied(fault.Stale, "it has moved in the meantime: fetch and decide again")
	}
	return nil
}

// homely reports whether a home may have a ref with this name.
func homely(name string) bool {
	if p, ok := refs.LocalNamespace.ParseHandoffRef(name); ok {
		return p.Kind == refs.KindInbox
	}
	if _, ok := refs.LocalNamespace.ParseWork(name); ok {
		return true
	}
	if _, ok := lane(name); ok {
		return true
	}
	return isPublishedRef(name) || refs.LocalNamespace.IsProbe(name)
}

// lane reads the name of a lane.
func lane(name string) (cc string, ok bool) {
	cc, ok = strings.CutPrefix(name, refs.LocalNamespace.Lanes())
	return cc, ok && handoff.IsLane(cc)
}

// sort finds out which handoffs an edit is about.
func (hj handoffJudge) sort(ctx context.Context, e refs.Edit, all *steps) error {
	if p, ok := refs.LocalNamespace.ParseHandoffRef(e.Ref); ok {
		s := all.of(p.ID, e.Ref)
		if len(s.inbox) == 0 {
			s.ref = e.Ref // an inbox ref names the handoff; a lane does not
		}
		s.inbox = append(s.inbox, agentEdit{e, p.Agent})
		return nil
	}
	if p, ok := refs.LocalNamespace.ParseWork(e.Ref); ok {
		s := all.of(p.ID, e.Ref)
		s.work = append(s.work, agentEdit{e, p.Agent})
		return nil
	}
	cc, ok := lane(e.Ref)
	if !ok {
		return publishedJudge(hj).check(ctx, e)
	}
	added, err := hj.added(ctx, e)
	if err != nil {
		return err
	}
	for _, one := range added {
		id := one.Record().ID
		if id.Lane() != cc {
			return denied(fault.HandoffMismatch, "entry %s is about handoff %s, whose lane is log/%s", one.OID, id, id.Lane())
		}
		if err := hj.fresh(one.OID, one.Commit); err != nil {
			return err
		}
		s := all.of(id, e.Ref)
		s.entries = append(s.entries, one)
	}
	return nil
}

// added returns the new entries of a lane, oldest first. It returns none if a root key joined
// another history to the lane.
func (hj handoffJudge) added(ctx context.Context, e refs.Edit) ([]*lifecycle.Entry, error) {
	if e.New == "" {
		return nil, denied(fault.Rollback, "a lane is never deleted")
	}
	var added []*lifecycle.Entry
	n, limit, met := 0, maxEntries, false
	err := hj.Verifier.Reader.Lanes.Walk(ctx, e.New, func(oid string, raw []byte) (bool, error) {
		if met = oid == e.Old; met {
			return false, nil
		}
		if n++; n > limit {
			return false, denied(fault.Rollback, "it does not continue the lane here within %d entries", limit)
		}
		c, err := record.ParseCommit(raw)
		if err != nil {
			return false, denied(fault.MalformedObject, "lane entry %s: %w", oid, err)
		}
		if n == 1 && c.Record.Event == record.Joined {
			limit = maxJoined
			return true, hj.fresh(oid, c)
		}
		if limit == maxEntries {
			added = append([]*lifecycle.Entry{{OID: oid, Commit: c}}, added...)
		}
		return true, nil
	})
	if err == nil && !met && e.Old != "" {
		err = denied(fault.Rollback, "it is rewritten: it no longer contains %s", e.Old)
	}
	return added, err
}

// place returns where the handoff is after the push, as far as the push tells.
func (st *step) place() lifecycle.Place {
	p := lifecycle.Place{Agent: handoff.Nobody, ID: st.id}
	for _, e := range st.inbox {
		if p.Agent = e.agent; e.New != "" {
			return p
		}
	}
	if len(st.entries) > 0 {
		p.Agent = st.entries[len(st.entries)-1].Record().To
	}
	return p
}

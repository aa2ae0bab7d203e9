package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"githandoff/internal/audited"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

// comparison compares the lanes of a home with its inbox refs.
type comparison struct {
	Visitor

	home   lifecycle.Home
	repo   *refs.Repo
	only   map[string]bool // the lanes to compare; nil for all
	digest string          // digest of the names and values of all listed refs
	lanes  []refs.Ref
	inbox  []refs.Ref        // inbox refs, and refs of snapshots if the home has them
	work   map[string]string // commits of snapshots by the names of their refs; nil unless the home is this repository

	open     map[string]map[handoff.ID][]*openRef // inbox refs that no state has accounted for yet, by lane and id
	views    map[string]string                    // digest of the inbox refs and the refs of snapshots of a lane, by lane
	sound    map[string]bool                      // lanes that the memory holds as sound, with the same inbox refs
	wrong    map[string]bool                      // lanes with a problem, or with an inbox ref that has one
	suspects []suspect
	faulty   bool // something is wrong, in a lane or elsewhere

	lost      bool // the object of some ref is missing here
	unchanged bool // an earlier audit found nothing wrong with the same refs
}

func compare(repo *refs.Repo, home lifecycle.Home, a Visitor) *comparison {
	return &comparison{
		Visitor: a, repo: repo, home: home, open: map[string]map[handoff.ID][]*openRef{}, views: map[string]string{},
		sound: map[string]bool{}, wrong: map[string]bool{},
	}
}

// openRef is an inbox ref, and whether the lanes that were read have an entry
// for its tip.
type openRef struct {
	ref, tip, nonce string
	logged          bool
	wrong           bool // the tip does not hold the handoff, and a finding says so
}

// finding reports a problem of a lane, or of an inbox ref that belongs to it.
func (c *comparison) finding(lane string, f Finding) error {
	c.wrong[lane] = true
	return c.stray(f)
}

// stray reports a problem that belongs to no lane.
func (c *comparison) stray(f Finding) error {
	c.faulty = true
	return c.Finding(c.home, f)
}

// list lists the lanes and the inbox refs of the home.
func (c *comparison) list(ctx context.Context) error {
	s := c.home.Namespace()
	listing, whole, err := c.repo.Listing(ctx, string(s)+"inbox/", s.Lanes(), string(s)+"work/")
	if err != nil {
		return err
	}
	c.lost = !whole
	sum := sha256.Sum256([]byte(listing))
	c.digest = hex.EncodeToString(sum[:])
	for _, ref := range listing.Refs() {
		switch {
		case s.IsProbe(ref.Name): // a test ref of githandoff doctor, which reports a leftover one
		case s.InLog(ref.Name):
			if c.only == nil || c.only[ref.Name] {
				c.lanes = append(c.lanes, ref)
			}
		case c.only == nil || c.only[c.laneOf(ref.Name)]:
			c.inbox = append(c.inbox, ref)
		}
	}
	return nil
}

// laneOf returns the lane of an inbox ref or of the ref of a snapshot; "" for any other name.
func (c *comparison) laneOf(name string) string {
	s := c.home.Namespace()
	p, ok := s.ParseHandoffRef(name)
	if !ok {
		p, ok = s.ParseWork(name)
	}
	if !ok {
		return ""
	}
	return s.Lane(p.ID)
}

// read reads the inbox refs of the home with the nonces of their tips, except those of lanes that
// are remembered as sound.
func (c *comparison) read(ctx context.Context, remembered *audited.Memory) error {
	inboxes, err := c.snapshots(ctx, c.inbox)
	if err != nil {
		return err
	}
	unknown := c.viewed(inboxes, remembered)
	tips := make([]string, len(unknown))
	for i, ref := range unknown {
		tips[i] = ref.OID
	}
	queue := refs.NewBatchReader(c.repo, "commit", tips, record.MaxCommit)
	defer queue.Close()
	for _, ref := range unknown {
		o, err := queue.Next(ctx, ref.OID)
		if fault.Is(err, fault.MissingObject) {
			err = nil
		}
		if err != nil && fault.CodeOf(err) != fault.Denied {
			return err
		}
		if err := c.openAt(ref, o, err == nil && o == nil); err != nil {
			return err
		}
	}
	return nil
}

// viewed notes a digest of the inbox refs of each lane, and of the refs of its snapshots
// if they are here. It returns the inbox refs that do not belong to a sound lane.
func (c *comparison) viewed(inboxes []refs.Ref, remembered *audited.Memory) []refs.Ref {
	texts := map[string][]byte{}
	lanes := make([]string, len(inboxes))
	note := func(lane string, ref refs.Ref) {
		text := append(append(texts[lane], ref.OID...), ' ')
		texts[lane] = append(append(text, ref.Name...), '\n')
	}
	for i, ref := range inboxes {
		if lanes[i] = c.laneOf(ref.Name); lanes[i] != "" {
			note(lanes[i], ref)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.work)) {
		if lane := c.laneOf(name); lane != "" {
			note(lane, refs.Ref{Name: name, OID: c.work[name]})
		}
	}
	for lane, text := range texts {
		sum := sha256.Sum256(text)
		c.views[lane] = hex.EncodeToString(sum[:])
	}
	for _, lane := range c.lanes {
		c.sound[lane.Name] = remembered.Sound(lane, c.views[lane.Name])
	}
	var unknown []refs.Ref
	for i, ref := range inboxes {
		if !c.sound[lanes[i]] {
			unknown = append(unknown, ref)
		}
	}
	return unknown
}

// openAt notes an inbox ref, or says what is wrong with it. tip is nil if it is lost, and nil or without its
// body if it is too large.
func (c *comparison) openAt(ref refs.Ref, tip *refs.Object, lost bool) error {
	p, ok := c.home.Namespace().ParseHandoffRef(ref.Name)
	if !ok {
		return c.stray(Finding{Reason: fault.InvalidID, Text: untrusted.Ref(ref.Name) + " is not the name of a handoff"})
	}
	lane := c.home.Namespace().Lane(p.ID)
	r := &record.Record{}
	if tip != nil && tip.Type == "commit" {
		if scanned, err := record.Scan(tip.Body); err == nil {
			r = scanned
		}
	}
	if c.open[lane] == nil {
		c.open[lane] = map[handoff.ID][]*openRef{}
	}
	at := &openRef{ref: ref.Name, tip: ref.OID, nonce: r.Nonce, wrong: r.ID != p.ID}
	c.open[lane][p.ID] = append(c.open[lane][p.ID], at)
	switch {
	case lost:
		why := fault.As(refs.Missing("the object of " + ref.Name))
		c.suspect(lane, Finding{Reason: why.Reason, ID: p.ID, Text: why.Message, Hints: why.Hints}, at)
	case at.wrong:
		return c.finding(lane, Finding{Reason: fault.MalformedObject, ID: p.ID, Text: ref.Name + " does not hold this handoff"})
	}
	return nil
}

func (c *comparison) visitor(ctx context.Context) audited.Visitor {
	return audited.Visitor{
		Entry: c.entry,
		State: func(lane refs.Ref, s *lifecycle.State) error { return c.state(ctx, lane, s) },
		Refused: func(lane refs.Ref, err error) error {
			f := fault.As(err)
			if f.Reason == fault.MissingObject { // nobody can tell what the lost entries say of the inbox
				delete(c.open, lane.Name)
			}
			return c.finding(lane.Name, Finding{Reason: f.Reason, Lane: lane.Name, Text: f.Message, Hints: f.Hints})
		},
		Inbox: func(id handoff.ID, to string) string {
			standing := c.open[c.home.Namespace().Lane(id)][id]
			switch at := c.placed(standing, id, to); {
			case at != nil:
				return at.ref
			case to == handoff.Nobody && len(standing) > 0: // the handoff was routed since
				return standing[0].ref
			}
			return ""
		},
		View: func(lane refs.Ref) string { return c.views[lane.Name] },
		Done: func(lane refs.Ref) (bool, error) {
			c.unlogged(lane.Name)
			return !c.wrong[lane.Name], nil
		},
		Clean: c.clean,
	}
}

// clean returns the digest of the refs if nothing is wrong with them. Inbox refs that no lane
// accounted for are wrong.
func (c *comparison) clean() string {
	if c.faulty || len(c.open) > 0 {
		return ""
	}
	return c.digest
}

func (c *comparison) entry(lane refs.Ref, e *lifecycle.Entry) error {
	for _, at := range c.open[lane.Name][e.Record().ID] {
		at.logged = at.logged || at.nonce == e.Record().Nonce
	}
	if err := c.Entry(c.home, e); err != nil || e.Dispute == nil || e.Overtaken {
		return err
	}
	return c.finding(lane.Name, disputeOf(lane.Name, e))
}

func disputeOf(lane string, e *lifecycle.Entry) Finding {
	found := Finding{Reason: fault.Disputed, ID: e.Record().ID, Lane: lane, Text: e.Dispute.Error()}
	if f := fault.As(e.Dispute); f != nil {
		found.Reason, found.Hints = f.Reason, f.Hints
	}
	return found
}

// placed returns the ref of a handoff in the first of some inboxes that has one; nil if none has.
func (c *comparison) placed(standing []*openRef, id handoff.ID, inboxes ...string) *openRef {
	for _, inbox := range inboxes {
		name := c.home.Namespace().Inbox(inbox, id)
		if i := slices.IndexFunc(standing, func(at *openRef) bool { return at.ref == name }); i >= 0 {
			return standing[i]
		}
	}
	return nil
}

// state compares the state of a handoff in its lane with its inbox refs, and removes them
// from open. A sound lane had no finding with these inbox refs.
func (c *comparison) state(ctx context.Context, lane refs.Ref, s *lifecycle.State) error {
	if c.unchanged || c.sound[lane.Name] {
		return nil
	}
	standing := c.open[lane.Name][s.ID]
	delete(c.open[lane.Name], s.ID)
	if s.Offer == nil {
		return nil // the audit of the lane reported it
	}
	// A routed handoff may still be in the inbox of nobody.
	at := c.placed(standing, s.ID, s.To, s.Offer.To)
	for _, other := range standing {
		switch {
		case other.wrong: // openAt reported it
		case s.Receipt != nil:
			c.suspect(lane.Name, Finding{Reason: fault.Unswept, ID: s.ID, Lane: lane.Name, Text: other.ref + " is still there after its receipt (githandoff gc)"}, other)
		case other != at:
			c.suspect(lane.Name, Finding{Reason: fault.AudienceMismatch, ID: s.ID, Lane: lane.Name, Text: other.ref + " is not in the inbox of " + untrusted.Name(s.To)}, other)
		}
	}
	f := Finding{ID: s.ID, Lane: lane.Name}
	switch {
	case s.Receipt != nil, at != nil && at.wrong, at == nil && s.UndecidedEnd != nil:
		return nil // nothing more is wrong; an undecided end has a finding about its key
	case at == nil:
		at = &openRef{ref: c.home.Namespace().Inbox(s.To, s.ID)}
		f.Reason, f.Text = fault.Lost, fmt.Sprintf("handoff %s disappeared from %s without a receipt", s.ID, c.home.ID())
	case !at.logged:
		f.Reason, f.Text = fault.Unlogged, "the last step on "+at.ref+" is not in the lane"
	default:
		return c.carried(ctx, lane.Name, s.ID, at)
	}
	c.suspect(lane.Name, f, at)
	return nil
}

// unlogged suspects the inbox refs that no entry of a lane accounted for.
func (c *comparison) unlogged(lane string) {
	for id, standing := range c.open[lane] {
		for _, at := range standing {
			if !at.wrong {
				c.suspect(lane, Finding{Reason: fault.Unlogged, ID: id, Text: fmt.Sprintf("%s exists, but no lane mentions it", at.ref)}, at)
			}
		}
	}
	delete(c.open, lane)
}

// rest is like unlogged for all lanes that are not there.
func (c *comparison) rest() {
	for lane := range c.open {
		c.unlogged(lane)
	}
}

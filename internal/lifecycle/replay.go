package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// replay reads the entries of a handoff up to the tip of its lane, and judges them one after the
// other. The state s follows from the valid ones.
func (rd *Reader) replay(ctx context.Context, home Home, s *State) (err error) {
	if s.Entries, err = rd.Lanes.about(ctx, s.LaneTip, s.ID); err != nil {
		return err
	}
	for i, entry := range s.Entries {
		rd.replayEntry(ctx, home, s, entry, slices.Values(s.Entries[i+1:]))
	}
	return nil
}

// replayEntry judges the next entry, and changes the state by it if it counts. After a valid
// receipt, only a revocation of the handoff's token still counts. above has the entries of the handoff
// above this one in the lane.
func (rd *Reader) replayEntry(ctx context.Context, home Home, s *State, entry *Entry, above iter.Seq[*Entry]) {
	if entry.Dispute == nil {
		entry.Dispute = rd.checkEntry(ctx, home, s, entry, above)
	}
	if entry.Dispute == nil {
		entry.Dispute = rd.checkInbox(s, entry)
	}
	if entry.Dispute != nil && !entry.Early {
		s.noteDoubtful(entry, rd.Keys.now())
	}
	switch {
	case entry.Dispute == nil:
		s.apply(entry.Record())
		// A lease once ahead of the clock ends a day after this clone first saw it.
		if seen := rd.Ahead.seen(entry.OID); !seen.IsZero() && !s.Lease.IsZero() {
			s.Lease = sooner(s.Lease, seen.Add(MaxLease))
		}
	case entry.Early:
		s.Early = cmp.Or(s.Early, entry.Dispute)
	case s.Dispute == nil && s.Receipt == nil:
		s.Dispute = entry.Dispute
	}
}

// apply changes the state by the record of a valid entry.
func (s *State) apply(r *record.Record) {
	if r.Event == record.Joined || r.Event == record.Offered && s.Offer != nil {
		return // a join and a repeated offer do not change the state
	}
	if r.At.After(s.newest) {
		s.newest = r.At
	}
	byHolder := s.Claim != nil && r.Key == s.Claim.Key && r.Claim == s.Claim.Nonce && s.Receipt == nil
	if byHolder && r.Next != "" {
		s.named = append(s.named, naming{child: r.Next, key: r.Key})
	}
	switch r.Event {
	case record.Offered:
		s.Offer, s.Payload, s.To = r, r.Payload, r.To
	case record.Routed:
		s.To = r.To
	case record.Claimed:
		s.Claim, s.Lease = r, r.Lease
	case record.Progressed:
		s.Lease = r.Lease
	case record.Released:
		s.Claim, s.Lease, s.elsewhere = nil, time.Time{}, nil
	default:
		if r.Event == record.Revoked {
			s.Revoked = r
		}
		if r.Event.Receipt() && s.Receipt == nil {
			s.Receipt = r
		}
	}
}

// naming is a child named in the lane by the holder of a handoff, and the holder's key.
type naming struct {
	child handoff.ID
	key   string
}

// checkEntry says why an entry does not count; nil if it does.
func (rd *Reader) checkEntry(ctx context.Context, home Home, s *State, entry *Entry, above iter.Seq[*Entry]) error {
	r := entry.Record()
	if entry.signature == nil {
		entry.checkSignature(rd.Keys.Trust)
	}
	key, err := rd.Keys.checkSigner("entry "+entry.OID, entry.Commit, entry.signature.key, entry.signature.err)
	if err != nil {
		return err
	}
	if r.Event == record.Joined {
		return rd.Lanes.joined(ctx, entry.OID, entry.Commit, key)
	}
	if err := checkNames(key, entry.Commit); err != nil {
		return err
	}
	if s.Receipt != nil && (r.Event != record.Revoked || s.Revoked != nil || s.Offer == nil || s.Offer.Token == "") {
		entry.Overtaken = isOvertaken(s, key, r)
		return denied(fault.Replayed, "%s by %s after the receipt", r.Event, r.Actor)
	}
	if !home.Is(r.Home) {
		return denied(fault.AudienceMismatch, "%s by %s is for the home %s", r.Event, r.Actor, untrusted.Place(r.Home)).
			WithHints(wrongHome(home, r.Home)...)
	}
	if err := rd.checkEarly(ctx, s, entry, above); err != nil {
		entry.Early = true
		return err
	}
	if r.Event == record.Offered && s.Offer != nil {
		if !isOfferAgain(s, r) {
			return denied(fault.Replayed, "offered twice")
		}
		return nil
	}
	if key, err = rd.Lanes.checkSeen(ctx, key, entry); err != nil {
		return err
	}
	switch {
	case r.Event != record.Offered:
		if err = checkStory(s, r); err == nil {
			err = checkStep(s, key, r)
		}
	case s.parent:
		err = maySend(key, r.From, r.At)
	default:
		err = rd.mayOffer(ctx, home, key, r)
	}
	if err != nil {
		return err
	}
	return checkDate(s, r)
}

// notBefore returns the time at which a key must have been allowed to take a step: the step's own
// time, but no time before the newest entry below it, because a retired key could date itself
// back.
func (s *State) notBefore(at time.Time) time.Time {
	if at.Before(s.newest) {
		return s.newest
	}
	return at
}

// Entry is one entry of a lane about a handoff.
type Entry struct {
	OID    string
	Commit *record.Commit
	// Dispute says why the entry does not count; nil if it does.
	Dispute error
	// Overtaken marks a withdrawal after the receipt. It does not count, and it is no finding.
	Overtaken bool
	// Early marks an entry that does not count yet, or was overtaken before it did. The handoff
	// is judged without it.
	Early bool

	undecided error // that of a key about which nobody decided yet, if the entry does not count because of it

	signature *signatureCheck // result of checking the signature; nil until it is checked
}

// Record returns the content of the entry.
func (e *Entry) Record() *record.Record { return e.Commit.Record }

// readEntry reads one commit of a lane. A malformed one keeps the id it claims to be about, if
// any, and so disputes that handoff.
func readEntry(oid string, raw []byte) *Entry {
	c, err := record.ParseCommit(raw)
	if err == nil {
		e := &Entry{OID: oid, Commit: c}
		if !gitobj.IsEmptyTree(c.Tree) {
			e.Dispute = denied(fault.MalformedObject, "lane entry %s has a non-empty tree", oid)
		}
		return e
	}
	stranger := &record.Record{ID: record.IDOf(raw)}
	if r, serr := record.Scan(raw); serr == nil {
		stranger.Event, stranger.Actor, stranger.At = r.Event, r.Actor, r.At
	}
	dispute := denied(fault.MalformedObject, "lane entry %s: %w", oid, err)
	if bytes.HasPrefix(raw, []byte(tooLarge)) {
		dispute = denied(fault.TooLarge, "lane entry %s: a commit of more than %d bytes", oid, record.MaxCommit)
	}
	return &Entry{OID: oid, Commit: &record.Commit{Record: stranger}, Dispute: dispute}
}

// mayOffer lets a sender offer under its own names, and a root key under any name. The agent
// that failed a handoff may send the return handoff named in the receipt.
func (rd *Reader) mayOffer(ctx context.Context, home Home, key sign.Key, r *record.Record) error {
	err := maySend(key, r.From, r.At)
	if err == nil || r.Parent == "" {
		return err
	}
	if sent, rerr := rd.sentBack(ctx, home, key, r); sent || rerr != nil {
		return rerr
	}
	// The copies of a hub may lack the parent's lane, which was not asked for.
	if rerr := home.Refresh(ctx, FetchSpec{Lanes: []handoff.ID{r.Parent}}); rerr != nil {
		return rerr
	}
	if sent, rerr := rd.sentBack(ctx, home, key, r); sent || rerr != nil {
		return rerr
	}
	return err
}

// sentBack reports whether r is the return handoff of its parent: the parent ended here with a
// valid "failed" by the same key that names r, and r is for the agent named for this in the
// parent's offer, or else for the parent's source. The key needs no sender role for it. Nor
// does it get one: a return handoff has no return handoff itself.
func (rd *Reader) sentBack(ctx context.Context, home Home, key sign.Key, r *record.Record) (bool, error) {
	tip, err := rd.Repo.Resolve(ctx, home.Namespace().Lane(r.Parent))
	if err != nil {
		return false, err
	}
	s := &State{ID: r.Parent, LaneTip: tip, parent: true}
	if err := rd.replay(ctx, home, s); err != nil {
		return false, err
	}
	over := s.Receipt
	return over != nil && over.Event == record.Failed && over.Next == r.ID && over.Key == key.KID() &&
		r.To == cmp.Or(s.Offer.OnFailure, s.Offer.From) && key.MayAct(sign.RoleRecipient, r.From, r.At) == nil, nil
}

// checkInbox refuses an entry whose record differs from the one that its step put on the inbox ref,
// with the same nonce and key. If no inbox ref leads to such a commit, nothing is refused. Without
// this check, a signer of two records with one nonce could leave a log that differs, once the
// payload is erased, from the payload shown to the receiver.
//
// A commit on the inbox ref disputes an entry only if the same key signed it: anybody with push
// access can put another commit there.
func (rd *Reader) checkInbox(s *State, entry *Entry) error {
	r := entry.Record()
	if s.links == nil {
		s.links = rd.marked(s.Chain)
	}
	for _, link := range s.links[markOf(r)] {
		if sameRecord(link.Commit, entry.Commit) {
			continue
		}
		if _, err := rd.Keys.SignerOf("commit "+link.OID, link.Commit); err == nil { // signed by the key that it names
			return denied(fault.Disputed, "%s by %s differs between its lane and the inbox", r.Event, r.Actor)
		}
	}
	return nil // any other commit is refused with the inbox ref
}

// marked returns the commits of an inbox ref by their marks. Anybody can put many commits with one
// mark there. Of several, marked keeps those signed by the key that they name, each record once and
// two records at most, because no entry has both. So the cost of a comparison does not depend on
// their number.
func (rd *Reader) marked(chain []Link) map[mark][]*Link {
	links := make(map[mark][]*Link, len(chain))
	for i := range chain {
		m := markOf(chain[i].Commit.Record)
		links[m] = append(links[m], &chain[i])
	}
	for m, all := range links {
		if len(all) == 1 {
			continue
		}
		var signed []*Link
		for _, link := range all {
			if len(signed) == 2 {
				break
			}
			if len(signed) == 1 && sameRecord(signed[0].Commit, link.Commit) {
				continue
			}
			if _, err := rd.Keys.SignerOf("commit "+link.OID, link.Commit); err == nil {
				signed = append(signed, link)
			}
		}
		links[m] = signed
	}
	return links
}

// sameRecord reports whether a lane entry has the record of a commit of an inbox ref, byte for
// byte, and Handoff-Payload besides.
func sameRecord(inbox, entry *record.Commit) bool {
	logged := *entry.Record
	logged.Payload = ""
	return inbox.Record.Actor == logged.Actor && inbox.Email == entry.Email &&
		bytes.Equal(inbox.Record.Message(), logged.Message())
}

// chainAt returns the chain of an inbox ref found by an audit; none if it cannot be read, which is
// a finding of its own.
func (rd *Reader) chainAt(ctx context.Context, id handoff.ID, ref string) []Link {
	if ref == "" {
		return nil
	}
	tip, err := rd.Repo.Read(ctx, ref, record.MaxCommit)
	if err != nil || tip == nil {
		return nil
	}
	chain, _, err := rd.readChain(ctx, id, tip)
	if err != nil {
		return nil
	}
	return chain
}

// checkEarly refuses an entry that is dated ahead of the clock here, and one that was ahead when
// this clone first saw it and that others then overtook: it never counts. The signature was checked.
func (rd *Reader) checkEarly(ctx context.Context, s *State, entry *Entry, above iter.Seq[*Entry]) error {
	r, now := entry.Record(), rd.Keys.now()
	if r.At.After(now.Add(ClockSkew)) {
		rd.Ahead.note(entry.OID, now)
		return denied(fault.NotYetValid, "%s by %s is dated %s, but here it is %s: it does not count until then (key %s)",
			r.Event, r.Actor, handoff.FormatTime(r.At), handoff.FormatTime(now), r.Key)
	}
	seen := rd.Ahead.seen(entry.OID)
	if seen.IsZero() {
		return nil
	}
	for later := range above {
		if rd.overtakes(ctx, s, r, later) {
			return denied(fault.NotYetValid, "%s by %s is dated %s, was here at %s already, and others went on without it (key %s)",
				r.Event, r.Actor, handoff.FormatTime(r.At), handoff.FormatTime(seen), r.Key)
		}
	}
	return nil
}

// overtakes reports whether the author of an entry above an early one went on without it: the entry
// is older, and its key may take steps of this handoff. Anybody with push access can put an older
// entry there, which must not undo a receipt. Offers do not overtake: a repeated one bears the date
// of the first.
func (rd *Reader) overtakes(ctx context.Context, s *State, early *record.Record, above *Entry) bool {
	r := above.Record()
	if r.Event == record.Offered || !r.At.Before(early.At.Add(-ClockSkew)) || above.Dispute != nil {
		return false
	}
	if above.signature == nil {
		above.checkSignature(rd.Keys.Trust)
	}
	key := above.signature.key
	if above.signature.err != nil || key.KID() != r.Key {
		return false
	}
	key, err := rd.Lanes.checkSeen(ctx, key, above)
	if err != nil {
		return false
	}
	from, to := early.From, early.To
	if s.Offer != nil {
		from, to = s.Offer.From, s.To
	}
	return maySend(key, from, r.At) == nil || key.MayAct(sign.RoleRecipient, to, r.At) == nil
}

package lifecycle

import (
	"context"
	"fmt"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Lesson has the findings of an audit of a lane that stay true while the tip of the lane,
// the trust, and the rules of this program are the same. A commit id is the digest of the
// whole commit, so it stands for the entry.
type Lesson struct {
	// Entries are all entries in the order in which they were judged.
	Entries []LearnedEntry
	// Sound: every entry counts, and that follows from the lane and the trust alone: not
	// from the clock, from another lane, or from the memory of this clone.
	Sound bool
	// Newest is the latest time that an entry gives. A clock that shows an earlier one
	// could judge differently.
	Newest time.Time
	// Homes are the repositories for which the entries are.
	Homes map[string]bool
}

// LearnedEntry is an entry, and whether the key that it names made its signature.
type LearnedEntry struct {
	OID    string
	Signed bool
}

// take learns from an entry that was judged.
func (l *Lesson) take(rd *Reader, entry *Entry) {
	r := entry.Record()
	l.Entries = append(l.Entries, LearnedEntry{OID: entry.OID, Signed: entry.signed()})
	if r.At.After(l.Newest) {
		l.Newest = r.At
	}
	if l.Homes == nil {
		l.Homes = map[string]bool{}
	}
	l.Homes[r.Home] = true
	l.Sound = l.Sound && entry.Dispute == nil && !rd.dependent(entry)
}

// dependent reports whether the verdict on an entry that counts depends on more than its
// lane and the trust. A merge counts while its key is valid now. An entry that was ahead
// of the clock may be overtaken. The offer of a return handoff stands on another lane.
func (rd *Reader) dependent(entry *Entry) bool {
	r := entry.Record()
	if r.Event == record.Joined || len(entry.Commit.Parents) > 1 || !rd.Ahead.seen(entry.OID).IsZero() {
		return true
	}
	return r.Event == record.Offered && (entry.voucher == nil || maySend(entry.voucher.key, r) != nil)
}

// voucher is the result of checking a signature.
type voucher struct {
	key sign.Key
	err error
}

// vouch checks the signature of an entry, or takes it for checked: then it was made by
// the key that the entry names. It may be called for several entries at a time.
func (e *Entry) vouch(trust *sign.Trust, checked bool) {
	if e.Dispute != nil {
		return
	}
	if checked {
		if key, ok := trust.Lookup(e.Record().Key); ok {
			e.voucher = &voucher{key: key}
			return
		}
	}
	key, err := trust.Verify(sign.NamespaceGit, e.Commit.Payload(), e.Commit.Signature)
	e.voucher = &voucher{key: key, err: err}
}

// signed reports whether the key that the entry names made its signature, itself and not
// by a subkey, whose validity is another one.
func (e *Entry) signed() bool {
	return e.voucher != nil && e.voucher.err == nil && e.voucher.key.Primary() && e.voucher.key.KID() == e.Record().Key
}

// signerOf is SignerOf for an entry, whose signature may have been checked already.
func (k *Keys) signerOf(entry *Entry) (sign.Key, error) {
	what := "entry " + entry.OID
	if v := entry.voucher; v != nil {
		return k.namedBy(what, entry.Commit, v.key, v.err)
	}
	return k.SignerOf(what, entry.Commit)
}

// Sound shows a lane that an earlier audit found sound, as Reader.Audit does, without
// judging it again. Next returns its commits in the order of the lesson. A missing one is
// refused like a lane that lost an entry.
func Sound(ctx context.Context, lane refs.Ref, entries []LearnedEntry, next func(context.Context, string) (*refs.Object, error), a LaneAudit) error {
	s := &State{LaneTip: lane.OID}
	for _, learned := range entries {
		o, err := next(ctx, learned.OID)
		if err != nil {
			return err
		}
		if o == nil || o.Type != "commit" {
			return denied(fault.Rollback, "lane entry %s is missing", learned.OID)
		}
		r, err := record.Reread(o.Body)
		if err != nil {
			return fmt.Errorf("read lane entry %s: %w", learned.OID, err)
		}
		if s.ID != "" && s.ID != r.ID {
			if err := a.State(s); err != nil {
				return err
			}
			s = &State{LaneTip: lane.OID}
		}
		s.ID = r.ID
		s.take(r)
		if err := a.Entry(&Entry{OID: learned.OID, Commit: &record.Commit{Record: r}}); err != nil {
			return err
		}
	}
	if s.ID == "" {
		return nil
	}
	return a.State(s)
}

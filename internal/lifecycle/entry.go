package lifecycle

import (
	"bytes"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Entry is one entry of a lane that speaks of a handoff.
type Entry struct {
	OID    string
	Commit *record.Commit
	// Dispute says why the entry does not count; nil if it does.
	Dispute error
	// Overtaken marks a withdrawal after the receipt. It does not count, and it is no
	// finding.
	Overtaken bool
	// Early marks an entry that does not count yet, or that was overtaken before it did.
	// The handoff is judged as if the entry were not there.
	Early bool

	voucher *voucher // nil while the signature was not checked
}

// Record is the content of the entry.
func (e *Entry) Record() *record.Record { return e.Commit.Record }

// Undecided reports whether the entry does not count because nobody here decided
// about the key that signed it.
func (e *Entry) Undecided() bool {
	var unknown *sign.UnknownKeyError
	return errors.As(e.Dispute, &unknown)
}

// readEntry reads one commit of a lane. One that is not in our form keeps the
// id that it claims to speak of, if any, so that it disputes that handoff.
func readEntry(oid string, raw []byte) *Entry {
	c, err := record.ParseCommit(raw)
	if err == nil {
		e := &Entry{OID: oid, Commit: c}
		if c.Tree != refs.EmptyTree {
			e.Dispute = denied(fault.MalformedObject, "lane entry %s has a non-empty tree", oid)
		}
		return e
	}
	stranger := &record.Record{ID: record.SpeaksOf(raw)}
	if r, serr := record.Scan(raw); serr == nil {
		stranger.Event, stranger.Actor, stranger.At = r.Event, r.Actor, r.At
	}
	dispute := denied(fault.MalformedObject, "lane entry %s: %w", oid, err)
	if bytes.HasPrefix(raw, []byte(tooLarge)) {
		dispute = denied(fault.TooLarge, "lane entry %s: a commit of more than %d bytes", oid, record.MaxCommit)
	}
	return &Entry{OID: oid, Commit: &record.Commit{Record: stranger}, Dispute: dispute}
}

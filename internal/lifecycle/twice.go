package lifecycle

import (
	"bytes"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/record"
)

// twice says why an entry is not the record that its step put on the inbox ref; nil
// if it is, or if no inbox ref leads to that commit any more. Both have one nonce. A
// signer of two records with one nonce could otherwise leave a log that differs from the
// payload that the receiver was shown, once the payload is erased.
//
// A commit on the inbox ref disputes an entry only if the same key signed it: anybody who
// may push can put another commit there.
func (rd *Reader) twice(s *State, entry *Entry) error {
	r := entry.Record()
	link := s.linkOf(r.Nonce)
	if link == nil || sameRecord(link.Commit, entry.Commit) {
		return nil
	}
	key, err := rd.Keys.SignerOf("commit "+link.OID, link.Commit)
	if err != nil || key.KID() != r.Key {
		return nil // the inbox ref is refused by itself
	}
	return denied(fault.Disputed, "%s by %s differs between its lane and the inbox", r.Event, r.Actor)
}

// sameRecord reports whether a lane entry has the record of a commit of an inbox
// ref, byte for byte, and Handoff-Payload besides.
func sameRecord(inbox, entry *record.Commit) bool {
	logged := *entry.Record
	logged.Payload = ""
	return inbox.Record.Actor == logged.Actor && inbox.Email == entry.Email &&
		bytes.Equal(inbox.Record.Message(), logged.Message())
}

// linkOf returns the commit of the inbox ref with a nonce; nil where there is none.
func (s *State) linkOf(nonce string) *Link {
	if s.links == nil {
		s.links = make(map[string]*Link, len(s.Chain))
		for i := range s.Chain {
			s.links[s.Chain[i].Commit.Record.Nonce] = &s.Chain[i]
		}
	}
	return s.links[nonce]
}

// chainAt is the chain of the inbox ref that an audit found, none where it cannot be
// read: then it is a finding of its own.
func (rd *Reader) chainAt(ctx context.Context, s *State, ref string) []Link {
	if ref == "" {
		return nil
	}
	tip, err := rd.Repo.Read(ctx, ref, record.MaxCommit)
	if err != nil || tip == nil {
		return nil
	}
	chain, _, err := readChain(ctx, rd.Repo, s.ID, tip)
	if err != nil {
		return nil
	}
	return chain
}

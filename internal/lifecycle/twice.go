package lifecycle

import (
	"bytes"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/record"
)

// twice says why an entry is not the record that its step put on the inbox ref; nil
// if it is, or if no inbox ref leads to that commit any more. Both have one nonce. Who
// signed two records with one nonce would otherwise leave a log that says something
// else than the receiver was shown, once the payload is erased.
//
// What is on the inbox ref disputes an entry only if it bears the signature of the
// same key: anybody who may push can put another commit there.
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
	return denied(fault.Disputed, "%s by %s has another record in its lane than in the inbox", r.Event, r.Actor)
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

// tells says why a step does not tell the story of its offer; nil if it does. What
// the steps of a handoff have in common is all that stays of it, so nobody but its
// sender says what it is.
func (s *State) tells(r *record.Record) error {
	offer := s.Offer
	switch {
	case r.Payload != s.Payload, r.Digest != offer.Digest, r.From != offer.From, r.Token != offer.Token:
		return denied(fault.DigestMismatch, "%s by %s speaks of another payload", r.Event, r.Actor)
	case r.Token != "" && r.Principal != offer.Principal:
		return denied(fault.PrincipalAltered, "%s by %s is on behalf of %q, the offer of %q", r.Event, r.Actor, r.Principal, offer.Principal)
	case r.Home != offer.Home, r.Task != offer.Task, !r.Expires.Equal(offer.Expires), r.Event != record.Routed && r.To != s.To:
		return denied(fault.HandoffMismatch, "%s by %s and the offer differ", r.Event, r.Actor)
	case !r.Event.Receipt():
		return nil
	case r.Counts != offer.Counts, r.Status != offer.Status, r.Parent != offer.Parent, r.Principal != offer.Principal:
		return denied(fault.HandoffMismatch, "%s by %s and the offer differ", r.Event, r.Actor)
	case r.Claim != "" && (s.Claim == nil || r.Claim != s.Claim.Nonce):
		return s.misstep(r, "it stands on another claim")
	case r.Duration != "" && (s.Receipt != nil || r.Duration != record.Duration(r.At.Sub(s.Claim.At))):
		return denied(fault.HandoffMismatch, "%s by %s: %s is not the time since the claim", r.Event, r.Actor, r.Duration)
	}
	return nil
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

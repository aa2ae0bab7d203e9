package sign

import (
	"bytes"
	"iter"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/fault"
)

// Copies of a key differ: one may have a revocation, a later expiry or a subkey that another one
// lacks. Packets of a key are never withdrawn, so an older copy must not replace a fuller one.

// keyPart is a primary key, user id or subkey, and the signatures behind it.
type keyPart struct {
	tag        byte // packet tag of head
	head       []byte
	signatures [][]byte
}

// packetID returns the content of a packet, however its length is written.
func packetID(p []byte) string {
	tag, header, _, _ := packetHeader(p)
	return string(append([]byte{tag}, p[header:]...))
}

const (
	signatureTag = 2
	primaryTag   = 6
	userIDTag    = 13
	subkeyTag    = 14
)

// parts returns the statements of an OpenPGP key about itself: the primary key, and each user id
// and subkey that it signed. Anybody can add anything else to a copy: certifications, user ids,
// photos, packets of no known kind, signatures that only claim to be by the key. None of that has
// to be kept. No part is missing, for ParsePublic requires packets to state their lengths.
func (p PublicKey) parts() []keyPart {
	var parts []keyPart
	for tag, one := range packets(p.raw) {
		switch {
		case tag != signatureTag:
			parts = append(parts, keyPart{tag: tag, head: one})
		case len(parts) > 0 && p.states(parts[len(parts)-1].head, one):
			last := &parts[len(parts)-1]
			last.signatures = append(last.signatures, one)
		}
	}
	return slices.DeleteFunc(parts, func(k keyPart) bool { return k.tag != primaryTag && len(k.signatures) == 0 })
}

// packets yields the packets of a key, each with its tag. It ends at one that does not state
// its length.
func packets(raw []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for len(raw) > 0 {
			tag, header, size, ok := packetHeader(raw)
			if !ok || size > len(raw)-header || !yield(tag, raw[:header+size]) {
				return
			}
			raw = raw[header+size:]
		}
	}
}

// statesLengths reports whether each packet of a key states its length, as a key must (RFC 9580,
// section 4.2.1.4).
func statesLengths(raw []byte) bool {
	size := 0
	for _, one := range packets(raw) {
		size += len(one)
	}
	return size == len(raw)
}

// states reports whether the key itself made a signature over one of its parts.
func (p PublicKey) states(head, signature []byte) bool {
	part, err := packet.Read(bytes.NewReader(head))
	if err != nil {
		return false
	}
	read, err := packet.Read(bytes.NewReader(signature))
	s, ok := read.(*packet.Signature)
	if err != nil || !ok {
		return false
	}
	primary := p.pgp.PrimaryKey
	switch part := part.(type) {
	case *packet.UserId:
		return primary.VerifyUserIdSignature(part.Id, primary, s) == nil
	case *packet.PublicKey:
		switch {
		case part.IsSubkey:
			return primary.VerifyKeySignature(part, s) == nil
		case s.SigType == packet.SigTypeKeyRevocation:
			return primary.VerifyRevocationSignature(s) == nil
		}
		return s.SigType == packet.SigTypeDirectSignature && primary.VerifyDirectKeySignature(s) == nil
	}
	return false
}

// Holds reports whether a copy of a key says as much as another: it is the same SSH key, or
// has everything that the other OpenPGP key states of itself.
func (p PublicKey) Holds(other PublicKey) bool {
	if p.kid != other.kid || p.pgp == nil || other.pgp == nil {
		return p.kid == other.kid && p.text == other.text
	}
	mine := map[string]map[string]bool{}
	for _, part := range p.parts() {
		id := packetID(part.head)
		if mine[id] == nil {
			mine[id] = map[string]bool{}
		}
		for _, s := range part.signatures {
			mine[id][packetID(s)] = true
		}
	}
	theirs := other.parts()
	for _, part := range theirs {
		signatures, ok := mine[packetID(part.head)]
		if !ok || slices.ContainsFunc(part.signatures, func(s []byte) bool { return !signatures[packetID(s)] }) {
			return false
		}
	}
	return len(theirs) > 0 || p.text == other.text
}

// With merges two copies of a key. The reasons of its errors are those of ParsePublic, and
// malformed if they are not copies of the same key. If both together are too large for a key, the
// result is a revoked copy, because the thief of a key can sign any number of statements, and none
// of them may suppress its revocation.
func (p PublicKey) With(other PublicKey) (PublicKey, error) {
	switch {
	case p.kid != other.kid:
		return PublicKey{}, badKey("%s and %s are two keys", p.kid, other.kid)
	case p.pgp == nil || p.Holds(other):
		return p, nil
	case other.Holds(p):
		return other, nil
	}
	parts := p.parts()
	for _, more := range other.parts() {
		i := slices.IndexFunc(parts, func(k keyPart) bool { return packetID(k.head) == packetID(more.head) })
		if i < 0 {
			parts = append(parts, more)
			continue
		}
		for _, s := range more.signatures {
			if !slices.ContainsFunc(parts[i].signatures, func(old []byte) bool { return packetID(old) == packetID(s) }) {
				parts[i].signatures = append(parts[i].signatures, s)
			}
		}
	}
	slices.SortStableFunc(parts[1:], func(a, b keyPart) int { return rank(a) - rank(b) })
	var raw []byte
	for _, part := range parts {
		raw = append(raw, part.head...)
		raw = append(raw, bytes.Join(part.signatures, nil)...)
	}
	whole, err := ParsePublic(pgpPublicArmor.encode(raw))
	if fault.Is(err, fault.TooLarge) {
		for _, one := range []PublicKey{p, other} {
			if len(one.pgp.Revocations) > 0 {
				return one, nil
			}
		}
	}
	return whole, err
}

// rank puts user ids before subkeys (RFC 9580, section 10.1).
func rank(k keyPart) int {
	if k.tag == userIDTag {
		return 0
	}
	return 1
}

// ValidAt says whether a key is valid at a time by its own word. Reasons: not_yet_valid,
// key_expired, key_revoked.
func (p PublicKey) ValidAt(at time.Time) error { return p.ownValidity(nil, at) }

// Revoked returns an error if the owner of a key revoked it. Reason: key_revoked.
func (p PublicKey) Revoked(at time.Time) error {
	if p.pgp == nil {
		return nil
	}
	if err := p.validPart(p.pgp.PrimaryKey, p.self.SelfSignature, p.pgp.Revocations, at); fault.Is(err, fault.KeyRevoked) {
		return err
	}
	return nil
}

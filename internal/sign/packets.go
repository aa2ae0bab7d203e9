package sign

import (
	"bytes"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/fault"
)

// Copies of a key differ: one knows of a revocation, of a later expiry, of another
// subkey. Packets of a key are never withdrawn, so an older copy must not replace a fuller one.

// keyPart is a primary key, user id or subkey, and the signatures behind it.
type keyPart struct {
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
	userIDTag    = 13
	attributeTag = 17
)

// parts splits an OpenPGP key; nil if a packet does not state its length.
func (p PublicKey) parts() []keyPart {
	var parts []keyPart
	for raw := p.raw; len(raw) > 0; {
		tag, header, size, ok := packetHeader(raw)
		if !ok || size > len(raw)-header {
			return nil
		}
		one := raw[:header+size]
		raw = raw[header+size:]
		switch {
		case tag != signatureTag:
			parts = append(parts, keyPart{head: one})
		case len(parts) > 0 && p.own(one):
			last := &parts[len(parts)-1]
			last.signatures = append(last.signatures, one)
		}
	}
	return parts
}

// own reports whether a signature claims to be by the key itself. Certifications by other
// keys do not matter here and may be dropped.
func (p PublicKey) own(raw []byte) bool {
	read, err := packet.Read(bytes.NewReader(raw))
	s, ok := read.(*packet.Signature)
	return err == nil && ok && s.IssuerKeyId != nil && *s.IssuerKeyId == p.pgp.PrimaryKey.KeyId
}

// Holds reports whether a copy of a key says as much as another: it is the same SSH key, or
// has every packet of the other OpenPGP key but the signatures of strangers.
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

// With merges two copies of a key. Reasons as those of ParsePublic; malformed also if they
// are not the same key.
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
	return ParsePublic(pgpPublicArmor.encode(raw))
}

// rank puts user ids before subkeys (RFC 9580, section 10.1).
func rank(k keyPart) int {
	switch tag, _, _, _ := packetHeader(k.head); tag {
	case userIDTag, attributeTag:
		return 0
	}
	return 1
}

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

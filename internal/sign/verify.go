package sign

import (
	"bytes"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Namespaces of SSHSIG signatures. A signature in one namespace is worth nothing in another.
// OpenPGP has no namespaces.
const (
	NamespaceGit    = "git"
	namespaceOBO    = "obo@githandoff"
	NamespaceTrust  = "trust@githandoff"
	NamespaceInvite = "invite@githandoff"
)

// Verify checks that armored is exactly one signature over message by pub, or by one of its
// signing subkeys, at a time when the key was valid by its own word. [Trust] decides whether
// anybody trusts the key.
//
// Reasons: unsigned, signature_invalid, untrusted_key (made by another key),
// key_expired, key_revoked, not_yet_valid.
func Verify(pub PublicKey, namespace string, message, armored []byte) error {
	s, err := parseSignature(armored)
	if err != nil {
		return err
	}
	return pub.verify(s, namespace, message)
}

// CheckInvite checks the signature of a message of an invitation by the key in text. It says
// nothing of anybody's trust in this key.
func CheckInvite(text string, message, armored []byte) error {
	public, err := ParsePublic([]byte(text))
	if err != nil {
		return err
	}
	return Verify(public, NamespaceInvite, message, armored)
}

func (p PublicKey) verify(s signature, namespace string, message []byte) error {
	switch {
	case p.pgp != nil && s.pgp != nil:
		return p.verifyPGP(s.pgp, message)
	case p.ssh != nil && s.ssh != nil && p.kid == s.issuer():
		err := sshsig.Verify(bytes.NewReader(message), s.ssh, p.ssh, s.ssh.HashAlgorithm, namespace)
		if err != nil {
			return fault.New(fault.Denied, fault.SignatureInvalid, "signature by %s: %w", p.kid, err)
		}
		return nil
	}
	return madeByAnother(s.issuer(), p.kid)
}

func madeByAnother(issuer, want KID) error {
	return fault.New(fault.Denied, fault.UntrustedKey, "signed by %s, not by %s", issuer, want)
}

func (p PublicKey) verifyPGP(sig *packet.Signature, message []byte) error {
	key := p.signingKey(sig.IssuerFingerprint)
	if key == nil {
		return madeByAnother(openpgpKID(sig.IssuerFingerprint), p.kid)
	}
	h, tagged := sig.Hash.New(), sig.Hash.New()
	h.Write(message)
	tagged.Write(message)
	tagged.Write(sig.HashSuffix)
	if !bytes.HasPrefix(tagged.Sum(nil), sig.HashTag[:]) || key.VerifySignature(h, sig) != nil {
		return fault.New(fault.Denied, fault.SignatureInvalid, "the signature by %s does not match the signed bytes", p.kid)
	}
	return p.ownValidity(sig.IssuerFingerprint, sig.CreationTime)
}

// signingKey returns the primary key or the subkey with this fingerprint, if it may sign data
// and is strong enough.
func (p PublicKey) signingKey(fingerprint []byte) *packet.PublicKey {
	self := p.self.SelfSignature
	if bytes.Equal(p.pgp.PrimaryKey.Fingerprint, fingerprint) && self.FlagsValid && self.FlagSign {
		return p.pgp.PrimaryKey
	}
	for _, sub := range p.pgp.Subkeys {
		if bytes.Equal(sub.PublicKey.Fingerprint, fingerprint) && sub.Sig.FlagsValid && sub.Sig.FlagSign &&
			isSHA2(sub.Sig.Hash) && isSHA2(sub.Sig.EmbeddedSignature.Hash) && checkPGPStrength(sub.PublicKey) == nil {
			return sub.PublicKey
		}
	}
	return nil
}

// ownValidity checks by the key's own packets whether the key, and the subkey with the
// given fingerprint if a subkey signs, are valid at a time. SSH keys have no such packets.
func (p PublicKey) ownValidity(fingerprint []byte, at time.Time) error {
	if p.pgp == nil {
		return nil
	}
	if err := p.validPart(p.pgp.PrimaryKey, p.self.SelfSignature, p.pgp.Revocations, at); err != nil {
		return err
	}
	for _, sub := range p.pgp.Subkeys {
		if bytes.Equal(sub.PublicKey.Fingerprint, fingerprint) {
			return p.validPart(sub.PublicKey, sub.Sig, sub.Revocations, at)
		}
	}
	return nil
}

func (p PublicKey) validPart(key *packet.PublicKey, self *packet.Signature, revocations []*packet.Signature, at time.Time) error {
	for _, r := range revocations {
		if isHardRevocation(r) || !at.Before(r.CreationTime) {
			return fault.New(fault.Denied, fault.KeyRevoked, "key %s was revoked by its owner", p.kid)
		}
	}
	if at.Before(key.CreationTime) {
		return fault.New(fault.Denied, fault.NotYetValid, "key %s was made at %s, after %s", p.kid, handoff.FormatTime(key.CreationTime), handoff.FormatTime(at))
	}
	if end, ok := lifetime(key.CreationTime, self.KeyLifetimeSecs); ok && !at.Before(end) {
		return fault.New(fault.Denied, fault.KeyExpired, "key %s expired at %s", p.kid, handoff.FormatTime(end)).WithHints(laterEnd())
	}
	if end, ok := lifetime(self.CreationTime, self.SigLifetimeSecs); ok && !at.Before(end) {
		return fault.New(fault.Denied, fault.KeyExpired, "the self-signature of key %s expired at %s", p.kid, handoff.FormatTime(end)).WithHints(laterEnd())
	}
	return nil
}

func laterEnd() fault.Hint {
	return fault.Run("githandoff", "sync").Because("takes over a later end that its owner published; githandoff trust add does so from a file, and githandoff init with the agent's own key")
}

// isHardRevocation reports whether no signature of any date counts: the key was compromised, or
// revoked without a reason. The earlier signatures of a key that was only replaced or is no longer
// used still count (RFC 9580, section 5.2.3.31).
func isHardRevocation(r *packet.Signature) bool {
	if r.RevocationReason == nil {
		return true
	}
	return *r.RevocationReason != packet.KeySuperseded && *r.RevocationReason != packet.KeyRetired
}

func lifetime(from time.Time, seconds *uint32) (time.Time, bool) {
	if seconds == nil || *seconds == 0 {
		return time.Time{}, false
	}
	return from.Add(time.Duration(*seconds) * time.Second), true
}

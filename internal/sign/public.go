package sign

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	// MaxKey bounds the text of one key, in bytes.
	MaxKey = 64 << 10

	minRSABits = 2048
)

// PublicKey is one OpenPGP or SSH public key of a kind supported by this package. The zero
// value is no key.
type PublicKey struct {
	kid  KID
	text string
	raw  []byte          // raw OpenPGP packets
	pgp  *openpgp.Entity // exactly one of pgp and ssh is set
	self *openpgp.Identity
	ssh  ssh.PublicKey
}

// KID returns the key's name.
func (p PublicKey) KID() KID { return p.kid }

// Text returns what ParsePublic takes back: an armored block without headers,
// or one line "type base64" without a comment; either ends with a line feed.
func (p PublicKey) Text() string { return p.text }

// IsSSH reports whether this is an SSH key.
func (p PublicKey) IsSSH() bool { return p.ssh != nil }

// IsZero reports whether p holds no key.
func (p PublicKey) IsZero() bool { return p.kid == "" }

// Created returns when an OpenPGP key says it was made; zero for an SSH key.
func (p PublicKey) Created() time.Time {
	if p.pgp == nil {
		return time.Time{}
	}
	return p.pgp.PrimaryKey.CreationTime.UTC()
}

// UserID returns the user id an OpenPGP key signed last, "" for an SSH key. The maker of the key
// chose it: it proves nothing.
func (p PublicKey) UserID() string {
	if p.pgp == nil {
		return ""
	}
	return p.self.Name
}

// ParsePublic reads exactly one public key: an armored OpenPGP block (headers
// are dropped), or one "type base64 [comment]" line as in a .pub file. Text
// around it, options before it, certificates, private keys and weak keys are
// refused.
func ParsePublic(b []byte) (PublicKey, error) {
	text := bytes.TrimSpace(b)
	switch {
	case len(text) == 0:
		return PublicKey{}, badKey("no key in an empty text")
	case len(text) > MaxKey:
		return PublicKey{}, fault.New(fault.Invalid, fault.TooLarge, "key of %d bytes, limit %d", len(text), MaxKey).
			WithHints(fault.Fact("gpg --export-options export-minimal leaves out the signatures of others"))
	case bytes.Contains(text, []byte("PRIVATE KEY")):
		return PublicKey{}, badKey("this is a private key").WithHints(fault.Fact("gpg --armor --export prints the public one; for SSH it is in the .pub file"))
	case bytes.HasPrefix(text, []byte(strings.TrimSuffix(pgpPublicArmor.begin(), "\n"))):
		return parsePGPPublic(text)
	default:
		return parseSSHPublic(text)
	}
}

func badKey(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, fault.Malformed, format, args...)
}

func parsePGPPublic(text []byte) (PublicKey, error) {
	end := []byte(strings.TrimSuffix(pgpPublicArmor.end(), "\n"))
	if i := bytes.Index(text, end); i != len(text)-len(end) {
		return PublicKey{}, badKey("want exactly one armored key and no text around it")
	}
	block, err := pgparmor.Decode(bytes.NewReader(text))
	if err != nil || block.Type != openpgp.PublicKeyType {
		return PublicKey{}, badKey("read an armored key: not one public key block")
	}
	raw, err := io.ReadAll(block.Body)
	if err != nil {
		return PublicKey{}, badKey("read an armored key: %w", err)
	}
	entity, err := readEntity(raw)
	if err != nil {
		return PublicKey{}, badKey("read an OpenPGP key: %w", err)
	}
	if !statesLengths(raw) {
		return PublicKey{}, badKey("read an OpenPGP key: a packet does not state its length")
	}
	if entity.PrivateKey != nil || slices.ContainsFunc(entity.Subkeys, func(sub openpgp.Subkey) bool { return sub.PrivateKey != nil }) {
		return PublicKey{}, badKey("this is a private key").WithHints(fault.Fact("gpg --armor --export prints the public one"))
	}
	return newPGPPublic(entity, raw)
}

// readEntity reads exactly one OpenPGP key.
func readEntity(raw []byte) (*openpgp.Entity, error) {
	r := packet.NewReader(bytes.NewReader(raw))
	entity, err := openpgp.ReadEntity(r)
	if err != nil {
		return nil, err
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one key")
	}
	return entity, nil
}

func newPGPPublic(e *openpgp.Entity, raw []byte) (PublicKey, error) {
	if e.PrimaryKey.Version != 4 {
		return PublicKey{}, badKey("OpenPGP key of version %d: only version 4 is supported", e.PrimaryKey.Version)
	}
	self := latestIdentity(e)
	if self == nil || !isSHA2(self.SelfSignature.Hash) {
		return PublicKey{}, badKey("OpenPGP key without a self-signature by SHA-2").
			WithHints(fault.Fact("a current gpg can sign it again, with --cert-digest-algo SHA512"))
	}
	if err := checkPGPStrength(e.PrimaryKey); err != nil {
		return PublicKey{}, err
	}
	return PublicKey{kid: openpgpKID(e.PrimaryKey.Fingerprint), text: string(pgpPublicArmor.encode(raw)), raw: raw, pgp: e, self: self}, nil
}

// latestIdentity returns the user id with the newest self-signature, which decides on expiry and
// use. Among equally old ones, go-crypto's choice depends on the order of a map.
func latestIdentity(e *openpgp.Entity) *openpgp.Identity {
	var latest *openpgp.Identity
	for _, name := range slices.Sorted(maps.Keys(e.Identities)) {
		identity := e.Identities[name]
		if self := identity.SelfSignature; self == nil ||
			latest != nil && !self.CreationTime.After(latest.SelfSignature.CreationTime) {
			continue
		}
		latest = identity
	}
	return latest
}

// isSHA2 leaves out SHA-224, which no tool chooses.
func isSHA2(h crypto.Hash) bool {
	return h == crypto.SHA256 || h == crypto.SHA384 || h == crypto.SHA512
}

// checkPGPStrength accepts the algorithms that gpg 2.2 reads as well, except DSA, short RSA and the
// curves of cryptocurrencies.
func checkPGPStrength(key *packet.PublicKey) error {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		return checkRSA(key.PublicKey.(*rsa.PublicKey))
	case packet.PubKeyAlgoECDSA, packet.PubKeyAlgoEdDSA:
		curve, err := key.Curve()
		if err != nil {
			return badKey("read an OpenPGP key: %w", err)
		}
		switch curve {
		case packet.Curve25519, packet.CurveNistP256, packet.CurveNistP384, packet.CurveNistP521:
			return nil
		}
		return badKey("keys on curve %s are not supported", curve)
	}
	return badKey("OpenPGP keys of algorithm %d are not supported", key.PubKeyAlgo).
		WithHints(fault.See("key generate").Because("makes an Ed25519 key; ECDSA and RSA are supported as well"))
}

func checkRSA(key *rsa.PublicKey) error {
	if bits := key.N.BitLen(); bits < minRSABits {
		return badKey("RSA key of %d bits, want at least %d", bits, minRSABits)
	}
	return nil
}

func parseSSHPublic(text []byte) (PublicKey, error) {
	key, _, options, rest, err := ssh.ParseAuthorizedKey(text)
	// The library no longer reads ssh-dss.
	if kind, _, _ := bytes.Cut(text, []byte(" ")); err != nil && string(kind) == "ssh-dss" {
		return PublicKey{}, unsupportedSSH(string(kind))
	}
	if err != nil {
		return PublicKey{}, badKey("neither an armored OpenPGP key nor an SSH public key line")
	}
	if len(rest) > 0 || bytes.ContainsAny(text, "\r\n") {
		return PublicKey{}, badKey("want exactly one public key, on one line")
	}
	if len(options) > 0 {
		return PublicKey{}, badKey("SSH public key with options before it")
	}
	return newSSHPublic(key)
}

func newSSHPublic(key ssh.PublicKey) (PublicKey, error) {
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	case ssh.KeyAlgoRSA:
		if err := checkRSA(key.(ssh.CryptoPublicKey).CryptoPublicKey().(*rsa.PublicKey)); err != nil {
			return PublicKey{}, err
		}
	default:
		return PublicKey{}, unsupportedSSH(key.Type())
	}
	return PublicKey{kid: sshKID(key), text: string(ssh.MarshalAuthorizedKey(key)), ssh: key}, nil
}

func unsupportedSSH(kind string) error {
	return badKey("SSH keys of type %q are not supported", kind).
		WithHints(fault.Fact("the supported types are ssh-ed25519, ecdsa and rsa, without certificates"))
}

// KID names a key: "openpgp:" and the 40 lower-case hex digits of a v4
// fingerprint, or "ssh:SHA256:" and 43 characters of unpadded base64, as
// ssh-keygen -l prints them. A signing subkey has no KID of its own: it speaks
// for its primary key.
type KID = string

const (
	openpgpPrefix = "openpgp:"
	sshPrefix     = "ssh:SHA256:"
)

// CheckKID says why s is not the one spelling of a KID; nil if it is.
func CheckKID(s string) error {
	if handoff.IsKeyID(s) {
		return nil
	}
	return fault.New(fault.Invalid, fault.Malformed, "%q is not a key id", s).
		WithHints(fault.Fact("a key id is openpgp: and 40 hex digits, or ssh:SHA256: and 43 characters"))
}

func openpgpKID(fingerprint []byte) KID { return openpgpPrefix + hex.EncodeToString(fingerprint) }

func sshKID(key ssh.PublicKey) KID { return "ssh:" + ssh.FingerprintSHA256(key) }

// Hex spells a KID as one component of a ref name: the 40 digits of an OpenPGP fingerprint, or
// the 64 of an SSH key's SHA-256 sum.
func Hex(kid KID) string {
	if digits, ok := strings.CutPrefix(kid, sshPrefix); ok {
		sum, _ := base64.RawStdEncoding.DecodeString(digits)
		return hex.EncodeToString(sum)
	}
	return strings.TrimPrefix(kid, openpgpPrefix)
}

// FromHex reads the output of Hex; false for any other spelling.
func FromHex(digits string) (KID, bool) {
	b, err := hex.DecodeString(digits)
	if err != nil || digits != strings.ToLower(digits) {
		return "", false
	}
	switch len(b) {
	case 20:
		return openpgpKID(b), true
	case 32:
		return sshPrefix + base64.RawStdEncoding.EncodeToString(b), true
	}
	return "", false
}

// FromFingerprint returns the KID for a fingerprint as gpg prints it (40 hex digits in either
// case, with spaces, perhaps after 0x) or as ssh-keygen -l does (SHA256: and 43 characters). It
// returns anything else as it is.
func FromFingerprint(s string) string {
	if strings.HasPrefix(s, "SHA256:") {
		return "ssh:" + s
	}
	b, err := hex.DecodeString(strings.TrimPrefix(strings.ReplaceAll(s, " ", ""), "0x"))
	if err != nil || len(b) != 20 {
		return s
	}
	return openpgpKID(b)
}

// Fingerprint returns a key's name as people compare it: as gpg and ssh-keygen -l
// print it.
func Fingerprint(kid KID) string {
	digits, ok := strings.CutPrefix(kid, openpgpPrefix)
	if !ok {
		return strings.TrimPrefix(kid, "ssh:")
	}
	var groups []string
	for group := range slices.Chunk([]byte(strings.ToUpper(digits)), 4) {
		groups = append(groups, string(group))
	}
	half := len(groups) / 2
	return strings.Join(groups[:half], " ") + "  " + strings.Join(groups[half:], " ")
}

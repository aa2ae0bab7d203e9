package sign

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
)

// signature is one parsed signature of either kind; exactly one field is set.
type signature struct {
	pgp *packet.Signature
	ssh *sshsig.Signature
}

// issuer returns the KID of the key claiming the signature; for a subkey, its own fingerprint in
// the form of a KID.
func (s signature) issuer() KID {
	if s.pgp != nil {
		return openpgpKID(s.pgp.IssuerFingerprint)
	}
	return sshKID(s.ssh.PublicKey)
}

// ErrUnread is in the error of a signature that this version cannot read. A later one may.
var ErrUnread = errors.New("read a signature")

// parseSignature reads exactly one signature and verifies nothing. Anything else is refused
// with signature_invalid and [ErrUnread], an empty text with unsigned.
func parseSignature(armored []byte) (signature, error) {
	if len(armored) == 0 {
		return signature{}, fault.New(fault.Denied, fault.Unsigned, "there is no signature")
	}
	s, err := parseArmored(armored)
	if err != nil {
		return signature{}, fault.New(fault.Denied, fault.SignatureInvalid, "%w", fmt.Errorf("%w: %w", ErrUnread, err))
	}
	return s, nil
}

func parseArmored(armored []byte) (signature, error) {
	if len(armored) > maxSignature {
		return signature{}, fmt.Errorf("%d bytes, limit %d", len(armored), maxSignature)
	}
	if bytes.HasPrefix(armored, []byte(sshSignatureArmor.begin())) {
		raw, err := sshSignatureArmor.decode(armored)
		if err != nil {
			return signature{}, err
		}
		s, err := parseSSHSignature(raw)
		return signature{ssh: s}, err
	}
	raw, err := pgpSignatureArmor.decode(armored)
	if err != nil {
		return signature{}, err
	}
	s, err := parsePGPSignature(raw)
	return signature{pgp: s}, err
}

// parsePGPSignature reads exactly one v4 signature packet over binary data. The packet must
// encode to the same body again, its time and issuer must be under the signature, and nothing
// outside may change its meaning.
func parsePGPSignature(raw []byte) (*packet.Signature, error) {
	if len(raw) < 6 {
		return nil, errors.New("too short for a signature")
	}
	// Both formats of a header (RFC 9580, section 4.2) are in use: gpg writes the old one.
	tag, header, size, ok := packetHeader(raw)
	if !ok || tag != signatureTag || header > 3 {
		return nil, errors.New("not a signature packet of a plain length")
	}
	if len(raw) != header+size {
		return nil, errors.New("not exactly one signature packet")
	}
	body := raw[header:]
	p, err := packet.Read(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	sig, ok := p.(*packet.Signature)
	if !ok || sig.Version != 4 {
		return nil, errors.New("not a version 4 signature packet")
	}
	switch {
	case sig.SigType != packet.SigTypeBinary:
		return nil, fmt.Errorf("signature type 0x%02x, want 0x00 (binary)", uint8(sig.SigType))
	case !isSHA2(sig.Hash):
		return nil, fmt.Errorf("hash %v, want SHA-256, SHA-384 or SHA-512", sig.Hash)
	case sig.IssuerKeyVersion != 4 || len(sig.IssuerFingerprint) != 20:
		return nil, errors.New("no fingerprint of a version 4 key as issuer")
	case sig.SigLifetimeSecs != nil && *sig.SigLifetimeSecs != 0:
		return nil, errors.New("the signature expires: records are checked for ever")
	}
	for _, n := range sig.Notations {
		if n.IsCritical {
			return nil, fmt.Errorf("critical notation %q", n.Name)
		}
	}
	if err := checkSubpackets(body, sig.IssuerFingerprint); err != nil {
		return nil, err
	}
	var again bytes.Buffer
	if err := sig.Serialize(&again); err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(again.Bytes(), body) || again.Len() > len(body)+6 {
		return nil, errors.New("packet is not in canonical form")
	}
	return sig, nil
}

// Subpackets of RFC 9580, section 5.2.3.7, needed by a signature over data.
const (
	subpacketCreated     = 2
	subpacketIssuer      = 16
	subpacketFingerprint = 33
)

// checkSubpackets requires one time and one issuer fingerprint in the hashed area, and looks
// at the area outside the signature.
func checkSubpackets(body, fingerprint []byte) error {
	rest := cryptobyte.String(body)
	var hashed, unhashed cryptobyte.String
	if !rest.Skip(4) || !rest.ReadUint16LengthPrefixed(&hashed) || !rest.ReadUint16LengthPrefixed(&unhashed) || !rest.Skip(2) {
		return errors.New("truncated")
	}
	subpackets, err := packet.OpaqueSubpackets(hashed)
	if err != nil {
		return err
	}
	count := map[byte]int{}
	for _, s := range subpackets {
		count[s.SubType&0x7f]++ // without the bit that marks a critical subpacket
	}
	if count[subpacketCreated] != 1 || count[subpacketFingerprint] != 1 {
		return errors.New("want one creation time and one issuer fingerprint under the signature")
	}
	// Anybody can change the area outside the signature, and with it the id of the commit. gpg puts
	// the issuer's short id there, so one correct short id is allowed there.
	issuer := append([]byte{9, subpacketIssuer}, fingerprint[len(fingerprint)-8:]...)
	if len(unhashed) > 0 && !bytes.Equal(unhashed, issuer) {
		return errors.New("something other than the issuer's short id stands outside the signature")
	}
	return checkIntegers(rest) // after 16 bits of the hash
}

// checkIntegers requires each number of a signature to state its exact count of bits, without
// leading zeros. Other OpenPGP readers look only at the count of bytes.
func checkIntegers(rest cryptobyte.String) error {
	for !rest.Empty() {
		var count uint16
		if !rest.ReadUint16(&count) {
			return errors.New("truncated")
		}
		n := int(count)
		var number []byte
		if n == 0 || !rest.ReadBytes(&number, (n+7)/8) || 8*(len(number)-1)+bits.Len8(number[0]) != n {
			return errors.New("a number is not in canonical form")
		}
	}
	return nil
}

// parseSSHSignature reads one SSHSIG blob (OpenSSH's PROTOCOL.sshsig), which must encode to
// the same bytes again. sshsig lets only rsa-sha2 through for RSA.
func parseSSHSignature(raw []byte) (*sshsig.Signature, error) {
	sig, err := sshsig.ParseSignature(raw)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(sig.Marshal(), raw) {
		return nil, errors.New("signature is not in canonical form")
	}
	if _, err := newSSHPublic(sig.PublicKey); err != nil {
		return nil, err
	}
	switch sig.Signature.Format {
	case ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256: // security keys add flags and a counter
	default:
		if len(sig.Signature.Rest) > 0 {
			return nil, errors.New("bytes after the signature")
		}
	}
	return sig, nil
}

// maxSignature bounds an armored signature, in bytes. One by an RSA key of
// 16,384 bits needs about a quarter of it.
const maxSignature = 16 << 10

// armor is one of the text wrappings that this package writes, each as its stock tool does. Its
// value is the words after BEGIN and END.
type armor string

const (
	pgpSignatureArmor armor = "PGP SIGNATURE"
	pgpPublicArmor    armor = "PGP PUBLIC KEY BLOCK"
	pgpPrivateArmor   armor = "PGP PRIVATE KEY BLOCK"
	sshSignatureArmor armor = "SSH SIGNATURE"
)

func (a armor) begin() string { return "-----BEGIN " + string(a) + "-----\n" }
func (a armor) end() string   { return "-----END " + string(a) + "-----\n" }

// encode wraps raw, without headers.
func (a armor) encode(raw []byte) []byte {
	var out bytes.Buffer
	if a != sshSignatureArmor {
		w, err := pgparmor.EncodeWithChecksumOption(&out, string(a), nil, true)
		if err == nil {
			_, err = w.Write(raw)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			panic("sign: write armor to memory: " + err.Error())
		}
		out.WriteByte('\n')
		return out.Bytes()
	}
	out.WriteString(a.begin())
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(raw)), 70) {
		out.Write(line)
		out.WriteByte('\n')
	}
	out.WriteString(a.end())
	return out.Bytes()
}

// decode accepts exactly what encode writes: any header, other line length,
// wrong checksum, second block or text around the block makes a difference.
func (a armor) decode(text []byte) ([]byte, error) {
	raw, err := a.unwrap(text)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(a.encode(raw), text) {
		return nil, errors.New("armor is not in canonical form")
	}
	return raw, nil
}

// unwrap is like decode, but takes lines of any length and any checksum. It is quick: it encodes nothing.
func (a armor) unwrap(text []byte) ([]byte, error) {
	body, ok := bytes.CutPrefix(text, []byte(a.begin()))
	if !ok {
		return nil, errors.New("does not begin with " + string(a) + " armor")
	}
	if body, ok = bytes.CutSuffix(body, []byte(a.end())); !ok {
		return nil, errors.New("does not end with " + string(a) + " armor")
	}
	if a != sshSignatureArmor {
		if i := bytes.LastIndexByte(body, '='); i > 0 && body[i-1] == '\n' {
			body = body[:i]
		}
	}
	return base64.StdEncoding.DecodeString(string(body)) // skips line ends
}

// packetHeader reads a header of either format with a definite length.
func packetHeader(b []byte) (tag byte, header, size int, ok bool) {
	width := 0 // bytes of the length field
	switch {
	case b[0]&0x80 == 0 || len(b) < 2:
		return 0, 0, 0, false
	case b[0]&0x40 == 0:
		if b[0]&3 == 3 {
			return 0, 0, 0, false // indeterminate length
		}
		tag, header, width = b[0]>>2&15, 1, 1<<(b[0]&3)
	case b[1] < 192:
		tag, header, width = b[0]&63, 1, 1
	case b[1] < 224:
		if len(b) < 3 {
			return 0, 0, 0, false
		}
		return b[0] & 63, 3, (int(b[1])-192)<<8 + int(b[2]) + 192, true
	case b[1] == 255:
		tag, header, width = b[0]&63, 2, 4
	default:
		return 0, 0, 0, false // partial lengths
	}
	if len(b) < header+width {
		return 0, 0, 0, false
	}
	for _, c := range b[header : header+width] {
		size = size<<8 | int(c)
	}
	return tag, header + width, size, true
}

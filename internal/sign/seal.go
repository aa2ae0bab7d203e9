package sign

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

const (
	// SealOverhead bounds the bytes sealing adds to a text: 16 RSA keys of 4,096 bits take
	// half of it.
	SealOverhead = 16 << 10

	maxRecipients = 16
)

// ErrSealed is in the chain of the refusal to open a text sealed for others.
var ErrSealed = errors.New("sealed for other keys")

// Seal encrypts text for each of the keys, in the form described in the package comment. A key
// unable to encrypt at that time is an error: ask CanSeal before.
func Seal(text []byte, to []PublicKey, at time.Time, random io.Reader) ([]byte, error) {
	if len(to) == 0 || len(to) > maxRecipients {
		return nil, fault.New(fault.Usage, fault.BadUsage, "sealed for %d keys, want 1 to %d", len(to), maxRecipients)
	}
	var entities []*openpgp.Entity
	for _, public := range to {
		if !public.CanSeal(at) {
			return nil, fault.New(fault.Denied, fault.UntrustedKey, "key %s cannot encrypt", public.kid)
		}
		entities = append(entities, public.pgp)
	}
	config := &packet.Config{Rand: random, Time: func() time.Time { return at }, DefaultCipher: packet.CipherAES256}
	var out bytes.Buffer
	w, err := openpgp.Encrypt(&out, entities, nil, &openpgp.FileHints{IsBinary: true}, config)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return out.Bytes(), nil
}

// CanSeal reports whether something can be sealed for this key at a time: it is an OpenPGP
// key, valid then, with an encryption subkey gpg 2.2 reads.
func (p PublicKey) CanSeal(at time.Time) bool {
	if p.pgp == nil || p.ownValidity(nil, at) != nil {
		return false
	}
	key, ok := p.pgp.EncryptionKey(at)
	if !ok {
		return false
	}
	switch key.PublicKey.PubKeyAlgo {
	case packet.PubKeyAlgoECDH:
		return true
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSAEncryptOnly:
		bits, err := key.PublicKey.BitLength()
		return err == nil && bits >= minRSABits
	}
	return false
}

// sealed is the outer structure of a sealed text.
type sealed struct {
	keys []*packet.EncryptedKey // one for each recipient
	data *packet.SymmetricallyEncrypted
}

// CheckSealed checks the form of a sealed text, as far as possible without opening it. Reason:
// malformed.
func CheckSealed(b []byte) error {
	_, err := parseSealed(b)
	return err
}

// parseSealed reads one encrypted session key for each recipient and then exactly one packet
// of data protected against changes.
func parseSealed(b []byte) (*sealed, error) {
	if err := checkSealedPackets(b); err != nil {
		return nil, badSeal(err)
	}
	s := &sealed{}
	for r := packet.NewReader(bytes.NewReader(b)); s.data == nil; {
		p, err := r.Next()
		if err != nil {
			return nil, badSeal(err)
		}
		switch p := p.(type) {
		case *packet.EncryptedKey:
			s.keys = append(s.keys, p)
		case *packet.SymmetricallyEncrypted:
			s.data = p
		}
	}
	return s, nil
}

const (
	tagEncryptedKey  = 1
	tagEncryptedData = 18
)

// checkSealedPackets looks only at tags and versions, but over the whole text. It finds packets
// after the data, and data without integrity protection (tag 9).
func checkSealedPackets(b []byte) error {
	r := packet.NewOpaqueReader(bytes.NewReader(b))
	for recipients := 0; ; recipients++ {
		p, err := r.Next()
		if err != nil {
			return err
		}
		version := byte(0)
		if len(p.Contents) > 0 {
			version = p.Contents[0]
		}
		switch {
		case p.Tag == tagEncryptedKey && version == 3 && recipients < maxRecipients:
		case p.Tag == tagEncryptedData && version == 1 && recipients > 0:
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				return errors.New("bytes after the encrypted data")
			}
			return nil
		default:
			return fmt.Errorf("packet %d of type %d, version %d: want session keys and then data with integrity protection", recipients, p.Tag, version)
		}
	}
}

func badSeal(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fault.New(fault.Invalid, fault.Malformed, "read a sealed text: %w", err)
}

// keyFor returns the session key for this subkey: one that names the subkey, or one that names
// nobody.
func (s *sealed) keyFor(subkey uint64) *packet.EncryptedKey {
	for _, k := range s.keys {
		if k.KeyId == 0 || k.KeyId == subkey {
			return k
		}
	}
	return nil
}

// sealedFor reports whether one of the session keys may be for this key.
func (s *sealed) sealedFor(public PublicKey) bool {
	if public.pgp == nil {
		return false
	}
	return s.keyFor(public.pgp.PrimaryKey.KeyId) != nil ||
		slices.ContainsFunc(public.pgp.Subkeys, func(sub openpgp.Subkey) bool { return s.keyFor(sub.PublicKey.KeyId) != nil })
}

// readSealed reads the decrypted bytes: one literal packet of at most limit bytes, perhaps
// in one compressed packet, and nothing after it.
func readSealed(plain []byte, limit int) ([]byte, error) {
	r := bytes.NewReader(plain)
	p, err := packet.Read(r)
	if err != nil {
		return nil, err
	}
	if c, ok := p.(*packet.Compressed); ok {
		inner, err := readAtMost(c.Body, limit+literalHeader)
		if err != nil {
			return nil, err
		}
		if r.Len() > 0 {
			return nil, errors.New("bytes after the compressed text")
		}
		r = bytes.NewReader(inner)
		if p, err = packet.Read(r); err != nil {
			return nil, err
		}
	}
	literal, ok := p.(*packet.LiteralData)
	if !ok {
		return nil, fmt.Errorf("a packet %T where the text should be", p)
	}
	text, err := readAtMost(literal.Body, limit)
	if err != nil {
		return nil, err
	}
	if r.Len() > 0 {
		return nil, errors.New("bytes after the text")
	}
	return text, nil
}

// literalHeader is the overhead of a literal packet, in bytes: format, name, date and the
// lengths of its chunks.
const literalHeader = 1 << 10

func readAtMost(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(b) > limit {
		return nil, tooLong(limit)
	}
	return b, nil
}

func tooLong(limit int) error {
	return fault.New(fault.Invalid, fault.TooLarge, "the sealed text has more than %d bytes", limit)
}

// opener is a Signer able to decrypt as well: in process, or through gpg.
type opener interface {
	open(ctx context.Context, raw []byte, s *sealed, limit int) ([]byte, error)
}

// Unseal opens a text sealed for the signer's key and returns the text, of at most limit
// bytes.
//
// Reasons: audience_mismatch with ErrSealed (sealed for other keys, or this one
// cannot decrypt), malformed (not in the form of the package comment, or
// changed on its way), too_large, key_locked, signer_unavailable.
func Unseal(ctx context.Context, s Signer, raw []byte, limit int) ([]byte, error) {
	parsed, err := parseSealed(raw)
	if err != nil {
		return nil, err
	}
	o, ok := s.(opener)
	if !ok || !parsed.sealedFor(s.Public()) {
		return nil, notSealedFor(s.KID())
	}
	return o.open(ctx, raw, parsed, limit)
}

func notSealedFor(kid KID) error {
	return fault.New(fault.Denied, fault.AudienceMismatch, "key %s cannot open it: %w", kid, ErrSealed).
		WithHints(fault.Fact("only the agent whose key it was sealed for can open it"))
}

func (s *pgpSigner) open(_ context.Context, _ []byte, from *sealed, limit int) ([]byte, error) {
	config := &packet.Config{Rand: rand.Reader}
	for _, sub := range s.entity.Subkeys {
		key := from.keyFor(sub.PublicKey.KeyId)
		if key == nil || sub.PrivateKey == nil || key.Decrypt(sub.PrivateKey, config) != nil {
			continue
		}
		plain, err := from.decrypt(key)
		if err != nil {
			return nil, badSeal(err)
		}
		text, err := readSealed(plain, limit)
		if err != nil && fault.As(err) == nil {
			err = badSeal(err)
		}
		return text, err
	}
	return nil, notSealedFor(s.KID())
}

// decrypt reads all of the data, and only then knows whether it is whole.
func (s *sealed) decrypt(key *packet.EncryptedKey) ([]byte, error) {
	r, err := s.data.Decrypt(key.CipherFunc, key.Key)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return plain, r.Close()
}

// open lets gpg decrypt. That the data is protected against changes was checked before. gpg runs
// without its configuration, so it refuses changed data.
func (s *gpgSigner) open(ctx context.Context, raw []byte, _ *sealed, limit int) ([]byte, error) {
	defer s.waiting()()
	out, err := s.run.Run(ctx, gitexec.Cmd{
		Name: s.program,
		Args: []string{
			"--no-options", "--status-fd=2", "--batch", "--no-tty", "--pinentry-mode", "error",
			"--max-output", strconv.Itoa(limit), "--decrypt",
		},
		Stdin: bytes.NewReader(raw), Timeout: gitexec.SignerTimeout, MaxOutput: 2 * int64(limit),
	})
	if err == nil {
		return out, nil
	}
	e, ok := errors.AsType[*gitexec.Error](err)
	if !ok || e.Code < 0 {
		return nil, gpgUnavailable(err)
	}
	said := map[string]bool{}
	for line := range strings.Lines(e.Stderr) {
		var number uint32
		if n, _ := fmt.Sscanf(line, "[GNUPG:] ERROR pkdecrypt_failed %d", &number); n == 1 && number&0xffff == noPinentry {
			return nil, s.locked()
		}
		if status, ok := strings.CutPrefix(strings.TrimSpace(line), "[GNUPG:] "); ok {
			word, _, _ := strings.Cut(status, " ")
			said[word] = true
		}
	}
	switch {
	case said["GOODMDC"]: // the text is intact, so gpg failed at its length
		return nil, tooLong(limit)
	case said["NO_SECKEY"] && !said["DECRYPTION_INFO"]: // gpg has the secret key of no recipient
		return nil, notSealedFor(s.KID())
	}
	return nil, badSeal(fmt.Errorf("gpg cannot decrypt it: %w", err))
}

package sign

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// opener is a Signer that can decrypt as well: in process, or through gpg.
type opener interface {
	open(ctx context.Context, raw []byte, s *sealed, limit int) ([]byte, error)
}

// Unseal opens what was sealed for the signer's key and returns the text, of at
// most limit bytes.
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

// open lets gpg decrypt. That the data is protected against changes was seen
// before; without its configuration gpg refuses what was changed.
func (s *gpgSigner) open(ctx context.Context, raw []byte, _ *sealed, limit int) ([]byte, error) {
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
	var e *gitexec.Error
	if !errors.As(err, &e) || e.Code < 0 {
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
	case said["GOODMDC"]: // it is whole, so what gpg does not like is its length
		return nil, tooLong(limit)
	case said["NO_SECKEY"] && !said["DECRYPTION_INFO"]: // it says so of each recipient's
		return nil, notSealedFor(s.KID())
	}
	return nil, badSeal(fmt.Errorf("gpg cannot decrypt it: %w", err))
}

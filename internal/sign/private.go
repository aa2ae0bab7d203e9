package sign

import (
	"bytes"
	"crypto/rand"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/fault"
)

// readPrivate reads exactly one armored OpenPGP private key. With a passphrase
// it is still to be unlocked.
func readPrivate(armored []byte) (*openpgp.Entity, error) {
	if len(armored) > MaxKey {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "private key of %d bytes, limit %d", len(armored), MaxKey)
	}
	block, err := pgparmor.Decode(bytes.NewReader(armored))
	if err != nil || block.Type != openpgp.PrivateKeyType {
		return nil, badKey("want one armored OpenPGP private key")
	}
	raw, err := io.ReadAll(block.Body)
	if err != nil {
		return nil, badKey("read an armored private key: %w", err)
	}
	entity, err := readEntity(raw)
	if err != nil {
		return nil, badKey("read an OpenPGP private key: %w", err)
	}
	if entity.PrivateKey == nil {
		return nil, badKey("no private key in a private key block")
	}
	return entity, nil
}

// unlock takes the passphrase off a key in memory. Ask may be nil: then a key
// that has one is locked.
func (s *pgpSigner) unlock(ask func(KID) ([]byte, error)) error {
	if !s.entity.PrivateKey.Encrypted {
		return nil
	}
	if ask == nil {
		return lockedKey(s.KID()).WithHints(fault.Fact("a terminal can ask for the passphrase; gpg-agent can hold it, if the key is in gpg and --key names it"))
	}
	passphrase, err := ask(s.KID())
	if err != nil {
		return err
	}
	if err := s.entity.DecryptPrivateKeys(passphrase); err != nil { // not %w: nothing of a private key belongs into a message
		return fault.New(fault.Unavailable, fault.KeyLocked, "wrong passphrase for key %s", s.KID())
	}
	return nil
}

// locked writes the private key of an unlocked signer under a passphrase.
func (s *pgpSigner) locked(passphrase []byte) ([]byte, error) {
	return armorPrivate(s.entity, passphrase, &packet.Config{Rand: rand.Reader})
}

// lockedKey is a key that cannot be used before somebody types a passphrase:
// nothing is wrong with it, and trying again later helps.
func lockedKey(kid KID) *fault.Error {
	return fault.New(fault.Unavailable, fault.KeyLocked, "key %s is protected by a passphrase", kid)
}

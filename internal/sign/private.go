package sign

import (
	"bytes"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"

	"githandoff/internal/fault"
)

// readPrivate reads exactly one armored OpenPGP private key that has no
// passphrase.
func readPrivate(armored []byte) (*openpgp.Entity, error) {
	if len(armored) > MaxKey {
		return nil, fault.New(fault.Invalid, "too_large", "private key of %d bytes, limit %d", len(armored), MaxKey)
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
	if entity.PrivateKey.Encrypted {
		return nil, locked(openpgpKID(entity.PrimaryKey.Fingerprint)).
			WithHint("import it into gpg and name it with --key, so that gpg-agent can hold the passphrase")
	}
	return entity, nil
}

// locked is a key that cannot be used before somebody types a passphrase:
// nothing is wrong with it, and trying again later helps.
func locked(kid KID) *fault.Error {
	return fault.New(fault.Unavailable, "key_locked", "key %s is protected by a passphrase", kid)
}

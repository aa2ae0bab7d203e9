package sign

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Signer makes signatures with one private key, wherever that is. It is safe
// for concurrent use.
type Signer interface {
	// KID names the key, by its primary key where a subkey signs.
	KID() KID
	// Public is the key that the signatures verify with.
	Public() PublicKey
	// Sign signs exactly message. OpenPGP: a detached v4 signature over binary
	// data; the namespace has no effect. SSH: an SSHSIG in that namespace. The
	// result is one plain armored block that ends with a line feed; it goes
	// into a gpgsig header as it is, each further line indented by a space.
	Sign(ctx context.Context, namespace string, message []byte) (armored []byte, err error)
}

// pgpSigner signs in process.
type pgpSigner struct {
	entity *openpgp.Entity
	public PublicKey
	now    func() time.Time
	random io.Reader
}

// newPGPSigner takes an armored private key. It signs once it is unlocked.
func newPGPSigner(armored []byte, now func() time.Time, random io.Reader) (*pgpSigner, error) {
	entity, err := readPrivate(armored)
	if err != nil {
		return nil, err
	}
	public, err := publicOf(entity)
	if err != nil {
		return nil, err
	}
	return &pgpSigner{entity: entity, public: public, now: now, random: random}, nil
}

func publicOf(entity *openpgp.Entity) (PublicKey, error) {
	var raw bytes.Buffer
	if err := entity.Serialize(&raw); err != nil {
		return PublicKey{}, fmt.Errorf("write a public key: %w", err)
	}
	public := *entity
	public.PrivateKey, public.Subkeys = nil, slices.Clone(entity.Subkeys)
	for i := range public.Subkeys {
		public.Subkeys[i].PrivateKey = nil
	}
	return newPGPPublic(&public, raw.Bytes())
}

func (s *pgpSigner) KID() KID          { return s.public.kid }
func (s *pgpSigner) Public() PublicKey { return s.public }

func (s *pgpSigner) Sign(_ context.Context, _ string, message []byte) ([]byte, error) {
	now := s.now()
	if err := s.public.ownValidity(nil, now); err != nil {
		return nil, err
	}
	config := &packet.Config{DefaultHash: crypto.SHA512, Rand: s.random, Time: func() time.Time { return now }}
	var raw bytes.Buffer
	if err := openpgp.DetachSign(&raw, s.entity, bytes.NewReader(message), config); err != nil {
		return nil, fmt.Errorf("sign with %s: %w", s.KID(), err)
	}
	return pgpSignatureArmor().encode(raw.Bytes()), nil
}

// sshSigner signs in process.
type sshSigner struct {
	key    ssh.Signer
	public PublicKey
	random io.Reader
}

func newSSHSigner(key ssh.Signer, random io.Reader) (*sshSigner, error) {
	public, err := newSSHPublic(key.PublicKey())
	if err != nil {
		return nil, err
	}
	return &sshSigner{key: key, public: public, random: random}, nil
}

func (s *sshSigner) KID() KID          { return s.public.kid }
func (s *sshSigner) Public() PublicKey { return s.public }

func (s *sshSigner) Sign(_ context.Context, namespace string, message []byte) ([]byte, error) {
	return signSSH(s.key, s.random, namespace, message)
}

func signSSH(key ssh.Signer, random io.Reader, namespace string, message []byte) ([]byte, error) {
	sig, err := sshsig.SignWithRand(bytes.NewReader(message), random, key, sshsig.HashSHA512, namespace)
	if err != nil {
		return nil, fmt.Errorf("sign with %s: %w", sshKID(key.PublicKey()), err)
	}
	return sshSignatureArmor().encode(sig.Marshal()), nil
}

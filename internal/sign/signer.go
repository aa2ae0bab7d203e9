package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// Signer makes signatures with one private key, wherever it is. It is safe for concurrent use.
type Signer interface {
	// KID names the key. If a subkey signs, it names the primary key.
	KID() KID
	// Public is the key to verify the signatures with.
	Public() PublicKey
	// Sign signs exactly message. OpenPGP: a detached v4 signature over binary data; the
	// namespace has no effect. SSH: an SSHSIG in the namespace. The result is one plain
	// armored block with a final line feed; it goes into a gpgsig header as it is, each
	// further line indented by a space.
	Sign(ctx context.Context, namespace string, message []byte) (armored []byte, err error)
}

// identity is the public half of a signer.
type identity struct{ public PublicKey }

func (i identity) KID() KID          { return i.public.kid }
func (i identity) Public() PublicKey { return i.public }

// pgpSigner signs in process.
type pgpSigner struct {
	identity
	entity *openpgp.Entity
	now    func() time.Time
}

// newPGPSigner takes an armored private key. It signs once it is unlocked.
func newPGPSigner(armored []byte, now func() time.Time) (*pgpSigner, error) {
	entity, err := readPrivate(armored)
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	if err := entity.Serialize(&raw); err != nil {
		return nil, fmt.Errorf("write a public key: %w", err)
	}
	own := *entity
	own.PrivateKey, own.Subkeys = nil, slices.Clone(entity.Subkeys)
	for i := range own.Subkeys {
		own.Subkeys[i].PrivateKey = nil
	}
	public, err := newPGPPublic(&own, raw.Bytes())
	if err != nil {
		return nil, err
	}
	return &pgpSigner{identity: identity{public}, entity: entity, now: now}, nil
}

func (s *pgpSigner) Sign(_ context.Context, _ string, message []byte) ([]byte, error) {
	now := s.now()
	if err := s.public.ownValidity(nil, now); err != nil {
		return nil, err
	}
	config := &packet.Config{DefaultHash: crypto.SHA512, Rand: rand.Reader, Time: func() time.Time { return now }}
	var raw bytes.Buffer
	if err := openpgp.DetachSign(&raw, s.entity, bytes.NewReader(message), config); err != nil {
		return nil, fmt.Errorf("sign with %s: %w", s.KID(), err)
	}
	return pgpSignatureArmor.encode(raw.Bytes()), nil
}

// sshSigner signs in process.
type sshSigner struct {
	identity
	key ssh.Signer
}

func newSSHSigner(key ssh.Signer) (Signer, error) {
	public, err := newSSHPublic(key.PublicKey())
	if err != nil {
		return nil, err
	}
	return &sshSigner{identity{public}, key}, nil
}

func (s *sshSigner) Sign(_ context.Context, namespace string, message []byte) ([]byte, error) {
	return signSSH(s.key, namespace, message)
}

func signSSH(key ssh.Signer, namespace string, message []byte) ([]byte, error) {
	sig, err := sshsig.Sign(bytes.NewReader(message), key, sshsig.HashSHA512, namespace)
	if err != nil {
		return nil, fmt.Errorf("sign with %s: %w", sshKID(key.PublicKey()), err)
	}
	return sshSignatureArmor.encode(sig.Marshal()), nil
}

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

// unlock takes the passphrase off a key in memory. If ask is nil, a key with a passphrase is
// locked.
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
	if err := s.entity.DecryptPrivateKeys(passphrase); err != nil { // without %w: no message may quote a private key
		return fault.New(fault.Unavailable, fault.KeyLocked, "wrong passphrase for key %s", s.KID())
	}
	return nil
}

// lockedKey refuses a key until somebody types its passphrase: nothing is wrong with it, and
// trying again later helps.
func lockedKey(kid KID) *fault.Error {
	return fault.New(fault.Unavailable, fault.KeyLocked, "key %s is protected by a passphrase", kid)
}

// Options choose the signing key. The first one set counts: Key, Env, Agent.
type Options struct {
	// Key is the value of --key or of the configuration: a KID, an OpenPGP fingerprint, the
	// name or mail address of a key in the keystore, a path with a slash to a file of an
	// OpenPGP private key or an SSH key file, private or public, an SSH public key line, or
	// the mail address, the whole user id or the long key id of a key in gpg.
	Key string
	// Env is the content of $GITHANDOFF_KEY: an armored OpenPGP private key or
	// the text of an OpenSSH private key, without passphrase.
	Env string
	// Agent owns the key used otherwise, from the keystore.
	Agent string

	Keystore    Keystore
	Runner      *gitexec.Runner // runs gpg
	GPGProgram  string          // value of gpg.program; empty for gpg
	SSHAuthSock string          // value of $SSH_AUTH_SOCK; empty for no ssh-agent

	// Waiting is called before another program signs or decrypts, which may wait for somebody to confirm
	// or to touch a token; done is called afterwards. It may be nil.
	Waiting func(program string) (done func())
}

// isKeyFile tells the path of a file from the other spellings of [Options.Key].
func isKeyFile(key string) bool {
	return strings.ContainsRune(key, filepath.Separator) && !isSSHLine(strings.TrimPrefix(key, "key::")) && !strings.HasPrefix(key, sshPrefix)
}

// KeyIn returns an [Options.Key] as it is meant in a directory; "" is the current one.
func KeyIn(dir, key string) string {
	if dir == "" || key == "" || filepath.IsAbs(key) || !isKeyFile(FromFingerprint(key)) {
		return key
	}
	return dir + string(filepath.Separator) + key // filepath.Join could remove the separator that marks a file
}

// AbsoluteKey returns an [Options.Key] that means the same in every directory.
func AbsoluteKey(key string) (string, error) {
	if !isKeyFile(FromFingerprint(key)) {
		return key, nil
	}
	return filepath.Abs(key)
}

// isSSHLine tells "ssh-ed25519 AAAA…" from a user id.
func isSSHLine(s string) bool {
	kind, _, ok := strings.Cut(s, " ")
	return ok && (strings.HasPrefix(kind, "ssh-") || strings.HasPrefix(kind, "ecdsa-") || strings.HasPrefix(kind, "sk-"))
}

// waitingFor returns what a signer calls before it asks that program.
func (o Options) waitingFor(program string) func() (done func()) {
	if o.Waiting == nil {
		return func() func() { return func() {} }
	}
	return func() func() { return o.Waiting(program) }
}

// OpenSigner finds the key chosen by opts in the environment, the keystore, an SSH key file,
// ssh-agent or gpg. It asks for no passphrase but through the keystore, and takes no key but
// the named one.
//
// Reasons: no_key, key_locked (needs a passphrase no agent holds), signer_unavailable (the
// program or agent with the key), ambiguous, malformed.
func OpenSigner(ctx context.Context, opts Options) (Signer, error) {
	switch {
	case opts.Key != "":
		return opts.named(ctx)
	case opts.Env != "":
		return opts.fromEnv()
	default:
		return opts.Keystore.Load(opts.Agent)
	}
}

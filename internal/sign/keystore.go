package sign

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/private"
)

const keySuffix = ".asc"

// Keystore is a directory, mode 0700, of one private key a file, mode 0600:
// NAME.asc, an armored OpenPGP private key. NAME is an agent's name or a
// person's mail address. An agent's key has no passphrase, a person's may.
type Keystore struct {
	Dir string
	Now func() time.Time // clock for signatures; nil for time.Now
	// Passphrase asks for the passphrase of a key that is about to sign or open. If it is nil,
	// nobody can be asked, and a key with a passphrase is locked.
	Passphrase func(KID) ([]byte, error)

	refused error // reason why the keystore cannot be used; nil if it can
}

// KeyInfo describes one file of a keystore.
type KeyInfo struct {
	Name   string
	Public PublicKey // zero if Err is set
	Err    error     // why the file cannot be used
}

// NewKeystore returns this user's keystore, $XDG_DATA_HOME/githandoff/keys. If there can be no
// keystore, because there is no home directory or others could change its files, each of its
// methods returns an error that says so.
func NewKeystore(getenv func(string) string) Keystore {
	dir, err := private.Dir(getenv, private.Data)
	if err != nil {
		return Keystore{refused: err}
	}
	return Keystore{Dir: filepath.Join(dir, "keys")}
}

func (ks Keystore) clock() func() time.Time {
	if ks.Now != nil {
		return ks.Now
	}
	return time.Now //nolint:forbidigo // the caller passed in no clock
}

// isKeyName is narrower than a mail address: the name becomes a file's name.
func isKeyName(s string) bool {
	const first = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= 127 && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s[1:], first+"._+@-") == ""
}

func (ks Keystore) path(name string) (string, error) {
	if !isKeyName(name) {
		return "", fault.New(fault.Usage, fault.Malformed, "key name %q: want an agent's name or a mail address", name)
	}
	return filepath.Join(ks.Dir, name+keySuffix), nil
}

// Generate makes a key, Ed25519 in the old OpenPGP encoding (algorithm 22) with a Curve25519 subkey
// for encryption, so that gpg 2.2 reads both, and stores it under name. An existing key of this
// name is returned instead, even one made by another process at the same time. With an empty
// passphrase, the key is not encrypted.
func (ks Keystore) Generate(name, userID string, passphrase []byte, now time.Time, random io.Reader) (Signer, error) {
	path, err := ks.path(name)
	if err != nil {
		return nil, err
	}
	if err := ks.make(); err != nil {
		return nil, err
	}
	if _, err := ks.read(name); err == nil || fault.CodeOf(err) != fault.NotFound {
		return ks.Load(name)
	}
	armored, err := generate(userID, passphrase, now, random)
	if err != nil {
		return nil, err
	}
	if err := durable.CreateFile(path, armored); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, unwritable(err)
	}
	if len(passphrase) > 0 { // the passphrase was just typed
		ks.Passphrase = func(KID) ([]byte, error) { return passphrase, nil }
	}
	return ks.Load(name)
}

func generate(userID string, passphrase []byte, now time.Time, random io.Reader) ([]byte, error) {
	name, mail := splitUserID(userID)
	config := &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Curve: packet.Curve25519,
		Rand: random, Time: func() time.Time { return now },
	}
	entity, err := openpgp.NewEntity(name, "", mail, config)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return armorPrivate(entity, passphrase, config)
}

// armorPrivate writes a private key, encrypted unless the passphrase is empty.
func armorPrivate(entity *openpgp.Entity, passphrase []byte, config *packet.Config) ([]byte, error) {
	if len(passphrase) > 0 {
		if err := entity.EncryptPrivateKeys(passphrase, config); err != nil {
			return nil, fmt.Errorf("put a passphrase on a key: %w", err)
		}
	}
	var raw bytes.Buffer
	if err := entity.SerializePrivateWithoutSigning(&raw, nil); err != nil {
		return nil, fmt.Errorf("write a private key: %w", err)
	}
	return pgpPrivateArmor.encode(raw.Bytes()), nil
}

// splitUserID splits "name <mail>", a mail address or a name.
func splitUserID(s string) (name, mail string) {
	if before, after, ok := strings.Cut(s, "<"); ok {
		return strings.TrimSpace(before), strings.TrimSuffix(after, ">")
	}
	if strings.Contains(s, "@") {
		return "", s
	}
	return s, ""
}

// Load returns the signer of a key by its name or KID. Reasons besides those of
// Public: key_locked.
func (ks Keystore) Load(nameOrKID string) (Signer, error) {
	s, err := ks.find(nameOrKID)
	if err == nil {
		err = s.unlock(ks.Passphrase)
	}
	if err != nil {
		return nil, err // s may be a nil *pgpSigner, which is no nil Signer
	}
	return s, nil
}

// ChangePassphrase opens a key and stores it under the passphrase returned by ask, an empty
// one for none. The old file is replaced whole or not at all.
func (ks Keystore) ChangePassphrase(nameOrKID string, ask func() ([]byte, error)) error {
	name, err := ks.nameOf(nameOrKID)
	if err != nil {
		return err
	}
	s, err := ks.read(name)
	if err == nil {
		err = s.unlock(ks.Passphrase)
	}
	if err != nil {
		return err
	}
	path, err := ks.path(name)
	if err != nil {
		return err
	}
	passphrase, err := ask()
	if err != nil {
		return err
	}
	armored, err := armorPrivate(s.entity, passphrase, &packet.Config{Rand: rand.Reader})
	if err != nil {
		return err
	}
	return durable.WriteFile(path, armored, 0o600)
}

// Locked reports whether a key of the keystore has a passphrase.
func (ks Keystore) Locked(nameOrKID string) (bool, error) {
	s, err := ks.find(nameOrKID)
	if err != nil {
		return false, err
	}
	return s.entity.PrivateKey.Encrypted, nil
}

// Public returns the public half of a key by its name or KID.
func (ks Keystore) Public(nameOrKID string) (PublicKey, error) {
	s, err := ks.find(nameOrKID)
	if err != nil {
		return PublicKey{}, err
	}
	return s.public, nil
}

func (ks Keystore) find(nameOrKID string) (*pgpSigner, error) {
	name, err := ks.nameOf(nameOrKID)
	if err != nil {
		return nil, err
	}
	return ks.read(name)
}

// nameOf returns the stored name of a key.
func (ks Keystore) nameOf(nameOrKID string) (string, error) {
	if CheckKID(nameOrKID) != nil {
		return nameOrKID, nil //nolint:nilerr // a text that is no key id is a name
	}
	infos, err := ks.List()
	if err != nil {
		return "", err
	}
	for _, info := range infos {
		if info.Err == nil && info.Public.kid == nameOrKID {
			return info.Name, nil
		}
	}
	return "", ks.noKey(nameOrKID)
}

func (ks Keystore) read(name string) (*pgpSigner, error) {
	path, err := ks.path(name)
	if err != nil {
		return nil, err
	}
	if err := ks.check(); errors.Is(err, fs.ErrNotExist) {
		return nil, ks.noKey(name)
	} else if err != nil {
		return nil, err
	}
	b, err := private.Read(path, 0o077, MaxKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ks.noKey(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", name, err)
	}
	s, err := newPGPSigner(b, ks.clock())
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", name, err)
	}
	return s, nil
}

// make makes the directory, at a place already checked.
func (ks Keystore) make() error {
	if ks.refused != nil {
		return ks.refused
	}
	if err := private.MakeDir(ks.Dir); err != nil {
		return unwritable(err)
	}
	return ks.check()
}

// unwritable adds a hint to the error of a keystore in which this user may not write.
func unwritable(err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	return fault.New(fault.Unavailable, fault.ReadOnly, "%w", err).
		WithHints(fault.Fact("set XDG_DATA_HOME to a directory that this user may write, or give the key in GITHANDOFF_KEY"))
}

// check refuses a directory in which others could replace a key.
func (ks Keystore) check() error {
	if ks.refused != nil {
		return ks.refused
	}
	info, err := os.Lstat(ks.Dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return private.Unsafe(ks.Dir, "is not a directory")
	}
	return private.Check(ks.Dir, info, 0o077)
}

// noKey returns the refusal of an unknown key name.
func (ks Keystore) noKey(name string) error {
	f := fault.New(fault.NotFound, fault.NoKey, "no key %q", name)
	list := fault.Run("githandoff", "key", "show").Because("lists the keys in %s", ks.Dir)
	fresh := fault.Run("githandoff", "key", "generate", name).Because("makes one, if there was none")
	if !isKeyName(name) {
		return f.WithHints(list)
	}
	return f.WithHints(append(ks.Near(name), fresh, list)...)
}

// Near hints at the key with a nearly equal name.
func (ks Keystore) Near(name string) []fault.Hint {
	if near := fault.Nearest(name, ks.names()); near != "" {
		return []fault.Hint{fault.Instead(name, near)}
	}
	return nil
}

// SetAside returns the hint that makes room for another key of the same name; ok is false if this
// key is not here.
func (ks Keystore) SetAside(kid KID) (hint fault.Hint, ok bool) {
	path, err := ks.File(kid)
	name := strings.TrimSuffix(filepath.Base(path), keySuffix)
	again := "init makes another key for " + name
	if strings.Contains(name, "@") { // init makes no key for a person
		again = "key generate " + name + " makes another key"
	}
	return fault.Run("mv", path, path+".retired").Because("then githandoff %s", again), err == nil
}

// File returns the path of a stored key, by its KID. Reason: no_key.
func (ks Keystore) File(kid KID) (string, error) {
	name, err := ks.nameOf(kid)
	if err != nil {
		return "", err
	}
	return ks.path(name)
}

// names returns the names of the keys, as far as they can be listed.
func (ks Keystore) names() []string {
	files, _ := os.ReadDir(ks.Dir)
	var names []string
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), keySuffix); ok {
			names = append(names, name)
		}
	}
	return names
}

// List describes the keys, sorted by name. An unusable file does not hide the others.
func (ks Keystore) List() ([]KeyInfo, error) {
	if err := ks.check(); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(ks.Dir)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	var infos []KeyInfo
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), keySuffix)
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		info := KeyInfo{Name: name}
		if s, err := ks.read(name); err != nil {
			info.Err = err
		} else {
			info.Public = s.public
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b KeyInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

package successor

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/record"
)

// ID returns the id of a handoff that follows from a step of its parent: a claim, an offer or a
// rejection. It is always the same one in this clone, so a repeated command does not make two. It
// derives from a secret of the clone as well: everybody can read the log, and could otherwise offer
// a handoff under this id before.
func (m *Maker) ID(parent handoff.ID, from *record.Record, parts ...string) (handoff.ID, error) {
	secret, err := m.secret()
	if err != nil {
		return "", err
	}
	return handoff.DeriveID(from.At, append([]string{string(parent), from.Nonce, secret}, parts...)...), nil
}

// secret returns the secret of the clone. The first command that needs it makes it; of two commands
// at once, the second takes that of the first.
func (m *Maker) secret() (string, error) {
	path := m.Engine.Repo.Own("id-secret")
	b, err := private.ReadState(path)
	if err == nil && b == nil {
		if err := m.makeSecret(path); err != nil {
			return "", err
		}
		b, err = private.ReadState(path)
	}
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(string(b), "\n")
	if !handoff.IsHex(secret, 32) {
		return "", fault.New(fault.Invalid, fault.Malformed, "%s does not hold 32 hex digits", path).
			WithHints(fault.Run("mv", path, path+".broken").Because("sets it aside; the next step makes another one"))
	}
	return secret, nil
}

func (m *Maker) makeSecret(path string) error {
	made, err := handoff.RandomHex(m.Engine.Author.Random)
	if err != nil {
		return err
	}
	if err := private.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	err = durable.CreateFile(path, []byte(made+"\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

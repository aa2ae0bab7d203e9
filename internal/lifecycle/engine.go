package lifecycle

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Engine takes the steps. It acts for one agent or person with one key, and for
// one goroutine at a time.
type Engine struct {
	Repo   *refs.Repo
	Trust  *sign.Trust
	Signer sign.Signer
	Actor  string // agent, or a person's mail address
	Now    func() time.Time
	Random io.Reader

	Intents Intents
	Memory  Memory
	Ahead   Ahead

	// Elsewhere finds the home that a repo id means, to ask it about the tokens
	// above the last one of a chain. Without it only the handoff's own is asked.
	Elsewhere func(ctx context.Context, repoID string) (Home, error)

	// Opener finds the key that opens what is sealed, where there is no Signer.
	Opener func(ctx context.Context) (sign.Signer, error)

	// Published finds the key of that id where its owner published it, for advice:
	// nobody trusts what is there. It may be nil.
	Published func(sign.KID) (sign.PublicKey, bool)

	// Walked is called for each entry of a log that is read. It may be nil.
	Walked func()

	seal      bool // what is prepared
	entries   keptEntries
	lanes     laneIndexes
	strangers map[sign.KID]sign.PublicKey // that were asked for; the zero key where there was none
	witness   witnesses
}

// now is the time of a record: whole seconds, UTC.
func (e *Engine) now() time.Time { return e.Now().UTC().Truncate(time.Second) }

// nonce makes two commits of one key in one second different.
func (e *Engine) nonce() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(e.Random, b[:]); err != nil {
		return "", fmt.Errorf("read a nonce: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// commit signs rec into a commit object.
func (e *Engine) commit(ctx context.Context, rec *record.Record, tree string, parents ...string) (*refs.Object, error) {
	c := &record.Commit{Tree: tree, Email: sign.Mail(e.Actor), Record: rec}
	for _, p := range parents {
		if p != "" {
			c.Parents = append(c.Parents, p)
		}
	}
	if err := c.Check(); err != nil {
		return nil, fault.New(fault.Invalid, fault.Malformed, "%w", err)
	}
	signature, err := e.Signer.Sign(ctx, sign.NamespaceGit, c.Payload())
	if err != nil {
		return nil, err
	}
	c.Signature = signature
	return refs.NewObject("commit", c.Encode()), nil
}

// stamp fills in what every record of this engine carries.
func (e *Engine) stamp(rec *record.Record, event record.Event, previous string) error {
	nonce, err := e.nonce()
	if err != nil {
		return err
	}
	if previous == "" {
		previous = record.None
	}
	rec.Event, rec.Actor, rec.Key = event, e.Actor, e.Signer.KID()
	rec.Previous, rec.Nonce, rec.At = previous, nonce, e.now()
	return nil
}

func denied(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Denied, reason, format, args...)
}

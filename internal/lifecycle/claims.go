package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// Claims is the memory of a worktree: which claims it made. It is written
// before a claim leaves the machine, so that after any crash the holder still
// is who can show the nonce. One JSON file a claim, replaced by rename.
type Claims struct {
	Dir string // <git dir>/githandoff/claims
}

// Holder is what is remembered of one claim.
type Holder struct {
	ID    handoff.ID `json:"id"`
	Agent string     `json:"agent"` // inbox
	Actor string     `json:"actor"`
	Home  string     `json:"home"` // repo id
	Nonce string     `json:"nonce"`
	// Earlier are nonces of claims on the same handoff that were recorded and
	// not seen at the home. A git that outlived its githandoff may still bring
	// one of them there: then that is the claim.
	Earlier []string  `json:"earlier,omitempty"`
	Key     string    `json:"key"`
	At      time.Time `json:"at"` // of the claim, or of what renewed it last
	Lease   time.Time `json:"lease"`
	Printed bool      `json:"printed"` // its content reached whoever asked
	Ended   bool      `json:"ended,omitempty"`
	Token   string    `json:"token,omitempty"`
}

// Holding is the proof that lifecycle asks for.
func (h *Holder) Holding() Holding {
	return Holding{Place: Place{Agent: h.Agent, ID: h.ID}, Nonce: h.Nonce}
}

// Mine reports whether a claim's nonce was recorded here.
func (h *Holder) Mine(nonce string) bool {
	return h != nil && (h.Nonce == nonce || slices.Contains(h.Earlier, nonce))
}

// HolderOf remembers a claim that is about to be made.
func HolderOf(p Place, r *record.Record) *Holder {
	return &Holder{
		ID: r.ID, Agent: p.Agent, Actor: r.Actor, Home: r.Home, Nonce: r.Nonce, Key: r.Key,
		At: r.At, Lease: r.Lease, Token: r.Token,
	}
}

func (c Claims) path(id handoff.ID) string { return filepath.Join(c.Dir, string(id)+".json") }

// Put writes one claim durably.
func (c Claims) Put(h *Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return WriteFile(c.path(h.ID), append(b, '\n'))
}

// Get returns the claim on id, nil where there is none.
func (c Claims) Get(id handoff.ID) (*Holder, error) {
	b, err := os.ReadFile(c.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		b, err = os.ReadFile(c.endedPath(id))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read claim: %w", err)
	}
	h := &Holder{}
	if err := json.Unmarshal(b, h); err != nil {
		return nil, fmt.Errorf("read claim %s: %w", c.path(id), err)
	}
	return h, nil
}

// All returns the claims that are held, oldest id first.
func (c Claims) All() ([]*Holder, error) {
	names, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	var list []*Holder
	for _, n := range names {
		id, err := handoff.ParseID(strings.TrimSuffix(n.Name(), ".json"))
		if err != nil {
			continue
		}
		h, err := c.Get(id)
		if err != nil {
			return nil, err
		}
		if h != nil && !h.Ended {
			list = append(list, h)
		}
	}
	return list, nil
}

func (c Claims) endedPath(id handoff.ID) string {
	return filepath.Join(c.Dir, "ended", string(id)+".json")
}

// ended claims are remembered this long, so that a repeated acknowledgement is
// still answered as such.
const rememberEnded = 30 * 24 * time.Hour

// End moves a claim to those that are over, and forgets very old ones.
func (c Claims) End(h *Holder, now time.Time) error {
	h.Ended = true
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := WriteFile(c.endedPath(h.ID), append(b, '\n')); err != nil {
		return err
	}
	if names, err := os.ReadDir(filepath.Dir(c.endedPath(h.ID))); err == nil && len(names) > 64 {
		for _, n := range names {
			if info, err := n.Info(); err == nil && now.Sub(info.ModTime()) > rememberEnded {
				_ = os.Remove(filepath.Join(filepath.Dir(c.endedPath(h.ID)), n.Name()))
			}
		}
	}
	return c.Drop(h.ID)
}

// Drop forgets a claim that was lost or never made.
func (c Claims) Drop(id handoff.ID) error {
	if err := os.Remove(c.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop claim: %w", err)
	}
	return nil
}

// WriteFile replaces a file whole or not at all, and syncs it.
func WriteFile(path string, b []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// EndedBySuffix finds a claim that is over by its id's last characters; nil
// where none is remembered.
func (c Claims) EndedBySuffix(arg string) (*Holder, error) {
	names, err := os.ReadDir(filepath.Join(c.Dir, "ended"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list ended claims: %w", err)
	}
	for _, n := range names {
		id := handoff.ID(strings.TrimSuffix(n.Name(), ".json"))
		if len(id) > handoff.MinSuffix && id.Matches(arg) {
			return c.Get(id)
		}
	}
	return nil, nil
}

package crossrepo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
)

// Journal keeps the last step of each handoff that could not be taken because
// its hub was down: one JSON file a handoff, in this worktree's git dir. A step
// names the claim it stands on and is signed when it is sent, so it is worth
// nothing once the claim is lost.
type Journal struct {
	Dir string // <git dir>/githandoff/journal
}

// Step is one step to take later.
type Step struct {
	ID     handoff.ID    `json:"id"`
	Event  record.Event  `json:"event"` // acknowledged, failed, progressed, released
	Nonce  string        `json:"nonce"` // of the claim
	Data   string        `json:"data,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Lease  time.Duration `json:"lease,omitempty"` // nanoseconds
	At     time.Time     `json:"at"`
}

// Put writes a step. A step that ends the handoff is not replaced by one that
// renews it.
func (j Journal) Put(s Step) error {
	if s.Event == record.Progressed {
		if old, err := j.get(s.ID); err != nil || old != nil && old.Event != record.Progressed {
			return err
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return lifecycle.WriteFile(filepath.Join(j.Dir, string(s.ID)+".json"), append(b, '\n'))
}

func (j Journal) get(id handoff.ID) (*Step, error) {
	b, err := os.ReadFile(filepath.Join(j.Dir, string(id)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	s := &Step{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("read journal of %s: %w", id, err)
	}
	return s, nil
}

// All lists the steps, oldest id first.
func (j Journal) All() ([]*Step, error) {
	names, err := os.ReadDir(j.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list journal: %w", err)
	}
	var steps []*Step
	for _, n := range names {
		id, err := handoff.ParseID(strings.TrimSuffix(n.Name(), ".json"))
		if err != nil {
			continue
		}
		s, err := j.get(id)
		if err != nil {
			return nil, err
		}
		if s != nil {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// Drop forgets the step of a handoff.
func (j Journal) Drop(id handoff.ID) error {
	err := os.Remove(filepath.Join(j.Dir, string(id)+".json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop journal of %s: %w", id, err)
	}
	return nil
}

package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
)

// Shelf keeps one JSON document a handoff, <dir>/<id>.json, each replaced whole
// and synced.
type Shelf[T any] struct{ Dir string }

func (s Shelf[T]) path(id handoff.ID) string { return filepath.Join(s.Dir, string(id)+".json") }

// Put writes the document of id.
func (s Shelf[T]) Put(id handoff.ID, v *T) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return private.WriteFile(s.path(id), append(b, '\n'))
}

// Get returns the document of id, nil where there is none.
func (s Shelf[T]) Get(id handoff.ID) (*T, error) {
	b, err := private.ReadState(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of %s: %w", id, err)
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fault.New(fault.Invalid, fault.Malformed, "read %s: %w", s.path(id), err).
			WithHints(fault.Run("mv", s.path(id), s.path(id)+".broken").Because("sets it aside; its record of %s is lost", id))
	}
	return v, nil
}

// IDs lists the ids of the documents, oldest first.
func (s Shelf[T]) IDs() ([]handoff.ID, error) {
	names, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", s.Dir, err)
	}
	var ids []handoff.ID
	for _, n := range names {
		if id, err := handoff.ParseID(strings.TrimSuffix(n.Name(), ".json")); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// All returns the documents, oldest id first.
func (s Shelf[T]) All() ([]*T, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var all []*T
	for _, id := range ids {
		v, err := s.Get(id)
		if err != nil {
			return nil, err
		}
		if v != nil { // else it went meanwhile
			all = append(all, v)
		}
	}
	return all, nil
}

// Drop removes the document of id, if there is one.
func (s Shelf[T]) Drop(id handoff.ID) error {
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of %s: %w", id, err)
	}
	return nil
}

package agenthook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/handoff"
)

// StampAge is how long the stamp of a session is kept after its last change.
const StampAge = 7 * 24 * time.Hour

// maxStamp bounds the ids that a stamp holds of a kind; the oldest go first.
const maxStamp = 256

// Stamp remembers what one session of an agent was told. To lose it costs a repeated
// line, so it is written without a sync.
type Stamp struct {
	Told     []handoff.ID `json:"told,omitempty"`     // offers that were announced
	Held     []handoff.ID `json:"held,omitempty"`     // claims at the last event
	Reminded []handoff.ID `json:"reminded,omitempty"` // claims it was reminded of at the end of a turn
	Lost     []handoff.ID `json:"lost,omitempty"`     // claims that it was told are over

	path string
}

// LoadStamp reads the stamp of a session below dir, the directory "sessions" among
// githandoff's own files of a worktree. One that is not there or cannot be read is empty.
func LoadStamp(dir, session string) *Stamp {
	sum := sha256.Sum256([]byte(session))
	s := &Stamp{}
	path := filepath.Join(dir, hex.EncodeToString(sum[:8])+".json")
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, s) != nil {
		s = &Stamp{}
	}
	s.path = path
	return s
}

// Save writes the stamp, and makes its directory.
func (s *Stamp) Save() error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("record what a session was told: %w", err)
	}
	temp := fmt.Sprintf("%s.%d", s.path, os.Getpid()) // another hook of the session may write as well
	if err := os.WriteFile(temp, b, 0o600); err != nil {
		return fmt.Errorf("record what a session was told: %w", err)
	}
	return os.Rename(temp, s.path)
}

// Tell notes that the session is told of what it was not told of yet, and lists that.
func (s *Stamp) Tell(list []agents.Handoff) ([]agents.Handoff, error) {
	news := s.untold(list)
	if len(news) == 0 {
		return nil, nil
	}
	for _, h := range news {
		s.once(&s.Told, h.ID)
	}
	return news, s.Save()
}

// untold lists what the session was not told of.
func (s *Stamp) untold(list []agents.Handoff) []agents.Handoff {
	var rest []agents.Handoff
	for _, h := range list {
		if !slices.Contains(s.Told, h.ID) {
			rest = append(rest, h)
		}
	}
	return rest
}

// changed reports whether what is held is other than what the session was told.
func (s *Stamp) changed(held []agents.Handoff) bool { return !slices.Equal(s.Held, ids(held)) }

// tell notes the offers that the session is told of, and what is held by now.
func (s *Stamp) tell(waiting, held []agents.Handoff) {
	for _, h := range waiting {
		s.once(&s.Told, h.ID)
	}
	s.Held = ids(held)
}

// once adds an id to one of the stamp's lists and reports whether it was not there.
func (s *Stamp) once(list *[]handoff.ID, id handoff.ID) bool {
	if slices.Contains(*list, id) {
		return false
	}
	*list = append(*list, id)
	if over := len(*list) - maxStamp; over > 0 {
		*list = (*list)[over:]
	}
	return true
}

// SweepStamps removes the stamps in dir that no session changed for StampAge.
func SweepStamps(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, ierr := e.Info()
		if ierr != nil || now.Sub(info.ModTime()) < StampAge {
			continue
		}
		err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
	}
	return err
}

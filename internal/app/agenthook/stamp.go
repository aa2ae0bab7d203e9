package agenthook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// StampAge is how long the stamp of a session is kept after its last change.
const StampAge = 7 * 24 * time.Hour

// maxStamp bounds the ids of a kind in a stamp; the oldest go first.
const maxStamp = 256

// Stamp remembers what one session of an agent was told. To lose it costs a repeated
// line, so it is written without a sync.
type Stamp struct {
	Told     []handoff.ID `json:"told,omitempty"`     // offers that were announced
	Held     []handoff.ID `json:"held,omitempty"`     // claims at the last event
	Reminded []handoff.ID `json:"reminded,omitempty"` // claims of which the session was reminded at the end of a turn
	Lost     []handoff.ID `json:"lost,omitempty"`     // claims whose end was told to the session

	// Crowd is set if the session was told only the number of a crowded inbox. A file beside the
	// stamp has its ids.
	Crowd bool `json:"crowd,omitempty"`
	// Seen is the sum of the View when the session had been told everything, for an agent with
	// these Inboxes. Taken is the time of that look, by the clock of the file system: see
	// Ground.
	Seen    string    `json:"seen,omitempty"`
	Taken   time.Time `json:"taken,omitzero"`
	Inboxes []string  `json:"inboxes,omitempty"`

	path   string
	dirty  bool
	crowd  crowd     // ids to write to the file beside the stamp; empty for none
	looked time.Time // when the ground was viewed, by this process's clock; encode sets Taken from it, unless zero
}

// LoadStamp reads the stamp of a session below dir, the directory "sessions" among githandoff's
// own files of a worktree. A missing or unreadable one is empty.
func LoadStamp(dir, session string) *Stamp {
	sum := sha256.Sum256([]byte(session))
	s := &Stamp{}
	path := filepath.Join(dir, hex.EncodeToString(sum[:8])+".json")
	if b, err := private.ReadState(path); err == nil && json.Unmarshal(b, s) != nil {
		s = &Stamp{}
	}
	s.path = path
	return s
}

// StampOf returns the stamp of a session in the worktree of a repository.
func StampOf(repo *refs.Repo, session string) *Stamp {
	return LoadStamp(repo.OwnWorktree("sessions"), session)
}

// know records that the session was told everything in the view. An unsettled state is recorded
// again even if it is the same: by then it has settled.
func (s *Stamp) know(v *View) {
	if s.Seen == v.sum() && v.settled(s.Taken) && v.at.Sub(s.Taken) < maxViewAge/2 {
		return
	}
	s.Seen, s.Inboxes, s.looked, s.dirty = v.sum(), v.inboxes, v.at, true
}

// unreminded reports whether the session was not reminded of a claim yet.
func (s *Stamp) unreminded(id handoff.ID) bool { return !slices.Contains(s.Reminded, id) }

// Save writes the stamp if it changed since it was read, and makes its directory.
func (s *Stamp) Save() error {
	if !s.dirty {
		return nil
	}
	if err := s.write(); err != nil {
		return fmt.Errorf("record what a session was told: %w", err)
	}
	s.dirty, s.looked = false, time.Time{}
	return nil
}

func (s *Stamp) write() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	if s.crowd != "" {
		if err := replace(s.crowdPath(), func(f *os.File) error {
			_, err := f.WriteString(string(s.crowd))
			return err
		}); err != nil {
			return err
		}
	}
	return replace(s.path, s.encode)
}

// replace writes a new file beside the old one and exchanges them.
func replace(path string, write func(*os.File) error) error {
	temp := fmt.Sprintf("%s.%d", path, os.Getpid()) // another hook of the session may write at the same time
	_ = os.Remove(temp)                             // a killed process left it
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = cmp.Or(write(f), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// encode writes the stamp into a new file. The file's time shows the difference between the clock
// of the file system, perhaps of another machine, and this process's.
func (s *Stamp) encode(f *os.File) error {
	if !s.looked.IsZero() {
		now := time.Now() //nolint:forbidigo // compared with the time that the file system gave the new file
		info, err := f.Stat()
		if err != nil {
			return err
		}
		s.Taken = s.looked.Add(info.ModTime().Sub(now))
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return err
}

// Forget records that the session was not told of some offers after all.
func (s *Stamp) Forget(ids []handoff.ID) error {
	s.Told = slices.DeleteFunc(s.Told, func(id handoff.ID) bool { return slices.Contains(ids, id) })
	s.dirty = true
	return s.Save()
}

// Announced reports whether hooks told the session everything at some time.
func (s *Stamp) Announced() bool { return s.Seen != "" }

// fresh lists the ids not told to the session. ids are sorted.
func (s *Stamp) fresh(ids []handoff.ID) []handoff.ID {
	var known crowd
	if s.Crowd {
		known = loadCrowd(s.crowdPath())
	}
	return slices.DeleteFunc(known.lacks(ids), func(id handoff.ID) bool { return slices.Contains(s.Told, id) })
}

func (s *Stamp) crowdPath() string { return strings.TrimSuffix(s.path, ".json") + ".ids" }

// changed reports whether the held handoffs differ from those told to the session.
func (s *Stamp) changed(held []agents.Handoff) bool { return !slices.Equal(s.Held, ids(held)) }

// tell records the offers told to the session, and the handoffs held now.
func (s *Stamp) tell(waiting, held []agents.Handoff) {
	for _, h := range waiting {
		s.once(&s.Told, h.ID)
	}
	if s.changed(held) {
		s.Held, s.dirty = ids(held), true
		s.Lost = slices.DeleteFunc(s.Lost, func(id handoff.ID) bool { return slices.Contains(s.Held, id) }) // taken again
	}
}

// tellOfCrowd records that the session is told the number of these.
func (s *Stamp) tellOfCrowd(ids []handoff.ID) { s.Crowd, s.crowd, s.dirty = true, crowdOf(ids), true }

// once adds an id to one of the stamp's lists and reports whether it was not there.
func (s *Stamp) once(list *[]handoff.ID, id handoff.ID) bool {
	if slices.Contains(*list, id) {
		return false
	}
	*list, s.dirty = append(*list, id), true
	if over := len(*list) - maxStamp; over > 0 {
		*list = (*list)[over:]
	}
	return true
}

// SweepStamps removes the stamps in dir not changed for StampAge.
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

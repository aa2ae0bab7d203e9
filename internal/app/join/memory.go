package join

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/invite"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Kept is an invitation of this clone, until the hub has erased it.
type Kept struct {
	invite.Pending
	Alias string   `json:"alias"`
	Home  string   `json:"home"` // repo id of the hub
	By    sign.KID `json:"by"`   // key of the inviter

	// Over: it was used, withdrawn or ran out, and only the hub has to erase it yet.
	Over bool `json:"over,omitempty"`
	// Unlisted: somebody joined a team with it, and the root By has to publish the list yet.
	Unlisted bool `json:"unlisted,omitempty"`
}

// open reports whether somebody may still join with the invitation.
func (k Kept) open() bool { return !k.Over && !k.Unlisted }

// Whom names the invited agent or person, for people.
func (k Kept) Whom() string { return cmp.Or(k.Agent, "whoever has the code") }

// withdraw returns the command that ends the invitation.
func (k Kept) withdraw() fault.Hint {
	args := []string{"githandoff", "invite", "--over", k.Alias, "--withdraw"}
	if k.Agent != "" {
		args = append(args, k.Agent)
	}
	return fault.Run(args...).Because("ends the invitation of %s, if it stays like this: then invite again", k.Whom())
}

// Memory is a directory of files <id>.json: the invitations of this clone.
type Memory struct {
	Dir string // <common git dir>/githandoff/invites
}

// MemoryOf returns the invitations of a clone.
func MemoryOf(repo *refs.Repo) Memory { return Memory{Dir: repo.Own("invites")} }

func (m Memory) path(id string) string { return filepath.Join(m.Dir, id+".json") }

// Put remembers an invitation.
func (m Memory) Put(k Kept) error {
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return private.WriteFile(m.path(k.ID), append(b, '\n'))
}

// Drop forgets one.
func (m Memory) Drop(id string) error { return durable.Remove(m.path(id)) }

// All lists the invitations, the first to end first.
func (m Memory) All() ([]Kept, error) {
	files, err := os.ReadDir(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || !handoff.IsHex(id, 32) {
			continue
		}
		b, err := private.ReadState(m.path(id))
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue // another command ended the invitation
		}
		var k Kept
		if err := json.Unmarshal(b, &k); err != nil || k.ID != id {
			return nil, fault.New(fault.Invalid, fault.Malformed, "%s is not an invitation: remove it", m.path(id))
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Kept) int { return a.Expires.Compare(b.Expires) })
	return all, nil
}

// Expected returns the end of an open invitation of an agent; the zero time if there is none.
func (m Memory) Expected(agent string, now time.Time) time.Time {
	all, err := m.All()
	if err != nil {
		return time.Time{} // sync reports the error
	}
	for _, k := range slices.Backward(all) { // from the last one to expire
		if k.open() && k.Agent == agent && now.Before(k.Expires) {
			return k.Expires
		}
	}
	return time.Time{}
}

// Open lists the invitations with which somebody may still join.
func (m Memory) Open() ([]Kept, error) {
	all, err := m.All()
	return slices.DeleteFunc(all, func(k Kept) bool { return !k.open() }), err
}

// At lists those at one hub.
func (m Memory) At(home string) ([]Kept, error) {
	all, err := m.All()
	return slices.DeleteFunc(all, func(k Kept) bool { return k.Home != home }), err
}

package work

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Claims is the memory of a worktree: which claims it made. It is written
// before a claim leaves the machine, so that after any crash the holder still
// is who can show the nonce. One JSON file a claim, replaced by rename.
type Claims struct {
	Dir string // <git dir>/githandoff/claims
	// Shared, in a linked worktree, is where a copy of each claim that is held lies
	// for the whole clone: the directory of a worktree goes when git removes it, and
	// the claims in it would be nobody's. Empty in the main worktree.
	Shared string
	GitDir string // of this worktree
}

// ClaimsOf are the claims of the worktree that a repository was opened in.
func ClaimsOf(repo *refs.Repo) Claims {
	c := Claims{Dir: repo.OwnWorktree("claims"), GitDir: repo.GitDir}
	if repo.GitDir != repo.CommonDir {
		c.Shared = repo.Own("holders")
	}
	return c
}

// Claim is the record of one claim that was made here.
type Claim struct {
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
	Lost    bool      `json:"lost,omitempty"` // it ended by somebody else's step
	Token   string    `json:"token,omitempty"`
	// Principal is on whose behalf, as Handoff-Principal says it; with a token alone.
	Principal string `json:"principal,omitempty"`
}

// Proof is the proof that lifecycle asks for.
func (h *Claim) Proof() lifecycle.ClaimProof {
	return lifecycle.ClaimProof{Place: lifecycle.Place{Agent: h.Agent, ID: h.ID}, Nonce: h.Nonce}
}

// Mine reports whether a claim's nonce was recorded here.
func (h *Claim) Mine(nonce string) bool {
	return h != nil && (h.Nonce == nonce || slices.Contains(h.Earlier, nonce))
}

// ClaimOf is the record of a claim that is about to be made.
func ClaimOf(p lifecycle.Place, r *record.Record) *Claim {
	return &Claim{
		ID: r.ID, Agent: p.Agent, Actor: r.Actor, Home: r.Home, Nonce: r.Nonce, Key: r.Key,
		At: r.At, Lease: r.Lease, Token: r.Token, Principal: r.Principal,
	}
}

func (c Claims) held() Shelf[Claim]  { return Shelf[Claim]{Dir: c.Dir} }
func (c Claims) ended() Shelf[Claim] { return Shelf[Claim]{Dir: filepath.Join(c.Dir, "ended")} }

// Put writes one claim durably.
func (c Claims) Put(h *Claim) error {
	if c.Shared != "" {
		if err := (Shelf[shared]{Dir: c.Shared}).Put(h.ID, &shared{h, c.GitDir}); err != nil {
			return err
		}
	}
	return c.held().Put(h.ID, h)
}

// Get returns the claim on id, also one that is over; nil where there is none.
func (c Claims) Get(id handoff.ID) (*Claim, error) {
	h, err := c.held().Get(id)
	if h == nil && err == nil {
		return c.ended().Get(id)
	}
	return h, err
}

// All returns the claims that are held, oldest id first.
func (c Claims) All() ([]*Claim, error) { return c.held().All() }

// Drop forgets a claim that was lost or never made.
func (c Claims) Drop(id handoff.ID) error {
	if c.Shared != "" {
		if err := (Shelf[shared]{Dir: c.Shared}).Drop(id); err != nil {
			return err
		}
	}
	return c.held().Drop(id)
}

// ClaimsAt are the claims of another worktree of the same clone, by git's directory of it.
func ClaimsAt(repo *refs.Repo, gitDir string) Claims {
	return Claims{Dir: filepath.Join(gitDir, "githandoff", "claims"), Shared: repo.Own("holders"), GitDir: gitDir}
}

// HandOver moves a claim to another worktree. Killed in between, both have it, and the
// next resume in the first one hands it over again.
func (c Claims) HandOver(h *Claim, to Claims) error {
	if err := to.Put(h); err != nil {
		return err
	}
	return c.held().Drop(h.ID)
}

// Ended claims are remembered this long, so that a repeated acknowledgement is
// still answered as such; they are looked through once there are many.
const (
	rememberEnded = 30 * 24 * time.Hour
	manyEnded     = 64
)

// End moves a claim to those that are over, and forgets very old ones.
func (c Claims) End(h *Claim, now time.Time) error {
	h.Ended = true
	if err := c.ended().Put(h.ID, h); err != nil {
		return err
	}
	if ids, err := c.ended().IDs(); err == nil && len(ids) > manyEnded {
		for _, id := range ids {
			if info, err := os.Stat(c.ended().path(id)); err == nil && now.Sub(info.ModTime()) > rememberEnded {
				if err := c.ended().Drop(id); err != nil {
					return err
				}
			}
		}
	}
	return c.Drop(h.ID)
}

// Lost returns the claims that ended by somebody else's step, as far as they are
// remembered.
func (c Claims) Lost() ([]*Claim, error) {
	all, err := c.ended().All()
	return slices.DeleteFunc(all, func(h *Claim) bool { return !h.Lost }), err
}

// EndedBySuffix finds a claim that is over by its id's last characters; nil
// where none is remembered.
func (c Claims) EndedBySuffix(arg string) (*Claim, error) {
	ids, err := c.ended().IDs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if id.Matches(arg) {
			return c.ended().Get(id)
		}
	}
	return nil, nil
}

package work

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// Claims keeps the local record of each handoff worked on in this worktree: one JSON file for
// each, replaced by rename.
type Claims struct {
	GitDir string // git directory of this worktree
	Common string // git directory of the clone, which is GitDir in the main worktree
}

// ClaimsOf returns the claims of the worktree in which a repository was opened.
func ClaimsOf(repo *refs.Repo) Claims { return Claims{GitDir: repo.GitDir, Common: repo.CommonDir} }

// current has the records of claims that are held, and of steps that wait for their hub.
func (c Claims) current() Documents[Claim] {
	return Documents[Claim]{Dir: filepath.Join(c.GitDir, "githandoff", "claims"), amend: nameProgress}
}

func (c Claims) ended() Documents[Claim] {
	return Documents[Claim]{Dir: filepath.Join(c.GitDir, "githandoff", "claims", "ended")}
}

// holders has a copy of each claim held in a linked worktree, for the whole clone. git removes a
// worktree with its directory, and without the copy the claims in it would be lost.
func (c Claims) holders() Documents[Located] {
	return Documents[Located]{Dir: filepath.Join(c.Common, "githandoff", "holders")}
}

// lockPatience is how long a record may be locked by others. Each of them needs
// milliseconds.
const lockPatience = time.Minute

// lock takes the lock of the clone, under which records change. It waits even after ctx has ended, so a
// decision is always recorded.
func (c Claims) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockPatience)
	defer cancel()
	return private.Lock(ctx, filepath.Join(c.Common, "githandoff", "claims.lock"))
}

// Update changes the record of a handoff: it is read, changed and written under the lock, so no
// process overwrites what another one has just recorded. A handoff without a record begins with
// an empty one. A record left empty by the change is removed.
func (c Claims) Update(ctx context.Context, id handoff.ID, change func(h *Claim) error) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	h, err := c.current().Get(id)
	if err != nil {
		return err
	}
	h = cmp.Or(h, &Claim{ID: id})
	if err := change(h); err != nil {
		return err
	}
	return c.write(h)
}

// write stores a record where it belongs. The record of an ended claim is in its new place before
// it leaves the old one. If the process is killed in between, the old record stays, and the lane
// shows that the claim has ended.
func (c Claims) write(h *Claim) error {
	if h.Held() || h.Pending != nil {
		return c.put(h)
	}
	if h.Ended {
		if err := c.ended().Put(h.ID, h); err != nil {
			return err
		}
	}
	return c.drop(h.ID)
}

func (c Claims) put(h *Claim) error {
	if c.GitDir != c.Common {
		if err := c.holders().Put(h.ID, &Located{Claim: h, GitDir: c.GitDir}); err != nil {
			return err
		}
	}
	return c.current().Put(h.ID, h)
}

func (c Claims) drop(id handoff.ID) error {
	if c.GitDir != c.Common {
		if err := c.holders().Drop(id); err != nil {
			return err
		}
	}
	return c.current().Drop(id)
}

// Get returns the claim on id, even an ended one; nil if there is none.
func (c Claims) Get(id handoff.ID) (*Claim, error) {
	h, err := c.current().Get(id)
	if err != nil || h != nil && h.Held() {
		return h, err
	}
	return c.ended().Get(id)
}

// Held returns the held claims, oldest id first.
func (c Claims) Held() ([]*Claim, error) {
	all, err := c.current().All()
	return slices.DeleteFunc(all, func(h *Claim) bool { return !h.Held() }), err
}

// Waiting returns the records with a step waiting for its hub, oldest id first.
func (c Claims) Waiting() ([]*Claim, error) {
	all, err := c.current().All()
	return slices.DeleteFunc(all, func(h *Claim) bool { return h.Pending == nil }), err
}

// Pending returns the waiting step of a handoff, nil for none.
func (c Claims) Pending(id handoff.ID) (*Step, error) {
	h, err := c.current().Get(id)
	if h == nil || err != nil {
		return nil, err
	}
	return h.Pending, nil
}

// HandOver moves a claim to another worktree. Killed in between, both have it, and the
// next resume in the first one hands it over again.
func (c Claims) HandOver(ctx context.Context, h *Claim, to Claims) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// The record is written first: a copy that names a worktree without a record is an orphan.
	if err := to.current().Put(h.ID, h); err != nil {
		return err
	}
	if err := to.put(h); err != nil {
		return err
	}
	if c.GitDir != c.Common && to.GitDir == to.Common {
		return c.drop(h.ID)
	}
	return c.current().Drop(h.ID)
}

// Ended claims are remembered this long, so that a repeated acknowledgement is still answered as
// such. Old ones are looked for only once there are many.
const (
	rememberEnded = 30 * 24 * time.Hour
	manyEnded     = 64
)

// End records the end of a claim, and removes very old records. A newer claim on the same
// handoff stays.
func (c Claims) End(ctx context.Context, h *Claim, now time.Time) error {
	err := c.Update(ctx, h.ID, func(stored *Claim) error {
		if stored.Held() && stored.Nonce != h.Nonce {
			return nil
		}
		*stored = *h
		stored.Ended, stored.Pending = true, nil
		return nil
	})
	if err != nil {
		return err
	}
	h.Ended, h.Pending = true, nil
	return c.forget(now)
}

// forget removes very old records of ended claims.
func (c Claims) forget(now time.Time) error {
	ids, err := c.ended().IDs()
	if err != nil || len(ids) <= manyEnded {
		return nil //nolint:nilerr // the next claim that ends tries again
	}
	for _, id := range ids {
		if info, err := os.Stat(c.ended().Path(id)); err == nil && now.Sub(info.ModTime()) > rememberEnded {
			if err := c.ended().Drop(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// lost returns the remembered claims ended by somebody else's step.
func (c Claims) lost() ([]*Claim, error) {
	all, err := c.ended().All()
	return slices.DeleteFunc(all, func(h *Claim) bool { return !h.Lost }), err
}

// Unnoted returns the error of a record that could not be changed after a step; nil for nil. To take the step once
// more is not the cure.
func Unnoted(err error) error {
	if err == nil {
		return nil
	}
	sync := fault.Run("githandoff", "sync").Because("looks at the claim again")
	return fault.As(fault.About("the step is taken, but not noted here", refs.DiskFault(err))).WithHints(sync)
}

// EndedBySuffix finds an ended claim by its id's last characters; nil if none is remembered.
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

// Adopt takes over the claims that an agent made with a key in worktrees of this clone that git has
// forgotten since, even if another worktree has the same name by now. It holds the lock of the clone
// meanwhile, because a claim belongs to one worktree.
func (c Claims) Adopt(ctx context.Context, agent, kid string) error {
	all, err := c.orphans(agent, kid)
	if err != nil || len(all) == 0 {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err = c.orphans(agent, kid)
	for _, o := range all {
		if err := c.put(o.Claim); err != nil {
			return err
		}
		if c.GitDir == c.Common { // the main worktree exists as long as the clone
			if err := c.holders().Drop(o.ID); err != nil {
				return err
			}
		}
	}
	return err
}

// orphans returns the claims that Adopt would take over.
func (c Claims) orphans(agent, kid string) ([]*Located, error) {
	all, err := c.linked()
	return slices.DeleteFunc(all, func(o *Located) bool { return o.GitDir != "" || o.Actor != agent || o.Key != kid }), err
}

// linked returns the claims of linked worktrees. GitDir is "" if git has forgotten that worktree, even if
// another worktree, which has no record of the claim, has taken its place. A worktree whose files alone are
// missing keeps its claims until git forgets it, as git keeps its branch: its files may be on a disk that is
// not mounted, or in a container that this process does not see. In a clone that was moved, git's directories
// of the worktrees are below its own, whatever the copies say.
func (c Claims) linked() ([]*Located, error) {
	all, err := c.holders().All()
	all = slices.DeleteFunc(all, func(o *Located) bool { return o.Claim == nil || !filepath.IsAbs(o.GitDir) })
	for _, o := range all {
		if worktrees, name := filepath.Split(o.GitDir); filepath.Base(worktrees) == "worktrees" {
			o.GitDir = filepath.Join(c.Common, "worktrees", name)
		}
		if !c.recorded(o) {
			o.GitDir = ""
		}
	}
	return all, err
}

// recorded reports whether a worktree has its record of a claim.
func (c Claims) recorded(o *Located) bool {
	_, err := os.Stat(Claims{GitDir: o.GitDir}.current().Path(o.ID))
	return !errors.Is(err, fs.ErrNotExist)
}

// kept is a waiting step as written by earlier versions: in a file of its own.
type kept struct {
	Step
	ID    handoff.ID `json:"id"`
	Agent string     `json:"agent"`
	Actor string     `json:"actor"`
	Home  string     `json:"home"`
}

// Upgrade moves the files of earlier versions of githandoff into today's records. Each record is
// written before the old file is removed. If the process is killed, both are left, and the next
// process goes on. Without old files, Upgrade costs one system call.
func (c Claims) Upgrade(ctx context.Context) error {
	steps := Documents[kept]{Dir: filepath.Join(c.GitDir, "githandoff", "journal")}
	if _, err := os.Lstat(steps.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ids, err := steps.IDs()
	for _, id := range ids {
		err = errors.Join(err, c.takeIn(id, steps))
	}
	_ = os.Remove(steps.Dir) // fails while the directory has files
	return err
}

// takeIn moves the step of one handoff into its record. A step whose claim has ended is
// dropped, with an error.
func (c Claims) takeIn(id handoff.ID, steps Documents[kept]) error {
	step, err := steps.Get(id)
	if err != nil || step == nil {
		return err
	}
	h, err := c.current().Get(id)
	if err != nil {
		return err
	}
	switch {
	case h == nil && step.Nonce != "":
		err = fault.New(fault.Conflict, fault.NotHolder, "dropped the queued step %q: the claim on handoff %s was lost", step.Event, id)
	case h == nil:
		err = c.write(&Claim{ID: id, Agent: step.Agent, Actor: step.Actor, Home: step.Home, Pending: &step.Step})
	case h.Pending == nil:
		h.Pending = &step.Step
		err = c.write(h)
	default:
		err = c.takeBeside(h, step.Step)
	}
	if err != nil && fault.As(err) == nil {
		return err
	}
	return errors.Join(err, steps.Drop(id))
}

// takeBeside takes a step for a record that has one already. An earlier version that runs beside
// this one does not know of the recorded step. Only one step of a handoff can wait, so the error
// names the other.
func (c Claims) takeBeside(h *Claim, step Step) error {
	was := h.Pending
	dropped := func(s *Step, why string) error {
		return fault.New(fault.Conflict, fault.NotHolder, "dropped the queued step %q of handoff %s: %s", s.Event, h.ID, why)
	}
	var lost error
	switch {
	// An earlier Upgrade was killed before it removed the old file.
	case was.Event == step.Event && was.Nonce == step.Nonce && was.At.Equal(step.At):
		return nil
	case step.Nonce != h.Nonce:
		return dropped(&step, "its claim was lost")
	case was.Nonce != h.Nonce:
		lost = dropped(was, "its claim was lost")
	case was.ends():
		return dropped(&step, "another one ends the handoff")
	default:
		if unsent := h.MergeInto(&step); unsent != nil {
			lost = dropped(unsent, "a later one replaces it; it says "+unsent.Data)
		}
	}
	h.Keep(step)
	return errors.Join(lost, c.write(h))
}

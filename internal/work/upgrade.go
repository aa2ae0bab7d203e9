package work

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// kept is a step that waits, as earlier versions wrote it: in a file of its own.
type kept struct {
	Step
	Agent string `json:"agent"`
	Actor string `json:"actor"`
	Home  string `json:"home"`
}

// Upgrade moves what earlier versions of githandoff wrote into the records of today. Each
// record is written before the old file goes, so that a process that is killed leaves
// both, and the next one goes on. Without old files it costs one system call.
func (c Claims) Upgrade(ctx context.Context) error {
	steps := Shelf[kept]{Dir: filepath.Join(filepath.Dir(c.Dir), "journal")}
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
	_ = os.Remove(steps.Dir) // fails as long as something is in it
	return err
}

// takeIn moves the step of one handoff into its record. A step whose claim has ended is
// dropped, with an error.
func (c Claims) takeIn(id handoff.ID, steps Shelf[kept]) error {
	step, err := steps.Get(id)
	if err != nil || step == nil {
		return err
	}
	h, err := c.open().Get(id)
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
	}
	if err != nil && fault.As(err) == nil {
		return err
	}
	return errors.Join(err, steps.Drop(id))
}

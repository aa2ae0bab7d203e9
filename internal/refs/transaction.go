package refs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// Edit moves one ref. Old is the validated value: "" says that the ref must not exist. New is
// the value to give it: "" deletes it.
type Edit struct {
	Ref string
	Old string
	New string
}

// Transaction is a change of state at a home: all of its edits or none.
type Transaction struct {
	Edits   []Edit
	Objects []*Object // objects that the new values need and the home may lack

	// LocalEdits moves refs of this repository outside the home's state: the outbox, the sent
	// record, a checkpoint. At a hub they follow the push; in this repository they are part of
	// the same transaction.
	LocalEdits []Edit

	// NoRetry makes a hub give the transaction up if another step on the same handoff came first.
	// The hub is not read then.
	NoRetry bool
}

// ErrRefused is the cause of an error of a transaction refused by the hub's own rules. Another try
// is refused as well. No part of the transaction was applied.
var ErrRefused = errors.New("refused by the rules of the hub")

// StaleError says that a transaction was not applied because refs were not at their expected
// old values.
type StaleError struct {
	Refs []string
	Read bool // the copies of all refs of the transaction were read again after it failed
}

func (e *StaleError) Error() string {
	return "moved meanwhile: " + strings.Join(e.Refs, ", ")
}

// attempts and the pauses between them bound the wait for another process's
// lock: about two seconds in total, besides what git itself waits with each
// try, 100 ms for a ref and 1 s for packed-refs (core.packedRefsTimeout).
const attempts = 12

// Pause waits before a busy resource is retried: 5 to 240 ms, at random, longer with each try.
func Pause(ctx context.Context, try int) error {
	d := time.Duration(10<<min(try, 4)) * time.Millisecond
	return Wait(ctx, d/2+rand.N(d))
}

// Wait waits for a time, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Deletions returns the edits that delete those of some refs of this repository which are there. An error about one
// ref keeps no other from being looked at.
func Deletions(ctx context.Context, r *Repo, names ...string) (edits []Edit, err error) {
	for _, name := range names {
		now, rerr := r.Resolve(ctx, name)
		if err = cmp.Or(err, rerr); rerr == nil && now != "" {
			edits = append(edits, Edit{Ref: name, Old: now})
		}
	}
	return edits, err
}

// Drop deletes a ref of this repository, if there is one. It returns a *StaleError when the ref moved
// meanwhile.
func Drop(ctx context.Context, r *Repo, ref string) error {
	edits, err := Deletions(ctx, r, ref)
	if err != nil {
		return err
	}
	return r.Apply(ctx, Transaction{Edits: edits})
}

// ApplyUnlessMoved makes edits of this repository. If a ref moved meanwhile, it makes none and returns no
// error: another command of this clone has seen to that ref.
func ApplyUnlessMoved(ctx context.Context, r *Repo, edits []Edit) error {
	err := r.Apply(ctx, Transaction{Edits: edits})
	if _, moved := errors.AsType[*StaleError](err); moved {
		return nil
	}
	return err
}

// Apply writes the transaction's objects and moves its refs in this
// repository, in the order given. It returns a *StaleError when a ref had
// moved, a refusal with code Unavailable when locks stay held, and one with
// reason missing_object when a new value of a ref is not here.
func (r *Repo) Apply(ctx context.Context, t Transaction) error {
	edits := t.inOrder()
	if len(edits) == 0 {
		return nil
	}
	var locks []os.FileInfo
	var gc time.Time
	for try := 0; ; try++ {
		// Write them with each try: a gc may remove objects to which no ref leads.
		if err := r.Store.Write(t.Objects...); err != nil {
			return err
		}
		var err error
		if gc, err = r.Store.protect(ctx, gc, t.Objects); err != nil {
			return err
		}
		err = r.updater.apply(ctx, edits)
		if err == nil {
			return r.Store.secure(context.WithoutCancel(ctx), gc, t.Objects)
		}
		if fault.Is(err, fault.GitTooOld) {
			return err
		}
		if try == 0 {
			locks = r.Locks.standing(edits)
		}
		done, stale, serr := r.compare(ctx, edits)
		switch {
		case serr != nil:
			return serr
		case done: // a git killed before its report had applied the edits
			return r.Store.secure(context.WithoutCancel(ctx), gc, t.Objects)
		case len(stale) > 0:
			return &StaleError{Refs: stale}
		}
		if path := r.Locks.dead(edits, locks); path != "" && try > 0 {
			return Locked(path)
		}
		if try+1 == attempts {
			if lost := r.lostAmong(ctx, t); lost != "" {
				return Missing("object " + lost)
			}
			return r.Locks.refusal(edits, locks, err)
		}
		if perr := Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

// inOrder returns all edits, with deletions last, so any prefix of them left by a killed git still
// leads to every payload.
func (t *Transaction) inOrder() []Edit {
	var moves, deletions []Edit
	for _, e := range slices.Concat(t.Edits, t.LocalEdits) {
		if e.New == "" {
			deletions = append(deletions, e)
		} else {
			moves = append(moves, e)
		}
	}
	return append(moves, deletions...)
}

// compare reports whether every edit is in place, and which refs are not at their expected old
// values. A missing ref does not tell who deleted it: deletions alone are never in place.
func (r *Repo) compare(ctx context.Context, edits []Edit) (done bool, stale []string, err error) {
	moved := false
	done = true
	for _, e := range edits {
		now, err := r.Resolve(ctx, e.Ref)
		if err != nil {
			return false, nil, err
		}
		if now != e.Old {
			stale = append(stale, e.Ref)
			moved = moved || e.New != ""
		}
		done = done && now == e.New
	}
	return done && moved, stale, nil
}

// lostAmong returns a new value that is neither here nor an object of the transaction; "" if there
// is none. It asks a new git, since a running one may still read a pack that a gc removed.
func (r *Repo) lostAmong(ctx context.Context, t Transaction) string {
	var oids []string
	for _, e := range t.inOrder() {
		if e.New != "" && !slices.ContainsFunc(t.Objects, func(o *Object) bool { return o.OID == e.New }) {
			oids = append(oids, e.New)
		}
	}
	kinds, _ := Kinds(ctx, r, oids) // without an answer, the error of the transaction itself is returned
	if i := slices.IndexFunc(kinds, func(a Kind) bool { return a.Type == "" }); i >= 0 {
		return oids[i]
	}
	return ""
}

// updateCommands renders edits in the language of "git update-ref --stdin".
func updateCommands(format gitobj.Format, edits []Edit) string {
	var b strings.Builder
	for _, e := range edits {
		switch {
		case e.Old == "" && e.New == "": // the ref must stay absent
			fmt.Fprintf(&b, "verify %s %s\n", e.Ref, format.Zero())
		case e.Old == "":
			fmt.Fprintf(&b, "create %s %s\n", e.Ref, e.New)
		case e.New == "":
			fmt.Fprintf(&b, "delete %s %s\n", e.Ref, e.Old)
		default:
			fmt.Fprintf(&b, "update %s %s %s\n", e.Ref, e.New, e.Old)
		}
	}
	return b.String()
}

// updater keeps one "git update-ref --stdin": a command with two local transactions starts one
// process for them. A failed transaction ends the process; the next one starts another.
type updater struct{ process }

// errRepacked says that packed-refs was rewritten while git prepared a transaction, which was
// called off.
var errRepacked = errors.New("packed-refs was rewritten meanwhile")

// repacked limits how often a transaction is prepared again after packed-refs was rewritten.
const repacked = 20

func (u *updater) apply(ctx context.Context, edits []Edit) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for try := 1; ; try++ {
		err := u.begin(ctx)
		if err == nil {
			err = u.commit(edits)
		}
		if !errors.Is(err, errRepacked) || try == repacked {
			return err
		}
		awaitPacking(ctx, u.repo.CommonDir)
	}
}

// begin starts a transaction, in a process that has read no other packed-refs than the present
// one. The file is pinned when git is up and waits: the sooner git locks the refs after that,
// the less can happen to the file in between.
func (u *updater) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u.refresh()
	if err := u.start(); err != nil {
		return err
	}
	if err := u.sayStart(ctx); err != nil {
		return u.broken(err)
	}
	err := u.pin()
	if err != nil {
		u.stop((*gitexec.Process).Leave)
	}
	return err
}

// confirming is how long git may take to confirm the start of a transaction before its version is
// looked at. It takes a few milliseconds.
const confirming = 2 * time.Second

// sayStart has git begin the transaction. A git before [OldestGit] confirms nothing before its input ends.
func (u *updater) sayStart(ctx context.Context) error {
	var tooOld atomic.Bool
	in := u.proc.In
	slow := time.AfterFunc(confirming, func() {
		out, err := u.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"version"}})
		if err == nil && gitexec.OlderThan(gitexec.Version(out), OldestGit) {
			tooOld.Store(true)
			_ = in.Close()
		}
	})
	defer slow.Stop()
	err := u.say("start")
	if tooOld.Load() {
		return errTooOld()
	}
	return err
}

// commit has git lock the refs of edits and compare their old values. The comparison is valid
// only if packed-refs is still the pinned version.
func (u *updater) commit(edits []Edit) error {
	err := u.say(updateCommands(u.repo.Format, edits) + "prepare")
	if err == nil && !u.pinned.holds() {
		err = errRepacked
	}
	if err == nil {
		err = u.say("commit")
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errRepacked):
		_ = u.say("abort") // a git that has died holds no locks either
		u.stop((*gitexec.Process).Leave)
		return err
	}
	return u.broken(err)
}

// broken returns why git ended, in its own words if it left any.
func (u *updater) broken(err error) error {
	u.stop(func(p *gitexec.Process) {
		if cerr := p.Close(); cerr != nil {
			err = cerr
		}
	})
	return err
}

// say gives git commands and reads its confirmation of the last one, a step of the transaction.
func (u *updater) say(commands string) error {
	if _, err := io.WriteString(u.proc.In, commands+"\n"); err != nil {
		return err
	}
	answer, err := u.out.ReadString('\n')
	if err != nil {
		return err
	}
	step := commands[strings.LastIndexByte(commands, '\n')+1:]
	if answer = strings.TrimSpace(answer); answer != step+": ok" {
		return fmt.Errorf("git update-ref says %q", answer)
	}
	return nil
}

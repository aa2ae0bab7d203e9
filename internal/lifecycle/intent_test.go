package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

var errKilled = errors.New("killed")

// dying is a home whose git is killed after the first edits of a transaction.
type dying struct {
	*LocalHome
	after int
}

func (d dying) Apply(ctx context.Context, t refs.Transaction) error {
	if err := d.Repo.Store.Write(t.Objects...); err != nil {
		return err
	}
	var order []refs.Edit // moves, then deletions, in the order in which git applies them
	for _, deletion := range []bool{false, true} {
		for _, e := range append(append([]refs.Edit(nil), t.Edits...), t.LocalEdits...) {
			if (e.New == "") == deletion {
				order = append(order, e)
			}
		}
	}
	for i, e := range order {
		if i == d.after {
			return errKilled
		}
		if err := d.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{e}}); err != nil {
			return err
		}
	}
	return errKilled
}

// abandoned requires that intents of this process are left, and marks their owner as gone.
func abandoned(t *testing.T, in Intents) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(in.Dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.False(t, durable.Owned(name), name)
	}
}

// An intent that is being written is empty for a moment. An empty intent was cut off only if its process has
// ended.
func TestIntentThatIsBeingWritten(t *testing.T) {
	in := Intents{Dir: t.TempDir()}
	begun := filepath.Join(in.Dir, "00.json")
	owner, err := durable.Own(begun, nil)
	require.NoError(t, err)
	assert.Empty(t, in.left())
	assert.FileExists(t, begun)
	durable.Disown(owner)
	assert.Empty(t, in.left())
	names, err := os.ReadDir(in.Dir)
	require.NoError(t, err)
	assert.Empty(t, names)
}

// Earlier versions stored the process id in the file or in its name. Another process may have the same id by
// now.
func TestIntentOfEarlierVersions(t *testing.T) {
	in := Intents{Dir: t.TempDir()}
	for name, pid := range map[string]string{"15f0a558f7b8aded": fmt.Sprintf(`"pid":%d,`, os.Getpid()), fmt.Sprint(os.Getpid(), "-e3954803008045f7"): ""} {
		require.NoError(t, os.WriteFile(filepath.Join(in.Dir, name+".json"), []byte(`{`+pid+`"home":"local:1","edits":[]}`), 0o600))
	}
	left := in.left()
	require.Len(t, left, 2)
	for _, i := range left {
		assert.Equal(t, "local:1", i.Home)
	}
}

// snapshot returns all refs below refs/handoffs.
func (w *fixture) snapshot(t *testing.T) string {
	t.Helper()
	return w.Hub.Git(t, "for-each-ref", "--format=%(refname) %(objectname)", refs.Root)
}

// A git is killed at some point of a step that makes an inbox ref. The next command of that clone brings the
// repository to the state before the step or to the state after it. For the other steps see TestHalfAStep.
func TestRecoverFromAnyPrefix(t *testing.T) {
	type scene struct {
		*roles
		p Place
		h ClaimProof
	}
	steps := map[string]struct {
		held bool
		take func(t *testing.T, s *scene, home Home) error
	}{
		"offer": {false, func(t *testing.T, s *scene, home Home) error {
			p := s.prepare(t, s.source, "fixer")
			require.NoError(t, s.repo.Apply(t.Context(), refs.Transaction{
				Edits: []refs.Edit{{Ref: refs.Outbox("fixer", p.Record.ID), New: p.Commit.OID}}, Objects: p.Objects,
			}))
			_, err := s.source.Offer(t.Context(), home, p,
				refs.Edit{Ref: refs.Sent("fixer", p.Record.ID), New: p.Commit.OID},
				refs.Edit{Ref: refs.Outbox("fixer", p.Record.ID), Old: p.Commit.OID})
			return err
		}},
		"route": {false, func(t *testing.T, s *scene, home Home) error {
			_, err := s.root.Route(t.Context(), home, s.stuck(t), "fixer", "")
			return err
		}},
		"fail": {true, func(t *testing.T, s *scene, home Home) error {
			child := s.envelope(t, "fixer", "investigator")
			child.Parent = s.p.ID
			p, err := s.holder.Author.Prepare(t.Context(), home, child, "")
			require.NoError(t, err)
			_, err = s.holder.Fail(t.Context(), home, s.h, Outcome{Next: child.ID, Child: p})
			return err
		}},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for after := 0; ; after++ {
				s := &scene{roles: newRoles(t)}
				s.p = s.offer(t, s.source, "fixer")
				if step.held {
					s.h = s.claim(t, s.holder, s.p)
				}
				before := s.snapshot(t)
				err := step.take(t, s, dying{s.home, after})
				require.ErrorIs(t, err, errKilled)
				left := s.snapshot(t)
				abandoned(t, s.holder.Recovery.Intents)

				home := func(string) (Home, error) { return s.home, nil }
				require.NoError(t, s.holder.Recovery.Run(t.Context(), home))
				settled := s.snapshot(t)
				for _, p := range s.places(t) {
					assert.False(t, s.load(t, s.holder, p).Unlogged(), "killed after %d edits:\n%s", after, left)
				}
				require.NoError(t, s.holder.Recovery.Run(t.Context(), home))
				assert.Equal(t, settled, s.snapshot(t), "a second time there is nothing to do")
				assert.Empty(t, s.Hub.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
				if after == 0 && name != "offer" && name != "route" { // both steps make a handoff first
					assert.Equal(t, before, settled, "nothing was done, nothing is")
				}
				if left == settled && after > 0 {
					return // all edits had been made
				}
				require.Less(t, after, 8)
			}
		})
	}
}

// A hub's git may skip any refs of a push, even an inbox ref whose lane it moved. The clone that took the step
// creates the missing refs. No other clone needs to know of the step.
func TestRecoverWhatAHubLeftOut(t *testing.T) {
	for mask, edits := 0, 1; mask < 1<<edits; mask++ {
		s := newRoles(t)
		p := s.offer(t, s.source, "fixer")
		h := s.claim(t, s.holder, p)
		child := s.envelope(t, "fixer", "investigator")
		child.Parent = p.ID
		payload, err := s.holder.Author.Prepare(t.Context(), s.home, child, "")
		require.NoError(t, err)
		hub := &half{LocalHome: s.home, mask: mask}
		_, err = s.holder.Fail(t.Context(), hub, h, Outcome{Next: child.ID, Child: payload})
		require.ErrorIs(t, err, errKilled)
		edits = hub.edits
		left := s.snapshot(t)
		abandoned(t, s.holder.Recovery.Intents)
		require.NoError(t, s.holder.Recovery.Run(t.Context(), func(string) (Home, error) { return s.home, nil }))

		back := Place{Agent: "investigator", ID: child.ID}
		parent, next := s.load(t, s.peer, p), s.load(t, s.peer, back)
		if !hub.lane {
			assert.Equal(t, []Phase{Held, Absent}, []Phase{parent.Phase(), next.Phase()}, "%b:\n%s", mask, left)
			assert.Empty(t, next.Tip, "%b:\n%s", mask, left)
			continue
		}
		assert.Equal(t, []Phase{Ended, Open}, []Phase{parent.Phase(), next.Phase()}, "%b:\n%s", mask, left)
		assert.True(t, next.Delivered(), "%b:\n%s", mask, left)
		assert.Empty(t, s.Hub.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
	}
}

// An inbox ref that is missing for another reason is not created again.
func TestRecoverMakesNoInboxAgain(t *testing.T) {
	drop := func(t *testing.T, s *roles, p Place) {
		require.NoError(t, refs.Drop(t.Context(), s.repo, refs.LocalNamespace.Inbox(p.Agent, p.ID)))
	}
	for name, since := range map[string]func(t *testing.T, s *roles, p Place, payload *Payload){
		"ended": func(t *testing.T, s *roles, p Place, _ *Payload) {
			_, err := s.source.Withdraw(t.Context(), s.home, p, record.Revoked, Outcome{})
			require.NoError(t, err)
		},
		"released, and gone since": func(t *testing.T, s *roles, p Place, _ *Payload) {
			_, err := s.holder.Release(t.Context(), s.home, s.claim(t, s.holder, p), false)
			require.NoError(t, err)
			drop(t, s, p)
		},
		"left out, and its content lost since": func(t *testing.T, s *roles, p Place, payload *Payload) {
			drop(t, s, p)
			for _, o := range payload.Objects {
				if o.Type == "blob" {
					require.NoError(t, os.Remove(filepath.Join(s.repo.Objects, o.OID[:2], o.OID[2:])))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRoles(t)
			payload := s.prepare(t, s.source, "fixer")
			_, err := s.source.Offer(t.Context(), dying{s.home, 9}, payload)
			require.ErrorIs(t, err, errKilled)
			abandoned(t, s.source.Recovery.Intents)
			since(t, s, Place{Agent: "fixer", ID: payload.Record.ID}, payload)
			before := s.snapshot(t)
			require.NoError(t, s.source.Recovery.Run(t.Context(), func(string) (Home, error) { return s.home, nil }))
			assert.Equal(t, before, s.snapshot(t))
		})
	}
}

// places lists the handoffs in inboxes.
func (w *fixture) places(t *testing.T) []Place {
	t.Helper()
	list, err := w.repo.List(t.Context(), refs.Root+"inbox/")
	require.NoError(t, err)
	var places []Place
	for _, r := range list {
		p, ok := refs.LocalNamespace.ParseHandoffRef(r.Name)
		require.True(t, ok)
		places = append(places, Place{Agent: p.Agent, ID: p.ID})
	}
	return places
}

// A step was interrupted, and another clone took the same step before recovery ran. Recovery changes nothing.
func TestRecoverLeavesARepeatedStepAlone(t *testing.T) {
	for after := range 2 {
		c := newRoles(t)
		recovered := func() {
			t.Helper()
			before := c.snapshot(t)
			abandoned(t, c.holder.Recovery.Intents)
			require.NoError(t, c.holder.Recovery.Run(t.Context(), func(string) (Home, error) { return c.home, nil }))
			assert.Equal(t, before, c.snapshot(t), "killed after %d edits", after)
		}
		payload := c.prepare(t, c.source, "fixer")
		_, err := c.source.Offer(t.Context(), dying{c.home, after}, payload)
		require.ErrorIs(t, err, errKilled)
		elsewhere, recovery := *c.source, *c.source.Recovery
		recovery.Intents.Dir = t.TempDir()
		elsewhere.Recovery = &recovery
		_, err = elsewhere.Offer(t.Context(), c.home, payload)
		require.NoError(t, err)
		recovered()

		assert.Equal(t, Open, c.load(t, c.holder, Place{Agent: "fixer", ID: payload.Record.ID}).Phase())
	}
}

// A repeated step first settles what its interrupted predecessor left. The lane gets one entry, and no intent
// stays.
func TestAgainAfterHalf(t *testing.T) {
	for after := range 3 {
		c := newRoles(t)
		payload := c.prepare(t, c.source, "fixer")
		_, err := c.source.Offer(t.Context(), dying{c.home, after}, payload)
		require.ErrorIs(t, err, errKilled)
		_, err = c.source.Offer(t.Context(), c.home, payload)
		require.NoError(t, err)
		require.NoError(t, c.holder.Recovery.Run(t.Context(), func(string) (Home, error) { return c.home, nil }))
		s := c.load(t, c.holder, Place{Agent: "fixer", ID: payload.Record.ID})
		assert.True(t, s.Delivered())
		assert.Len(t, s.Entries, 1, "killed after %d edits", after)
		assert.Empty(t, c.holder.Recovery.Intents.left())
	}
}

// far is a home of which the local copies are old. Its Apply reports a stale ref until it was refreshed.
type far struct {
	*LocalHome
	unseen []refs.Edit
}

func (f *far) Refresh(ctx context.Context, _ FetchSpec) error {
	edits := f.unseen
	f.unseen = nil
	return f.Repo.Apply(ctx, refs.Transaction{Edits: edits})
}

func (f *far) Apply(ctx context.Context, t refs.Transaction) error {
	if len(f.unseen) > 0 {
		return &refs.StaleError{Refs: []string{f.unseen[0].Ref}}
	}
	return f.LocalHome.Apply(ctx, t)
}

// An interrupted step at a hub is not settled with copies from before the step.
func TestAgainAfterHalfUnseen(t *testing.T) {
	c := newRoles(t)
	payload := c.prepare(t, c.source, "fixer")
	_, err := c.source.Offer(t.Context(), dying{c.home, 2}, payload)
	require.ErrorIs(t, err, errKilled)
	p := Place{Agent: "fixer", ID: payload.Record.ID}
	tip, err := c.repo.Resolve(t.Context(), c.lane(p.ID))
	require.NoError(t, err)
	require.NotEmpty(t, tip)
	require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{
		{Ref: c.lane(p.ID), Old: tip}, {Ref: c.home.Namespace().Inbox("fixer", p.ID), Old: payload.Commit.OID},
	}}))
	hub := &far{c.home, []refs.Edit{{Ref: c.lane(p.ID), New: tip}}}
	_, err = c.source.Offer(t.Context(), hub, payload)
	require.NoError(t, err)
	s := c.load(t, c.holder, p)
	assert.True(t, s.Delivered())
	assert.Len(t, s.Entries, 1)
	require.NoError(t, c.holder.Recovery.Run(t.Context(), func(string) (Home, error) { return c.home, nil }))
	assert.Empty(t, c.holder.Recovery.Intents.left())
}

// watched is a home whose Apply first calls look.
type watched struct {
	*LocalHome
	look func()
}

func (w watched) Apply(ctx context.Context, t refs.Transaction) error {
	err := dying{w.LocalHome, 1}.Apply(ctx, t)
	w.look()
	return err
}

// Recovery does not touch a step that is in progress.
func TestRecoverLeavesTheLivingAlone(t *testing.T) {
	c := newRoles(t)
	looked := false
	_, err := c.source.Offer(t.Context(), watched{c.home, func() {
		before := c.snapshot(t)
		assert.NoError(t, c.holder.Recovery.Run(t.Context(), func(string) (Home, error) { return c.home, nil }))
		assert.Equal(t, before, c.snapshot(t))
		names, err := os.ReadDir(c.holder.Recovery.Intents.Dir)
		assert.NoError(t, err)
		assert.Len(t, names, 1)
		looked = true
	}}, c.prepare(t, c.source, "fixer"))
	require.ErrorIs(t, err, errKilled)
	assert.True(t, looked)
	abandoned(t, c.holder.Recovery.Intents)
}

// A git that outlived its githandoff still holds a lock, and may complete the step of the intent. Until the lock
// is gone the outcome is unknown, and the intent stays.
func TestRecoverWaitsForLocks(t *testing.T) {
	c := newRoles(t)
	payload := c.prepare(t, c.source, "fixer")
	p := Place{Agent: "fixer", ID: payload.Record.ID}
	_, err := c.source.Offer(t.Context(), dying{c.home, 1}, payload)
	require.ErrorIs(t, err, errKilled)
	abandoned(t, c.holder.Recovery.Intents)
	// The git that created the inbox ref still holds the lock of the lane, and may be about to move the lane.
	lock := filepath.Join(c.repo.CommonDir, c.lane(p.ID)+".lock")
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o755))
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	here := func(string) (Home, error) { return c.home, nil }
	err = c.holder.Recovery.Run(t.Context(), here)
	assert.True(t, fault.Is(err, "locked"), err)
	assert.Len(t, c.holder.Recovery.Intents.left(), 1)

	require.NoError(t, os.Remove(lock))
	require.NoError(t, c.holder.Recovery.Run(t.Context(), here))
	assert.Empty(t, c.holder.Recovery.Intents.left())
	assert.Equal(t, Absent, c.load(t, c.holder, p).Phase())
	assert.Empty(t, c.places(t))
}

// The intents of a home that cannot be reached stay, and recovery tries to reach the home only once.
func TestRecoverWaitsForTheHome(t *testing.T) {
	c := newRoles(t)
	for range 3 {
		_, err := c.source.Offer(t.Context(), dying{c.home, 1}, c.prepare(t, c.source, "fixer"))
		require.ErrorIs(t, err, errKilled)
	}
	abandoned(t, c.holder.Recovery.Intents)
	down, asked := errors.New("down"), 0
	err := c.holder.Recovery.Run(t.Context(), func(string) (Home, error) { asked++; return nil, down })
	require.ErrorIs(t, err, down)
	assert.Equal(t, 1, asked)
	names, err := os.ReadDir(c.holder.Recovery.Intents.Dir)
	require.NoError(t, err)
	assert.Len(t, names, 3)
}

// A step that makes no inbox ref writes no intent: the lane decides.
func TestNoIntentWhereTheLaneDecides(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	_, err := c.holder.Renew(t.Context(), dying{c.home, 1}, h, Renewal{Lease: time.Hour})
	require.ErrorIs(t, err, errKilled)
	_, _, err = c.holder.Acknowledge(t.Context(), dying{c.home, 1}, h, Outcome{})
	require.ErrorIs(t, err, errKilled)
	left, err := os.ReadDir(c.holder.Recovery.Intents.Dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

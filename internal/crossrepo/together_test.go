package crossrepo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// crate is a number of signed handoffs and the results of their offers.
type crate struct {
	payloads []*lifecycle.Payload
	errs     []error
	trips    []string // gits that connected to the hub
}

// pack signs n handoffs, the last three of them in one lane.
func pack(t *testing.T, v *fixture, s *agent, n int) *crate {
	t.Helper()
	c := &crate{errs: make([]error, n)}
	for i := range n {
		env := v.Envelope(t, s.name, "fixer")
		lane := fmt.Sprintf("%02d", i)
		if i > n-3 {
			lane = c.payloads[n-3].Record.ID.Lane()
		}
		env.ID = env.ID[:len(env.ID)-2] + handoff.ID(lane)
		p, err := s.Engine.Author.Prepare(t.Context(), s.home, env, "")
		require.NoError(t, err)
		c.payloads = append(c.payloads, p)
	}
	return c
}

// send offers all handoffs of the crate together.
func (c *crate) send(t *testing.T, s *agent, log string) {
	t.Helper()
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	var tasks []func(context.Context)
	for i, p := range c.payloads {
		tasks = append(tasks, func(ctx context.Context) { _, c.errs[i] = s.Engine.Offer(ctx, s.home, p) })
	}
	crossrepo.Together(t.Context(), tasks)
	c.trips = tripsIn(t, log)
}

// landed checks that each handoff is at the hub complete and once. Those at the indexes in but must not be
// there.
func (c *crate) landed(t *testing.T, v *fixture, but ...int) {
	t.Helper()
	for i, p := range c.payloads {
		at := lifecycle.Place{Agent: "fixer", ID: p.Record.ID}
		if slices.Contains(but, i) {
			assert.Error(t, c.errs[i], "%d", i)
			assert.Empty(t, v.inbox(t, at), "%d", i)
			assert.Empty(t, v.log(t, at.ID), "%d", i)
			continue
		}
		assert.NoError(t, c.errs[i], "%d", i)
		assert.Equal(t, p.Commit.OID, v.inbox(t, at), "%d", i)
		assert.Equal(t, []string{"offered"}, v.log(t, at.ID), "%d", i)
	}
}

// newCrate returns a hub whose gits leave a trace, and a crate of n handoffs for it.
func newCrate(t *testing.T, n int) (v *fixture, source *agent, c *crate, log string) {
	t.Helper()
	v, log = newTracedFixture(t)
	source = v.agent(t, "investigator")
	v.agent(t, "fixer")
	return v, source, pack(t, v, source, n), log
}

func TestTogether(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 20)
	c.send(t, source, log)
	assert.Equal(t, []string{"push"}, c.trips)
	c.landed(t, v)
	lane := c.payloads[19].Record.ID
	assert.Equal(t, v.Hub.Git(t, "rev-parse", v.namespace().Lane(lane)),
		source.git.Git(t, "rev-parse", source.home.Namespace().Lane(lane)), "the copy of a lane that three steps moved")
	again := pack(t, v, source, 3)
	again.payloads = append(again.payloads, c.payloads...)
	again.errs = make([]error, len(again.payloads))
	again.send(t, source, log)
	again.landed(t, v) // handoffs that the hub has are not sent again
	assert.Empty(t, v.Hub.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
}

// What a common push changes in this clone is one transaction: git rewrites packed-refs for each one that deletes a
// packed ref, and the gits that have read it are started anew.
func TestTogetherFollowsOnce(t *testing.T) {
	t.Parallel()
	v, source, c, _ := newCrate(t, 20)
	tip := source.git.Git(t, "commit-tree", "-m", "queued", source.git.Git(t, "mktree"))
	var tasks []func(context.Context)
	for i, p := range c.payloads {
		queued := refs.Outbox("fixer", p.Record.ID)
		source.git.Git(t, "update-ref", queued, tip)
		tasks = append(tasks, func(ctx context.Context) {
			_, c.errs[i] = source.Engine.Offer(ctx, source.home, p, refs.Edit{Ref: queued, Old: tip})
		})
	}
	source.git.Git(t, "pack-refs", "--all")
	before := source.Engine.Repo.Runner.Started()
	crossrepo.Together(t.Context(), tasks)
	assert.Less(t, source.Engine.Repo.Runner.Started()-before, int64(10))
	c.landed(t, v)
	assert.Empty(t, source.git.Git(t, "for-each-ref", "refs/handoffs/outbox"))
}

// While steps wait, no ref leads to their objects. A prune that removes the objects meanwhile disturbs neither
// the steps that depend on them nor the push.
func TestTogetherBesideAPrune(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 6)
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	var tasks []func(context.Context)
	for i, p := range c.payloads {
		tasks = append(tasks, func(ctx context.Context) {
			source.git.Git(t, "prune", "--expire=now")
			_, c.errs[i] = source.Engine.Offer(ctx, source.home, p)
		})
	}
	crossrepo.Together(t.Context(), tasks)
	assert.Equal(t, []string{"push"}, tripsIn(t, log))
	c.landed(t, v)
	assert.Empty(t, source.git.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
}

// More steps than fit in one push are sent in several.
func TestTogetherWithinBounds(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 70)
	c.send(t, source, log)
	assert.Equal(t, []string{"push", "push"}, c.trips)
	c.landed(t, v)
}

// A hub refuses a push because of one of its steps. The other steps are taken.
func TestTogetherOneRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, hook, script string
		which              int
		trips              int
	}{
		{"by an update hook", "update", `case "$1" in *%s) echo not this one >&2; exit 1;; esac`, 4, 2},
		{"below others in its lane", "update", `case "$1" in *%s) echo not this one >&2; exit 1;; esac`, 17, 2},
		{"by a hook that names no ref", "pre-receive", `while read -r old new ref; do case $ref in *%s) exit 1;; esac; done`, 0, 4},
		{"in the middle, by a hook that names no ref", "pre-receive", `while read -r old new ref; do case $ref in *%s) exit 1;; esac; done`, 12, 14},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, source, c, log := newCrate(t, 20)
			v.hook(t, tc.hook, fmt.Sprintf(tc.script, c.payloads[tc.which].Record.ID))
			c.send(t, source, log)
			c.landed(t, v, tc.which)
			assert.True(t, fault.Is(c.errs[tc.which], fault.HubRefused), "%v", c.errs[tc.which])
			assert.ErrorIs(t, c.errs[tc.which], refs.ErrRefused)
			assert.LessOrEqual(t, len(c.trips), tc.trips, "%v", c.trips)
		})
	}
}

// A hub that refuses every step is not asked about each of them.
func TestTogetherAllRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		make   func(*testing.T, *fixture)
		reason fault.Reason
		trips  int
	}{
		{"by its pre-receive hook", func(t *testing.T, v *fixture) { v.hook(t, "pre-receive", "exit 1") }, fault.HubRefused, 3},
		{"by its update hook", func(t *testing.T, v *fixture) { v.hook(t, "update", "exit 1") }, fault.HubRefused, 3},
		{"as atomic pushes", func(t *testing.T, v *fixture) { v.Hub.Git(t, "config", "receive.advertiseAtomic", "false") }, fault.NoAtomicPush, 9},
		{"since it is gone", func(t *testing.T, v *fixture) { require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+".away")) }, fault.RemoteUnavailable, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, source, c, log := newCrate(t, 20)
			tc.make(t, v)
			c.send(t, source, log)
			tried := 0
			for _, err := range c.errs {
				assert.True(t, fault.Is(err, tc.reason), "%v", err)
				assert.Equal(t, fault.Unavailable, fault.CodeOf(err), "it is kept")
				if err != nil && !errors.Is(err, crossrepo.ErrNotTried) {
					tried++
				}
			}
			assert.Positive(t, tried)
			assert.LessOrEqual(t, len(c.trips), tc.trips, "%v", c.trips)
		})
	}
}

// Other agents move a lane and send other handoffs. The steps concerned are decided again after one look, and
// are part of the next push.
func TestTogetherOvertaken(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 20)
	other := v.agent(t, "other")
	offerIn(t, v, other, c.payloads[19].Record.ID)
	offerIn(t, v, other, c.payloads[5].Record.ID)
	c.send(t, source, log)
	assert.Equal(t, []string{"push", "fetch", "push"}, c.trips)
	c.landed(t, v)
}

// A hub that dies after it has moved the refs and before it answers has taken each step once. If two clones send
// the same handoffs, the hub has each once.
func TestTogetherLosesItsAnswer(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 20)
	armed := v.loseAnswers(t)
	c.send(t, source, log)
	require.False(t, armed(), "the hub died")
	c.landed(t, v)
	assert.Equal(t, []string{"push", "fetch"}, c.trips)

	twin := v.clone(t, "investigator", source.Engine.Author.Signer)
	again := &crate{payloads: c.payloads, errs: make([]error, 20)}
	again.send(t, twin, log)
	again.landed(t, v)
}

// A hub that moved only some refs of an atomic push has half steps. Sending the steps again completes them.
func TestTogetherHalves(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 8)
	// The hub has only the inbox ref of one step, and only the lane entry of another.
	half := pack(t, v, source, 8)
	half.payloads = c.payloads
	half.send(t, source, log)
	v.Hub.Git(t, "update-ref", "-d", v.namespace().Lane(c.payloads[2].Record.ID))
	v.Hub.Git(t, "update-ref", "-d", v.namespace().Inbox("fixer", c.payloads[4].Record.ID))
	twin := v.clone(t, "investigator", source.Engine.Author.Signer)
	c.send(t, twin, log)
	c.landed(t, v)
}

// Steps of different kinds on different handoffs are sent in one push.
func TestTogetherKinds(t *testing.T) {
	t.Parallel()
	v, log := newTracedFixture(t)
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	var held []lifecycle.ClaimProof
	for range 4 {
		held = append(held, fixer.mustClaim(t, v.offer(t, source, "fixer")))
	}
	errs := make([]error, 4)
	tasks := []func(context.Context){
		func(ctx context.Context) {
			_, _, errs[0] = fixer.Engine.Acknowledge(ctx, fixer.home, held[0], lifecycle.Outcome{})
		},
		func(ctx context.Context) {
			_, errs[1] = fixer.Engine.Renew(ctx, fixer.home, held[1], lifecycle.Renewal{Data: `{"done":"half"}`})
		},
		func(ctx context.Context) {
			_, errs[2] = fixer.Engine.Fail(ctx, fixer.home, held[2], lifecycle.Outcome{})
		},
		func(ctx context.Context) { _, errs[3] = fixer.Engine.Release(ctx, fixer.home, held[3], false) },
	}
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	crossrepo.Together(t.Context(), tasks)
	assert.Equal(t, []string{"push"}, tripsIn(t, log))
	for i, last := range []string{"acknowledged", "progressed", "failed", "released"} {
		require.NoError(t, errs[i])
		events := v.log(t, held[i].Place.ID)
		assert.Equal(t, last, events[len(events)-1])
	}
	assert.Empty(t, v.inbox(t, held[0].Place))
	assert.Empty(t, v.inbox(t, held[2].Place))
}

// A step that was decided before this clone knew its lane does not block another step in that lane.
func TestTogetherInALaneReadLater(t *testing.T) {
	t.Parallel()
	v, _ := newTracedFixture(t)
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	failed, held := fixer.mustClaim(t, v.offer(t, source, "fixer")), fixer.mustClaim(t, v.offer(t, source, "fixer"))
	twin := v.clone(t, "fixer", fixer.Engine.Author.Signer)
	env := v.Envelope(t, "fixer", "investigator")
	env.ID, env.Parent = env.ID[:len(env.ID)-2]+handoff.ID(held.Place.ID.Lane()), failed.Place.ID
	back, err := twin.Engine.Author.Prepare(t.Context(), twin.home, env, "")
	require.NoError(t, err)
	errs := make([]error, 2)
	crossrepo.Together(t.Context(), []func(context.Context){
		func(ctx context.Context) {
			_, errs[0] = twin.Engine.Fail(ctx, twin.home, failed, lifecycle.Outcome{Next: env.ID, Child: back})
		},
		func(ctx context.Context) {
			_, _, errs[1] = twin.Engine.Acknowledge(ctx, twin.home, held, lifecycle.Outcome{})
		},
	})
	assert.Equal(t, []error{nil, nil}, errs)
	assert.Equal(t, []string{"offered"}, v.log(t, env.ID))
	assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, v.log(t, held.Place.ID))
}

// An interrupt while steps wait ends each task, and nothing is sent afterwards.
func TestTogetherInterrupted(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 4)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var tasks []func(context.Context)
	for i, p := range c.payloads {
		tasks = append(tasks, func(ctx context.Context) { _, c.errs[i] = source.Engine.Offer(ctx, source.home, p) })
	}
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	crossrepo.Together(ctx, append(tasks, func(context.Context) { interrupt() }))
	assert.Empty(t, tripsIn(t, log))
	for _, err := range c.errs {
		assert.ErrorIs(t, err, context.Canceled)
	}
	c.landed(t, v, 0, 1, 2, 3)
	c.errs = make([]error, 4)
	c.send(t, source, log)
	assert.Equal(t, []string{"push"}, c.trips)
	c.landed(t, v)
}

// A task that panics ends the command. No other task is left waiting.
func TestTogetherPanics(t *testing.T) {
	t.Parallel()
	v, source, c, log := newCrate(t, 3)
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	ended := 0
	var tasks []func(context.Context)
	for i, p := range c.payloads {
		tasks = append(tasks, func(ctx context.Context) {
			defer func() { ended++ }()
			_, c.errs[i] = source.Engine.Offer(ctx, source.home, p)
		})
	}
	assert.PanicsWithValue(t, "broken", func() {
		crossrepo.Together(t.Context(), append(tasks, func(context.Context) { panic("broken") }))
	})
	assert.Equal(t, 3, ended)
	assert.Empty(t, tripsIn(t, log))
	c.landed(t, v, 0, 1, 2)
}

// A hub refuses the first two steps and names no ref. It takes the others: the step that is tried alone is the
// last one, on which no other step depends.
func TestTogetherTriesTheLastOne(t *testing.T) {
	t.Parallel()
	v, source, c, _ := newCrate(t, 8)
	fixer := v.agent(t, "fixer")
	held := fixer.mustClaim(t, v.offer(t, source, "fixer"))
	v.hook(t, "pre-receive", fmt.Sprintf(`while read -r old new ref; do case $ref in *%s|*%s) exit 1;; esac; done`,
		held.Place.ID, c.payloads[0].Record.ID))
	c.payloads, c.errs = c.payloads[:6], c.errs[:6] // each in a lane of its own
	var acked error
	tasks := []func(context.Context){func(ctx context.Context) {
		_, _, acked = source.Engine.As(fixer.Engine.Author.Signer, "fixer").Acknowledge(ctx, source.home, held, lifecycle.Outcome{})
	}}
	for i, p := range c.payloads {
		tasks = append(tasks, func(ctx context.Context) { _, c.errs[i] = source.Engine.Offer(ctx, source.home, p) })
	}
	crossrepo.Together(t.Context(), tasks)
	assert.True(t, fault.Is(acked, fault.HubRefused), "%v", acked)
	c.landed(t, v, 0)
}

// A hub dies when it has moved some refs of a common push. After the steps are sent again it has each step
// complete and once.
func TestTogetherDiesHalfWay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, undo string }{
		{"before the lanes", `for-each-ref --format="delete %(refname)" refs/handoffs/log`},
		{"before the first inbox ref", `for-each-ref --format="delete %(refname)" refs/handoffs/log refs/handoffs/inbox`},
		{"before the last lane", `for-each-ref --format="delete %(refname)" --sort=-refname --count=1 refs/handoffs/log`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, source, c, log := newCrate(t, 8)
			armed := filepath.Join(t.TempDir(), "armed")
			require.NoError(t, os.WriteFile(armed, nil, 0o600))
			v.hook(t, "reference-transaction", fmt.Sprintf(`test "$1" = committed && test -e '%[1]s' && rm '%[1]s' || exit 0
unset GIT_QUARANTINE_PATH
git %[2]s | git update-ref --stdin
kill -9 $PPID`, armed, tc.undo))
			c.send(t, source, log)
			require.NoFileExists(t, armed, "the hub died")
			c.send(t, source, log)
			c.landed(t, v)
		})
	}
}

// A hub takes a push and does not answer in time. The hub is read, and gets no second push in this command, with
// one step or with many.
func TestPushWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprintf("together %v", together), func(t *testing.T) {
			t.Parallel()
			v, source, c, log := newCrate(t, 4)
			require.NoError(t, os.WriteFile(log, nil, 0o600))
			pushes := filepath.Join(t.TempDir(), "pushes")
			v.hook(t, "pre-receive", "echo one >>"+fault.Arg(pushes)+"; sleep 120")
			source.Repo.Runner.Limit = 8 * time.Second
			some := c.payloads[:1]
			if together {
				some = c.payloads
			}
			var tasks []func(context.Context)
			for i, p := range some {
				tasks = append(tasks, func(ctx context.Context) { _, c.errs[i] = source.Engine.Offer(ctx, source.home, p) })
			}
			crossrepo.Together(t.Context(), tasks)
			for i := range some {
				require.True(t, fault.Is(c.errs[i], fault.RemoteUnavailable), "%v", c.errs[i])
				require.ErrorContains(t, c.errs[i], "did not answer the push")
			}
			said, err := os.ReadFile(pushes)
			require.NoError(t, err)
			require.Equal(t, "one\n", string(said), "it is sent once")
			require.Equal(t, []string{"push", "fetch"}, tripsIn(t, log), "one look follows")
			v.hook(t, "pre-receive", "")
			source.Repo.Runner.Limit = 0
			source.home.(*crossrepo.Hub).AskAgain() // the next command remembers nothing of the hub
			c.errs = make([]error, 4)
			c.send(t, source, filepath.Join(t.TempDir(), "log"))
			c.landed(t, v)
		})
	}
}

// An interrupt arrives while git pushes. If git finishes the push, the steps were taken. If no answer came, the
// outcome is unknown.
func TestInterruptedPush(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprintf("together %v, answered %v", together, answered), func(t *testing.T) {
				t.Parallel()
				v, source, c, _ := newCrate(t, 4)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				hub := filepath.Join(v.Hub.Dir, "hooks", "reference-transaction")
				if !answered {
					require.NoError(t, os.MkdirAll(filepath.Dir(hub), 0o700))
					require.NoError(t, os.WriteFile(hub, []byte("#!/bin/sh\nif [ $1 = committed ]; then kill -9 $PPID; fi\n"), 0o700))
				}
				source.Repo.Runner.Remote = func(args []string) func() {
					if slices.Contains(args, "push") {
						return interrupt
					}
					return func() {}
				}
				some := c.payloads[:1]
				if together {
					some = c.payloads
				}
				var tasks []func(context.Context)
				for i, p := range some {
					tasks = append(tasks, func(ctx context.Context) { _, c.errs[i] = source.Engine.Offer(ctx, source.home, p) })
				}
				crossrepo.Together(ctx, tasks)
				for i := range some {
					if answered {
						require.NoError(t, c.errs[i])
						continue
					}
					require.ErrorIs(t, c.errs[i], crossrepo.ErrInDoubt)
					require.ErrorIs(t, c.errs[i], context.Canceled)
				}
				source.Repo.Runner.Remote = nil
				require.NoError(t, os.RemoveAll(hub))
				c.errs = make([]error, 4)
				c.send(t, source, filepath.Join(t.TempDir(), "log"))
				c.landed(t, v)
			})
		}
	}
}

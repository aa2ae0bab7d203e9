package stress

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// crafter makes handoffs of one agent in this process, signed as emit signs them, and
// puts them into a repository with one ref transaction.
type crafter struct {
	repo   *refs.Repo
	engine *lifecycle.Engine
	home   lifecycle.Home
	tx     refs.Transaction
	lanes  map[string]string // from ref to tip
}

func newCrafter(t testing.TB, repo *gittest.Repo, home string) *crafter {
	t.Helper()
	return newCrafterOf(t, repo, home, "boss")
}

// newCrafterOf is newCrafter for another agent than boss.
func newCrafterOf(t testing.TB, repo *gittest.Repo, home, agent string) *crafter {
	t.Helper()
	signer, err := sign.NewKeystore(func(name string) string { return gittest.Getenv(repo.Env, name) }).Load(agent)
	require.NoError(t, err)
	trust, err := enginetest.NewTrust(enginetest.Entry(signer, agent, sign.RoleSender))
	require.NoError(t, err)
	r := enginetest.Open(t, repo)
	return &crafter{
		repo: r, home: &lifecycle.LocalHome{RepoID: home}, lanes: map[string]string{},
		engine: lifecycle.New(lifecycle.Setup{Repo: &refs.Repo{Format: gittest.Objects()}, Signer: signer, Trust: trust, Actor: agent, Now: time.Now, Random: rand.Reader}),
	}
}

// offer makes one handoff to fixer. If bend is not nil, it changes the bytes of the envelope.
func (c *crafter) offer(t testing.TB, goal string, bend func([]byte) []byte) handoff.ID {
	t.Helper()
	now, to := time.Now().UTC().Truncate(time.Second), "fixer"
	id, err := handoff.NewID(now, rand.Reader)
	require.NoError(t, err)
	p, err := c.engine.Author.Prepare(t.Context(), c.home, &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: strings.Repeat("0", 32), Status: handoff.StatusComplete, Goal: goal,
		CreatedAt: handoff.FormatTime(now), ExpiresAt: handoff.FormatTime(now.Add(lifecycle.DefaultTTL)),
		Source: handoff.Source{Agent: c.engine.Author.Actor}, Target: handoff.Target{Agent: &to},
	}, "")
	require.NoError(t, err)
	objects, payload := p.Objects, p.Commit
	if bend != nil {
		blob := refs.NewObject(gittest.Objects(), "blob", bend(p.Objects[0].Body))
		tree := refs.NewObject(gittest.Objects(), "tree", bytes.Replace(p.Objects[1].Body, oidBytes(t, p.Objects[0].OID), oidBytes(t, blob.OID), 1))
		p.Record.Digest = handoff.Digest(blob.Body)
		payload = enginetest.SignCommit(t, c.engine.Author.Signer, &record.Commit{Tree: tree.OID, Record: &p.Record})
		objects = []*refs.Object{blob, tree, payload}
	}
	lane := refs.LocalNamespace.Lane(id)
	p.Record.Payload = payload.OID
	o := enginetest.SignCommit(t, c.engine.Author.Signer, &record.Commit{Tree: gittest.Objects().EmptyTree(), Parents: []string{c.lanes[lane]}, Record: &p.Record})
	c.lanes[lane] = o.OID
	c.tx.Objects = append(append(c.tx.Objects, objects...), o)
	c.tx.Edits = append(c.tx.Edits, refs.Edit{Ref: refs.LocalNamespace.Inbox(to, id), New: payload.OID})
	return id
}

func oidBytes(t testing.TB, oid string) []byte {
	t.Helper()
	var b []byte
	_, err := fmt.Sscanf(oid, "%x", &b)
	require.NoError(t, err)
	return b
}

func (c *crafter) flush(t testing.TB) {
	t.Helper()
	for lane, tip := range c.lanes {
		c.tx.Edits = append(c.tx.Edits, refs.Edit{Ref: lane, New: tip})
	}
	c.tx.Objects = append(c.tx.Objects, refs.NewObject(gittest.Objects(), "tree", nil))
	require.NoError(t, c.repo.Apply(t.Context(), c.tx))
}

// hubID returns the repo id under which clones know the hub.
func hubID(t testing.TB, clone *gittest.Repo) string {
	t.Helper()
	return clone.Git(t, "config", "handoffrepo.origin.id")
}

// A handoff of an unknown schema version is refused with a message that names it, and does not hide the others.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	c := newCrafter(t, w.Hub, hubID(t, boss))
	id := c.offer(t, "from the future", func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"githandoff/1"`), []byte(`"githandoff/2"`), 1)
	})
	c.flush(t)

	fixer.Refuses(t, 6, []string{"githandoff/2"}, "resume", string(id))
	fixer.Refuses(t, 4, []string{"githandoff/2", "was refused"}, "resume")
	assert.Contains(t, fixer.Must(t, "inbox"), id)
	second := boss.Must(t, "emit", "--to", elsewhere, "--goal", "of today")
	assert.Contains(t, fixer.Must(t, "resume"), second)
	fixer.Must(t, "ack")
	assert.Equal(t, []string{string(id)}, open(t, w.Hub, inbox), "it waits for who can read it")
	sound(t, w.Hub)
}

// A hub has many open handoffs. They are listed and taken. The test logs the time and does not judge it. With
// GITHANDOFF_STRESS=20 there are ten thousand handoffs.
func TestManyOpen(t *testing.T) {
	t.Parallel()
	n := min(times(t, 500), 10_000)
	w, boss, fixer := gittest.NewPair(t)
	c := newCrafter(t, w.Hub, hubID(t, boss))
	for i := range n {
		c.offer(t, fmt.Sprint("job ", i), nil)
	}
	c.flush(t)
	w.Hub.Git(t, "gc", "--quiet")

	for _, args := range [][]string{{"inbox"}, {"inbox"}, {"resume"}, {"ack"}, {"resume"}, {"ack"}, {"sync"}} {
		r := fixer.Run(t, args...)
		require.Zero(t, r.Code, "%v: %s", args, r.Stderr)
		t.Logf("%-6s with %d open: %v", args[0], n, r.Took.Round(time.Millisecond))
		if args[0] == "inbox" {
			assert.Equal(t, n, strings.Count(r.Stdout, "\n"))
		}
	}
	assert.Len(t, open(t, w.Hub, inbox), n-2)
	emit := boss.Run(t, "emit", "--to", elsewhere, "--goal", "one more")
	require.Zero(t, emit.Code, "%s", emit)
	t.Logf("emit   with %d open: %v", n-2, emit.Took.Round(time.Millisecond))
	whole(t, w.Hub)
}

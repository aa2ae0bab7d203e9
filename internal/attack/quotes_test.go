package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
)

// quote sends a handoff to fixer with a lineage, oldest first, that says a text of each ancestor.
func (s *fixture) quote(t *testing.T, by sign.Signer, from, text string, ids ...handoff.ID) {
	t.Helper()
	f := s.forge(t, forgery{by: by, envelope: func(e *handoff.Envelope) {
		e.Source.Agent, e.Parent = from, ids[len(ids)-1]
		for _, id := range ids {
			e.Lineage = append(e.Lineage, handoff.Ancestor{ID: id, Agent: "boss", Summary: text})
		}
	}})
	s.fixer.Must(t, "inbox")
	s.fixer.Must(t, "verify", string(f.id)) // it knows the log of this handoff now
}

// Every sender can write into a lineage that it quotes an erased handoff. The log tells whether it had a
// part in that one, or in one that follows from it.
func TestQuoteOfAnErasedHandoff(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	peer := s.newKey(t, "peer")
	s.trust(t, "peer")
	template := filepath.Join(s.Dir, "t.tmpl")
	require.NoError(t, os.WriteFile(template, []byte("{{.Deps.x.Handoff.Summary}}\n"), 0o600))
	render := func(id handoff.ID) (string, int) {
		r := s.fixer.Run(t, "render", "--template", template, "--dep", "x="+string(id))
		return r.Stdout + r.Stderr, r.Code
	}
	one := s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(one.id))
	s.fixer.Must(t, "ack", string(one.id))
	s.quote(t, peer, "peer", "a lie", one.id)
	text, code := render(one.id)
	assert.Equal(t, 3, code, text)
	assert.Contains(t, text, "the log does not lead from its sender to that handoff")
	assert.NotContains(t, text, "a lie")

	// two follows from one. A quote of one through two counts only if the sender had a part in either:
	// boss had, and peer had not.
	two := s.forge(t, forgery{envelope: func(e *handoff.Envelope) { e.Parent = one.id }})
	s.fixer.Must(t, "resume", string(two.id))
	s.fixer.Must(t, "ack", string(two.id))
	s.quote(t, peer, "peer", "a lie", one.id, two.id)
	text, code = render(one.id)
	assert.Equal(t, 3, code, text)
	// other does not follow from one, so a quote of one through other does not count, even by boss.
	other := s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(other.id))
	s.fixer.Must(t, "ack", string(other.id))
	s.quote(t, s.boss, "boss", "a mistake", one.id, other.id)
	text, code = render(one.id)
	assert.Equal(t, 3, code, text)
	s.quote(t, s.boss, "boss", "what was found", one.id, two.id)
	text, code = render(one.id)
	assert.Zero(t, code, text)
	assert.Contains(t, text, "what was found\n")

	// Where no log is known, a quote is believed as long as no other one contradicts it.
	const elsewhere = handoff.ID("ho_01m7y896er9qkxsrwexxgkjazc")
	s.quote(t, s.boss, "boss", "from elsewhere", elsewhere)
	text, code = render(elsewhere)
	assert.Zero(t, code, text)
	assert.Contains(t, text, "from elsewhere\n")
	s.quote(t, peer, "peer", "a lie", elsewhere)
	text, code = render(elsewhere)
	assert.Equal(t, 3, code, text)
	assert.Contains(t, text, "quote "+string(elsewhere)+" differently")
}

// Each home takes an id that it has not seen, and the log tells ids to everybody. A sender that offers another
// handoff under the id of an erased one, at another home, puts no words into its mouth.
func TestQuoteOfAnIDAtTwoHomes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	peer := s.newKey(t, "peer")
	s.trust(t, "peer")
	other := &gittest.Repo{Dir: filepath.Join(s.Dir, "other.git"), Env: s.Env}
	s.Hub.Git(t, "init", "--quiet", "--bare", other.Dir)
	s.fixer.Must(t, "repo", "add", "other", other.Dir)
	s.fixer.Git(t, "config", "handoff.pull", "origin")
	s.fixer.Git(t, "config", "--add", "handoff.pull", "other")
	template := filepath.Join(s.Dir, "t.tmpl")
	require.NoError(t, os.WriteFile(template, []byte("{{.Deps.x.Handoff.Summary}}\n"), 0o600))
	one := s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(one.id))
	s.fixer.Must(t, "ack", string(one.id))
	s.at(t, other, "other").forge(t, forgery{id: one.id, by: peer, envelope: func(e *handoff.Envelope) {
		e.Source.Agent, e.Summary = "peer", "a lie"
		e.Target.Repo = s.fixer.Git(t, "config", "handoffrepo.other.id")
	}})
	s.fixer.Must(t, "inbox")
	s.fixer.Must(t, "verify", string(one.id))
	r := s.fixer.Run(t, "render", "--template", template, "--dep", "x="+string(one.id), "--json")
	assert.Equal(t, "handoff_mismatch", refusalOf(t, r).Reason)
	assert.NotContains(t, r.Stdout+r.Stderr, "a lie")
	// That offer gives peer no right to quote two through it either.
	two := s.forge(t, forgery{envelope: func(e *handoff.Envelope) { e.Parent = one.id }})
	s.fixer.Must(t, "resume", string(two.id))
	s.fixer.Must(t, "ack", string(two.id))
	s.quote(t, peer, "peer", "a lie", two.id, one.id)
	r = s.fixer.Run(t, "render", "--template", template, "--dep", "x="+string(two.id), "--json")
	assert.NotZero(t, r.Code)
	assert.NotContains(t, r.Stdout+r.Stderr, "a lie")
	// The offer does not keep boss from being believed.
	s.quote(t, s.boss, "boss", "what was found", two.id)
	assert.Equal(t, "what was found", s.fixer.Must(t, "render", "--template", template, "--dep", "x="+string(two.id)))
}

package lifecycle

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// model is the state that one handoff must have by the rules alone. It knows nothing of refs and commits.
type model struct {
	payload *Payload
	place   Place
	expires time.Time

	holder  string // name of an engine, as in roles.by; "" if the handoff is open
	nonce   string // nonce of the claim
	lease   time.Time
	term    time.Duration
	receipt record.Event
	claimed map[string]ClaimProof // the claim that each agent remembers
	log     []record.Event
}

// says returns the reason with which a holder's step is refused; "" if it is taken.
func (m *model) says(agent string) string {
	if m.receipt == "" && m.holder == agent && m.claimed[agent].Nonce == m.nonce {
		return ""
	}
	return "not_holder"
}

func (m *model) hold(agent, nonce string, at time.Time, term time.Duration) {
	m.holder, m.nonce = agent, nonce
	m.renew(at, term)
}

func (m *model) renew(at time.Time, term time.Duration) {
	end := at.Add(term)
	if at.Before(m.expires) && m.expires.Before(end) {
		end = m.expires
	}
	m.lease, m.term = end, end.Sub(at)
}

func (m *model) end(event record.Event) {
	m.receipt, m.holder = event, ""
	m.log = append(m.log, event)
}

// machine takes the same steps in a repository and in models.
type machine struct {
	t *testing.T
	*roles
	models []*model
	lanes  map[string][]string // every entry that was seen so far, by lane
	latest time.Time           // the latest time that the clock had
}

func (m *machine) draw(t *rapid.T) *model {
	if len(m.models) == 0 {
		t.Skip("nothing was offered yet")
	}
	return rapid.SampledFrom(m.models).Draw(t, "handoff")
}

func (m *machine) receiver(t *rapid.T) (string, *Engine) {
	name := rapid.SampledFrom([]string{"holder", "peer"}).Draw(t, "agent")
	return name, m.by(name)
}

// outcome compares an error with the refusal that the model expects. It reports whether the step was taken.
func outcome(t *rapid.T, want string, err error) bool {
	got := ""
	if err != nil {
		got = err.Error()
		if f := fault.As(err); f != nil {
			got = string(f.Reason)
		}
	}
	require.Equal(t, want, got)
	return want == ""
}

func (m *machine) Offer(t *rapid.T) {
	ctx := context.Background()
	if m.work = nil; rapid.Bool().Draw(t, "snapshot") {
		m.work = m.stash(m.t)
	}
	p, err := m.source.Author.Prepare(ctx, m.home, m.envelope(m.t, "investigator", "fixer"), "")
	require.NoError(t, err)
	_, err = m.source.Offer(ctx, m.home, p)
	require.NoError(t, err)
	m.models = append(m.models, &model{
		payload: p, place: Place{Agent: "fixer", ID: p.Record.ID}, expires: p.Record.Expires,
		claimed: map[string]ClaimProof{}, log: []record.Event{record.Offered},
	})
}

// OfferAgain offers a payload again, as a stale clone does that still has it in its outbox. Nothing changes at
// any time.
func (m *machine) OfferAgain(t *rapid.T) {
	_, err := m.source.Offer(context.Background(), m.home, m.draw(t).payload)
	require.NoError(t, err)
}

// OfferAnew offers another payload under an id that was used.
func (m *machine) OfferAnew(t *rapid.T) {
	h := m.draw(t)
	env := *h.payload.Envelope
	p, err := m.source.Author.Prepare(context.Background(), m.home, &env, "")
	require.NoError(t, err)
	_, err = m.source.Offer(context.Background(), m.home, p)
	outcome(t, "replayed", err)
}

func (m *machine) Claim(t *rapid.T) {
	h := m.draw(t)
	name, agent := m.receiver(t)
	byID, late := rapid.Bool().Draw(t, "by id"), rapid.Bool().Draw(t, "allow expired")
	lease := rapid.SampledFrom([]time.Duration{time.Minute, time.Hour}).Draw(t, "lease")
	mine := h.holder == name && h.claimed[name].Nonce == h.nonce
	free := h.lease
	if !byID {
		free = free.Add(h.term)
	}
	want := ""
	switch {
	case h.receipt != "":
		want = "replayed"
	case mine:
	case h.holder != "" && !m.Now().After(free):
		want = "claimed"
	case m.Now().After(h.expires) && !late:
		want = "expired"
	}
	next := h.claimed[name]
	_, err := agent.Claim(context.Background(), m.home, ClaimRequest{
		Place: h.place, ByID: byID, AllowExpired: late, Lease: lease, Nonces: []string{next.Nonce},
		Record: func(r *record.Record) error { next = ClaimProof{h.place, r.Nonce}; return nil },
	})
	if outcome(t, want, err) && !mine {
		h.claimed[name] = next
		h.hold(name, next.Nonce, m.Now(), lease)
		h.log = append(h.log, record.Claimed)
	}
}

func (m *machine) Progress(t *rapid.T) {
	h := m.draw(t)
	name, agent := m.receiver(t)
	_, err := agent.Renew(context.Background(), m.home, m.holding(h, name), Renewal{})
	if outcome(t, h.says(name), err) {
		h.renew(m.Now(), h.term)
		h.log = append(h.log, record.Progressed)
	}
}

func (m *machine) holding(h *model, name string) ClaimProof {
	return ClaimProof{Place: h.place, Nonce: h.claimed[name].Nonce}
}

func (m *machine) Release(t *rapid.T) {
	h := m.draw(t)
	name, agent := m.receiver(t)
	_, err := agent.Release(context.Background(), m.home, m.holding(h, name), false)
	if outcome(t, h.says(name), err) {
		h.holder = ""
		h.log = append(h.log, record.Released)
	}
}

func (m *machine) Break(t *rapid.T) {
	h := m.draw(t)
	want := ""
	switch {
	case h.receipt != "":
		want = "replayed"
	case h.holder == "":
		want = "not_held"
	}
	by := rapid.SampledFrom([]*Engine{m.source, m.root}).Draw(t, "by")
	_, err := by.Release(context.Background(), m.home, ClaimProof{Place: h.place}, true)
	if outcome(t, want, err) {
		h.holder = ""
		h.log = append(h.log, record.Released)
	}
}

func (m *machine) Acknowledge(t *rapid.T) {
	h := m.draw(t)
	name, agent := m.receiver(t)
	again := h.receipt == record.Acknowledged && h.claimed[name].Nonce == h.nonce
	want := h.says(name)
	if again {
		want = ""
	}
	_, repeated, err := agent.Acknowledge(context.Background(), m.home, m.holding(h, name), Outcome{})
	if outcome(t, want, err) {
		require.Equal(t, again, repeated)
		if !again {
			h.end(record.Acknowledged)
		}
	}
}

func (m *machine) Fail(t *rapid.T) {
	h := m.draw(t)
	name, agent := m.receiver(t)
	want := h.says(name)
	if h.receipt == "" && h.holder == "" && h.claimed[name].Nonce == "" {
		want = "" // the step is a rejection of the offer
	}
	_, err := agent.Fail(context.Background(), m.home, m.holding(h, name), Outcome{})
	if outcome(t, want, err) {
		h.end(record.Failed)
	}
}

func (m *machine) Withdraw(t *rapid.T) {
	h := m.draw(t)
	by := rapid.SampledFrom([]string{"source", "root"}).Draw(t, "by")
	event := rapid.SampledFrom([]record.Event{record.Revoked, record.Expired, record.Rerouted}).Draw(t, "event")
	want := ""
	switch {
	case h.receipt != "":
		want = "replayed"
	case by == "source" && h.holder != "" && !m.Now().After(h.lease):
		want = "claimed"
	}
	var o Outcome
	if event == record.Rerouted {
		o.Next = otherID
	}
	_, err := m.by(by).Withdraw(context.Background(), m.home, h.place, event, o)
	if outcome(t, want, err) {
		h.end(event)
	}
}

// CutOff takes a step that reaches the inbox ref but not the lane. The state must not change.
func (m *machine) CutOff(t *rapid.T) {
	h := m.draw(t)
	name, agent := m.receiver(t)
	home, ctx := &half{LocalHome: m.home, mask: 1}, context.Background()
	switch rapid.SampledFrom([]record.Event{record.Claimed, record.Progressed, record.Released}).Draw(t, "step") {
	case record.Claimed:
		_, _ = agent.Claim(ctx, home, ClaimRequest{
			Place: h.place, ByID: true, AllowExpired: true, Nonces: []string{h.claimed[name].Nonce},
			Record: func(*record.Record) error { return nil },
		})
	case record.Progressed:
		_, _ = agent.Renew(ctx, home, m.holding(h, name), Renewal{Lease: time.Hour})
	default:
		_, _ = agent.Release(ctx, home, m.holding(h, name), false)
	}
	require.False(t, home.lane)
}

// Clock advances the time. Sometimes it moves the time back, by no more than clocks may differ. An entry from
// further ahead does not count: see TestClaimDatedAheadTakesNothing.
func (m *machine) Clock(t *rapid.T) {
	if m.Now().After(m.latest) {
		m.latest = m.Now()
	}
	m.Pass(rapid.SampledFrom([]time.Duration{
		time.Second, time.Minute, time.Hour, time.Hour + time.Second, 3 * time.Hour, 8 * 24 * time.Hour, -4 * time.Minute,
	}).Draw(t, "time"))
	if least := m.latest.Add(-ClockSkew); m.Now().Before(least) {
		m.Set(least)
	}
}

// Check is called after every step. It compares the repository with the models.
func (m *machine) Check(t *rapid.T) {
	ctx := context.Background()
	open, carried := map[string]bool{}, map[string]string{}
	for _, h := range m.models {
		s, err := m.holder.Reader.Load(ctx, m.home, h.place)
		require.NoError(t, err)
		var log []record.Event
		for _, e := range s.Entries {
			require.NoError(t, e.Dispute)
			log = append(log, e.Record().Event)
		}
		require.Equal(t, h.log, log)
		m.grown(t, s)
		if h.receipt != "" {
			require.Equal(t, Ended, s.Phase())
			require.Equal(t, h.receipt, s.Receipt.Event)
			require.Empty(t, s.Tip, "an ended handoff is in no inbox")
			continue
		}
		open[m.home.Namespace().Inbox("fixer", h.place.ID)] = true
		if w := h.payload.Envelope.Work; w != nil {
			carried[m.home.Namespace().Work("fixer", h.place.ID)] = w.Commit
		}
		require.NotEmpty(t, s.Tip, "an open handoff is in its inbox")
		require.Equal(t, record.Offered, s.Entries[0].Record().Event)
		if h.holder == "" {
			require.Equal(t, Open, s.Phase())
			continue
		}
		require.Equal(t, Held, s.Phase())
		require.Equal(t, h.nonce, s.Claim.Nonce)
		require.Equal(t, h.lease, s.Lease)
		require.Equal(t, m.by(h.holder).Author.Signer.KID(), s.Claim.Key)
	}
	list, err := m.repo.List(ctx, refs.Root+"inbox/")
	require.NoError(t, err)
	for _, r := range list {
		require.True(t, open[r.Name], "%s is in an inbox", r.Name)
	}
	require.Len(t, list, len(open))
	list, err = m.repo.List(ctx, refs.Root+"work/")
	require.NoError(t, err)
	for _, r := range list {
		require.Equal(t, carried[r.Name], r.OID, "%s leads to the snapshot of an open handoff", r.Name)
	}
	require.Len(t, list, len(carried), "each open handoff has its snapshot")
}

// grown requires that every entry that was once in a lane is still there, at the same position.
func (m *machine) grown(t *rapid.T, s *State) {
	var now []string
	for _, e := range s.Entries {
		now = append(now, e.OID)
	}
	before := m.lanes[string(s.ID)]
	require.LessOrEqual(t, len(before), len(now))
	require.True(t, slices.Equal(before, now[:len(before)]), "a lane only grows")
	m.lanes[string(s.ID)] = now
}

// Two agents, a source and a person take steps in any order, and the clock changes. The repository must always
// agree with the model. For a longer run: go test -rapid.checks=1000.
func TestMachine(t *testing.T) {
	gittest.Checks(t, 12)
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: t, roles: newRoles(t), lanes: map[string][]string{}}
		defer m.repo.Close()
		m.Random = rand.NewChaCha8([32]byte{rapid.Byte().Draw(rt, "seed")}) // rapid must repeat the ids
		for _, e := range m.engines {
			e.Author.Random = m.Random
		}
		rt.Repeat(map[string]func(*rapid.T){
			"offer": m.Offer, "offer again": m.OfferAgain, "offer anew": m.OfferAnew, "claim": m.Claim, "claim too": m.Claim,
			"progress": m.Progress, "release": m.Release, "break": m.Break, "acknowledge": m.Acknowledge,
			"fail": m.Fail, "withdraw": m.Withdraw, "cut off": m.CutOff, "clock": m.Clock, "": m.Check,
		})
		out, diag, _ := m.Hub.TryGit("fsck", "--strict", "--no-progress", "--no-dangling")
		require.Empty(rt, strings.TrimSpace(out+diag))
	})
}

package invite_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/invite"
)

// hubs are run by an attacker, who changes, copies and restores the refs that honest people write. The attacker
// has a key, its own codes, and every ref that was ever at a hub, but no honest code.
type hubs struct {
	refs map[string][]byte
	bag  [][]byte // every ref that was ever at a hub
	keys []key    // the attacker's own keys
}

func (h *hubs) put(ref string, b []byte) {
	h.refs[ref] = b
	h.bag = append(h.bag, b)
}

// side is an honest inviter with one invitation, and the honest joiner who has its code.
type side struct {
	name     string
	code     invite.Code
	inviter  key
	joiner   key
	agent    string
	pending  *invite.Pending // nil after it was used
	pinned   string          // the key that the inviter pinned, and its roles
	accepted string          // the key that the joiner pinned, and its roles
}

func (s *side) ref() string { return s.code.ID() }

// TestAnyOrder lets an attacker at the hub act between the steps of honest people, in any order. It checks that
// nobody pinned a key that its owner did not mean for them.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		w := &world{hub: &hubs{refs: map[string][]byte{}}, now: noon}
		for i := range 3 {
			kind := invite.Pair
			if i == 2 {
				kind = invite.Team
			}
			c, err := invite.New(kind, fmt.Sprint("https://example.com/", i%2), noon.Add(time.Duration(i+1)*time.Hour), random)
			require.NoError(t, err)
			w.sides = append(w.sides, &side{name: fmt.Sprint(i), code: c, inviter: newKey(t), joiner: newKey(t), agent: fmt.Sprint("joiner-", i)})
		}
		w.hub.keys = []key{newKey(t)}
		t.Repeat(map[string]func(*rapid.T){
			"invite": w.invite,
			"join":   w.join,
			"finish": w.finish,
			"wait": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			},
			"replay":  w.replay,
			"erase":   func(t *rapid.T) { delete(w.hub.refs, w.any(t).ref()) },
			"splice":  w.splice,
			"forge":   w.forge,
			"pervert": w.pervert,
			"":        w.holds,
		})
	})
}

type world struct {
	hub   *hubs
	sides []*side
	now   time.Time
}

func (w *world) any(t *rapid.T) *side { return rapid.SampledFrom(w.sides).Draw(t, "side") }

func (w *world) invite(t *rapid.T) {
	s := w.any(t)
	if s.pending != nil || s.pinned != "" {
		return
	}
	roles := []string{"sender", "recipient"}
	if s.code.Kind == invite.Team {
		roles = []string{"root"}
	}
	r, p, err := s.code.Invite(invite.Offer{
		Key: s.inviter.text, Agent: s.agent,
		Inviter: invite.Grant{Agents: []string{"inviter-" + s.name}, Roles: roles},
		Joiner:  invite.Grant{Roles: []string{"recipient"}},
	}, s.inviter.sign)
	require.NoError(t, err)
	b, err := r.Bytes()
	require.NoError(t, err)
	s.pending = &p
	w.hub.put(s.ref(), b)
}

// join takes the step of an honest joiner with the current refs of the hub.
func (w *world) join(t *rapid.T) {
	s := w.any(t)
	r, err := invite.ParseMessages(w.hub.refs[s.ref()])
	if err != nil {
		return
	}
	o, err := s.code.Open(r, w.now, check)
	if err != nil {
		return
	}
	require.True(t, w.now.Before(s.code.Expires), "joined too late")
	s.accepted = o.Key + strings.Join(o.Inviter.Agents, ",") + strings.Join(o.Inviter.Roles, ",")
	answer, err := s.code.Join(r, invite.Answer{Key: s.joiner.text, Agent: s.agent}, s.joiner.sign)
	require.NoError(t, err)
	b, err := answer.Bytes()
	require.NoError(t, err)
	w.hub.put(s.ref(), b)
}

// finish takes the step of an honest inviter with the current refs of the hub.
func (w *world) finish(t *rapid.T) {
	s := w.any(t)
	if s.pending == nil {
		return
	}
	r, err := invite.ParseMessages(w.hub.refs[s.ref()])
	if err != nil {
		return
	}
	a, err := s.pending.Open(r, w.now, check)
	if err != nil || a == nil {
		return
	}
	require.True(t, w.now.Before(s.code.Expires), "pinned too late")
	s.pinned, s.pending = a.Key+a.Agent, nil
	delete(w.hub.refs, s.ref())
}

// replay writes a ref that was at some hub to any ref.
func (w *world) replay(t *rapid.T) {
	if len(w.hub.bag) > 0 {
		w.hub.refs[w.any(t).ref()] = rapid.SampledFrom(w.hub.bag).Draw(t, "seen")
	}
}

// splice makes a record from parts of two others.
func (w *world) splice(t *rapid.T) {
	if len(w.hub.bag) == 0 {
		return
	}
	parts := func(label string) *invite.Messages {
		r, err := invite.ParseMessages(rapid.SampledFrom(w.hub.bag).Draw(t, label))
		if err != nil {
			return nil
		}
		return r
	}
	a, b := parts("one"), parts("two")
	if a == nil || b == nil {
		return
	}
	all := []*invite.Part{a.Offer, a.Answer, b.Offer, b.Answer}
	r := &invite.Messages{Offer: rapid.SampledFrom(all).Draw(t, "offer"), Answer: rapid.SampledFrom(all).Draw(t, "answer")}
	if r.Offer == nil {
		return
	}
	mixed := *r.Offer
	if r.Answer != nil && rapid.Bool().Draw(t, "mix") {
		mixed.MAC = r.Answer.MAC
		r.Offer = &mixed
	}
	if bytes, err := r.Bytes(); err == nil {
		w.hub.put(w.any(t).ref(), bytes)
	}
}

// forge makes an offer and an answer with the attacker's own key and code, for an honest name, and names the
// honest invitation in them.
func (w *world) forge(t *rapid.T) {
	s, mallory := w.any(t), w.hub.keys[0]
	c := s.code
	c.Secret = [16]byte{0xbd}
	r, _, err := c.Invite(invite.Offer{
		Key: mallory.text, Inviter: invite.Grant{Agents: []string{"inviter-" + s.name}, Roles: []string{"sender", "root"}},
	}, mallory.sign)
	require.NoError(t, err)
	if rapid.Bool().Draw(t, "answer too") {
		r, err = c.Join(r, invite.Answer{Key: mallory.text, Agent: s.agent}, mallory.sign)
		require.NoError(t, err)
	}
	for part, seal := range map[*invite.Part]func(invite.Part) *invite.Part{r.Offer: c.Offering, r.Answer: c.Answering} {
		if part == nil {
			continue
		}
		part.Document = strings.Replace(part.Document, c.ID(), s.ref(), 1)
		b, err := mallory.sign([]byte(part.Document))
		require.NoError(t, err)
		part.Signature = string(b)
		*part = *seal(*part)
	}
	if there, err := invite.ParseMessages(w.hub.refs[s.ref()]); err == nil && rapid.Bool().Draw(t, "beside the honest offer") {
		r.Offer = there.Offer
	}
	b, err := r.Bytes()
	require.NoError(t, err)
	w.hub.put(s.ref(), b)
}

// pervert puts the attacker's key into an honest document, signs it again, and keeps its MAC.
func (w *world) pervert(t *rapid.T) {
	s, mallory := w.any(t), w.hub.keys[0]
	r, err := invite.ParseMessages(w.hub.refs[s.ref()])
	if err != nil {
		return
	}
	for _, p := range []*invite.Part{r.Offer, r.Answer} {
		if p == nil {
			continue
		}
		p.Document = strings.NewReplacer(s.inviter.text, mallory.text, s.joiner.text, mallory.text).Replace(p.Document)
		b, err := mallory.sign([]byte(p.Document))
		require.NoError(t, err)
		p.Signature = string(b)
	}
	b, err := r.Bytes()
	require.NoError(t, err)
	w.hub.put(s.ref(), b)
}

// holds checks that everybody who pinned a key pinned the right one, with the roles that its owner meant, and
// that no ref of the hub reveals a code.
func (w *world) holds(t *rapid.T) {
	for _, s := range w.sides {
		if s.pinned != "" {
			assert.Equal(t, s.joiner.text+s.agent, s.pinned, "the inviter pinned another key or name")
		}
		if s.accepted != "" {
			roles := "sender,recipient"
			if s.code.Kind == invite.Team {
				roles = "root"
			}
			assert.Equal(t, s.inviter.text+"inviter-"+s.name+roles, s.accepted, "the joiner pinned another key, name or role")
		}
		for _, b := range w.hub.bag {
			require.False(t, bytes.Contains(b, []byte(fmt.Sprintf("%x", s.code.Secret))), "the secret is at the hub")
		}
	}
}

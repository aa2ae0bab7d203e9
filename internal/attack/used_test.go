package attack

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// The name of a token is in the log for everybody to read. A sender may name another's token in an
// offer that carries none: whoever rejects that offer has not used the token up.
func TestRejectedOfferNamesTheTokenOfAnother(t *testing.T) {
	t.Parallel()
	s := newTokenFixture(t)
	peer := s.newKey(t, "peer")
	s.trust(t, "peer")
	genuine := s.first(t, "fixer", link{}, forgery{})
	decoy := s.forge(t, forgery{
		by:       peer,
		envelope: func(e *handoff.Envelope) { e.Source.Agent = "peer" },
		record:   func(r *record.Record) { r.Token, r.Principal = genuine.jti, alice+" (token)" },
	})
	s.fixer.Must(t, "fail", string(decoy.id), "--reason", "it carries no token")
	assert.Contains(t, s.fixer.Must(t, "resume", string(genuine.id)), secretGoal)
}

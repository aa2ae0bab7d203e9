package crossrepo

import (
	"context"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// plainWords keep the escape sequences of color.ui=always out of the words of git and of the hub. A
// refusal repeats them.
var plainWords = []string{"-c", "color.ui=false", "-c", "color.remote=false", "-c", "color.advice=false"}

// lookTime bounds the look at a hub after a push that it did not answer.
const lookTime = 30 * time.Second

// silence is a call that a hub did not answer within its time.
type silence struct {
	err    error         // of the call
	within time.Duration // the time of the first such call in this command
	pushed bool          // it was a push
}

// connect runs a git command talking to the hub. A hub that did not answer is not asked again in
// this command: the call fails with the error of the first one. Only a push without an answer is
// followed by a look, which tells whether the push arrived.
func (h *remote) connect(ctx context.Context, c gitexec.Cmd) ([]byte, error) {
	push, within := c.Finish, h.Repo.Runner.TimeFor(c)
	if s := h.silent.Load(); s != nil {
		if push || !s.pushed {
			return nil, s.err
		}
		c.Timeout, within = min(c.Timeout, lookTime), s.within
	}
	c.Args = slices.Concat(plainWords, c.Args)
	c.Env = append(c.Env, h.SSHSharing(ctx).Env...)
	out, err := h.Repo.Runner.Run(ctx, c)
	if gitexec.TimedOut(err) && ctx.Err() == nil { // else it is the time of the command that is over
		h.silent.Store(&silence{err, within, push})
	}
	return out, err
}

// errSilent is returned for a hub that did not answer.
func errSilent(h *remote) error {
	return fault.New(fault.Unavailable, fault.RemoteUnavailable, "%s did not answer within %s", h.Alias.Name, waited(h)).
		WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("asks it again, and sends what waits"))
}

// waited says for how long this command waited for an answer of a hub.
func waited(h *remote) string {
	within := gitexec.RemoteTimeout
	if s := h.silent.Load(); s != nil {
		within = s.within
	}
	if within < time.Minute {
		return fault.Count(int(within.Seconds()), "second")
	}
	return fault.Count(int(within.Minutes()), "minute")
}

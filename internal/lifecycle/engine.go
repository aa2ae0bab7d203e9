package lifecycle

import (
	"io"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Engine takes the steps of handoffs. It acts for one agent or person with one key, and for
// one goroutine at a time. Its parts can be used alone: Reader and Verifier need no key.
type Engine struct {
	Repo *refs.Repo
	Now  func() time.Time

	Keys     *Keys     // the keys that are trusted here
	Reader   *Reader   // what homes say of handoffs
	Verifier *Verifier // what is in a handoff, proven
	Author   *Author   // signs payloads, steps and joins
	Recovery *Recovery // settles transactions that were cut off
}

// Setup has the parts that an Engine is made of.
type Setup struct {
	Repo   *refs.Repo
	Trust  *sign.Trust
	Signer sign.Signer // nil for whoever takes no step
	Actor  string      // agent, or a person's mail address
	Now    func() time.Time
	Random io.Reader

	Intents Intents
	Memory  Memory
	Ahead   Ahead
}

// New makes an engine.
func New(s Setup) *Engine {
	keys := &Keys{Trust: s.Trust, Now: s.Now}
	lanes := &Lanes{Repo: s.Repo, Keys: keys}
	reader := &Reader{Repo: s.Repo, Keys: keys, Lanes: lanes, Ahead: s.Ahead}
	author := &Author{Keys: keys, Signer: s.Signer, Actor: s.Actor, Random: s.Random}
	return &Engine{
		Repo: s.Repo, Now: s.Now, Keys: keys, Reader: reader, Author: author,
		Verifier: &Verifier{Repo: s.Repo, Keys: keys, Reader: reader, Author: author, Memory: s.Memory},
		Recovery: &Recovery{Repo: s.Repo, Reader: reader, Intents: s.Intents},
	}
}

// As is the same engine for another agent of this clone, with that agent's key.
func (e *Engine) As(signer sign.Signer, actor string) *Engine {
	author, verifier, other := *e.Author, *e.Verifier, *e
	author.Signer, author.Actor = signer, actor
	verifier.Author = &author
	other.Author, other.Verifier = &author, &verifier
	return &other
}

func denied(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Denied, reason, format, args...)
}

package pushcheck

import (
	"context"
	"io"
	"slices"
	"sync"

	"githandoff/internal/fault"
	"githandoff/internal/guard"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Query asks whether the token of a held claim allows scopes.
type Query struct {
	Arg    string // id or its last characters; empty: the only claim with a token
	Scopes []string
	Push   io.Reader // input of a pre-push hook, from which the needed scopes are read; nil for none
	IfHeld bool      // if no held claim carries authority, all is allowed
}

// Ask returns a claim which allows every scope, and the scopes; nil if Query.IfHeld allows them.
// A tool waits for the answer, so the push is read while live finds the claim.
func (q *Query) Ask(ctx context.Context, repo *refs.Repo, live func(ctx context.Context, arg string) (*work.Live, error)) (*work.Live, []string, error) {
	var needs []string
	var unread error
	var beside sync.WaitGroup
	if q.Push != nil {
		beside.Go(func() { needs, unread = needsOf(ctx, repo, q.Push) })
	}
	held, err := live(ctx, q.Arg)
	beside.Wait()
	if q.IfHeld && q.Arg == "" && (fault.Is(err, fault.NothingHeld) || fault.Is(err, fault.NoIdentity)) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if unread != nil {
		return nil, nil, unread
	}
	scopes := append(slices.Clip(q.Scopes), needs...)
	return held, scopes, allows(held, scopes)
}

// needsOf returns the scopes needed for a push.
func needsOf(ctx context.Context, repo *refs.Repo, push io.Reader) ([]string, error) {
	edits, err := guard.ReadPush(push)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return guard.Needs(ctx, repo, edits)
}

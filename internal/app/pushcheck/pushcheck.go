// Package pushcheck compares a push with the authority of an agent's claims, for the pre-push
// hook of a clone. It is local advice; the guard of a hub enforces.
package pushcheck

import (
	"cmp"
	"context"
	"io"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/guard"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Handler checks pushes.
type Handler struct {
	Repo *refs.Repo
	Work *work.Held
	Warn func(error)

	// EndedAt asks the hub of a remote for the claims of this agent that were ended there.
	EndedAt func(ctx context.Context, remote string) ([]*work.Standing, error)
}

// Refusal stops a push. It is the only error for which a hook of a clone stops git.
type Refusal struct{ err error }

func (r *Refusal) Error() string { return r.err.Error() }

// Unwrap returns the error with its code and hints.
func (r *Refusal) Unwrap() error { return r.err }

// allows refuses scopes outside the token of a live claim.
func allows(live *work.Live, scopes []string) error {
	for _, scope := range scopes {
		if err := live.Token.Allows(scope); err != nil {
			return fault.About("handoff "+string(live.Claim.ID), err)
		}
	}
	return nil
}

// Check refuses a push beyond the authority of every claim held here with a token, or with
// commits made under a claim ended by another party. It reads the push only if there is such a
// claim. The claims are compared with this clone's copies first, then with the hub of the push:
// if the hub does not answer, the push must not pass unchecked.
func (h *Handler) Check(ctx context.Context, push io.Reader, remote string) error {
	held, err := h.Work.WithToken()
	if err != nil {
		return err
	}
	lost, err := h.Work.LostTokens()
	if err != nil || len(held)+len(lost) == 0 {
		return err
	}
	edits, err := guard.ReadPush(push)
	if err != nil || len(edits) == 0 {
		return err
	}
	refused := h.exceeds(ctx, held, edits)
	if refused == nil {
		refused = h.endedSince(ctx, remote)
	}
	if refused == nil && len(lost) > 0 {
		refused = h.madeUnderLost(ctx, lost, edits)
	}
	if fault.CodeOf(refused) != fault.Policy {
		return refused
	}
	if h.Repo.Config.Off("handoff.enforce") {
		h.Warn(refused)
		return nil
	}
	return &Refusal{explain(refused)}
}

// exceeds says why none of the held claims allows a push; nil if one does, or if none is
// held.
func (h *Handler) exceeds(ctx context.Context, held []*work.Claim, edits []refs.Edit) error {
	if len(held) == 0 {
		return nil
	}
	needs, err := guard.Needs(ctx, h.Repo, edits)
	if err != nil || len(needs) == 0 {
		return err
	}
	return AnyAllows(ctx, h.Work, held, needs)
}

// AnyAllows returns nil if one of the claims allows all scopes, else the first refusal.
func AnyAllows(ctx context.Context, mine *work.Held, held []*work.Claim, scopes []string) error {
	var first error
	for _, claim := range held {
		live, err := mine.LiveClaim(ctx, claim)
		if err == nil {
			err = allows(live, scopes)
		}
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// endedSince asks the hub of the push whether another party ended a claim of this agent with
// authority.
func (h *Handler) endedSince(ctx context.Context, remote string) error {
	ended, err := h.EndedAt(ctx, remote)
	if fault.CodeOf(err) == fault.Unavailable {
		h.Warn(err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, st := range ended {
		f := work.LostClaim(st)
		if st.Claim.Token != "" {
			f.Code = fault.Policy
			return f
		}
		h.Warn(f)
	}
	return nil
}

// madeUnderLost refuses commits with the token of a claim ended by another party, unless this
// agent has it again.
func (h *Handler) madeUnderLost(ctx context.Context, lost []*work.Claim, edits []refs.Edit) error {
	named, err := guard.Tokens(ctx, h.Repo, edits)
	if err != nil {
		return err
	}
	for _, claim := range lost {
		if slices.Contains(named, claim.Token) {
			return fault.New(fault.Policy, fault.NotHolder, "a commit was made under handoff %s, which %s no longer holds", claim.ID, claim.Actor).
				WithHints(fault.Run("githandoff", "show", string(claim.ID)).Because("says who ended it"))
		}
	}
	return nil
}

// explain adds to a refusal what it is about, and a hint if it has none.
func explain(err error) error {
	f := *fault.As(err)
	f.Message = "this push is outside of what you may do: " + f.Message
	if len(f.Hints) == 0 {
		f.Hints = []fault.Hint{fault.Run("githandoff", "obo", "show").Because("shows the scope and who lent it: ask that person for more")}
	}
	return &f
}

package join

import (
	"context"
	"fmt"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/invite"
	"githandoff/internal/sign"
)

// Worktree is the worktree of the agent that joins.
type Worktree interface {
	// Asked is the name requested by the caller, or the name of the worktree; "" for none.
	Asked() string
	// Suggested is a name for an unnamed agent.
	Suggested() string
	// SetUp sets the agent of the worktree, and returns its signer.
	SetUp(ctx context.Context, agent string) (sign.Signer, error)
	// Holds reports whether the private half of a key is here.
	Holds(kid sign.KID) bool
}

// Answered is the result of joining.
type Answered struct {
	Agent   string
	Key     sign.KID
	Inviter sign.PublicKey // key of the inviter, which is pinned now
}

// Join answers an invitation: it checks the offer, sets up the worktree, pins the
// inviter, and tells it who joined.
func (h *Handler) Join(ctx context.Context, hub *crossrepo.Hub, code invite.Code, place Worktree) (*Answered, error) {
	board := crossrepo.Invites{Hub: hub}
	if err := code.Current(h.Now()); err != nil {
		return nil, err
	}
	record, oid, err := h.fetch(ctx, board, code)
	if err != nil {
		return nil, err
	}
	offer, err := code.Open(record, h.Now(), sign.CheckInvite)
	if err != nil {
		return nil, instead(err, another)
	}
	inviter, err := sign.ParsePublic([]byte(offer.Key))
	if err != nil {
		return nil, err
	}
	earlier := code.Joined(record, sign.CheckInvite)
	name, err := h.name(offer, earlier, place)
	if err != nil {
		return nil, err
	}
	pinned, err := h.ofInviter(inviter, offer.Inviter, name)
	if err != nil {
		return nil, err
	}
	if err := h.mayPin(pinned); err != nil {
		return nil, err
	}
	signer, err := place.SetUp(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := h.Trust.Add(h.TrustPath, pinned); err != nil {
		return nil, err
	}
	done := &Answered{Agent: name, Key: signer.KID(), Inviter: inviter}
	if earlier != nil { // the invitation was answered before, with a key of this user
		return done, nil
	}
	answer := invite.Answer{Key: signer.Public().Text(), Agent: name}
	if record, err = code.Join(record, answer, signing(ctx, signer)); err != nil {
		return nil, err
	}
	body, err := record.Bytes()
	if err != nil {
		return nil, err
	}
	return done, board.Write(ctx, code.ID(), oid, body, signer.Public())
}

func (h *Handler) fetch(ctx context.Context, board crossrepo.Invites, code invite.Code) (*invite.Messages, string, error) {
	if err := board.Fetch(ctx, []string{code.ID()}); err != nil {
		return nil, "", err
	}
	body, oid, err := board.Read(ctx, code.ID())
	if err != nil {
		return nil, "", instead(err, another)
	}
	if body == nil {
		return nil, "", fault.New(fault.NotFound, fault.NoInvite, "no such invitation at %s: it was used or withdrawn", board.Where()).
			WithHints(fault.Run("githandoff", "trust", "list").Because("lists the keys that you already trust"),
				another)
	}
	record, err := invite.ParseMessages(body)
	return record, oid, instead(err, another)
}

var another = fault.Fact("ask the inviter for another one: githandoff invite")

// name returns the joiner's name. A name from the offer or the caller is taken as it is or refused;
// a suggested one gives way to others.
func (h *Handler) name(o *invite.Offer, earlier *invite.Answer, place Worktree) (string, error) {
	asked := place.Asked()
	if earlier != nil {
		public, err := sign.ParsePublic([]byte(earlier.Key))
		if err != nil || !place.Holds(public.KID()) {
			return "", fault.New(fault.Conflict, fault.InviteUsed, "%s already joined with this invitation", earlier.Agent).
				WithHints(fault.Fact("if that is not you, tell the inviter: githandoff invite makes another one"))
		}
		return earlier.Agent, nil
	}
	switch {
	case o.Agent != "" && asked != "" && asked != o.Agent:
		return "", fault.New(fault.Conflict, fault.NameTaken, "this invitation is for %s, not for %s", o.Agent, asked).
			WithHints(fault.Fact("a worktree without an agent joins under that name, unless --as asks for another: git worktree add makes one"))
	case o.Agent != "":
		return o.Agent, nil
	case asked != "":
		if h.taken(asked, o, place) {
			return "", fault.New(fault.Conflict, fault.NameTaken, "%s is the name of another agent there", asked).
				WithHints(fault.Fact("--as joins under another name"))
		}
		return asked, nil
	}
	name := place.Suggested()
	for n := 2; h.taken(name, o, place); n++ {
		name = fmt.Sprint(place.Suggested(), "-", n)
	}
	return name, handoff.CheckAgent(name)
}

// taken reports whether another agent has the name, as far as this clone and the offer show.
func (h *Handler) taken(name string, o *invite.Offer, place Worktree) bool {
	return slices.Contains(o.Inviter.Agents, name) || slices.ContainsFunc(h.Trust.Entries(), func(e sign.TrustEntry) bool {
		return slices.Contains(e.Agents, name) && !place.Holds(e.KID)
	})
}

package join

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/invite"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for invitations.
type Workspace interface {
	Hub(ctx context.Context, alias string) (*crossrepo.Hub, error)
}

// Handler makes, answers and ends invitations.
type Handler struct {
	Agent     string
	Memory    Memory
	Signer    sign.Signer // nil on the side that joins
	Team      *team.Team
	Trust     *sign.Trust
	TrustPath string // path of this repository's trust list
	Workspace Workspace
	Now       func() time.Time
	Random    io.Reader
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Agent:     w.Agent,
		Memory:    MemoryOf(w.Repo),
		Signer:    w.Engine.Author.Signer,
		Team:      team.New(w),
		Trust:     w.Engine.Keys.Trust,
		TrustPath: w.Repo.Own("trust.json"),
		Workspace: w,
		Now:       w.Engine.Now,
		Random:    w.Engine.Author.Random,
	}
}

// Life is how long an invitation holds unless somebody says otherwise.
const Life = 24 * time.Hour

// Request is an invitation to make.
type Request struct {
	Kind     invite.Kind
	Agent    string   // name that the joiner takes; "" lets the joiner choose
	Roles    []string // roles of the joiner
	Until    string   // end of the trust in the joiner's key; "" for none
	MaxScope []string // limit for a root key that the joiner pins; nil for the limit that holds here
	Life     time.Duration
}

// Invite makes an invitation, remembers it, and puts the offer at the hub.
func (h *Handler) Invite(ctx context.Context, hub *crossrepo.Hub, r Request) (invite.Code, error) {
	url, err := sharedURL(hub.Alias)
	if err != nil {
		return invite.Code{}, err
	}
	grant, err := h.inviter(r)
	if err != nil {
		return invite.Code{}, err
	}
	if err := h.free(r.Agent, grant); err != nil {
		return invite.Code{}, err
	}
	code, err := invite.New(r.Kind, url, h.Now().Add(r.Life), h.Random)
	if err != nil {
		return invite.Code{}, err
	}
	code.Prefix = hub.Alias.Prefix
	public := h.Signer.Public()
	record, pending, err := code.Invite(invite.Offer{
		Key: public.Text(), Agent: r.Agent, Inviter: grant, Joiner: invite.Grant{Roles: r.Roles, Until: r.Until},
	}, signing(ctx, h.Signer))
	if err != nil {
		return invite.Code{}, err
	}
	body, err := record.Bytes()
	if err != nil {
		return invite.Code{}, err
	}
	board := crossrepo.Invites{Hub: hub}
	kept := Kept{Pending: pending, Alias: hub.Alias.Name, Home: board.Where(), By: public.KID()}
	if err := h.Memory.Put(kept); err != nil {
		return invite.Code{}, err
	}
	if err := board.Write(ctx, pending.ID, "", body, public); err != nil {
		return invite.Code{}, errors.Join(err, h.Memory.Drop(pending.ID))
	}
	return code, nil
}

// inviter returns the roles and limits with which the joiner pins the inviter's key.
func (h *Handler) inviter(r Request) (invite.Grant, error) {
	key, ok := h.Trust.Lookup(h.Signer.KID())
	if !ok {
		return invite.Grant{}, fault.New(fault.Denied, fault.UntrustedKey, "%s is not trusted here", h.Signer.KID()).
			WithHints(fault.Run("githandoff", "init").Because("trusts this worktree's own key"))
	}
	e := key.Entry()
	root := slices.Contains(e.Roles, sign.RoleRoot)
	switch {
	case r.Kind == invite.Team && !root:
		return invite.Grant{}, fault.New(fault.Denied, fault.UntrustedRoot, "%s has no root key, and only a root key can invite to a team", h.Agent).
			WithHints(fault.Fact("the owner of the team runs this command, with --as and their mail address"))
	case r.Kind == invite.Team:
		g := invite.Grant{Agents: e.Agents, Roles: e.Roles, Principals: e.Principals, MaxScope: e.MaxScope, Until: e.Until}
		if r.MaxScope != nil {
			g.MaxScope = r.MaxScope
		}
		return g, nil
	case len(e.Agents) == 0:
		return invite.Grant{}, fault.New(fault.Usage, fault.NoAgent, "%s is not an agent, and a pair is two agents", h.Agent).
			WithHints(fault.Fact("--team invites to the team of a person"))
	}
	roles := slices.DeleteFunc(slices.Clone(e.Roles), func(role string) bool { return role == sign.RoleRoot })
	return invite.Grant{Agents: e.Agents, Roles: roles, Until: e.Until}, nil
}

// free refuses to invite somebody under a name of the inviter.
func (h *Handler) free(agent string, inviter invite.Grant) error {
	if agent == "" {
		return nil
	}
	if err := handoff.CheckAgent(agent); err != nil {
		return fault.New(fault.Usage, fault.BadUsage, "%w", err)
	}
	if slices.Contains(inviter.Agents, agent) {
		return fault.New(fault.Usage, fault.BadUsage, "%s is the name of the inviter", agent).
			WithHints(fault.Fact("invite the other agent under another name"))
	}
	return nil
}

// Joined is somebody whose key was pinned.
type Joined struct {
	Agent   string
	Key     sign.KID
	Kind    invite.Kind
	Inviter sign.KID
	Root    string // mail address of the inviter to a team; "" without a team
	Alias   string // alias of the hub where both met
}

// finishAt pins the joiners who answered this clone's invitations at a hub. It ends those
// invitations and the expired ones, and returns all joiners, with the first error.
func (h *Handler) finishAt(ctx context.Context, board crossrepo.Invites) ([]Joined, error) {
	kept, err := h.Memory.At(board.Where())
	kept = slices.DeleteFunc(kept, func(k Kept) bool { return !k.open() && !k.Over })
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	ids := make([]string, 0, len(kept))
	for _, k := range kept {
		ids = append(ids, k.ID)
	}
	if err := board.Fetch(ctx, ids); err != nil {
		return nil, err
	}
	var joined []Joined
	var first error
	for _, k := range kept {
		one, err := h.finish(ctx, board, k)
		if one != nil {
			joined = append(joined, *one)
		}
		first = errors.Join(first, err)
	}
	return joined, first
}

// finish ends one invitation if it was answered or has expired, whatever the hub still has of it.
// The key is pinned first: after an interruption this is repeated without effect.
func (h *Handler) finish(ctx context.Context, board crossrepo.Invites, k Kept) (*Joined, error) {
	if k.Over {
		return nil, h.erase(ctx, board, k)
	}
	var one *Joined
	answer, err := h.answer(ctx, board, k)
	switch {
	case !h.Now().Before(k.Expires):
		err = fault.New(fault.Denied, fault.Expired, "the invitation of %s has expired", k.Whom()).
			WithHints(fault.See("invite").Because("invites again"))
	case err != nil || answer == nil:
		return nil, instead(err, k.withdraw()) // the invitation stays until it is answered or expires
	default:
		one, err = h.pin(k, answer)
		if code := fault.CodeOf(err); err != nil && code != fault.Denied && code != fault.Conflict {
			return nil, err
		}
		k.Unlisted = err == nil && k.Kind == invite.Team
	}
	return one, errors.Join(err, h.end(ctx, board, k))
}

// instead adds a way out to the error about an invitation that somebody replaced at the hub. A hub that is away
// has it still.
func instead(err error, out fault.Hint) error {
	if f := fault.As(err); f != nil && f.Code != fault.Unavailable {
		return f.WithHints(fault.AddHints(f.Hints, out)...)
	}
	return err
}

// answer reads the answer at a hub; nil where there is none yet.
func (h *Handler) answer(ctx context.Context, board crossrepo.Invites, k Kept) (*invite.Answer, error) {
	body, _, err := board.Read(ctx, k.ID)
	if err != nil || body == nil {
		return nil, err
	}
	record, err := invite.ParseMessages(body)
	if err != nil {
		return nil, err
	}
	return k.Open(record, h.Now(), sign.CheckInvite)
}

func (h *Handler) pin(k Kept, a *invite.Answer) (*Joined, error) {
	public, err := sign.ParsePublic([]byte(a.Key))
	if err != nil {
		return nil, err
	}
	if k.Agent == "" { // a joiner who was free to choose a name must not take somebody else's
		if err := h.unused(a.Agent, public.KID()); err != nil {
			return nil, err
		}
	}
	e := entry(public, k.Joiner)
	e.Agents = []string{a.Agent}
	if err := h.apart(e); err != nil {
		return nil, err
	}
	if err := h.Trust.Add(h.TrustPath, e); err != nil {
		return nil, err
	}
	one := &Joined{Agent: a.Agent, Key: public.KID(), Kind: k.Kind, Inviter: k.By, Alias: k.Alias}
	if root, ok := h.Trust.Lookup(k.By); ok {
		for _, principal := range root.Entry().Principals {
			one.Root = cmp.Or(one.Root, strings.TrimPrefix(principal, "user:"))
		}
	}
	return one, nil
}

// unused refuses a name under which another key is or was trusted here. The owner of this clone
// decides who gets the handoffs that wait for the agent of a retired key.
func (h *Handler) unused(agent string, kid sign.KID) error {
	if !slices.ContainsFunc(h.Trust.Entries(), func(e sign.TrustEntry) bool { return e.KID != kid && slices.Contains(e.Agents, agent) }) {
		return nil
	}
	return fault.New(fault.Conflict, fault.NameTaken, "the key that joined claims the name %s, which another key has or had here: the invitation is void", agent).
		WithHints(fault.Run("githandoff", "invite", agent).Because("if both are to share the inbox of %s", agent))
}

// end ends an invitation, first here: a hub which keeps it could have it used again.
func (h *Handler) end(ctx context.Context, board crossrepo.Invites, k Kept) error {
	k.Over = true
	if err := h.Memory.Put(k); err != nil {
		return err
	}
	return h.erase(ctx, board, k)
}

// erase erases an ended invitation at the hub, and forgets it. Once expired, it is forgotten even
// if the hub keeps it: nobody can answer it.
func (h *Handler) erase(ctx context.Context, board crossrepo.Invites, k Kept) error {
	err := board.Erase(ctx, k.ID)
	if err != nil && h.Now().Before(k.Expires) {
		return err
	}
	if k.Unlisted {
		k.Over = false
		return errors.Join(err, h.Memory.Put(k))
	}
	return errors.Join(err, h.Memory.Drop(k.ID))
}

// Withdraw ends this clone's invitations at a hub for an agent, "" for those without a name, and
// returns their number. None is an error. They end even if the hub cannot erase them now: the
// next sync asks it again.
func (h *Handler) Withdraw(ctx context.Context, hub *crossrepo.Hub, agent string) (int, error) {
	board := crossrepo.Invites{Hub: hub}
	kept, err := h.Memory.At(board.Where())
	if err != nil {
		return 0, err
	}
	n := 0
	var first error
	for _, k := range kept {
		if k.Agent != agent || !k.open() {
			continue
		}
		k.Over = true
		if err := h.Memory.Put(k); err != nil {
			return n, errors.Join(first, err)
		}
		n++
		err := board.Fetch(ctx, []string{k.ID})
		if err == nil {
			err = h.erase(ctx, board, k)
		}
		first = errors.Join(first, err)
	}
	if n == 0 {
		return 0, fault.New(fault.NotFound, fault.NoInvite, "no such invitation").
			WithHints(fault.Run("githandoff", "invite", "--list").Because("lists open invitations"))
	}
	return n, first
}

func signing(ctx context.Context, s sign.Signer) invite.Sign {
	return func(message []byte) ([]byte, error) { return s.Sign(ctx, sign.NamespaceInvite, message) }
}

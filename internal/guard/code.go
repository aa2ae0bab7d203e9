package guard

import (
	"context"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Limits of code signed by agents; code pushed by people has none.
const (
	maxAgentCommits = 10_000 // limit of new commits of agents in one push
	maxAgentRefs    = 256    // limit of refs in a push with commits of agents
	maxCode         = 1 << 20
)

// signedBy is a commit or tag signed by a key of an agent.
type signedBy struct {
	oid string
	who bearer
	err error // reason to refuse it: a bad signature, or no claim named
}

// bearer names a claim and the key acting under it.
type bearer struct {
	id    handoff.ID
	token string
	key   sign.KID
}

// codeJudge judges the pushed refs of code: an agent's claim must allow the code signed under
// it.
type codeJudge struct {
	*Guard
	agents  *sign.ClaimedSigners
	permits map[bearer]permit // what each claim named in the push allows; filled on demand
}

type permit struct {
	token *obo.VerifiedToken
	err   error
}

// check judges the pushed refs of code.
func (cj *codeJudge) check(ctx context.Context, edits []refs.Edit, v *verdict) error {
	agents := slices.ContainsFunc(cj.Verifier.Keys.Trust.Entries(), func(e sign.TrustEntry) bool { return !slices.Contains(e.Roles, sign.RoleRoot) })
	if len(edits) == 0 || !agents {
		return nil
	}
	cj.agents = cj.Verifier.Keys.Trust.ClaimedSigners(isAgent)
	tags, err := cj.signedTags(ctx, edits)
	if err != nil {
		return v.note(edits[0].Ref, err)
	}
	commits, err := cj.signedCommits(ctx, edits)
	if err != nil {
		return v.note(edits[0].Ref, err)
	}
	if len(tags)+len(commits) == 0 {
		return nil
	}
	if len(edits) > maxAgentRefs {
		return v.note(edits[0].Ref, denied(fault.TooLarge, "a push of %d refs with commits of agents, limit %d", len(edits), maxAgentRefs))
	}
	cj.permits = map[bearer]permit{}
	for _, e := range edits {
		if e.New == "" {
			continue
		}
		mine, err := cj.comingBy(ctx, e, edits, commits)
		if err != nil {
			return err
		}
		mine = append(mine, tags[e.New]...)
		if err := v.note(e.Ref, cj.checkClaims(ctx, e.Ref, mine)); err != nil {
			return err
		}
	}
	return nil
}

// signedCommits returns the commits new to the hub and signed by a key of an agent, by their
// ids.
func (cj *codeJudge) signedCommits(ctx context.Context, edits []refs.Edit) (map[string]signedBy, error) {
	found := map[string]signedBy{}
	err := newCommits(ctx, cj.Verifier.Repo, edits, atHub(cj.names), func(oid string) error {
		one, ok, err := cj.signed(ctx, oid)
		if ok {
			found[oid] = one
		}
		if len(found) > maxAgentCommits {
			return denied(fault.TooLarge, "more than %d new commits of agents in one push", maxAgentCommits)
		}
		return err
	})
	return found, err
}

// signed reads one commit or tag and reports whether a key of an agent signed it.
func (cj *codeJudge) signed(ctx context.Context, oid string) (signedBy, bool, error) {
	o, err := cj.Verifier.Repo.Read(ctx, oid, maxCode)
	if err != nil || o == nil {
		return signedBy{}, false, err
	}
	s, ok := readSigned(cj.Verifier.Repo.Format, o.Type, o.Body)
	if !ok {
		return signedBy{}, false, nil
	}
	key, err := cj.agentKey(s)
	if f := fault.As(err); f != nil {
		return signedBy{oid: oid, err: denied(f.Reason, "%s %s: %w", o.Type, oid, err)}, true, nil //nolint:nilerr // the refusal is part of the result
	}
	if err != nil {
		return signedBy{}, false, err
	}
	if key == "" {
		return signedBy{}, false, nil
	}
	one := signedBy{oid: oid, who: bearer{key: key}}
	id, err := trailer(s.message, "Handoff-Id")
	if err == nil {
		one.who.token, err = trailer(s.message, "Handoff-Token")
	}
	if err == nil {
		one.who.id, err = handoff.ParseID(id)
	}
	if err != nil {
		one.err = fault.New(fault.Policy, fault.OutOfScope, "%s %s is signed by the agent key %s: %w", o.Type, oid, key, err).
			WithHints(fault.Run("githandoff", "hook", "install").Because("makes commits under a claim name it"))
	}
	return one, true, nil
}

// comingBy returns the commits brought in by one of the refs.
func (cj *codeJudge) comingBy(ctx context.Context, e refs.Edit, edits []refs.Edit, commits map[string]signedBy) ([]signedBy, error) {
	if len(edits) == 1 {
		return slices.Collect(maps.Values(commits)), nil
	}
	var mine []signedBy
	err := newCommits(ctx, cj.Verifier.Repo, []refs.Edit{e}, atHub(cj.names), func(oid string) error {
		if c, ok := commits[oid]; ok {
			mine = append(mine, c)
		}
		return nil
	})
	return mine, err
}

// checkClaims compares the commits brought in by one ref with the claims they name.
func (cj *codeJudge) checkClaims(ctx context.Context, ref string, list []signedBy) error {
	slices.SortFunc(list, func(a, b signedBy) int { return strings.Compare(a.oid, b.oid) })
	// Keep the order of their first commits, so that the same push always gets the same refusal.
	var bearers []bearer
	made := map[bearer][]string{}
	for _, one := range list {
		if one.err != nil {
			return one.err
		}
		if made[one.who] == nil {
			bearers = append(bearers, one.who)
		}
		made[one.who] = append(made[one.who], one.oid)
	}
	for _, who := range bearers {
		allowed, asked := cj.permits[who]
		if !asked {
			allowed.token, allowed.err = cj.live(ctx, who)
			cj.permits[who] = allowed
		}
		if allowed.err != nil {
			return allowed.err
		}
		paths, err := Changed(ctx, cj.Verifier.Repo, made[who])
		if err != nil {
			return err
		}
		names, err := cj.moved(ctx, ref)
		if err != nil {
			return err
		}
		for _, scope := range obo.RequiredScopes(names, paths) {
			if err := allowed.token.Allows(scope); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved returns a ref and, if it is symbolic, the ref git moves instead.
func (cj *codeJudge) moved(ctx context.Context, ref string) ([]string, error) {
	out, err := cj.Verifier.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"symbolic-ref", "--quiet", cj.names.space + ref}})
	if gitexec.ExitCode(err) == 1 { // the ref is not symbolic
		return []string{ref}, nil
	}
	return []string{ref, strings.TrimPrefix(strings.TrimSpace(string(out)), cj.names.space)}, err
}

// live returns the token of a claim held here and now by the key.
func (cj *codeJudge) live(ctx context.Context, who bearer) (*obo.VerifiedToken, error) {
	s, err := cj.Verifier.Reader.Load(ctx, cj.Home, lifecycle.Place{Agent: handoff.Nobody, ID: who.id})
	if err != nil {
		return nil, err
	}
	if s.Phase() == lifecycle.Absent {
		return nil, denied(fault.HandoffMismatch, "commits name handoff %s, which is not at this hub", who.id)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	switch {
	case s.Claim == nil || s.Claim.Key != who.key:
		return nil, denied(fault.HolderBindingFailed, "handoff %s is not held by key %s, which signed the commits", who.id, who.key)
	case s.Overdue(cj.Verifier.Keys.Now()):
		return nil, denied(fault.Expired, "the lease of handoff %s is over", who.id).WithHints(fault.Run("githandoff", "progress", string(who.id)).Because("renews it"))
	case s.Offer.Token != who.token:
		return nil, denied(fault.HandoffMismatch, "handoff %s does not have the token %s", who.id, who.token)
	}
	v, err := cj.Verifier.Verify(ctx, cj.Home, s, lifecycle.Options{
		AllowExpired: true, AsKnown: true, UnknownStands: true, Unopened: true,
	})
	if err != nil {
		return nil, err
	}
	if v.Token() == nil {
		return nil, denied(fault.HandoffMismatch, "handoff %s carries no token", who.id)
	}
	return v.Token(), nil
}

// Package teampolicy reads the team's policy from its commit, and judges requests and skills by
// it.
package teampolicy

import (
	"context"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/policy"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for the policy.
type Workspace interface {
	Content(ctx context.Context, f *workspace.View) (*handoff.Envelope, error)
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Warn(err error)
}

// Reader reads the team's policy and judges by it.
type Reader struct {
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the reader of a workspace.
func New(w *workspace.Workspace) *Reader {
	return &Reader{Repo: w.Repo, Workspace: w}
}

// Read reads the team's policy from the commit of handoff.policyRef, by default origin/HEAD, else
// HEAD, never from the working tree: unmerged changes decide nothing. A commit without a policy
// gives nil.
func (r *Reader) Read(ctx context.Context) (*policy.Policy, error) {
	revs := []string{"refs/remotes/origin/HEAD", "HEAD"}
	named := r.Repo.Config.Get("handoff.policyref")
	if named != "" {
		revs = []string{named}
	}
	for _, rev := range revs {
		if strings.ContainsAny(rev, " \t\n") {
			break
		}
		commit, err := r.Repo.Resolve(ctx, rev+"^{commit}")
		if err != nil {
			return nil, err
		}
		if commit == "" {
			continue
		}
		o, err := r.Repo.Read(ctx, commit+":"+policy.Name, policy.MaxSize)
		switch {
		case fault.Is(err, fault.TooLarge):
			return nil, fault.New(fault.Invalid, fault.TooLarge, "%s in %s has more than %d bytes", policy.Name, rev, policy.MaxSize)
		case err != nil || o == nil:
			return nil, err
		case o.Type != "blob":
			return nil, fault.New(fault.Invalid, fault.InvalidPolicy, "%s in %s is not a file", policy.Name, rev)
		}
		return policy.Parse(o.Body)
	}
	if named != "" {
		return nil, fault.New(fault.NotFound, fault.NoSuchCommit, "handoff.policyRef: %s is not a commit here", crossrepo.Quote(named)).
			WithHints(fault.Run("git", "fetch").Because("brings it, if a remote has it"),
				fault.Run("git", "config", "--unset", "handoff.policyRef").Because("reads the policy at origin/HEAD again"))
	}
	return nil, nil
}

// CheckRequest is [policy.Policy.CheckRequest] of the team's policy, which is read only for a request.
// An empty sender is not checked: it passes on the work of another.
func (r *Reader) CheckRequest(ctx context.Context, from, to, request string) error {
	if request == "" {
		return nil
	}
	p, err := r.Read(ctx)
	if err != nil {
		return err
	}
	return p.CheckRequest(from, to, request)
}

// Skills compares the skills invoked by the source of a handoff with the mandatory ones, of the
// team's policy and of the handoff it worked on.
func (r *Reader) Skills(ctx context.Context, env *handoff.Envelope) (policy.SkillReport, error) {
	p, err := r.Read(ctx)
	return p.Skills(env, r.expectedSkills(ctx, env)), err
}

// expectedSkills returns the skills expected of the source of a handoff. A handoff expects skills
// of its receiver, whose account is in the next handoff. They are known as long as the content of
// the first is readable here. A handoff without a parent keeps the list beside its account.
func (r *Reader) expectedSkills(ctx context.Context, env *handoff.Envelope) []string {
	asked := env
	if env.Parent != "" {
		f, err := r.Workspace.Find(ctx, string(env.Parent), workspace.Never)
		if err != nil || f.State.Receipt != nil && f.State.Receipt.Event != record.Acknowledged {
			return nil // a parent that was passed on or given up expects none
		}
		if asked, err = r.Workspace.Content(ctx, f); err != nil || asked == nil || f.State.To != env.Source.Agent {
			return nil
		}
	} else if env.Skills == nil {
		return nil
	}
	if asked.Expectations == nil {
		return nil
	}
	return asked.Expectations.Skills
}

// MissingSkills returns the value of Handoff-Skills-Missing for a payload. Skills are an account,
// not a condition: an unreadable policy stops no receipt.
func (r *Reader) MissingSkills(ctx context.Context, env *handoff.Envelope) string {
	s, err := r.Skills(ctx, env)
	if err != nil {
		r.Workspace.Warn(err)
	}
	return skillList(s.Missing)
}

// maxSkillList bounds the trailer, in bytes.
const maxSkillList = 4096

// skillList joins names into one line of printable ASCII. A comma inside of a name, and any
// other character, is escaped as in JSON.
func skillList(names []string) string {
	var b strings.Builder
	for _, name := range names {
		name = strings.ReplaceAll(record.ASCII([]byte(strings.TrimSpace(name))), ",", `\u002c`)
		if b.Len()+len(name) > maxSkillList {
			b.WriteString(", ...")
			break
		}
		if name != "" && b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

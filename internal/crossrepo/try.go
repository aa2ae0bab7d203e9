package crossrepo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Trial is the result of trial pushes to a hub: two refs below refs/handoffs/doctor/ were
// created in one atomic push, read back, one of them moved while the other was deleted, and
// both deleted.
type Trial struct {
	Refused    error    // the first thing that the hub did not do; nil if it did all
	Guarded    bool     // a guard refused the refs, as it must: it lets in handoffs alone
	WasGuarded bool     // a guard answered before, and none does now
	Left       []string // refs that could not be deleted again
}

// Try pushes throw-away refs to a hub to find out what it accepts. A guard hides part of
// the result. An error means that this clone could not try.
func Try(ctx context.Context, h *Hub, now time.Time, random io.Reader) (*Trial, error) {
	edits, err := h.trial(now, random)
	if err != nil {
		return nil, err
	}
	base, commit := edits[0].Ref, edits[0].New
	inbox, lane := base+"/inbox", base+"/log"
	made := []refs.Edit{{Ref: inbox, New: commit}, {Ref: lane, New: commit}}
	report, err := h.push(ctx, made)
	before := readKnown(&h.remote)
	switch {
	case h.guardRefusal(err) != nil:
		before.Guarded = true
		writeKnown(&h.remote, before)
		return &Trial{Guarded: true}, nil
	case err != nil || !report.accepted(made):
		return &Trial{Refused: h.diagnose(ctx, made, report, err)}, nil
	}
	t := &Trial{WasGuarded: before.Guarded}
	if t.Refused, err = shown(ctx, h, inbox, lane); err != nil {
		return nil, err
	}
	other, err := h.trial(now, random)
	if err != nil {
		return nil, err
	}
	t.step(ctx, h, []refs.Edit{{Ref: lane, Old: commit, New: other[0].New}, {Ref: inbox, Old: commit}})
	if t.Refused == nil {
		commit = other[0].New
		t.step(ctx, h, []refs.Edit{{Ref: lane, Old: commit}})
	}
	if t.Refused == nil {
		forgetKeeping(&h.remote)
		return t, nil
	}
	t.clean(ctx, h, inbox, lane)
	return t, nil
}

// step makes one push of a trial that has met no refusal yet.
func (t *Trial) step(ctx context.Context, h *Hub, edits []refs.Edit) {
	if t.Refused != nil {
		return
	}
	report, err := h.push(ctx, edits)
	if err != nil || !report.accepted(edits) {
		t.Refused = h.diagnose(ctx, edits, report, err)
	}
}

// clean deletes what a trial that was refused leaves, and names what stays.
func (t *Trial) clean(ctx context.Context, h *Hub, copies ...string) {
	for _, ref := range copies {
		name := h.RemoteName(ref)
		_, err := connect(ctx, &h.remote, gitexec.Cmd{
			Args: []string{"push", "--quiet", "--no-verify", "--recurse-submodules=no", "--", h.Alias.target(), ":" + name}, Timeout: gitexec.RemoteTimeout, Finish: true,
		})
		if err != nil && !strings.Contains(fmt.Sprint(err), "does not exist") {
			t.Left = append(t.Left, name)
		}
	}
}

// shown reads the refs of a trial back, as those who fetch see them.
func shown(ctx context.Context, h *Hub, copies ...string) (refused, err error) {
	args := []string{"ls-remote", "--", h.Alias.target()}
	for _, ref := range copies {
		args = append(args, h.RemoteName(ref))
	}
	out, err := connect(ctx, &h.remote, gitexec.Cmd{Args: args, Timeout: probeTimeout})
	if err != nil {
		return nil, h.errUnreachable(err)
	}
	for _, ref := range copies {
		if !strings.Contains(string(out), "\t"+h.RemoteName(ref)+"\n") {
			return errHidden(&h.remote, h.RemoteName(ref)), nil
		}
	}
	return nil, nil
}

// forgetKeeping notes that a hub deletes refs.
func forgetKeeping(h *remote) {
	if k := readKnown(h); k.KeepsRefs != "" {
		k.KeepsRefs = ""
		writeKnown(h, k)
	}
}

// deletes reports whether a push deletes a ref.
func deletes(edits []refs.Edit) bool {
	return slices.ContainsFunc(edits, func(e refs.Edit) bool { return e.New == "" })
}

// LostGuard is the problem of a hub whose guard answered once and does not any more.
func LostGuard(h *Hub) error {
	return fault.New(fault.Other, fault.Problem, "%s had a guard and has none now: it takes every push", h.Alias.Name).
		WithHints(fault.Fact("at the hub, githandoff hook install --server restores it; some servers overwrite their hooks"),
			fault.Run("rm", knownFile(&h.remote)).Because("if it was removed on purpose"))
}

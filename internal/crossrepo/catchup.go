package crossrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// CatchUp gives a hub restored from a backup the lane entries it lost, as far as this clone has
// them: only where the hub's lane is an ancestor of ours. A fork is refused.
func (h *Hub) CatchUp(ctx context.Context) error {
	memory, err := h.Memory(ctx)
	if err != nil {
		return err
	}
	if err := h.Fetch(ctx, lifecycle.FetchSpec{Log: true, Memory: memory}); err != nil {
		return err
	}
	return h.GiveBackLost(ctx, memory, Means{})
}

// Means are ways to give a hub what it does not take as it is.
type Means struct {
	// Offers returns the refs of the handoffs offered by the lost part of a lane. A guard takes an
	// offer only with them.
	Offers func(lane refs.Edit) ([]refs.Edit, error)
	// Join joins a lane to another history, which only a root key may. A fork is refused without it.
	Join func(lane refs.Edit, onto string) error
}

// GiveBackLost is like CatchUp with a mirror fetched after the memory was read. A lane which the hub
// refuses keeps no other from being given back.
func (h *Hub) GiveBackLost(ctx context.Context, memory []refs.Ref, by Means) error {
	there, err := h.mirrorTips(ctx)
	if err != nil {
		return err
	}
	var behind, others []laneTips
	var refused error
	for _, s := range h.bothTips(memory, there) {
		if s.now == s.was {
			continue
		}
		is := false
		if s.was, err = withoutStrangers(ctx, h, s); err == nil {
			is, err = h.extends(ctx, s.was, s.now)
		}
		switch {
		case err != nil:
			refused = cmp.Or(refused, err)
		case !is:
			others = append(others, s)
		case s.now != s.was:
			behind = append(behind, s)
		}
	}
	if behind, err = giveBackTogether(ctx, h, behind); err != nil {
		return err
	}
	for _, s := range append(behind, others...) {
		switch err := giveBackLane(ctx, h, s, by); {
		case fault.CodeOf(err) == fault.Denied:
			refused = cmp.Or(refused, err)
		case err != nil:
			return err
		}
	}
	return refused
}

// mostNamed bounds the lanes that a hub may refuse by name before each is tried alone: it may refuse all of them.
const mostNamed = 8

// giveBackTogether gives the hub the entries of lanes that lost their newest ones, in pushes of many lanes. It returns
// the lanes that are left, to be given back one by one: those that the hub refuses by name, and all that it still
// lacks if it takes no such push.
func giveBackTogether(ctx context.Context, h *Hub, behind []laneTips) (left []laneTips, err error) {
	for len(behind) > 1 {
		some := behind[:min(len(behind), mostRefsTogether)]
		var edits, mirror []refs.Edit
		for _, s := range some {
			edits = append(edits, refs.Edit{Ref: s.name, Old: s.now, New: s.was})
			mirror = append(mirror, refs.Edit{Ref: h.mirrored(s.name), Old: s.now, New: s.was})
		}
		report, err := h.Push(ctx, refs.Transaction{Edits: edits})
		if err == nil && report.Accepted(edits) {
			h.given.Add(int64(len(some)))
			if err := lifecycle.ApplyMissing(ctx, h.Repo, mirror); err != nil {
				return nil, err
			}
			behind = behind[len(some):]
			continue
		}
		named := report.culprits() // not all of them need be lanes: a hub can write lines of its own into the report of git
		bad := slices.DeleteFunc(slices.Clone(some), func(s laneTips) bool { return !slices.Contains(named, h.RemoteName(s.name)) })
		if len(bad) == 0 || len(bad) == len(some) || len(left) >= mostNamed {
			return stillBehind(ctx, h, append(left, behind...))
		}
		left = append(left, bad...)
		behind = slices.DeleteFunc(behind, func(s laneTips) bool { return slices.Contains(bad, s) })
	}
	return append(left, behind...), nil
}

// stillBehind returns those of some lanes that the hub lacks after a push that failed: it may have arrived, or some of
// its refs.
func stillBehind(ctx context.Context, h *Hub, lanes []laneTips) ([]laneTips, error) {
	var spec lifecycle.FetchSpec
	for _, s := range lanes {
		spec.Memory = append(spec.Memory, refs.Ref{Name: s.name, OID: s.was})
	}
	if err := h.Fetch(ctx, spec); err != nil {
		return nil, err
	}
	there, err := h.mirrorTips(ctx)
	left := slices.DeleteFunc(lanes, func(s laneTips) bool { return there[h.RemoteName(s.name)] == s.was })
	h.given.Add(int64(len(lanes) - len(left)))
	return left, err
}

// GaveBack is a warning if this command gave lanes back; nil if not. The hub was restored from a
// backup, or another repository has its name now.
func (h *Hub) GaveBack() error {
	n := int(h.given.Load())
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s had lost entries of %s of its log, and got them back from this clone; if it was renamed, githandoff repo add --id gives it its new URL",
		h.Alias.Name, fault.Count(n, "lane"))
}

// giveBackLane gives a hub back what it lost of a lane. A lane that has moved on, or has another history, is settled.
func giveBackLane(ctx context.Context, h *Hub, s laneTips, by Means) error {
	lane := refs.Edit{Ref: s.name, Old: s.now, New: s.was}
	switch behind, err := h.extends(ctx, lane.New, lane.Old); {
	case err != nil:
		return err
	case behind && lane.Old == lane.New:
		return nil
	case behind:
		return giveBackEntries(ctx, h, s, by)
	}
	switch ahead, err := h.extends(ctx, lane.Old, lane.New); {
	case err != nil || ahead:
		return err
	case unsignedBut(ctx, h, lane.Old, lane.New): // no entry that the hub alone has is signed
		if err := h.GiveBack(ctx, []refs.Edit{lane}); err != nil {
			return inTheWayOf(ctx, h, lane, err)
		}
		return gave(h, nil)
	case unsignedBut(ctx, h, lane.New, lane.Old) && h.checker.MayMove(ctx, "", lane.Old) == nil:
		h.stuck.Delete(s.name)
		return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: s.name, Old: s.was, New: s.now}}})
	case by.Join != nil:
		return by.Join(lane, lane.Old)
	}
	return fault.New(fault.Denied, fault.Rollback, "%s and this clone have different histories of %s", h.Alias.Name, h.RemoteName(lane.Ref)).
		WithHints(fault.Run("githandoff", "audit", h.Alias.Name).Because("shows both; a person with a root key joins them with sync"))
}

// giveBackEntries gives a hub the entries of a lane that come after the tip it has.
func giveBackEntries(ctx context.Context, h *Hub, s laneTips, by Means) error {
	lane := refs.Edit{Ref: s.name, Old: s.now, New: s.was}
	err := h.GiveBack(ctx, []refs.Edit{lane})
	if fault.Is(err, fault.HubRefused) {
		if now, ok := givenMeanwhile(ctx, h, lane); ok {
			return giveBackLane(ctx, h, laneTips{s.name, s.was, now}, by)
		}
	}
	if fault.Is(err, fault.Lost) && by.Offers != nil {
		offers, oerr := by.Offers(lane)
		switch {
		case oerr != nil:
			return oerr
		case len(offers) > 0:
			err = h.GiveBack(ctx, append(offers, lane))
		}
	}
	if fault.CodeOf(err) == fault.Denied && by.Join != nil { // a guard may take refused entries joined with a root key
		onto, perr := joinable(ctx, h, lane)
		switch {
		case perr != nil:
			return perr
		case onto != "": // otherwise the lane has one entry, and nothing to join it to
			err = by.Join(lane, onto)
		}
	}
	return gave(h, err)
}

// givenMeanwhile returns the hub's tip of a lane, if another clone gave entries back since the hub
// was asked.
func givenMeanwhile(ctx context.Context, h *Hub, lane refs.Edit) (now string, ok bool) {
	now, err := h.refetchLane(ctx, lane.Ref)
	if err != nil || now == lane.Old {
		return "", false
	}
	ok, err = h.extends(ctx, now, lane.Old)
	return now, ok && err == nil
}

// unsignedBut reports whether none of the entries that tip has and other lacks is signed. Somebody
// who rewrites the history of all refs of a hub leaves its handoffs like that.
func unsignedBut(ctx context.Context, h *Hub, tip, other string) bool {
	unsigned, err := h.checker.Unsigned(ctx, tip, other)
	return err == nil && unsigned
}

// inTheWayOf returns the refusal of a hub that lets nobody replace a lane, not even a root key. The
// hint is for its administrator. The other lanes are still given back. If another clone gave the
// lane back meanwhile, there is no error.
func inTheWayOf(ctx context.Context, h *Hub, lane refs.Edit, err error) error {
	if !errors.Is(err, ErrGuard) && !fault.Is(err, fault.HubRefused) {
		return err
	}
	now, ferr := h.refetchLane(ctx, lane.Ref)
	if ferr != nil {
		return err
	}
	if now != lane.Old {
		if ahead, xerr := h.extends(ctx, now, lane.New); xerr != nil || ahead {
			return xerr
		}
		return err
	}
	return fault.New(fault.Denied, fault.Rollback, "%w", err).
		WithHints(inHub(h.Alias, "removes what has no signatures; the inbox refs of its handoffs may have lost theirs as well",
			"-d", h.RemoteName(lane.Ref), lane.Old))
}

// inHub returns a hint with a git update-ref that the hub's administrator runs there.
func inHub(al *Alias, does string, args ...string) fault.Hint {
	args = append([]string{"update-ref"}, args...)
	if dir, ok := al.Path(); ok {
		return fault.Run(append(inRepository(dir, "git"), args...)...).Because("its administrator %s", does)
	}
	return fault.Fact("git %s, run in the hub by its administrator, %s", strings.Join(args, " "), does)
}

// inRepository returns the words by which a program works in the repository at a path. git 3.0 does not find a bare
// one by its directory. But where GIT_DIR names it, git runs its hooks, whoever made them.
func inRepository(dir, program string) []string {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	if err == nil || refs.IsDoubtful(dir) {
		return []string{program, "-C", dir}
	}
	return []string{"env", "GIT_DIR=" + dir, program}
}

// gave counts a lane that was given back, or adds to err who can give it back.
func gave(h *Hub, err error) error {
	if err == nil {
		h.given.Add(1)
	}
	return whoGivesBack(err)
}

// whoGivesBack puts into the refusal of a guard who can give the lane back. Another sync here
// changes nothing.
func whoGivesBack(err error) error {
	f := fault.As(err)
	switch {
	case f == nil || !errors.Is(err, ErrGuard):
		return err
	case f.Reason == fault.Lost:
		return f.WithHints(fault.Fact("the next githandoff sync of its sender delivers it again"))
	}
	return f.WithHints(fault.Fact("a guard takes this from a person with a root key, who runs githandoff sync in a clone that has seen it"))
}

// joinable returns the entry to which a lane is joined: the tip that the hub has, or, if it has none, the
// entry before ours; "" if there is none either.
func joinable(ctx context.Context, h *Hub, lane refs.Edit) (string, error) {
	if lane.Old != "" {
		return lane.Old, nil
	}
	o, err := h.Repo.Read(ctx, lane.New, record.MaxCommit)
	if err != nil || o == nil {
		return "", err
	}
	c, err := record.ParseCommit(o.Body)
	if err != nil || len(c.Parents) == 0 {
		return "", nil //nolint:nilerr // the hub's refusal says more
	}
	return c.Parents[0], nil
}

// withoutStrangers returns the tip of a copy before a merge by a stranger, which is never given
// back. It moves the copy there.
func withoutStrangers(ctx context.Context, h *Hub, s laneTips) (string, error) {
	why := h.checker.MayMove(ctx, "", s.was)
	if why == nil {
		return s.was, nil
	}
	cut, ok, err := h.checker.Cut(ctx, s.was, s.now)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", why
	}
	h.stuck.Delete(s.name)
	return cut, h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: s.name, Old: s.was, New: cut}}})
}

// GiveBack pushes lane entries lost by the hub: the last edit is of the lane, the others are of refs
// which go with them. It is refused if the hub has moved a ref since the comparison.
func (h *Hub) GiveBack(ctx context.Context, edits []refs.Edit, objects ...*refs.Object) error {
	lane := edits[len(edits)-1]
	t := refs.Transaction{Edits: edits, Objects: objects}
	report, err := h.Push(ctx, t)
	if report.refusedAsHidden() != "" {
		return h.errPushRefused(ctx, edits, report, err)
	}
	if refused := h.guardRefusal(err); refused != nil {
		return refused
	}
	if err == nil && report.lines[h.RemoteName(lane.Ref)].flag == '=' || report.hiddenFromFetch(h, edits) != "" {
		return h.Alias.errHidden(h.RemoteName(lane.Ref))
	}
	if err != nil || !report.Accepted(t.Edits) {
		if moved := h.Moved(ctx); moved != nil {
			return moved
		}
		said := GitSaid(err)
		if other := errFormat(&h.remote, said); other != nil {
			return other
		}
		return fault.New(fault.Unavailable, fault.HubRefused, "%s does not take back %s: %s", h.Alias.Name, h.RemoteName(lane.Ref), said).
			WithHints(fault.Run("githandoff", "doctor").Because("shows what the hub takes"))
	}
	return showed(ctx, h, lane, objects)
}

// showed puts into the mirror what the hub has taken.
func showed(ctx context.Context, h *Hub, lane refs.Edit, objects []*refs.Object) error {
	name := h.mirrored(lane.Ref)
	now, err := h.Repo.Resolve(ctx, name)
	if err != nil || now == lane.New {
		return err
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: name, Old: now, New: lane.New}}, Objects: objects})
}

// AdvanceJoined moves the copy of a lane on to the merge with the hub's lane, which the hub
// has accepted.
func (h *Hub) AdvanceJoined(ctx context.Context, lane string) error {
	return h.advanceFrom(ctx, func() ([]laneTips, error) {
		s, err := h.tipsOf(ctx, lane)
		return []laneTips{s}, err
	})
}

// CaughtUp calls do, and calls it once more if the hub turns out to be restored from a backup
// and can be given back what it lost.
func (h *Hub) CaughtUp(ctx context.Context, spec lifecycle.FetchSpec, do func() error) error {
	err := do()
	if !fault.Is(err, fault.Rollback) {
		return err
	}
	if err := h.CatchUp(ctx); err != nil {
		return err
	}
	if err := h.Refresh(ctx, spec); err != nil {
		return err
	}
	return do()
}
